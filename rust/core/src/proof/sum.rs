//! The coverage residue of a layout: a sum over its boxes that depends only on how often each element is covered.
//!
//! With one pole `a` for each dimension, a box contributes the product over dimensions of
//! `1 / (start + a) - 1 / (stop + a)`, which is `size / ((start + a) * (stop + a))`. Two layouts cover every element
//! equally often if and only if their sums are equal as rational functions of the poles: fractions with different poles
//! are independent. Unequal ones agree at random poles only where a polynomial of known degree vanishes (Schwartz and
//! Zippel), and the degree in each dimension is less than the number of coordinates that occur in it.

use crate::coalesce::{Brick, Point};
use crate::proof::keys::Pole;

/// A running sum of fractions, inverted never.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fraction<F> {
    numerator: F,
    denominator: F,
}

impl<F: Pole> Fraction<F> {
    pub(crate) const ZERO: Self = Self { numerator: F::ZERO, denominator: F::ONE };

    #[inline]
    pub(crate) fn add(&mut self, other: Self) {
        self.numerator = self.numerator.cross(other.denominator, other.numerator, self.denominator);
        self.denominator = self.denominator.times(other.denominator);
    }

    /// Whether this is `times` as much as `other`. No denominator is ever zero.
    fn is(self, times: u64, other: Self) -> bool {
        self.numerator.times(other.denominator) == F::of(times).times(other.numerator).times(self.denominator)
    }

    /// Numerator and denominator.
    pub(crate) const fn parts(self) -> (F, F) {
        (self.numerator, self.denominator)
    }
}

/// The residue of the boxes added so far, in several independent lanes.
#[derive(Clone)]
pub(crate) struct Sum<P: Point, F: Pole, const LANES: usize> {
    poles: P::Each<[F; LANES]>,
    lanes: [Fraction<F>; LANES],
    boxes: u64,
}

impl<P: Point, F: Pole, const LANES: usize> Sum<P, F, LANES> {
    /// A sum of nothing; `None` if there is not one key for each dimension.
    pub(crate) fn new(keys: &[[u8; 16]]) -> Option<Self> {
        let poles = P::each(keys, |key| std::array::from_fn(|lane| F::pole(key, lane)))?;
        Some(Self { poles, lanes: [Fraction::ZERO; LANES], boxes: 0 })
    }

    /// A sum of nothing with the same poles.
    pub(crate) fn fresh(&self) -> Self {
        Self { poles: self.poles.clone(), lanes: [Fraction::ZERO; LANES], boxes: 0 }
    }

    #[inline]
    pub(crate) fn add(&mut self, brick: &Brick<P>) {
        let sizes = brick.sides().map(|(start, stop)| F::coordinate(stop.wrapping_sub(start)));
        let numerator = sizes.reduce(F::times).unwrap_or(F::ONE);
        for (lane, fraction) in self.lanes.iter_mut().enumerate() {
            let factors = brick.sides().zip(self.poles.as_ref()).map(|((start, stop), poles)| {
                let pole = poles.get(lane).copied().unwrap_or(F::ONE);
                pole.plus(F::coordinate(start)).times(pole.plus(F::coordinate(stop)))
            });
            fraction.add(Fraction { numerator, denominator: factors.reduce(F::times).unwrap_or(F::ONE) });
        }
        self.boxes = self.boxes.wrapping_add(1);
    }

    /// How many boxes were added.
    pub(crate) const fn boxes(&self) -> u64 {
        self.boxes
    }

    /// The sums themselves.
    pub(crate) const fn lanes(&self) -> &[Fraction<F>; LANES] {
        &self.lanes
    }

    /// Whether this is `times` the sum of `other` in every lane.
    pub(crate) fn is(&self, times: u64, other: &Self) -> bool {
        self.lanes.iter().zip(other.lanes).all(|(mine, other)| mine.is(times, other))
    }

    /// An upper bound of the probability that a layout of a tensor of `shape` that is not covered uniformly passes.
    #[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "a bound needs no more than 53 bits")]
    pub(crate) fn error_bound(&self, shape: &[i64]) -> f64 {
        // The coordinates of a dimension: two of every box and two of the tensor, all in 0..=dim.
        let most = (self.boxes as f64).mul_add(2.0, 1.0);
        let degree: f64 = shape.iter().map(|&dim| (dim as f64).min(most)).sum();
        (degree / F::CHOICES).min(1.0).powi(i32::try_from(LANES).unwrap_or(1))
    }
}
