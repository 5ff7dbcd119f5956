//! The bounds pass beside its yardstick: xor-reading the same bytes.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    missing_docs,
    reason = "a benchmark that panics has measured nothing"
)]
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use shardproof_core::bounds::shards_inside;
use shardproof_core::layout::{Chunks, Shards, Table};

fn bounds(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("bounds");
    for count in [100_000_usize, 1_000_000] {
        let rows = |of: fn(i64) -> [i64; 2]| (0..).take(count).flat_map(of).collect::<Vec<i64>>();
        let offsets = rows(|row| [row / 300 * 4, row % 300 * 4]);
        let places = rows(|row| [row * 4, 0]);
        let sizes = rows(|_| [4, 4]);
        let shape = [i64::MAX / 2, 1200];
        let table = |values| Table::new(values, count, 2).expect("a table of two columns");
        let chunks = Chunks::new(&shape, table(&offsets), table(&sizes)).expect("tables of one shape");
        let shards = Shards::new(chunks, &shape, table(&places)).expect("tables of one shape");
        group.throughput(Throughput::Bytes(3 * 2 * 8 * u64::try_from(count).expect("a small count")));
        group.bench_function(BenchmarkId::new("check", count), |bencher| {
            bencher.iter(|| assert!(shards_inside(black_box(shards))));
        });
        group.bench_function(BenchmarkId::new("xor", count), |bencher| {
            bencher.iter(|| {
                [&offsets, &places, &sizes].map(|table| black_box(table).iter().fold(0, |all, value| all ^ value))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, bounds);
criterion_main!(benches);
