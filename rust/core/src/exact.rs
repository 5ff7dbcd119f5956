//! Coverage without probability: the corners of all boxes, cancelled against those of the tensor.
//!
//! Every box has 2^rank corners, signed by how many of their coordinates are stops. How often elements are covered is
//! determined by the signed count of corners at every point; the counts of two layouts are equal if and only if they
//! cover every element equally often. Where the cuts of the layout make a small grid a corner is a bit of it ([`cuts`]);
//! any other layout has its corners cancelled in hash tables ([`hashed`]).
#![expect(
    clippy::arithmetic_side_effects,
    reason = "names of points are below 2^62, hashes wrap by method, and counts are at most the number of boxes"
)]

mod cuts;
mod hashed;

pub(crate) use self::cuts::Grid;
use crate::coalesce::{self, Brick};
use crate::interrupt::{Interrupt, Interrupted};
use crate::layout::Inside;

/// The largest rank: a chunk has 64 corners there.
pub const MAX_RANK: usize = 6;

/// Whether `chunks` cover every element `times` times; `None` at rank 0 and above [`MAX_RANK`].
///
/// `seed` only decides where corners are put: the answer does not depend on it.
///
/// # Errors
///
/// [`Interrupted`] when the caller raises the flag.
pub fn cancels(
    chunks: Inside<'_>,
    times: u64,
    seed: u128,
    interrupt: Interrupt<'_>,
) -> Result<Option<bool>, Interrupted> {
    macro_rules! by_rank {
        ($($rank:literal)*) => {
            match chunks.chunks().rank() {
                $($rank => {
                    let Some(all) = All::<$rank, { 1 << $rank }>::new(chunks, times, interrupt) else { return Ok(None) };
                    each_unbalanced(&all, seed, false, &mut |_, _| false).map(Some)
                },)*
                _ => Ok(None),
            }
        };
    }
    by_rank!(1 2 3 4 5 6)
}

/// Visit the corners that do not cancel, in no order.
///
/// `take` gets a point and by how much coverage changes there; false ends the visit, and is the answer then. With
/// `sift` a corner may be missed, with a probability of 2^-64 for each, if the seed is random.
///
/// # Errors
///
/// [`Interrupted`] when the caller raises the flag.
pub(crate) fn each_unbalanced<const RANK: usize, const COUNT: usize>(
    all: &All<'_, RANK, COUNT>,
    seed: u128,
    sift: bool,
    take: &mut impl FnMut([i64; RANK], i64) -> bool,
) -> Result<bool, Interrupted> {
    match cuts::each_unbalanced(all, take)? {
        Some(answer) => Ok(answer),
        None => hashed::each_unbalanced(all, seed, sift, take),
    }
}

/// A layout, with `COUNT` = 2^rank corners a box, and what it is held against.
pub(crate) struct All<'a, const RANK: usize, const COUNT: usize> {
    chunks: Inside<'a>,
    whole: Brick<[i64; RANK]>,
    times: u64,
    interrupt: Interrupt<'a>,
}

impl<'a, const RANK: usize, const COUNT: usize> All<'a, RANK, COUNT> {
    /// All of `chunks`, which are to cover every element `times` times; `None` if the rank is another.
    pub(crate) fn new(chunks: Inside<'a>, times: u64, interrupt: Interrupt<'a>) -> Option<Self> {
        Some(Self { chunks, whole: Brick::whole(chunks.chunks().shape())?, times, interrupt })
    }

    /// Shape of the tensor.
    pub(crate) const fn shape(&self) -> [i64; RANK] {
        self.whole.stop
    }

    #[inline]
    fn each_box(&self, take: &mut impl FnMut(&Brick<[i64; RANK]>)) -> Result<(), Interrupted> {
        let stack = coalesce::survivors(self.chunks, self.interrupt, take)?;
        stack.bricks().iter().for_each(take);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
