//! Splitting a tensor on the corners at which its coverage departs from what is expected.

use super::patch::Patch;
use crate::interrupt::{Interrupt, Interrupted};
use std::cmp::Ordering;

/// A point, and by how much all elements from there on are covered more often.
pub(super) type Corner<const RANK: usize> = ([i64; RANK], i64);

/// A box whose elements are all covered `surplus` times more often than expected: less often where it is negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Piece<const RANK: usize> {
    pub(super) low: [i64; RANK],
    pub(super) high: [i64; RANK],
    pub(super) surplus: i64,
}

impl<const RANK: usize> Piece<RANK> {
    /// Stops minus starts.
    pub(super) fn sizes(&self) -> [i64; RANK] {
        let mut sizes = self.high;
        for (size, low) in sizes.iter_mut().zip(self.low) {
            *size = size.saturating_sub(low);
        }
        sizes
    }
}

impl<const RANK: usize> Patch for Piece<RANK> {
    fn low(&self) -> &[i64] {
        &self.low
    }

    fn high(&self) -> &[i64] {
        &self.high
    }

    fn high_mut(&mut self) -> &mut [i64] {
        &mut self.high
    }

    fn compare_cause(&self, other: &Self) -> Ordering {
        self.surplus.cmp(&other.surplus)
    }
}

/// The boxes in which the sum of `corners` is not zero, and whether these are all.
///
/// Finds at most `room` boxes and looks at corners at most `looks` times altogether, and gives up the regions behind when
/// that does not suffice.
pub(super) fn pieces<const RANK: usize>(
    shape: [i64; RANK],
    mut corners: Vec<Corner<RANK>>,
    room: usize,
    looks: &mut u64,
    interrupt: Interrupt<'_>,
) -> Result<(Vec<Piece<RANK>>, bool), Interrupted> {
    // The corners come in an order that depends on random keys; the pieces must not.
    corners.sort_unstable();
    let mut cut = Cut { room, looks, interrupt, pieces: Vec::new(), complete: true };
    cut.region([0; RANK], shape, &corners)?;
    Ok((cut.pieces, cut.complete))
}

struct Cut<'a, const RANK: usize> {
    room: usize,
    looks: &'a mut u64,
    interrupt: Interrupt<'a>,
    pieces: Vec<Piece<RANK>>,
    complete: bool,
}

impl<const RANK: usize> Cut<'_, RANK> {
    /// `corners` are those of the region, all different, each inside of it.
    ///
    /// Every cut halves the coordinates of one dimension, so the depth is their logarithm, summed over dimensions.
    fn region(&mut self, low: [i64; RANK], high: [i64; RANK], corners: &[Corner<RANK>]) -> Result<(), Interrupted> {
        self.interrupt.check()?;
        let looks = self.looks.checked_sub(u64::try_from(corners.len()).unwrap_or(u64::MAX));
        let Some(looks) = looks.filter(|_| self.pieces.len() < self.room) else {
            self.complete = false;
            return Ok(());
        };
        *self.looks = looks;
        let Some((dimension, at)) = middle(&low, corners) else {
            // All corners are at the low end, where there is one point.
            if let Some(&(_, surplus)) = corners.first() {
                self.pieces.push(Piece { low, high, surplus });
            }
            return Ok(());
        };
        let coordinate = |point: &[i64; RANK]| point.get(dimension).copied().unwrap_or_default();
        let moved = |mut point: [i64; RANK], to: i64| {
            if let Some(coordinate) = point.get_mut(dimension) {
                *coordinate = to;
            }
            point
        };
        let below: Vec<_> = corners.iter().copied().filter(|(point, _)| coordinate(point) < at).collect();
        self.region(low, moved(high, at), &below)?;
        // What begins below goes on above.
        let mut above: Vec<_> =
            corners.iter().map(|&(point, change)| (moved(point, coordinate(&point).max(at)), change)).collect();
        above.sort_unstable();
        above.dedup_by(|(next, more), (point, change)| {
            let same = next == point;
            if same {
                *change = change.saturating_add(*more);
            }
            same
        });
        above.retain(|&(_, change)| change != 0);
        self.region(moved(low, at), high, &above)
    }
}

/// The middle of the coordinates above `low` in the dimension that has most of them.
fn middle<const RANK: usize>(low: &[i64; RANK], corners: &[Corner<RANK>]) -> Option<(usize, i64)> {
    let mut counts = [0_usize; RANK];
    for (point, _) in corners {
        for ((count, coordinate), low) in counts.iter_mut().zip(point).zip(low) {
            *count = count.saturating_add(usize::from(coordinate > low));
        }
    }
    let (dimension, &count) = counts.iter().enumerate().max_by_key(|&(_, count)| *count)?;
    let low = low.get(dimension)?;
    let mut coordinates: Vec<i64> = corners
        .iter()
        .filter_map(|(point, _)| point.get(dimension))
        .copied()
        .filter(|coordinate| coordinate > low)
        .collect();
    (count > 0).then(|| (dimension, *coordinates.select_nth_unstable(count / 2).1))
}
