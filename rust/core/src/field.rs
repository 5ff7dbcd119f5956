//! Arithmetic modulo the Mersenne primes 2^61 - 1 and 2^127 - 1.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "elements are below the modulus, which leaves three bits (one at 127) free; every sum and product below \
              says why it fits"
)]

use std::fmt::Debug;

/// The integers modulo a Mersenne prime, always in lowest form.
pub trait Field: Copy + Eq + Debug + Send + Sync {
    /// Nothing.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Bits of the modulus.
    const BITS: u32;

    /// The residue of any 64-bit number.
    fn of(number: u64) -> Self;
    /// Sum.
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// Difference.
    #[must_use]
    fn minus(self, other: Self) -> Self;
    /// Product.
    #[must_use]
    fn times(self, other: Self) -> Self;
    /// `self * x + other * y`.
    #[must_use]
    fn cross(self, x: Self, other: Self, y: Self) -> Self {
        self.times(x).plus(other.times(y))
    }
    /// The product of `exponent` times the same.
    #[must_use]
    fn power(self, exponent: u64) -> Self {
        (0..u64::BITS - exponent.leading_zeros()).rev().fold(Self::ONE, |power, bit| {
            let square = power.times(power);
            if exponent >> bit & 1 == 1 { square.times(self) } else { square }
        })
    }
    /// What gives one when multiplied by `self`; zero for zero.
    ///
    /// Fermat: `self` to the power of the modulus less two, whose bits are all ones but the second.
    #[must_use]
    fn inverse(self) -> Self {
        let mut power = self;
        for _ in 0..Self::BITS - 3 {
            power = power.times(power).times(self);
        }
        let shifted = power.times(power);
        shifted.times(shifted).times(self)
    }
}

/// An integer modulo 2^61 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mersenne61(u64);

impl Mersenne61 {
    /// The modulus.
    pub const MODULUS: u64 = (1 << 61) - 1;

    /// Lowest form of a number below twice the modulus.
    #[inline]
    const fn once(sum: u64) -> Self {
        // Below the modulus the difference wraps to something large, so the smaller of the two is the lowest form.
        let less = sum.wrapping_sub(Self::MODULUS);
        Self(if less < sum { less } else { sum })
    }

    /// A number below the modulus as it is.
    #[inline]
    pub(crate) const fn lowest_form(number: u64) -> Self {
        debug_assert!(number < Self::MODULUS, "not in lowest form");
        Self(number)
    }

    /// The lowest form.
    #[inline]
    pub(crate) const fn lowest(self) -> u64 {
        self.0
    }

    /// Eight times a product: its halves of 64 bits are the product's bits from 61 on, and those below, 3 bits up.
    #[inline]
    fn product(self, other: Self) -> u128 {
        // No shift across two words is needed so, which is slow on some machines.
        u128::from(self.0) * u128::from(other.0 << 3)
    }

    /// Both halves of an eightfold product one on the other, where 2^61 is one.
    #[inline]
    #[expect(clippy::cast_possible_truncation, clippy::as_conversions, reason = "the halves are cut to fit")]
    const fn halves(eightfold: u128) -> u64 {
        (eightfold >> 64) as u64 + (eightfold as u64 >> 3)
    }
}

impl Field for Mersenne61 {
    const ZERO: Self = Self(0);
    const ONE: Self = Self(1);
    const BITS: u32 = 61;

    #[inline]
    fn of(number: u64) -> Self {
        Self::once((number & Self::MODULUS) + (number >> 61))
    }

    #[inline]
    fn plus(self, other: Self) -> Self {
        Self::once(self.0 + other.0)
    }

    #[inline]
    fn minus(self, other: Self) -> Self {
        Self::once(self.0 + (Self::MODULUS - other.0))
    }

    #[inline]
    fn times(self, other: Self) -> Self {
        // A product below 2^122: both halves are below 2^61, their sum below twice the modulus.
        Self::once(Self::halves(self.product(other)))
    }

    #[inline]
    fn cross(self, x: Self, other: Self, y: Self) -> Self {
        // Two products below 2^122 each: the halves are below 2^62 and 2^61, so folding again is needed.
        let sum = Self::halves(self.product(x) + other.product(y));
        Self::once((sum & Self::MODULUS) + (sum >> 61))
    }
}

/// An integer modulo 2^127 - 1.
///
/// No product of sizes below 2^63 is zero here, and no two coordinates are equal: there are no special cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mersenne127(u128);

impl Mersenne127 {
    /// The modulus.
    pub const MODULUS: u128 = (1 << 127) - 1;

    const fn once(sum: u128) -> Self {
        let less = sum.wrapping_sub(Self::MODULUS);
        Self(if less < sum { less } else { sum })
    }

    /// A number below the modulus as it is.
    pub(crate) const fn lowest_form(number: u128) -> Self {
        debug_assert!(number < Self::MODULUS, "not in lowest form");
        Self(number)
    }

    /// The residue of any 128-bit number.
    #[must_use]
    pub const fn of_wide(number: u128) -> Self {
        Self::once((number & Self::MODULUS) + (number >> 127))
    }

    /// The lowest form.
    #[must_use]
    pub const fn lowest(self) -> u128 {
        self.0
    }
}

impl Field for Mersenne127 {
    const ZERO: Self = Self(0);
    const ONE: Self = Self(1);
    const BITS: u32 = 127;

    #[inline]
    fn of(number: u64) -> Self {
        Self(u128::from(number))
    }

    #[inline]
    fn plus(self, other: Self) -> Self {
        Self::once(self.0 + other.0)
    }

    #[inline]
    fn minus(self, other: Self) -> Self {
        Self::once(self.0 + (Self::MODULUS - other.0))
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, clippy::as_conversions, reason = "the halves are cut to fit")]
    fn times(self, other: Self) -> Self {
        const LOW_63: u128 = (1 << 63) - 1;
        let (a_low, a_high) = (self.0 as u64, (self.0 >> 64) as u64);
        let (b_low, b_high) = (other.0 as u64, (other.0 >> 64) as u64);
        let wide = |a: u64, b: u64| u128::from(a) * u128::from(b);
        // High halves are below 2^63: the two middle products are below 2^127 each, the high one below 2^126.
        let low = wide(a_low, b_low);
        let middle = wide(a_low, b_high) + wide(a_high, b_low);
        let high = wide(a_high, b_high);
        // 2^127 is one, 2^128 is two: middle * 2^64 is (middle >> 63) + (its low 63 bits) * 2^64.
        let sum = (low & Self::MODULUS) + ((middle & LOW_63) << 64);
        let carries = (low >> 127) + (middle >> 63);
        let folded = (sum & Self::MODULUS) + (sum >> 127) + carries;
        // At most 2^127 + 2^65, plus a number below 2^127.
        Self::of_wide(folded + (high << 1))
    }
}

#[cfg(test)]
mod tests;
