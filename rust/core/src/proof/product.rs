//! The corners of a layout as two products that are equal if every element is covered equally often.
//!
//! How often elements are covered is determined by the signed count of corners at every point ([`crate::exact`]). With
//! a number for every point, the corners of one sign are the roots of a polynomial, and both signs have the same points
//! equally often if and only if their polynomials are the same. Evaluated at a random pole, different ones of degree D
//! agree with probability at most D over the number of choices. At ranks 1 and 2 a box costs fewer multiplications so
//! than as a fraction ([`super::sum`]).

use super::keys::Pole;
use super::trace::{Keyed, TURNS, Trace};
use crate::coalesce::{Brick, Point};

/// A point of a rank at which corners are multiplied.
pub(crate) trait Corner: Point {
    /// Corners of each sign.
    type Names: AsRef<[i64]>;

    /// Numbers of the corners with an even number of stops, and of the others; the first dimension counts `stride` times.
    fn corners(brick: &Brick<Self>, stride: i64) -> (Self::Names, Self::Names);
}

impl Corner for [i64; 1] {
    type Names = [i64; 1];

    #[inline]
    fn corners(brick: &Brick<Self>, _stride: i64) -> (Self::Names, Self::Names) {
        (brick.start, brick.stop)
    }
}

impl Corner for [i64; 2] {
    type Names = [i64; 2];

    #[inline]
    fn corners(brick: &Brick<Self>, stride: i64) -> (Self::Names, Self::Names) {
        let (Brick { start: [top, left], stop: [bottom, right] }, rows) = (brick, |row: i64| row.wrapping_mul(stride));
        let (top, bottom) = (rows(*top), rows(*bottom));
        let at = i64::wrapping_add;
        ([at(top, *left), at(bottom, *right)], [at(top, *right), at(bottom, *left)])
    }
}

/// The corners of the boxes added so far, even and odd ones, in independent lanes.
#[derive(Clone)]
pub(crate) struct Product<F: Pole, const LANES: usize> {
    stride: i64,
    poles: [F; LANES],
    turns: [[[F; 2]; LANES]; TURNS],
    boxes: usize,
}

impl<F: Pole, const LANES: usize> Product<F, LANES> {
    const NOTHING: [[[F; 2]; LANES]; TURNS] = [[[F::ONE; 2]; LANES]; TURNS];

    /// Even and odd corners of everything, in every lane.
    fn lanes(&self) -> [[F; 2]; LANES] {
        let mut lanes = [[F::ONE; 2]; LANES];
        for turn in &self.turns {
            for (product, factor) in lanes.as_flattened_mut().iter_mut().zip(turn.as_flattened()) {
                *product = product.times(*factor);
            }
        }
        lanes
    }
}

impl<P: Corner, F: Pole, const LANES: usize> Keyed<P> for Product<F, LANES> {
    fn new(shape: &[i64], keys: &[[u8; 16]]) -> Option<Self> {
        let points = shape.iter().try_fold(1_i64, |points, &dim| points.checked_mul(dim.checked_add(1)?))?;
        let (key, stride) = (*keys.first()?, shape.last()?.checked_add(1)?);
        let poles = std::array::from_fn(|lane| F::pole(key, lane));
        (points <= F::LARGEST_DIM).then_some(Self { stride, poles, turns: Self::NOTHING, boxes: 0 })
    }
}

impl<P: Corner, F: Pole, const LANES: usize> Trace<P> for Product<F, LANES> {
    #[inline]
    fn add(&mut self, brick: &Brick<P>) {
        let (even, odd) = P::corners(brick, self.stride);
        let Some(turn) = self.turns.get_mut(self.boxes % TURNS) else { return };
        for ([evens, odds], pole) in turn.iter_mut().zip(self.poles) {
            for (product, names) in [(evens, &even), (odds, &odd)] {
                let factors = names.as_ref().iter().map(|&name| pole.at(name));
                *product = product.times(factors.reduce(F::times).unwrap_or(F::ONE));
            }
        }
        self.boxes = self.boxes.wrapping_add(1);
    }

    fn is(self, times: u64, whole: &Brick<P>) -> bool {
        let mut goal = Self { turns: Self::NOTHING, boxes: 0, ..self.clone() };
        Trace::<P>::add(&mut goal, whole);
        self.lanes().into_iter().zip(goal.lanes()).all(|([even, odd], [whole_even, whole_odd])| {
            even.times(whole_odd.power(times)) == odd.times(whole_even.power(times))
        })
    }

    #[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "a bound needs no more than 53 bits")]
    fn error_bound(&self, times: u64, shape: &[i64]) -> f64 {
        // As many roots on either side: half the corners of every box, and of the tensor each time.
        let degree = (self.boxes as f64 + times as f64) * if shape.len() == 1 { 1.0 } else { 2.0 };
        (degree / F::CHOICES).min(1.0).powi(i32::try_from(LANES).unwrap_or(1))
    }
}
