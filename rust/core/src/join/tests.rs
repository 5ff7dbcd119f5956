//! Every search against a comparison of each with each.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "small numbers, and a test that overflows fails"
)]

use std::sync::atomic::AtomicBool;

use proptest::prelude::*;

use super::boxes::{Boxes, Hull};
use super::{Pairs, Refused, count, grid, line, pairs, segments};
use crate::bounds;
use crate::interrupt::{Interrupt, Interrupted};
use crate::layout::{Chunks, Inside, Table};

/// Boxes of one tensor, as (offsets, sizes).
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    shape: Vec<i64>,
    count: usize,
    offsets: Vec<i64>,
    sizes: Vec<i64>,
}

impl Layout {
    pub(crate) fn new(shape: &[i64], boxes: &[(Vec<i64>, Vec<i64>)]) -> Self {
        Self {
            shape: shape.to_vec(),
            count: boxes.len(),
            offsets: boxes.iter().flat_map(|(offsets, _)| offsets.clone()).collect(),
            sizes: boxes.iter().flat_map(|(_, sizes)| sizes.clone()).collect(),
        }
    }

    /// Every box of a tensor, empty ones included.
    pub(crate) fn universe(shape: &[i64]) -> Self {
        let mut boxes = vec![(Vec::new(), Vec::new())];
        for &dim in shape {
            boxes = boxes
                .iter()
                .flat_map(|(offsets, sizes)| {
                    (0..=dim).flat_map(move |start| {
                        (0..=dim - start)
                            .map(move |len| ([&offsets[..], &[start]].concat(), [&sizes[..], &[len]].concat()))
                    })
                })
                .collect();
        }
        Self::new(shape, &boxes)
    }

    pub(crate) fn inside(&self) -> Inside<'_> {
        let table = |values| Table::new(values, self.count, self.shape.len()).expect("rectangular");
        bounds::inside(Chunks::new(&self.shape, table(&self.offsets), table(&self.sizes)).expect("one rank"))
            .expect("inside")
    }

    pub(crate) fn rows(&self) -> Vec<(Vec<i64>, Vec<i64>)> {
        self.boxes().into_iter().map(|(offsets, sizes)| (offsets.to_vec(), sizes.to_vec())).collect()
    }

    fn boxes(&self) -> Vec<(&[i64], &[i64])> {
        self.inside().chunks().iter().collect()
    }
}

fn meet(a: (&[i64], &[i64]), b: (&[i64], &[i64])) -> bool {
    (0..a.0.len()).all(|d| {
        let (start, stop) = (
            a.0[d].max(b.0[d]),
            (i128::from(a.0[d]) + i128::from(a.1[d])).min(i128::from(b.0[d]) + i128::from(b.1[d])),
        );
        i128::from(start) < stop
    })
}

fn expected(left: &Layout, right: &Layout) -> Vec<Vec<u32>> {
    let lefts = left.boxes();
    right
        .boxes()
        .iter()
        .map(|&b| (0u32..).zip(&lefts).filter(|(_, a)| meet(**a, b)).map(|(at, _)| at).collect())
        .collect()
}

/// Whether no two left boxes that meet a right one share an element of it.
fn disjoint(left: &Layout, expected: &[Vec<u32>]) -> bool {
    let lefts = left.boxes();
    let apart = |a: u32, b: u32| a == b || !meet(lefts[a as usize], lefts[b as usize]);
    expected.iter().all(|row| row.iter().all(|&a| row.iter().all(|&b| apart(a, b))))
}

fn rows(pairs: &Pairs) -> Vec<Vec<u32>> {
    pairs.rows().map(<[u32]>::to_vec).collect()
}

/// How many of the searches answered; each that did agrees with the comparison of each with each.
fn agree(left: &Layout, right: &Layout) -> usize {
    let expected = expected(left, right);
    let total = expected.iter().map(|row| row.len() as u64).sum::<u64>();
    let found = pairs(left.inside(), right.inside(), u64::MAX, Interrupt::NEVER).unwrap();
    assert_eq!(rows(&found), expected, "{left:?} {right:?}");
    assert_eq!(found.count(), total);
    assert!(!found.lefts_are_disjoint() || disjoint(left, &expected), "{left:?} {right:?}");
    assert_eq!(count(left.inside(), right.inside(), Interrupt::NEVER), Ok(total));
    if total > 0 {
        let limit = total - 1;
        let refused = pairs(left.inside(), right.inside(), limit, Interrupt::NEVER);
        assert_eq!(refused, Err(Refused::TooMany { count: total, limit }));
    }

    let whole = |layout: &Layout| {
        let hull = Hull::of(layout.inside(), Interrupt::NEVER).unwrap()?;
        Boxes::within(layout.inside(), &hull, Interrupt::NEVER).ok()
    };
    let (Some(lefts), Some(rights)) = (whole(left), whole(right)) else { return 1 };
    let searches = [
        (lefts.rank() > 0).then(|| segments::pairs(&lefts, &rights, u64::MAX, Interrupt::NEVER)),
        (lefts.rank() == 1).then(|| line::pairs(&lefts, &rights, u64::MAX, Interrupt::NEVER)),
        match lefts.rank() {
            2 => grid::pairs::<2>(&lefts, &rights, u64::MAX, Interrupt::NEVER).transpose(),
            3 => grid::pairs::<3>(&lefts, &rights, u64::MAX, Interrupt::NEVER).transpose(),
            4 => grid::pairs::<4>(&lefts, &rights, u64::MAX, Interrupt::NEVER).transpose(),
            _ => None,
        },
    ];
    let mut answered = 1;
    for mut found in searches.into_iter().flatten().map(Result::unwrap) {
        found.spread(right.count, &rights);
        assert_eq!(rows(&found), expected, "{left:?} {right:?}");
        assert_eq!(found.count(), total);
        answered += 1;
    }
    answered
}

/// A small generator of numbers: what is tried is the same in every run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, bound: i64) -> i64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        i64::try_from((u128::from(mixed ^ (mixed >> 31)) * u128::from(bound.unsigned_abs())) >> 64).unwrap()
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            let other = self.below(at as i64 + 1) as usize;
            list.swap(at, other);
        }
    }

    fn random(&mut self, shape: &[i64], largest: i64) -> (Vec<i64>, Vec<i64>) {
        shape
            .iter()
            .map(|&dim| {
                let start = self.below(dim + 1);
                (start, self.below((dim - start).min(largest) + 1))
            })
            .unzip()
    }

    fn cut(&mut self, start: Vec<i64>, size: Vec<i64>, pieces: usize, boxes: &mut Vec<(Vec<i64>, Vec<i64>)>) {
        let widest = (0..size.len()).max_by_key(|&d| size[d]);
        match widest {
            Some(d) if pieces > 1 && size[d] > 1 => {
                let at = 1 + self.below(size[d] - 1);
                let (mut low, mut next, mut high) = (size.clone(), start.clone(), size);
                (low[d], next[d], high[d]) = (at, start[d] + at, high[d] - at);
                self.cut(start, low, pieces / 2, boxes);
                self.cut(next, high, pieces - pieces / 2, boxes);
            }
            _ => boxes.push((start, size)),
        }
    }

    /// Boxes of one of the kinds that people save, or that are hard for some search.
    pub(crate) fn layout(&mut self, shape: &[i64], pieces: usize) -> Layout {
        let mut boxes = Vec::new();
        let rank = shape.len();
        match self.below(7) {
            0 => self.cut(vec![0; rank], shape.to_vec(), pieces, &mut boxes),
            1 => boxes.extend((0..pieces).map(|_| self.random(shape, i64::MAX))),
            2 => boxes.extend((0..pieces).map(|_| self.random(shape, 3))),
            3 => {
                let one = self.random(shape, i64::MAX);
                boxes.extend(std::iter::repeat_n(one, pieces));
            }
            4 => {
                let nested =
                    (0..pieces as i64).map(|k| shape.iter().map(|&dim| ((k).min(dim), (dim - k).max(0) / 2)).unzip());
                boxes.extend(nested);
            }
            5 if rank > 0 => {
                let d = self.below(rank as i64) as usize;
                for k in 0..(pieces as i64).min(shape[d]) {
                    let (mut start, mut size) = (vec![0; rank], shape.to_vec());
                    (start[d], size[d]) = (k, 1);
                    boxes.push((start, size));
                }
            }
            _ => {
                let tile: Vec<i64> = shape.iter().map(|&dim| 1 + self.below(dim.max(1))).collect();
                let mut starts = vec![Vec::new()];
                for (&dim, &tile) in shape.iter().zip(&tile) {
                    starts = starts
                        .iter()
                        .flat_map(|start: &Vec<i64>| {
                            (0..dim).step_by(tile as usize).map(move |at| [&start[..], &[at]].concat())
                        })
                        .collect();
                }
                let size = |start: &[i64]| (0..rank).map(|d| tile[d].min(shape[d] - start[d])).collect();
                boxes.extend(starts.iter().map(|start| (start.clone(), size(start))));
            }
        }
        if self.below(3) == 0 {
            self.shuffle(&mut boxes);
        }
        if self.below(4) == 0 {
            let empty = shape.iter().map(|&dim| (self.below(dim + 1), 0)).unzip();
            boxes.insert(self.below(boxes.len() as i64 + 1) as usize, empty);
            if rank == 0 {
                boxes.pop();
            }
        }
        Layout::new(shape, &boxes)
    }
}

#[test]
fn every_box_of_a_small_tensor_meets_what_shares_an_element_with_it() {
    let mut pairs_tried = 0;
    let mut answers = 0;
    for shape in [&[][..], &[0], &[1], &[7], &[0, 2], &[3, 4], &[2, 2, 2], &[1, 2, 1, 2], &[1, 1, 1, 1, 1]] {
        let all = Layout::universe(shape);
        answers += agree(&all, &all);
        pairs_tried += all.count * all.count;
    }
    assert_eq!(pairs_tried, 1 + 1 + 9 + 36 * 36 + 36 + 150 * 150 + 216 * 216 + 324 * 324 + 243 * 243);
    assert!(answers > 15, "{answers}");
}

#[test]
fn every_pair_of_two_intervals_against_two_is_found() {
    let all = Layout::universe(&[3]).rows();
    let mut tried = 0;
    for a in &all {
        for b in &all {
            for c in &all {
                for d in &all {
                    agree(&Layout::new(&[3], &[a.clone(), b.clone()]), &Layout::new(&[3], &[c.clone(), d.clone()]));
                    tried += 1;
                }
            }
        }
    }
    assert_eq!(tried, 10_000);
}

#[test]
fn all_searches_agree_with_each_with_each_on_layouts_of_every_kind() {
    let mut tried = 0;
    let mut answers = 0;
    for seed in 0..1_500 {
        let mut dice = Dice::new(seed);
        let rank = dice.below(6);
        let shape: Vec<i64> = (0..rank).map(|_| dice.below([200, 60, 12, 6, 4][rank as usize - 1]) + 1).collect();
        let (m, n) = (dice.below(90) as usize + 1, dice.below(90) as usize + 1);
        let (left, right) = (dice.layout(&shape, m), dice.layout(&shape, n));
        answers += agree(&left, &right);
        tried += 1;
    }
    assert_eq!(tried, 1_500);
    assert!(answers > 3_000, "{answers}");
}

#[test]
fn large_layouts_take_the_deep_branches_of_every_search() {
    let mut tried = 0;
    for seed in 0..40 {
        let mut dice = Dice::new(seed);
        let shape: Vec<i64> = [&[5_000][..], &[300, 400], &[40, 50, 60], &[12, 13, 14, 15]][seed as usize % 4].to_vec();
        let (left, right) = (dice.layout(&shape, 700), dice.layout(&shape, 900));
        if left.count * right.count < 4_000_000 {
            tried += agree(&left, &right).min(1);
        }
    }
    assert!(tried > 30, "{tried}");
}

#[test]
fn a_search_is_exact_at_the_end_of_64_bits() {
    let max = i64::MAX;
    let shape = [max, max];
    let ends = [0, 1, max / 2, max - 1, max];
    let mut boxes = Vec::new();
    for (a, b, c, d) in itertools(&ends) {
        boxes.push((vec![a, b], vec![c - a, d - b]));
    }
    let all = Layout::new(&shape, &boxes);
    assert_eq!(all.count, 15 * 15);
    assert!(agree(&all, &all) >= 2);

    let strip = max / 300;
    let rows: Vec<_> = (0..300).map(|k| (vec![k * strip, max - 5], vec![strip, 5])).collect();
    let cells: Vec<_> = (0..1500).map(|k| (vec![(k / 5) * strip + 7, max - 5 + k % 5], vec![strip - 7, 1])).collect();
    assert_eq!(agree(&Layout::new(&shape, &rows), &Layout::new(&shape, &cells)), 3);
}

/// Every (start, start, stop, stop) of two intervals between the ends.
fn itertools(ends: &[i64]) -> impl Iterator<Item = (i64, i64, i64, i64)> + '_ {
    let intervals = move || ends.iter().flat_map(move |&a| ends.iter().filter(move |&&b| b >= a).map(move |&b| (a, b)));
    intervals().flat_map(move |(a, c)| intervals().map(move |(b, d)| (a, b, c, d)))
}

#[test]
fn a_search_that_passes_the_lefts_sees_that_they_are_disjoint() {
    let line: Vec<_> = (0..50).map(|k| (vec![k * 2], vec![2])).collect();
    let grid: Vec<_> = (0..900).map(|k| (vec![k / 30, k % 30], vec![1, 1])).collect();
    for (shape, boxes) in [(vec![100], line), (vec![30, 30], grid)] {
        for extra in [false, true] {
            let mut boxes = boxes.clone();
            if extra {
                boxes.push(boxes[7].clone());
            }
            let layout = Layout::new(&shape, &boxes);
            let found = pairs(layout.inside(), layout.inside(), u64::MAX, Interrupt::NEVER).unwrap();
            assert_eq!(found.lefts_are_disjoint(), !extra);
        }
    }
}

#[test]
fn what_everything_meets_is_counted_without_being_listed() {
    let rows = Layout::new(&[60_000, 70_000], &(0..60_000).map(|k| (vec![k, 0], vec![1, 70_000])).collect::<Vec<_>>());
    let columns =
        Layout::new(&[60_000, 70_000], &(0..70_000).map(|k| (vec![0, k], vec![60_000, 1])).collect::<Vec<_>>());
    let found = pairs(rows.inside(), columns.inside(), u64::MAX, Interrupt::NEVER).unwrap();
    assert_eq!(found.count(), 60_000 * 70_000);
    assert_eq!(found.lefts.len(), 60_000);

    // Three kinds of slabs: too unlike for a grid, more pairs than memory would hold, and still counted at once.
    let dim = 3_000;
    let slab = |d: usize| {
        (0..dim).map(move |k| {
            let (mut start, mut size) = (vec![0; 3], vec![dim; 3]);
            (start[d], size[d]) = (k, 1);
            (start, size)
        })
    };
    let slabs = Layout::new(&[dim; 3], &slab(0).chain(slab(1)).chain(slab(2)).collect::<Vec<_>>());
    let total = u64::try_from(3 * dim + 6 * dim * dim).unwrap();
    assert_eq!(count(slabs.inside(), slabs.inside(), Interrupt::NEVER), Ok(total));
    let refused = pairs(slabs.inside(), slabs.inside(), 10_000, Interrupt::NEVER);
    assert_eq!(refused, Err(Refused::TooMany { count: total, limit: 10_000 }));
}

#[test]
fn more_chunks_than_a_pair_can_name_are_refused() {
    let rows = u32::MAX as usize + 1;
    let scalars = |count| {
        let table = Table::new(&[], count, 0).unwrap();
        bounds::inside(Chunks::new(&[], table, table).unwrap())
    };
    let one = scalars(1).unwrap();
    // A vouched layout of 2^32 scalars takes no memory: only its count is looked at.
    let many = Inside::vouched(
        Chunks::new(&[], Table::new(&[], rows, 0).unwrap(), Table::new(&[], rows, 0).unwrap()).unwrap(),
    );
    for (left, right) in [(one, many), (many, one)] {
        assert_eq!(
            pairs(left, right, u64::MAX, Interrupt::NEVER),
            Err(Refused::TooManyChunks { chunks: rows, limit: u32::MAX })
        );
    }
}

#[test]
fn a_raised_flag_stops_every_search() {
    let flag = AtomicBool::new(true);
    let stopped = Err(Refused::Interrupted(Interrupted));
    for seed in 0..50 {
        let mut dice = Dice::new(seed);
        let layout = dice.layout(&[30, 30], 60);
        if layout.count > 0 {
            assert_eq!(pairs(layout.inside(), layout.inside(), u64::MAX, Interrupt::on(&flag)), stopped);
        }
    }
}

proptest! {
    #[test]
    fn the_order_of_the_boxes_does_not_matter(seed: u64, rank in 1i64..4, pieces in 1usize..60) {
        let mut dice = Dice::new(seed);
        let shape: Vec<i64> = (0..rank).map(|_| dice.below(40) + 1).collect();
        let (left, right) = (dice.layout(&shape, pieces), dice.layout(&shape, pieces));
        let mut order: Vec<usize> = (0..left.count).collect();
        dice.shuffle(&mut order);
        let boxes = left.boxes();
        let moved: Vec<_> = order.iter().map(|&at| (boxes[at].0.to_vec(), boxes[at].1.to_vec())).collect();
        let moved = pairs(Layout::new(&shape, &moved).inside(), right.inside(), u64::MAX, Interrupt::NEVER).unwrap();
        let found = pairs(left.inside(), right.inside(), u64::MAX, Interrupt::NEVER).unwrap();
        for (row, partners) in moved.rows().zip(found.rows()) {
            let mut back: Vec<u32> = row.iter().map(|&at| order[at as usize] as u32).collect();
            back.sort_unstable();
            prop_assert_eq!(back, partners);
        }
    }

    #[test]
    fn swapping_the_sides_swaps_the_pairs(seed: u64, rank in 0i64..5, pieces in 1usize..60) {
        let mut dice = Dice::new(seed);
        let shape: Vec<i64> = (0..rank).map(|_| dice.below(15) + 1).collect();
        let (left, right) = (dice.layout(&shape, pieces), dice.layout(&shape, pieces));
        let found = pairs(left.inside(), right.inside(), u64::MAX, Interrupt::NEVER).unwrap();
        let swapped = pairs(right.inside(), left.inside(), u64::MAX, Interrupt::NEVER).unwrap();
        let list = |pairs: &Pairs| (0u32..).zip(rows(pairs)).flat_map(|(r, row)| row.into_iter().map(move |l| (r, l))).collect::<Vec<_>>();
        let mut back: Vec<_> = list(&swapped).into_iter().map(|(r, l)| (l, r)).collect();
        back.sort_unstable();
        prop_assert_eq!(back, list(&found));
    }
}
