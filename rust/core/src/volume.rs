//! Numbers of elements, exact at any size.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "limbs are multiplied and added in 128 bits, where (2^64 - 1)^2 + 2 (2^64 - 1) is the largest value"
)]

use std::cmp::Ordering;
use std::fmt;

use crate::layout::Chunks;

/// A number of elements: a natural number of any size.
///
/// A tensor of rank 3 may declare more than 2^128 elements without any single number being too large.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume(Vec<u64>); // Limbs, the lowest first; the last is not zero.

impl Volume {
    /// The number of elements of a box; 1 at rank 0, 0 where a size is negative.
    #[must_use]
    pub fn of(sizes: &[i64]) -> Self {
        let mut volume = Self::from(1);
        for &size in sizes {
            volume = volume.times(u64::try_from(size).unwrap_or(0));
        }
        volume
    }

    /// The number of elements of all chunks together.
    #[must_use]
    pub fn total(chunks: Chunks<'_>) -> Self {
        let (mut total, mut low) = (Self::default(), 0_u128);
        for sizes in chunks.sizes().iter() {
            let chunk = sizes.iter().try_fold(1_u128, |volume, &size| volume.checked_mul(u128::try_from(size).ok()?));
            if let Some(sum) = chunk.and_then(|chunk| low.checked_add(chunk)) {
                low = sum;
            } else {
                total = total.plus(&Self::of(sizes));
            }
        }
        total.plus(&Self::from(low))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Sum.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let (longer, shorter) = if self.0.len() < other.0.len() { (other, self) } else { (self, other) };
        let rest = shorter.0.iter().copied().chain(std::iter::repeat(0));
        Self::carried(longer.0.iter().zip(rest).map(|(&a, b)| u128::from(a) + u128::from(b)))
    }

    /// What is left without `other`; zero if that is more.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        if *self <= *other {
            return Self::default();
        }
        let mut borrow = false;
        let others = other.0.iter().copied().chain(std::iter::repeat(0));
        let limbs = self.0.iter().zip(others).map(|(&limb, other)| {
            let (less, first) = limb.overflowing_sub(other);
            let (less, second) = less.overflowing_sub(u64::from(borrow));
            borrow = first || second;
            u128::from(less)
        });
        Self::carried(limbs)
    }

    /// This many `factor` times.
    #[must_use]
    pub fn times(&self, factor: u64) -> Self {
        Self::carried(self.0.iter().map(|&limb| u128::from(limb) * u128::from(factor)))
    }

    /// How often `whole` fits into this, if it does so without a rest and fewer than 2^64 times.
    #[must_use]
    pub fn quotient(&self, whole: &Self) -> Option<u64> {
        if whole.is_zero() {
            return None;
        }
        // The largest factor with whole * factor <= self, from its highest bit down.
        let factor = (0..u64::BITS).rev().fold(0, |factor, bit| {
            let more = factor | 1 << bit;
            if whole.times(more) <= *self { more } else { factor }
        });
        (whole.times(factor) == *self).then_some(factor)
    }

    /// The number, if it is below 2^128.
    #[must_use]
    pub fn to_u128(&self) -> Option<u128> {
        match *self.0 {
            [] => Some(0),
            [low] => Some(u128::from(low)),
            [low, high] => Some(u128::from(high) << 64 | u128::from(low)),
            _ => None,
        }
    }

    /// The number in base 2^64, the lowest first; none for zero.
    pub(crate) fn limbs(&self) -> impl DoubleEndedIterator<Item = u64> {
        self.0.iter().copied()
    }

    /// The number's bytes, the lowest first; none for zero.
    #[must_use]
    pub fn to_le_bytes(&self) -> Vec<u8> {
        self.limbs().flat_map(u64::to_le_bytes).collect()
    }

    /// Bring limbs that are too large, the lowest first, into form.
    #[expect(clippy::cast_possible_truncation, clippy::as_conversions, reason = "the low half is what is meant")]
    fn carried(terms: impl Iterator<Item = u128>) -> Self {
        let (mut limbs, mut carry) = (Vec::new(), 0);
        for term in terms {
            let sum = term + carry;
            limbs.push(sum as u64);
            carry = sum >> 64;
        }
        limbs.push(carry as u64);
        while limbs.pop_if(|limb| *limb == 0).is_some() {}
        Self(limbs)
    }
}

impl From<u128> for Volume {
    #[expect(clippy::cast_possible_truncation, clippy::as_conversions, reason = "the halves are cut to fit")]
    fn from(number: u128) -> Self {
        Self::carried([u128::from(number as u64), number >> 64].into_iter())
    }
}

impl fmt::Display for Volume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: u128 = 10_u128.pow(18);
        let (mut groups, mut rest) = (Vec::new(), self.0.clone());
        while !rest.is_empty() {
            let mut group = 0;
            for limb in rest.iter_mut().rev() {
                let high = group << 64 | u128::from(*limb);
                // A rest below the divisor: the quotient fits a limb.
                (*limb, group) = (u64::try_from(high / DIGITS).unwrap_or(u64::MAX), high % DIGITS);
            }
            groups.push(group);
            while rest.pop_if(|limb| *limb == 0).is_some() {}
        }
        write!(f, "{}", groups.pop().unwrap_or_default())?;
        groups.iter().rev().try_for_each(|group| write!(f, "{group:018}"))
    }
}

impl Ord for Volume {
    fn cmp(&self, other: &Self) -> Ordering {
        // The last limb is not zero: more limbs, larger number.
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

impl PartialOrd for Volume {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests;
