//! The yardstick of the bounds pass, for `bench/compare.py`: xor-reads the tables of as many shards of rank 2 as asked.
//!
//! Answers every line it reads: one with "time" with the seconds that a pass takes, any other when it is ready.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark that panics has measured nothing"
)]
use std::hint::black_box;
use std::io::{BufRead, stdin};
use std::time::Instant;

fn main() {
    let shards = std::env::args().nth(1).and_then(|count| count.parse::<usize>().ok()).expect("a number of shards");
    let tables: [Vec<i64>; 3] = [1, 2, 3].map(|factor| (0..).take(2 * shards).map(|value| value * factor).collect());
    for line in stdin().lock().lines() {
        if !line.expect("a line of text").contains("time") {
            println!("\"ready\"");
            continue;
        }
        let (begin, mut passes) = (Instant::now(), 0);
        // As long as the other workers, so that the clock can tell it from nothing.
        while begin.elapsed().as_secs_f64() < 0.002 {
            for table in black_box(&tables) {
                black_box(table.iter().fold(0, |all, value| all ^ value));
            }
            passes += 1;
        }
        println!("{}", begin.elapsed().as_secs_f64() / f64::from(passes));
    }
}
