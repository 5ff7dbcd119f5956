//! The coverage residue of a layout: a sum over its boxes that depends only on how often each element is covered.
//!
//! With one pole `a` for each dimension, a box contributes the product over dimensions of
//! `1 / (start + a) - 1 / (stop + a)`, which is `size / ((start + a) * (stop + a))`. Two layouts cover every element
//! equally often if and only if their sums are equal as rational functions of the poles: fractions with different poles
//! are independent. Unequal ones agree at random poles only where a polynomial of known degree vanishes (Schwartz and
//! Zippel), and the degree in each dimension is less than the number of coordinates that occur in it.

use crate::coalesce::{Brick, Point};
use crate::proof::keys::Pole;
use crate::proof::trace::{Keyed, TURNS, Trace};

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
    turns: [[Fraction<F>; LANES]; TURNS],
    boxes: usize,
}

impl<P: Point, F: Pole, const LANES: usize> Sum<P, F, LANES> {
    const NOTHING: [[Fraction<F>; LANES]; TURNS] = [[Fraction::ZERO; LANES]; TURNS];

    /// The sums themselves.
    pub(crate) fn lanes(&self) -> [Fraction<F>; LANES] {
        let mut lanes = [Fraction::ZERO; LANES];
        for turn in &self.turns {
            lanes.iter_mut().zip(turn).for_each(|(sum, &part)| sum.add(part));
        }
        lanes
    }
}

impl<P: Point, F: Pole, const LANES: usize> Keyed<P> for Sum<P, F, LANES> {
    fn new(shape: &[i64], keys: &[[u8; 16]]) -> Option<Self> {
        let poles = P::each(keys, |key| std::array::from_fn(|lane| F::pole(key, lane)))?;
        let fits = shape.iter().all(|&dim| dim <= F::LARGEST_DIM);
        fits.then_some(Self { poles, turns: Self::NOTHING, boxes: 0 })
    }
}

impl<P: Point, F: Pole, const LANES: usize> Trace<P> for Sum<P, F, LANES> {
    #[inline]
    fn add(&mut self, brick: &Brick<P>) {
        let sizes = brick.sides().map(|(start, stop)| F::size(stop.wrapping_sub(start)));
        let numerator = sizes.reduce(F::times).unwrap_or(F::ONE);
        let Some(turn) = self.turns.get_mut(self.boxes % TURNS) else { return };
        for (lane, fraction) in turn.iter_mut().enumerate() {
            let factors = brick.sides().zip(self.poles.as_ref()).map(|((start, stop), poles)| {
                let pole = poles.get(lane).copied().unwrap_or(F::ONE);
                pole.at(start).times(pole.at(stop))
            });
            fraction.add(Fraction { numerator, denominator: factors.reduce(F::times).unwrap_or(F::ONE) });
        }
        self.boxes = self.boxes.wrapping_add(1);
    }

    fn is(self, times: u64, whole: &Brick<P>) -> bool {
        let mut goal = Self { poles: self.poles.clone(), turns: Self::NOTHING, boxes: 0 };
        goal.add(whole);
        self.lanes().into_iter().zip(goal.lanes()).all(|(mine, other)| mine.is(times, other))
    }

    #[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "a bound needs no more than 53 bits")]
    fn error_bound(&self, _times: u64, shape: &[i64]) -> f64 {
        // The coordinates of a dimension: two of every box and two of the tensor, all in 0..=dim.
        let most = (self.boxes as f64).mul_add(2.0, 1.0);
        let degree: f64 = shape.iter().map(|&dim| (dim as f64).min(most)).sum();
        (degree / F::CHOICES).min(1.0).powi(i32::try_from(LANES).unwrap_or(1))
    }
}
