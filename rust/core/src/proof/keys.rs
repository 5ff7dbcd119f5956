//! The random numbers of a proof.
#![expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "powers of two are exact as floats")]

use crate::field::{Field, Mersenne61, Mersenne127};

/// There are fewer random bytes than a proof over this many dimensions needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} random bytes are too few for {rank} dimensions: each needs 16")]
pub struct TooFewKeys {
    /// Bytes that are there.
    pub bytes: usize,
    /// Dimensions asked for.
    pub rank: usize,
}

/// Cut `bytes` into one key for each dimension. More bytes are ignored.
pub(crate) fn each(bytes: &[u8], rank: usize) -> Result<&[[u8; 16]], TooFewKeys> {
    bytes.as_chunks().0.get(..rank).ok_or(TooFewKeys { bytes: bytes.len(), rank })
}

/// A field in which a lane of the proof runs, with the poles of its partial fractions.
pub(crate) trait Pole: Field {
    /// The largest dimension: beyond it, a coordinate and a pole could cancel.
    const LARGEST_DIM: i64;
    /// Among how many numbers a pole is drawn.
    const CHOICES: f64;

    /// The pole of lane `lane`, from random bits.
    fn pole(key: [u8; 16], lane: usize) -> Self;

    /// A size, at most [`Self::LARGEST_DIM`].
    fn size(number: i64) -> Self;

    /// The sum of this pole and a coordinate, at most [`Self::LARGEST_DIM`]: below the modulus and never zero.
    #[must_use]
    fn at(self, coordinate: i64) -> Self;
}

impl Pole for Mersenne61 {
    // Coordinate and pole add up to at most 2^60 - 2 + 2^60, one less than the modulus.
    const LARGEST_DIM: i64 = (1 << 60) - 2;
    const CHOICES: f64 = (1_u64 << 60) as f64;

    fn pole(key: [u8; 16], lane: usize) -> Self {
        let word = key.as_chunks().0.get(lane).map_or(0, |word| u64::from_le_bytes(*word));
        Self::of(word & ((1 << 60) - 1)).plus(Self::ONE)
    }

    #[inline]
    fn size(number: i64) -> Self {
        Self::lowest_form(number.cast_unsigned())
    }

    #[inline]
    fn at(self, coordinate: i64) -> Self {
        Self::lowest_form(self.lowest().wrapping_add(coordinate.cast_unsigned()))
    }
}

impl Pole for Mersenne127 {
    const LARGEST_DIM: i64 = i64::MAX;
    const CHOICES: f64 = (1_u128 << 126) as f64;

    fn pole(key: [u8; 16], _lane: usize) -> Self {
        Self::of_wide(u128::from_le_bytes(key) & ((1 << 126) - 1)).plus(Self::ONE)
    }

    #[inline]
    fn size(number: i64) -> Self {
        Self::of(number.cast_unsigned())
    }

    #[inline]
    fn at(self, coordinate: i64) -> Self {
        // At most 2^126 + 2^63.
        Self::lowest_form(self.lowest().wrapping_add(u128::from(coordinate.cast_unsigned())))
    }
}
