//! Proofs of a million chunks, in order and shuffled, and the naming of one fault among them.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a benchmark that panics has measured nothing"
)]
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use shardproof_core::interrupt::Interrupt;
use shardproof_core::layout::{Chunks, Table};
use shardproof_core::proof::{Expected, Question, Rigour, judge};
use shardproof_core::tally::Tally;

/// Columns of a grid of `side` cells in each of two dimensions; a prime step visits every cell, neighbours never in turn.
fn grid(rank: usize, side: i64, step: i64) -> (Vec<i64>, Vec<i64>) {
    let cells = side.pow(u32::try_from(rank).expect("a small rank"));
    let offsets = (0..cells).map(|number| number * step % cells);
    let offsets = offsets
        .flat_map(|cell| (0..rank).rev().map(move |d| cell / side.pow(u32::try_from(d).expect("small")) % side * 10));
    let offsets: Vec<i64> = offsets.collect();
    let sizes = vec![10; offsets.len()];
    (offsets, sizes)
}

fn proof(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("proof");
    let keys: Vec<u8> = (0..64_u8).map(|byte| byte.wrapping_mul(151).wrapping_add(17)).collect();
    for (rank, side) in [(1_usize, 100_000_i64), (2, 316), (2, 1000)] {
        let shape = vec![side * 10; rank];
        for (order, step) in [("in order", 1), ("shuffled", 7919)] {
            let (offsets, sizes) = grid(rank, side, step);
            for (rigour, word) in [(Rigour::Bounded, "bounded"), (Rigour::Exact, "exact")] {
                for missing in [0, 1] {
                    let rows = offsets.len() / rank - missing;
                    let table = |values| Table::new(values, rows, rank).expect("a table");
                    let (offsets, sizes) = (&offsets[..rows * rank], &sizes[..rows * rank]);
                    let chunks = Chunks::new(&shape, table(offsets), table(sizes)).expect("tables of one shape");
                    let question = Question { expected: Expected::Times(1), rigour, keys: &keys };
                    let name = format!("{word}, rank {rank}, {order}, {missing} missing");
                    group.throughput(Throughput::Elements(u64::try_from(rows).expect("few")));
                    group.bench_function(BenchmarkId::new(name, rows), |bencher| {
                        bencher.iter(|| {
                            let mut tally = Tally::keeping(100);
                            judge(black_box(chunks), &|_| 0, &question, &mut tally, Interrupt::NEVER)
                        });
                    });
                }
            }
        }
    }
    group.finish();
}

criterion_group!(benches, proof);
criterion_main!(benches);
