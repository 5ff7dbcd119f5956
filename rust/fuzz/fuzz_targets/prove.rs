#![no_main]
#![allow(dead_code, reason = "other targets use the rest")]

#[path = "../../core/tests/corpus/kernels.rs"]
mod kernels;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kernels::prove(bytes));
