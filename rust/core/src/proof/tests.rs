#![expect(clippy::arithmetic_side_effects, reason = "small numbers, and a test that overflows fails")]

mod bound;
mod report;
mod residue;

use super::product::Product;
use super::sum::Sum;
use super::trace::Keyed;
use super::{Expected, Method, Question, Rigour, Verdict, decide};
use crate::bounds;
use crate::coalesce::{self, Brick, Point};
use crate::field::{Mersenne61, Mersenne127};
use crate::interrupt::Interrupt;
use crate::layout::{Chunks, Inside, Table};

/// Numbers that look random and are the same in every run (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// A number in `0..end`.
    pub(crate) fn below(&mut self, end: i64) -> i64 {
        i64::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, usize::try_from(self.below(i64::try_from(last + 1).unwrap())).unwrap());
        }
    }

    fn keys(&mut self, rank: usize) -> Vec<u8> {
        (0..2 * rank).flat_map(|_| self.next().to_le_bytes()).collect()
    }
}

type Box_ = (Vec<i64>, Vec<i64>);

/// A layout that owns its numbers.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) shape: Vec<i64>,
    pub(crate) boxes: Vec<Box_>,
}

impl Layout {
    pub(crate) fn with<T>(&self, ask: impl FnOnce(Inside<'_>) -> T) -> T {
        let (rows, rank) = (self.boxes.len(), self.shape.len());
        let offsets: Vec<i64> = self.boxes.iter().flat_map(|(offsets, _)| offsets.clone()).collect();
        let sizes: Vec<i64> = self.boxes.iter().flat_map(|(_, sizes)| sizes.clone()).collect();
        let (offsets, sizes) = (Table::new(&offsets, rows, rank).unwrap(), Table::new(&sizes, rows, rank).unwrap());
        ask(bounds::inside(Chunks::new(&self.shape, offsets, sizes).unwrap()).unwrap())
    }

    /// The same layout of larger elements.
    pub(crate) fn scaled(&self, by: i64) -> Self {
        let scaled = |numbers: &[i64]| numbers.iter().map(|number| number * by).collect::<Vec<_>>();
        let boxes = self.boxes.iter().map(|(offsets, sizes)| (scaled(offsets), scaled(sizes))).collect();
        Self { shape: scaled(&self.shape), boxes }
    }

    fn decide(&self, expected: Expected, rigour: Rigour, random: &mut Random) -> Verdict {
        let keys = random.keys(self.shape.len());
        self.with(|chunks| decide(chunks, &Question { expected, rigour, keys: &keys }, Interrupt::NEVER).unwrap())
    }

    /// How often every element is covered, by painting.
    pub(crate) fn painted(&self) -> Vec<u64> {
        let mut paint = vec![0; self.shape.iter().product::<i64>().try_into().unwrap()];
        for (offsets, sizes) in &self.boxes {
            for element in 0..sizes.iter().product::<i64>() {
                let (mut rest, mut place, mut stride) = (element, 0, 1);
                for ((&offset, &size), &dim) in offsets.iter().zip(sizes).zip(&self.shape).rev() {
                    place += (offset + rest % size) * stride;
                    rest /= size;
                    stride *= dim;
                }
                paint[usize::try_from(place).unwrap()] += 1;
            }
        }
        paint
    }

    /// How often all elements are covered, if equally often.
    fn multiplicity(&self) -> Option<u64> {
        let paint = self.painted();
        let first = *paint.first()?;
        paint.iter().all(|&times| times == first).then_some(first)
    }

    /// Whether the trace alone, without merging, takes this for `times` times the tensor.
    fn passes<P: Point, T: Keyed<P>>(&self, times: u64, random: &mut Random) -> bool {
        let keys = random.keys(self.shape.len());
        self.with(|chunks| {
            let mut trace = T::new(&self.shape, keys.as_chunks().0).unwrap();
            coalesce::bricks::<P>(chunks, 0..self.boxes.len()).for_each(|brick| trace.add(&brick));
            trace.is(times, &Brick::whole(&self.shape).unwrap())
        })
    }
}

/// Check every way of deciding against paint.
fn check(layout: &Layout, random: &mut Random) {
    let truth = layout.multiplicity();
    for rigour in [Rigour::Bounded, Rigour::Exact] {
        for times in 0..4 {
            let verdict = layout.decide(Expected::Times(times), rigour, random);
            assert_eq!(verdict.whole, truth == Some(times), "{layout:?} {times} {verdict:?}");
            assert!(verdict.multiplicity.is_none() || verdict.multiplicity == truth, "{layout:?} {verdict:?}");
        }
        let verdict = layout.decide(Expected::Uniform, rigour, random);
        assert_eq!(verdict.whole, truth.is_some_and(|times| times > 0), "{layout:?} {verdict:?}");
        assert!(!verdict.whole || verdict.multiplicity == truth, "{layout:?} {verdict:?}");
    }
}

pub(crate) fn sides(dim: i64) -> Vec<(i64, i64)> {
    (0..=dim).flat_map(|start| (0..=dim - start).map(move |size| (start, size))).collect()
}

#[test]
fn every_line_of_four_elements_with_up_to_four_chunks_is_judged_like_paint() {
    let (all, mut random, mut tried) = (sides(4), Random(1), 0);
    for count in 0..=4_u32 {
        for code in 0..15_usize.pow(count) {
            let boxes = (0..count).map(|digit| {
                let (start, size) = all[code / 15_usize.pow(digit) % 15];
                (vec![start], vec![size])
            });
            let layout = Layout { shape: vec![4], boxes: boxes.collect() };
            check(&layout, &mut random);
            let truth = layout.multiplicity();
            for times in 0..3 {
                let passed = [
                    layout.passes::<[i64; 1], Product<Mersenne61, 2>>(times, &mut random),
                    layout.passes::<[i64; 1], Sum<[i64; 1], Mersenne61, 2>>(times, &mut random),
                    layout.passes::<Vec<i64>, Sum<Vec<i64>, Mersenne127, 1>>(times, &mut random),
                ];
                assert_eq!(passed, [truth == Some(times); 3], "{layout:?}");
            }
            tried += 1;
        }
    }
    assert_eq!(tried, 1 + 15 + 225 + 3_375 + 50_625);
}

#[test]
fn every_square_of_four_elements_with_three_chunks_is_judged_like_paint() {
    let (all, mut random, mut tried) = (sides(2), Random(2), 0);
    for code in 0..36_usize.pow(3) {
        let boxes = (0..3).map(|digit| {
            let code = code / 36_usize.pow(digit) % 36;
            let ((a, c), (b, d)) = (all[code / 6], all[code % 6]);
            (vec![a, b], vec![c, d])
        });
        let layout = Layout { shape: vec![2, 2], boxes: boxes.collect() };
        check(&layout, &mut random);
        let truth = layout.multiplicity();
        let passed = [
            layout.passes::<[i64; 2], Product<Mersenne61, 2>>(1, &mut random),
            layout.passes::<[i64; 2], Sum<[i64; 2], Mersenne61, 2>>(1, &mut random),
        ];
        assert_eq!(passed, [truth == Some(1); 2], "{layout:?}");
        tried += 1;
    }
    assert_eq!(tried, 46_656);
}

/// Cut a box in two at random places until there are about `count` pieces.
pub(crate) fn guillotine(shape: &[i64], count: usize, random: &mut Random) -> Vec<Box_> {
    let mut pieces = vec![(vec![0; shape.len()], shape.to_vec())];
    for _ in 1..count.max(1) {
        let at = usize::try_from(random.below(i64::try_from(pieces.len()).unwrap())).unwrap();
        if shape.is_empty() {
            break;
        }
        let dimension = usize::try_from(random.below(i64::try_from(shape.len()).unwrap())).unwrap();
        let (offsets, sizes) = pieces.swap_remove(at);
        // Rarely at an end, which makes an empty piece.
        let cut =
            random.below(sizes[dimension].saturating_add(1)).max(i64::from(random.below(8) > 0).min(sizes[dimension]));
        let (mut lower, mut upper) = ((offsets.clone(), sizes.clone()), (offsets, sizes));
        lower.1[dimension] = cut;
        upper.0[dimension] += cut;
        upper.1[dimension] -= cut;
        pieces.extend([lower, upper]);
    }
    pieces
}

/// One change that may or may not matter: drop, double, move, shrink or swap.
pub(crate) fn plant(layout: &mut Layout, random: &mut Random) {
    let rank = layout.shape.len();
    let count = i64::try_from(layout.boxes.len()).unwrap();
    if count == 0 {
        return;
    }
    let at = usize::try_from(random.below(count)).unwrap();
    let kind = random.below(5);
    if kind == 0 || rank == 0 {
        layout.boxes.swap_remove(at);
        return;
    }
    let dimension = usize::try_from(random.below(i64::try_from(rank).unwrap())).unwrap();
    let dim = layout.shape[dimension];
    let (offsets, sizes) = &mut layout.boxes[at];
    match kind {
        1 => {
            let copy = layout.boxes[at].clone();
            layout.boxes.push(copy);
        }
        2 => offsets[dimension] = random.below(dim - sizes[dimension] + 1),
        3 => sizes[dimension] = random.below(sizes[dimension] + 1),
        _ => sizes[dimension] = random.below(dim - offsets[dimension] + 1),
    }
}

#[test]
fn a_hundred_thousand_random_tilings_with_and_without_faults_are_judged_like_paint() {
    let mut random = Random(3);
    let (mut whole, mut broken, mut by_residue, mut by_corners) = (0, 0, 0, 0);
    for round in 0..100_000 {
        let rank = usize::try_from(random.below(6)).unwrap();
        let shape: Vec<i64> = (0..rank).map(|_| 1 + random.below(if rank < 4 { 7 } else { 3 })).collect();
        let mut layout = Layout { boxes: Vec::new(), shape };
        for _ in 0..=random.below(3) {
            let count = usize::try_from(1 + random.below(40)).unwrap();
            layout.boxes.extend(guillotine(&layout.shape, count, &mut random));
        }
        if round % 2 == 0 {
            random.shuffle(&mut layout.boxes);
        }
        for _ in 0..random.below(5) {
            plant(&mut layout, &mut random);
        }
        let truth = layout.multiplicity();
        let times = truth.unwrap_or(1);
        // Few points, few cuts among many points, and too many of either for a grid.
        let layout = layout.scaled([1, 3000, 1 << 40][usize::try_from(random.below(3)).unwrap()]);
        for rigour in [Rigour::Bounded, Rigour::Exact] {
            let verdict = layout.decide(Expected::Times(times), rigour, &mut random);
            assert_eq!(verdict.whole, truth.is_some(), "{layout:?} {verdict:?}");
            by_residue += u64::from(verdict.method == Method::Residue);
            by_corners += u64::from(verdict.method == Method::Corners);
        }
        assert_eq!(layout.decide(Expected::Uniform, Rigour::Bounded, &mut random).whole, truth.is_some_and(|k| k > 0));
        if truth.is_some() { whole += 1 } else { broken += 1 }
    }
    let counts = [whole, broken, by_residue, by_corners];
    assert!(counts.iter().all(|&count| count > 20_000), "{counts:?}");
}
