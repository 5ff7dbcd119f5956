use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// A layout in plain vectors, and the oracle's judgement in 128 bits.
#[derive(Clone, Debug)]
struct Plain {
    shape: Vec<i64>,
    rows: Vec<(Vec<i64>, Vec<i64>)>,
}

impl Plain {
    fn columns(&self) -> (Vec<i64>, Vec<i64>) {
        (
            self.rows.iter().flat_map(|row| row.0.clone()).collect(),
            self.rows.iter().flat_map(|row| row.1.clone()).collect(),
        )
    }

    fn is_inside(&self) -> bool {
        self.shape.iter().all(|&dim| dim >= 0)
            && self.rows.iter().all(|(offsets, sizes)| {
                offsets.iter().zip(sizes).zip(&self.shape).all(|((&start, &len), &dim)| {
                    start >= 0 && len >= 0 && i128::from(start) + i128::from(len) <= i128::from(dim)
                })
            })
    }

    fn fault_counts(&self) -> BTreeMap<Code, u64> {
        let mut counts = BTreeMap::new();
        let mut count = |code| *counts.entry(code).or_default() += 1;
        self.shape.iter().filter(|&&dim| dim < 0).for_each(|_| count(Code::ShapeNegative));
        for (offsets, sizes) in &self.rows {
            for ((&start, &len), &dim) in offsets.iter().zip(sizes).zip(&self.shape) {
                if start < 0 {
                    count(Code::ChunkNegative);
                }
                if len < 0 {
                    count(Code::ChunkNegative);
                }
                let end = i128::from(start) + i128::from(len);
                if start >= 0 && len >= 0 && dim >= 0 && end > i128::from(dim) {
                    count(if end > i128::from(i64::MAX) { Code::ChunkOverflow } else { Code::ChunkOutOfBounds });
                }
            }
        }
        counts
    }
}

fn with_chunks<T>(plain: &Plain, judge: impl FnOnce(Chunks<'_>) -> T) -> T {
    let (offsets, sizes) = plain.columns();
    let (rows, rank) = (plain.rows.len(), plain.shape.len());
    let offsets = Table::new(&offsets, rows, rank).unwrap();
    let sizes = Table::new(&sizes, rows, rank).unwrap();
    judge(Chunks::new(&plain.shape, offsets, sizes).unwrap())
}

fn agrees(plain: &Plain) {
    with_chunks(plain, |chunks| {
        assert_eq!(inside(chunks).is_some(), plain.is_inside(), "{plain:?}");
        let mut tally = Tally::keeping(usize::MAX);
        name_shape_faults(chunks.shape(), &mut tally);
        name_faults(chunks, |row| u64::try_from(row).unwrap(), EmptyPastEnd::Fault, &mut tally);
        assert_eq!(tally.counts(), &plain.fault_counts(), "{plain:?}");
        assert_eq!(tally.findings().is_empty(), plain.is_inside(), "{plain:?}");
        let clipped = clip(chunks);
        let inside = clipped.inside().expect("what was clipped lies inside");
        assert_eq!(inside.chunks().len(), clipped.rows().len());
    });
}

fn boxes(rank: usize, numbers: &[i64]) -> Vec<(Vec<i64>, Vec<i64>)> {
    let mut all = vec![(Vec::new(), Vec::new())];
    for _ in 0..rank {
        all = all
            .into_iter()
            .flat_map(|(offsets, sizes)| {
                numbers.iter().flat_map(move |&start| {
                    let (offsets, sizes) = (offsets.clone(), sizes.clone());
                    numbers
                        .iter()
                        .map(move |&len| ([offsets.clone(), vec![start]].concat(), [sizes.clone(), vec![len]].concat()))
                })
            })
            .collect();
    }
    all
}

#[test]
fn every_small_layout_is_judged_as_in_128_bits() {
    let numbers = [-1, 0, 1, 2, 3];
    let mut tried = 0;
    let one = boxes(1, &numbers);
    for dim in -1..3 {
        for first in &one {
            for second in &one {
                agrees(&Plain { shape: vec![dim], rows: vec![first.clone(), second.clone()] });
                tried += 1;
            }
        }
    }
    for shape in [[0, 2], [2, 1], [-1, 2], [3, 3]] {
        for row in boxes(2, &numbers) {
            agrees(&Plain { shape: shape.to_vec(), rows: vec![row] });
            tried += 1;
        }
    }
    agrees(&Plain { shape: vec![], rows: vec![] });
    agrees(&Plain { shape: vec![], rows: vec![(vec![], vec![]); 3] });
    assert_eq!(tried, 4 * 625 + 4 * 625);
}

#[test]
fn numbers_at_the_ends_of_64_bits_are_judged_as_in_128_bits() {
    let edges = [i64::MIN, i64::MIN + 1, -1, 0, 1, (1 << 62) - 1, 1 << 62, i64::MAX - 1, i64::MAX];
    let mut tried = 0;
    for dim in edges {
        for (offsets, sizes) in boxes(1, &edges) {
            for rank in [1, 2, 9] {
                let shape = [vec![5; rank - 1], vec![dim]].concat();
                let row = ([vec![1; rank - 1], offsets.clone()].concat(), [vec![4; rank - 1], sizes.clone()].concat());
                agrees(&Plain { shape, rows: vec![row] });
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 9 * 81 * 3);
}

fn layouts() -> impl Strategy<Value = Plain> {
    (0_usize..=9).prop_flat_map(|rank| {
        let shape = prop::collection::vec(prop_oneof![8 => 0_i64..50, 1 => any::<i64>(), 1 => Just(i64::MAX)], rank);
        let number = || prop_oneof![20 => 0_i64..20, 1 => any::<i64>(), 1 => -2_i64..2];
        let row = (prop::collection::vec(number(), rank), prop::collection::vec(number(), rank));
        (shape, prop::collection::vec(row, 0..40)).prop_map(|(shape, rows)| Plain { shape, rows })
    })
}

proptest! {
    #[test]
    fn random_layouts_are_judged_as_in_128_bits(plain in layouts()) {
        agrees(&plain);
    }

    #[test]
    fn shards_are_judged_on_both_sides(plain in layouts(), local in prop::collection::vec(0_i64..60, 9)) {
        let (offsets, sizes) = plain.columns();
        let (rows, rank) = (plain.rows.len(), plain.shape.len());
        let local_shape = &local[..rank];
        let mirrored = Plain { shape: local_shape.to_vec(), rows: plain.rows.clone() };
        let offsets = Table::new(&offsets, rows, rank).unwrap();
        let sizes = Table::new(&sizes, rows, rank).unwrap();
        let shards = Shards::new(Chunks::new(&plain.shape, offsets, sizes).unwrap(), local_shape, offsets).unwrap();
        let sound = plain.is_inside() && mirrored.is_inside();
        prop_assert_eq!(shards_inside(shards), sound);
        let mut tally = Tally::keeping(usize::MAX);
        name_shape_faults(shards.chunks().shape(), &mut tally);
        name_shard_faults(shards, |row| u64::try_from(row).unwrap(), &mut tally);
        prop_assert_eq!(tally.findings().is_empty(), sound);
    }
}

#[test]
fn an_empty_chunk_past_the_end_is_a_fault_of_the_protocol_and_a_warning_elsewhere() {
    let plain = Plain { shape: vec![5, 2], rows: vec![(vec![6, 0], vec![0, 2]), (vec![6, 0], vec![1, 2])] };
    for (rule, code) in
        [(EmptyPastEnd::Fault, Code::ChunkOutOfBounds), (EmptyPastEnd::Warning, Code::EmptyChunkPastEnd)]
    {
        with_chunks(&plain, |chunks| {
            let mut tally = Tally::keeping(9);
            name_faults(chunks, |row| u64::try_from(row).unwrap(), rule, &mut tally);
            let codes: Vec<_> = tally.findings().iter().map(|finding| finding.code).collect();
            assert_eq!(codes, [code, Code::ChunkOutOfBounds]);
        });
    }
}

#[test]
fn a_chunk_that_sticks_out_is_cut_and_one_that_lies_outside_is_dropped() {
    let plain = Plain {
        shape: vec![8],
        rows: vec![
            (vec![-2], vec![4]),
            (vec![6], vec![9]),
            (vec![9], vec![1]),
            (vec![1], vec![-1]),
            (vec![9], vec![0]),
        ],
    };
    with_chunks(&plain, |chunks| {
        let clipped = clip(chunks);
        assert_eq!(clipped.rows(), [0, 1]);
        let left: Vec<_> = clipped.inside().unwrap().chunks().iter().map(|(o, s)| (o[0], s[0])).collect();
        assert_eq!(left, [(0, 2), (6, 2)]);
    });
}
