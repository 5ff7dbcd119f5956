#![no_main]
#![allow(dead_code, reason = "other targets use the rest")]

#[path = "../../core/tests/corpus/readers.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::index(bytes));
