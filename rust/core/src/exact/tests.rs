#![expect(clippy::arithmetic_side_effects, reason = "small numbers, and a test that overflows fails")]

use super::{MAX_RANK, cancels};
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
    assert_eq!(cancel(&layout, 1), Some(true));
    let at = usize::try_from(random.below(8_i64.pow(6))).unwrap();
    layout.boxes[at].1[5] -= 1;
    assert_eq!(cancel(&layout, 1), Some(false));
}
