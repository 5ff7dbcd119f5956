//! What boxes leave behind that depends on nothing but how often each element is covered.

use super::Method;
use crate::coalesce::{Brick, Point};
use crate::exact::Grid;

/// Running totals that take boxes in turn, so that none waits for the product of the one before.
pub(crate) const TURNS: usize = 4;

/// A trace of the boxes added so far.
///
/// Equal coverage always leaves equal traces; unequal coverage leaves unequal ones except with a bounded probability.
pub(crate) trait Trace<P: Point>: Sized {
    /// What settles the question when this trace does; corners do so without error.
    const METHOD: Method = Method::Residue;

    /// Add a box inside the tensor.
    fn add(&mut self, brick: &Brick<P>);

    /// Whether this is the trace of `times` times `whole`.
    fn is(self, times: u64, whole: &Brick<P>) -> bool;

    /// An upper bound of the probability that boxes that do not cover a tensor of `shape` so pass nevertheless.
    fn error_bound(&self, times: u64, shape: &[i64]) -> f64;
}

/// A trace that is random: poles in every dimension, from keys.
pub(crate) trait Keyed<P: Point>: Trace<P> {
    /// The trace of nothing in a tensor of `shape`; `None` if that is too large, or there is not a key a dimension.
    fn new(shape: &[i64], keys: &[[u8; 16]]) -> Option<Self>;
}

/// Corners of boxes that are to cover everything once: a trace without randomness.
impl<const RANK: usize, const COUNT: usize> Trace<[i64; RANK]> for Grid<RANK, COUNT> {
    const METHOD: Method = Method::Corners;

    #[inline]
    fn add(&mut self, brick: &Brick<[i64; RANK]>) {
        self.add(brick);
    }

    fn is(self, times: u64, whole: &Brick<[i64; RANK]>) -> bool {
        times == 1 && self.covers_once(whole)
    }

    fn error_bound(&self, _times: u64, _shape: &[i64]) -> f64 {
        0.0
    }
}
