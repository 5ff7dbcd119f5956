//! Rank, sign and bounds.

use crate::layout::{Chunks, Inside};

/// Whether `start..start + len` lies in `0..dim`, for any `i64` at all.
///
/// Subtracting from `dim` cannot overflow once `len` is known to be in `0..=dim`; adding to `start` could.
#[must_use]
pub const fn fits(start: i64, len: i64, dim: i64) -> bool {
    start >= 0 && len >= 0 && len <= dim && start <= dim.saturating_sub(len)
}

/// Whether every chunk lies inside the tensor and no number is negative, the shape's included.
///
/// An empty chunk must lie inside too: `(9)+(0)` of `8` does not.
#[must_use]
pub fn inside(chunks: Chunks<'_>) -> Option<Inside<'_>> {
    let shape = chunks.shape();
    let sound = shape.iter().all(|&dim| dim >= 0)
        && chunks.iter().all(|(offsets, sizes)| {
            offsets.iter().zip(sizes).zip(shape).all(|((&start, &len), &dim)| fits(start, len, dim))
        });
    sound.then(|| Inside::vouched(chunks))
}
