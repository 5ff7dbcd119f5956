#![expect(clippy::arithmetic_side_effects, reason = "small numbers, and a test that overflows fails")]

use std::collections::BTreeMap;

use super::{All, MAX_RANK, cancels, cuts, each_unbalanced, hashed};
use crate::interrupt::Interrupt;
use crate::proof::tests::{Layout, Random};

fn cancel(layout: &Layout, times: u64) -> Option<bool> {
    layout.with(|chunks| cancels(chunks, times, 0x9E37_79B9_7F4A_7C15, Interrupt::NEVER).unwrap())
}

/// A grid of `side` cells a dimension, each of `cell`, in no order.
fn grid(rank: u32, side: i64, cell: i64) -> Layout {
    let cells = side.pow(rank);
    let boxes = (0..cells).map(|number| {
        // Odd steps visit every cell once where the number of cells is a power of two.
        let mut rest = number * 0x2F0B % cells;
        let offsets = (0..rank).map(|_| {
            let offset = rest % side * cell;
            rest /= side;
            offset
        });
        (offsets.collect(), vec![cell; rank.try_into().unwrap()])
    });
    Layout { shape: vec![side * cell; rank.try_into().unwrap()], boxes: boxes.collect() }
}

#[test]
fn a_shuffled_grid_cancels_at_every_rank_and_with_numbers_of_any_size() {
    for (rank, side) in [(1, 4096), (2, 64), (3, 16), (4, 8), (6, 4)] {
        for size in [1, 1000, (1 << 62) / side] {
            let mut layout = grid(rank, side, size);
            assert_eq!(cancel(&layout, 1), Some(true), "{rank} {size}");
            assert_eq!(cancel(&layout, 2), Some(false), "{rank} {size}");
            layout.boxes[17].0[0] += if layout.boxes[17].0[0] == 0 { size } else { -size };
            assert_eq!(cancel(&layout, 1), Some(false), "{rank} {size}");
        }
    }
}

#[test]
fn ranks_without_a_table_of_corners_are_refused() {
    let rank = MAX_RANK + 1;
    let layout = Layout { shape: vec![2; rank], boxes: vec![(vec![0; rank], vec![2; rank])] };
    assert_eq!(cancel(&layout, 1), None);
}

#[test]
fn a_tiling_of_many_passes_cancels_and_one_fault_in_it_does_not() {
    let (mut layout, mut random) = (grid(6, 8, 3), Random(5));
    let cancels = |layout: &Layout| {
        layout.with(|chunks| {
            let all = All::<6, 64>::new(chunks, 1, Interrupt::NEVER).unwrap();
            hashed::each_unbalanced(&all, 3, false, &mut |_, _| false).unwrap()
        })
    };
    assert!(cancels(&layout));
    let at = usize::try_from(random.below(8_i64.pow(6))).unwrap();
    layout.boxes[at].1[5] -= 1;
    assert!(!cancels(&layout));
}

/// The points at which a layout changes coverage as it should not, by counting corners one by one.
fn counted<const RANK: usize>(layout: &Layout, times: i64) -> BTreeMap<[i64; RANK], i64> {
    let mut changes = BTreeMap::new();
    let whole = (vec![0; RANK], layout.shape.clone());
    let weighted = layout.boxes.iter().map(|chunk| (chunk, 1)).chain([(&whole, -times)]);
    for ((offsets, sizes), weight) in weighted.filter(|((_, sizes), _)| !sizes.contains(&0)) {
        for corner in 0_u32..1 << RANK {
            let stop = |dimension: usize| corner >> dimension & 1 == 1;
            let point = std::array::from_fn(|d| offsets[d] + if stop(d) { sizes[d] } else { 0 });
            *changes.entry(point).or_default() += if corner.count_ones() % 2 == 0 { weight } else { -weight };
        }
    }
    changes.retain(|_, change| *change != 0);
    changes
}

type Take<'a, const RANK: usize> = &'a mut dyn FnMut([i64; RANK], i64) -> bool;

/// Find the same points in every way there is; the answer is whether the grid was small enough for one.
fn check<const RANK: usize, const COUNT: usize>(layout: &Layout, times: u64) -> bool {
    let truth = counted::<RANK>(layout, times.try_into().unwrap());
    layout.with(|chunks| {
        let all = All::<RANK, COUNT>::new(chunks, times, Interrupt::NEVER).unwrap();
        let found = |ask: &mut dyn FnMut(Take<'_, RANK>) -> bool| {
            let mut changes = BTreeMap::new();
            let done = ask(&mut |point, change| changes.insert(point, change).is_none());
            assert!(done, "{layout:?}: a point was handed on twice");
            changes
        };
        for sift in [false, true] {
            assert_eq!(found(&mut |mut take| hashed::each_unbalanced(&all, 7, sift, &mut take).unwrap()), truth);
            assert_eq!(found(&mut |mut take| each_unbalanced(&all, 7, sift, &mut take).unwrap()), truth);
        }
        let mut fits = false;
        let by_grid = found(&mut |mut take| {
            let answer = cuts::each_unbalanced(&all, &mut take).unwrap();
            fits = answer.is_some();
            answer.unwrap_or(true)
        });
        assert!(!fits || by_grid == truth, "{layout:?}");
        fits
    })
}

#[test]
fn every_way_finds_the_points_that_do_not_cancel_and_by_how_much() {
    let (mut random, mut grids, mut tables) = (Random(11), 0, 0);
    for _ in 0..20_000 {
        let rank = usize::try_from(1 + random.below(4)).unwrap();
        let shape: Vec<i64> = (0..rank).map(|_| 1 + random.below(5)).collect();
        let boxes = (0..random.below(9)).map(|_| {
            let offsets: Vec<i64> = shape.iter().map(|&dim| random.below(dim + 1)).collect();
            let sizes = shape.iter().zip(&offsets).map(|(dim, offset)| random.below(dim - offset + 1)).collect();
            (offsets, sizes)
        });
        let boxes = boxes.collect();
        let by = [1, 7, 5000, 1 << 50][usize::try_from(random.below(4)).unwrap()];
        let (layout, times) = (Layout { shape, boxes }.scaled(by), u64::try_from(random.below(4)).unwrap());
        let fits = match rank {
            1 => check::<1, 2>(&layout, times),
            2 => check::<2, 4>(&layout, times),
            3 => check::<3, 8>(&layout, times),
            _ => check::<4, 16>(&layout, times),
        };
        if fits { grids += 1 } else { tables += 1 }
    }
    assert!(grids > 8_000 && tables > 4_000, "{grids} {tables}");
}

#[test]
fn corners_that_are_set_again_too_often_for_a_list_are_cancelled_in_tables() {
    let mut layout = grid(2, 64, 3);
    assert!(check::<2, 4>(&layout, 1));
    layout.boxes.extend(layout.boxes.clone());
    assert!(!check::<2, 4>(&layout, 2));
    assert_eq!(cancel(&layout, 2), Some(true));
}
