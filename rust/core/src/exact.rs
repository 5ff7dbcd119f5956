//! Coverage without probability: the corners of all boxes, cancelled against those of the tensor.
//!
//! Every box has 2^rank corners, signed by how many of their coordinates are stops. How often elements are covered is
//! determined by the signed count of corners at every point; the counts of two layouts are equal if and only if they
//! cover every element equally often. Corners are scattered into partitions by a hash of the point, and each partition
//! is cancelled in a table that fits the cache: O(boxes * 2^rank), whatever the layout looks like.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "names of points are below 2^62, hashes wrap by method, and counts are at most the number of boxes"
)]

use std::ops::Range;

use crate::coalesce::{self, Brick};
use crate::interrupt::{Interrupt, Interrupted};
use crate::layout::Inside;

/// The largest rank: a chunk has 64 corners there.
pub const MAX_RANK: usize = 6;
/// Corners that a partition should have.
const PARTITION: usize = 1 << 10;
/// Partitions filled in one pass over the boxes: at most 2^23 corners in memory, unless very many are equal.
const PASS: usize = 1 << 13;

/// How points are told apart, hashed and written down with a sign.
trait Naming: Copy {
    /// Different for different points.
    type Name: Copy + Eq + Default;
    /// A name and a sign.
    type Signed: Copy + Default;
    /// No point has this name.
    const EMPTY: Self::Name;

    /// The name of a point that differs from that of `name` by `coordinate` in `dimension`, where that one has zero.
    fn moved(self, name: Self::Name, dimension: usize, coordinate: i64) -> Self::Name;
    /// A hash whose high bits are good.
    fn hash(self, name: Self::Name) -> u64;
    fn signed(self, name: Self::Name, negative: bool) -> Self::Signed;
    fn split(self, signed: Self::Signed) -> (Self::Name, bool);
    /// The coordinates of a point, then zeros.
    fn coordinates(self, name: Self::Name) -> [i64; MAX_RANK];
}

/// Points by their row-major number, where all numbers are below 2^62.
#[derive(Clone, Copy)]
struct Linear<const RANK: usize> {
    strides: [u64; RANK],
    multiplier: u64,
}

impl<const RANK: usize> Linear<RANK> {
    fn new(shape: &[i64], multiplier: u64) -> Option<Self> {
        let (mut strides, mut points) = ([0; RANK], 1_u64);
        for (stride, &dim) in strides.iter_mut().zip(shape).rev() {
            *stride = points;
            points = points.checked_mul(u64::try_from(dim).ok()?.checked_add(1)?)?;
        }
        (points < 1 << 62).then_some(Self { strides, multiplier })
    }
}

impl<const RANK: usize> Naming for Linear<RANK> {
    type Name = u64;
    type Signed = u64;
    const EMPTY: u64 = u64::MAX;

    #[inline]
    fn moved(self, name: u64, dimension: usize, coordinate: i64) -> u64 {
        let stride = self.strides.get(dimension).copied().unwrap_or(0);
        name + coordinate.cast_unsigned() * stride
    }

    #[inline]
    fn hash(self, name: u64) -> u64 {
        folded(name ^ self.multiplier, self.multiplier)
    }

    #[inline]
    fn signed(self, name: u64, negative: bool) -> u64 {
        name << 1 | u64::from(negative)
    }

    #[inline]
    fn split(self, signed: u64) -> (u64, bool) {
        (signed >> 1, signed & 1 == 1)
    }

    fn coordinates(self, name: u64) -> [i64; MAX_RANK] {
        let (mut coordinates, mut rest) = ([0; MAX_RANK], name);
        for (coordinate, stride) in coordinates.iter_mut().zip(self.strides) {
            *coordinate = rest.checked_div(stride).unwrap_or_default().cast_signed();
            rest = rest.checked_rem(stride).unwrap_or_default();
        }
        coordinates
    }
}

/// Points by their coordinates.
#[derive(Clone, Copy)]
struct Spelled {
    multiplier: u64,
}

impl Naming for Spelled {
    type Name = [i64; MAX_RANK];
    type Signed = ([i64; MAX_RANK], bool);
    const EMPTY: [i64; MAX_RANK] = [-1; MAX_RANK];

    fn moved(self, mut name: Self::Name, dimension: usize, coordinate: i64) -> Self::Name {
        if let Some(place) = name.get_mut(dimension) {
            *place = coordinate;
        }
        name
    }

    fn hash(self, name: Self::Name) -> u64 {
        name.iter()
            .fold(self.multiplier, |hash, &coordinate| folded(hash ^ coordinate.cast_unsigned(), self.multiplier))
    }

    fn signed(self, name: Self::Name, negative: bool) -> Self::Signed {
        (name, negative)
    }

    fn split(self, signed: Self::Signed) -> (Self::Name, bool) {
        signed
    }

    fn coordinates(self, name: Self::Name) -> [i64; MAX_RANK] {
        name
    }
}

/// Both halves of a product, one on the other.
#[inline]
#[expect(clippy::cast_possible_truncation, clippy::as_conversions, reason = "the halves are cut to fit")]
fn folded(word: u64, multiplier: u64) -> u64 {
    let product = u128::from(word) * u128::from(multiplier);
    product as u64 ^ (product >> 64) as u64
}

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
                $($rank => each_unbalanced::<$rank, { 1 << $rank }>(chunks, times, seed, interrupt, &mut |_, _| false)
                    .map(Some),)*
                _ => Ok(None),
            }
        };
    }
    by_rank!(1 2 3 4 5 6)
}

/// Visit the corners that do not cancel when `times` times the tensor is taken from `chunks`, in no order.
///
/// `take` gets a point and by how much coverage changes there; false ends the visit, and is the answer then.
#[expect(clippy::cast_possible_truncation, clippy::as_conversions, reason = "any bits make a seed")]
pub(crate) fn each_unbalanced<const RANK: usize, const COUNT: usize>(
    chunks: Inside<'_>,
    times: u64,
    seed: u128,
    interrupt: Interrupt<'_>,
    take: &mut impl FnMut([i64; MAX_RANK], i64) -> bool,
) -> Result<bool, Interrupted> {
    let multiplier = seed as u64 | 1;
    match Linear::<RANK>::new(chunks.chunks().shape(), multiplier) {
        Some(naming) => Corners::<RANK, COUNT, _> { chunks, naming, interrupt }.cancel(times, take),
        None => Corners::<RANK, COUNT, _> { chunks, naming: Spelled { multiplier }, interrupt }.cancel(times, take),
    }
}

/// The corners of what merging leaves of `chunks`.
struct Corners<'a, const RANK: usize, const COUNT: usize, N> {
    chunks: Inside<'a>,
    naming: N,
    interrupt: Interrupt<'a>,
}

impl<const RANK: usize, const COUNT: usize, N: Naming> Corners<'_, RANK, COUNT, N> {
    /// Hand on what does not cancel, until `take` is false.
    fn cancel(&self, times: u64, take: &mut impl FnMut([i64; MAX_RANK], i64) -> bool) -> Result<bool, Interrupted> {
        let Some(whole) = Brick::<[i64; RANK]>::whole(self.chunks.chunks().shape()) else { return Ok(false) };
        let mut boxes = 0_usize;
        self.each_box(&mut |_| boxes += 1)?;
        let partitions = (boxes.saturating_mul(COUNT) / PARTITION).next_power_of_two();
        let bits = partitions.trailing_zeros();
        let mut table = Table::new(N::EMPTY);
        for first in (0..partitions).step_by(PASS) {
            let pass = first..partitions.min(first + PASS);
            let (ends, corners) = self.scatter(pass.clone(), bits)?;
            let mut start = 0;
            for (partition, end) in pass.zip(ends) {
                table.clear(end - start + COUNT);
                for &corner in corners.get(start..end).unwrap_or_default() {
                    let (name, negative) = self.naming.split(corner);
                    table.add(name, self.naming.hash(name) << bits, if negative { -1 } else { 1 });
                }
                self.each_corner(&whole, &mut |name, negative| {
                    let hash = self.naming.hash(name);
                    if top(hash, bits) == partition {
                        let weight = i64::try_from(times).unwrap_or(i64::MAX);
                        table.add(name, hash << bits, if negative { weight } else { -weight });
                    }
                });
                if table.unbalanced > 0
                    && !table.counts().all(|(name, count)| take(self.naming.coordinates(name), count))
                {
                    return Ok(false);
                }
                start = end;
            }
        }
        Ok(true)
    }

    /// The corners of all boxes that fall into `pass`, by partition, and where each partition ends.
    fn scatter(&self, pass: Range<usize>, bits: u32) -> Result<(Vec<usize>, Vec<N::Signed>), Interrupted> {
        let place =
            |name| top(self.naming.hash(name), bits).checked_sub(pass.start).filter(|&place| place < pass.len());
        let mut next = vec![0_usize; pass.len()];
        self.each_box(&mut |brick| {
            self.each_corner(brick, &mut |name, _| {
                if let Some(count) = place(name).and_then(|place| next.get_mut(place)) {
                    *count += 1;
                }
            });
        })?;
        let mut total = 0;
        for count in &mut next {
            total += std::mem::replace(count, total);
        }
        let mut corners = vec![N::Signed::default(); total];
        self.each_box(&mut |brick| {
            self.each_corner(brick, &mut |name, negative| {
                if let Some(next) = place(name).and_then(|place| next.get_mut(place)) {
                    if let Some(corner) = corners.get_mut(*next) {
                        *corner = self.naming.signed(name, negative);
                    }
                    *next += 1;
                }
            });
        })?;
        Ok((next, corners))
    }

    fn each_box(&self, take: &mut impl FnMut(&Brick<[i64; RANK]>)) -> Result<(), Interrupted> {
        let stack = coalesce::survivors(self.chunks, self.interrupt, take)?;
        stack.bricks().iter().for_each(take);
        Ok(())
    }

    /// The `COUNT` = 2^rank corners of a box; negative where an odd number of coordinates are stops.
    #[inline]
    fn each_corner(&self, brick: &Brick<[i64; RANK]>, take: &mut impl FnMut(N::Name, bool)) {
        let mut names = [(N::Name::default(), false); COUNT];
        for (dimension, (start, stop)) in brick.sides().enumerate() {
            let (done, rest) = names.split_at_mut(1 << dimension);
            for ((name, negative), other) in done.iter_mut().zip(rest) {
                *other = (self.naming.moved(*name, dimension, stop), !*negative);
                *name = self.naming.moved(*name, dimension, start);
            }
        }
        for (name, negative) in names {
            take(name, negative);
        }
    }
}

/// The `bits` high bits of a hash.
#[inline]
#[expect(clippy::cast_possible_truncation, clippy::as_conversions, reason = "there are few partitions")]
fn top(hash: u64, bits: u32) -> usize {
    hash.checked_shr(u64::BITS - bits).unwrap_or(0) as usize
}

/// Signed counts by name: open addressing, at most two thirds full.
struct Table<K> {
    slots: Vec<(K, i64)>,
    empty: K,
    shift: u32,
    unbalanced: usize,
}

impl<K: Copy + Eq> Table<K> {
    const fn new(empty: K) -> Self {
        Self { slots: Vec::new(), empty, shift: 0, unbalanced: 0 }
    }

    /// The names whose counts are not zero.
    fn counts(&self) -> impl Iterator<Item = (K, i64)> {
        self.slots.iter().copied().filter(|&(_, count)| count != 0)
    }

    /// Forget everything and make room for `names`.
    fn clear(&mut self, names: usize) {
        let slots = (names + names / 2 + 1).next_power_of_two();
        self.slots.clear();
        self.slots.resize(slots, (self.empty, 0));
        self.shift = u64::BITS - slots.trailing_zeros();
        self.unbalanced = 0;
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, clippy::as_conversions, reason = "there are as many slots as bits left")]
    fn add(&mut self, name: K, hash: u64, weight: i64) {
        let mask = self.slots.len().wrapping_sub(1);
        let mut place = hash.checked_shr(self.shift).unwrap_or(0) as usize;
        while let Some((taken, count)) = self.slots.get_mut(place & mask) {
            if *taken == name || *taken == self.empty {
                *taken = name;
                self.unbalanced -= usize::from(*count != 0);
                *count += weight;
                self.unbalanced += usize::from(*count != 0);
                return;
            }
            place += 1;
        }
    }
}

#[cfg(test)]
mod tests;
