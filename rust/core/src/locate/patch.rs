//! Joining boxes that touch and have the same cause.

use std::cmp::Ordering;

/// A half-open box, and why it is there; ordered by starts.
pub(crate) trait Patch: Ord {
    /// Starts.
    fn low(&self) -> &[i64];
    /// Stops.
    fn high(&self) -> &[i64];
    /// Stops, to be moved.
    fn high_mut(&mut self) -> &mut [i64];
    /// Any total order in which boxes that may be joined are equal.
    fn compare_cause(&self, other: &Self) -> Ordering;
}

/// Join neighbours with the same cause, one dimension after the other, until no two can be joined; put them in
/// row-major order.
pub(crate) fn join<P: Patch>(patches: &mut Vec<P>) {
    let rank = patches.first().map_or(0, |patch| patch.low().len());
    loop {
        let before = patches.len();
        for dimension in (0..rank).rev() {
            patches.sort_unstable_by(|a, b| {
                across(a, b, dimension).then_with(|| a.low().get(dimension).cmp(&b.low().get(dimension)))
            });
            patches.dedup_by(|next, patch| {
                let touch = patch.high().get(dimension) == next.low().get(dimension)
                    && across(patch, next, dimension) == Ordering::Equal;
                if touch
                    && let Some((end, &farther)) = patch.high_mut().get_mut(dimension).zip(next.high().get(dimension))
                {
                    *end = farther;
                }
                touch
            });
        }
        if patches.len() == before {
            break;
        }
    }
    patches.sort_unstable();
}

/// Compare cause and sides in all dimensions but one.
fn across<P: Patch>(a: &P, b: &P, dimension: usize) -> Ordering {
    let others = |sides| <[i64]>::iter(sides).enumerate().filter(move |&(other, _)| other != dimension);
    a.compare_cause(b)
        .then_with(|| others(a.low()).cmp(others(b.low())))
        .then_with(|| others(a.high()).cmp(others(b.high())))
}
