//! The corners of all boxes, cancelled by name in tables that fit the cache.
//!
//! Corners are scattered into partitions by a hash of the point: O(boxes * 2^rank), whatever the layout looks like. To
//! find the few that do not cancel, most are sifted out first: a sum of random words by buckets of points is zero
//! wherever everything cancels, and only the corners of other buckets are looked at one by one.

use std::ops::Range;

use super::{All, MAX_RANK};
use crate::coalesce::Brick;
use crate::interrupt::Interrupted;

/// Corners that a partition should have.
const PARTITION: usize = 1 << 11;
/// Partitions filled in one pass over the boxes: at most 2^23 corners in memory, unless very many are equal.
const PASS: usize = 1 << 12;
/// Buckets of a sieve: one for each box, within these.
const BUCKETS: (usize, usize) = (1 << 10, 1 << 17);

/// Visit the corners that do not cancel, in no order, until `take` is false.
///
/// `seed` decides where corners are put. With `sift` a corner may be missed, with a probability of 2^-64 for each, if
/// the seed is random.
///
/// # Errors
///
/// [`Interrupted`] when the caller raises the flag.
#[expect(clippy::cast_possible_truncation, clippy::as_conversions, reason = "any bits make a multiplier")]
pub(super) fn each_unbalanced<const RANK: usize, const COUNT: usize>(
    all: &All<'_, RANK, COUNT>,
    seed: u128,
    sift: bool,
    take: &mut impl FnMut([i64; RANK], i64) -> bool,
) -> Result<bool, Interrupted> {
    // Whatever the seed, a number of many bits: the first digits of pi, stirred in.
    let low = folded(seed as u64 ^ 0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7345);
    let multiplier = folded((seed >> 64) as u64 ^ low, 0xA409_3822_299F_31D1) | 1;
    match Linear::<RANK>::new(&all.whole.stop, multiplier) {
        Some(naming) => Corners { all, naming }.cancel(sift, take),
        None => Corners { all, naming: Spelled { multiplier } }.cancel(sift, take),
    }
}

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
    /// A word that looks random.
    fn word(self, name: Self::Name) -> u64;
    fn signed(self, name: Self::Name, negative: bool) -> Self::Signed;
    fn split(self, signed: Self::Signed) -> (Self::Name, bool);
    /// The coordinates of a point.
    fn point<const RANK: usize>(self, name: Self::Name) -> [i64; RANK];
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
        name.wrapping_mul(self.multiplier)
    }

    #[inline]
    fn word(self, name: u64) -> u64 {
        folded(folded(name ^ self.multiplier, self.multiplier) ^ name, self.multiplier)
    }

    #[inline]
    fn signed(self, name: u64, negative: bool) -> u64 {
        name << 1 | u64::from(negative)
    }

    #[inline]
    fn split(self, signed: u64) -> (u64, bool) {
        (signed >> 1, signed & 1 == 1)
    }

    fn point<const OF: usize>(self, name: u64) -> [i64; OF] {
        let (mut point, mut rest) = ([0; OF], name);
        for (coordinate, stride) in point.iter_mut().zip(self.strides) {
            *coordinate = rest.checked_div(stride).unwrap_or_default().cast_signed();
            rest = rest.checked_rem(stride).unwrap_or_default();
        }
        point
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

    fn word(self, name: Self::Name) -> u64 {
        folded(self.hash(name) ^ self.multiplier, self.multiplier.rotate_left(32) | 1)
    }

    fn signed(self, name: Self::Name, negative: bool) -> Self::Signed {
        (name, negative)
    }

    fn split(self, signed: Self::Signed) -> (Self::Name, bool) {
        signed
    }

    fn point<const RANK: usize>(self, name: Self::Name) -> [i64; RANK] {
        let mut point = [0; RANK];
        point.iter_mut().zip(name).for_each(|(coordinate, named)| *coordinate = named);
        point
    }
}

/// Both halves of a product, one on the other.
#[inline]
#[expect(clippy::cast_possible_truncation, clippy::as_conversions, reason = "the halves are cut to fit")]
fn folded(word: u64, multiplier: u64) -> u64 {
    let product = u128::from(word) * u128::from(multiplier);
    product as u64 ^ (product >> 64) as u64
}

/// The corners of all boxes, by name.
struct Corners<'a, const RANK: usize, const COUNT: usize, N> {
    all: &'a All<'a, RANK, COUNT>,
    naming: N,
}

impl<const RANK: usize, const COUNT: usize, N: Naming> Corners<'_, RANK, COUNT, N> {
    /// Hand on what does not cancel, until `take` is false.
    fn cancel(&self, sift: bool, take: &mut impl FnMut([i64; RANK], i64) -> bool) -> Result<bool, Interrupted> {
        let sifted = if sift { self.sift()? } else { None };
        let corners = match &sifted {
            Some(sifted) => sifted.corners.len(),
            None => self.all.chunks.chunks().len().saturating_mul(COUNT),
        };
        let partitions = (corners / PARTITION).next_power_of_two();
        let bits = partitions.trailing_zeros();
        let mut table = Table::new(N::EMPTY);
        for first in (0..partitions).step_by(PASS) {
            let pass = first..partitions.min(first + PASS);
            let (ends, corners) = self.scatter(sifted.as_ref(), pass.clone(), bits)?;
            let mut start = 0;
            for (partition, end) in pass.zip(ends) {
                table.clear(end - start + COUNT);
                for &corner in corners.get(start..end).unwrap_or_default() {
                    let (name, negative) = self.naming.split(corner);
                    table.add(name, self.naming.hash(name) << bits, if negative { -1 } else { 1 });
                }
                self.each_corner(&self.all.whole, &mut |name, negative| {
                    let hash = self.naming.hash(name);
                    if top(hash, bits) == partition && sifted.as_ref().is_none_or(|sifted| sifted.sieve.keeps(hash)) {
                        let weight = i64::try_from(self.all.times).unwrap_or(i64::MAX);
                        table.add(name, hash << bits, if negative { weight } else { -weight });
                    }
                });
                if !table.unbalanced().all(|(name, count)| take(self.naming.point(name), count)) {
                    return Ok(false);
                }
                start = end;
            }
        }
        Ok(true)
    }

    /// List the corners of buckets in which not everything cancels, unless those are too many for a list.
    fn sift(&self) -> Result<Option<Sifted<N>>, Interrupted> {
        let (least, most) = BUCKETS;
        let buckets = self.all.chunks.chunks().len().next_power_of_two().clamp(least, most);
        let mut sieve = Sieve { sums: vec![0; buckets], bits: buckets.trailing_zeros() };
        self.all.each_box(&mut |brick| {
            self.each_corner(brick, &mut |name, negative| {
                let word = self.naming.word(name);
                sieve.add(self.naming.hash(name), if negative { word.wrapping_neg() } else { word });
            });
        })?;
        self.each_corner(&self.all.whole, &mut |name, negative| {
            let word = self.naming.word(name).wrapping_mul(self.all.times);
            sieve.add(self.naming.hash(name), if negative { word } else { word.wrapping_neg() });
        });
        let mut corners = Vec::new();
        self.all.each_box(&mut |brick| {
            self.each_corner(brick, &mut |name, negative| {
                if sieve.keeps(self.naming.hash(name)) && corners.len() <= PASS * PARTITION {
                    corners.push(self.naming.signed(name, negative));
                }
            });
        })?;
        Ok((corners.len() <= PASS * PARTITION).then_some(Sifted { sieve, corners }))
    }

    /// The corners of all boxes that fall into `pass`, by partition, and where each partition ends.
    fn scatter(
        &self,
        sifted: Option<&Sifted<N>>,
        pass: Range<usize>,
        bits: u32,
    ) -> Result<(Vec<usize>, Vec<N::Signed>), Interrupted> {
        let place =
            |name| top(self.naming.hash(name), bits).checked_sub(pass.start).filter(|&place| place < pass.len());
        let mut next = vec![0_usize; pass.len()];
        self.each(sifted, &mut |name, _| {
            if let Some(count) = place(name).and_then(|place| next.get_mut(place)) {
                *count += 1;
            }
        })?;
        let mut total = 0;
        for count in &mut next {
            total += std::mem::replace(count, total);
        }
        let mut corners = vec![N::Signed::default(); total];
        self.each(sifted, &mut |name, negative| {
            if let Some(next) = place(name).and_then(|place| next.get_mut(place)) {
                if let Some(corner) = corners.get_mut(*next) {
                    *corner = self.naming.signed(name, negative);
                }
                *next += 1;
            }
        })?;
        Ok((next, corners))
    }

    /// The corners that were sifted, or else of all boxes.
    #[inline]
    fn each(&self, sifted: Option<&Sifted<N>>, take: &mut impl FnMut(N::Name, bool)) -> Result<(), Interrupted> {
        let Some(sifted) = sifted else { return self.all.each_box(&mut |brick| self.each_corner(brick, take)) };
        for &corner in &sifted.corners {
            let (name, negative) = self.naming.split(corner);
            take(name, negative);
        }
        Ok(())
    }

    /// The corners of a box; negative where an odd number of coordinates are stops.
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

/// Corners that may not cancel, and what told them from the others.
struct Sifted<N: Naming> {
    sieve: Sieve,
    corners: Vec<N::Signed>,
}

/// Sums of words by the high bits of a hash: zero where everything cancels.
struct Sieve {
    sums: Vec<u64>,
    bits: u32,
}

impl Sieve {
    #[inline]
    fn add(&mut self, hash: u64, word: u64) {
        if let Some(sum) = self.sums.get_mut(top(hash, self.bits)) {
            *sum = sum.wrapping_add(word);
        }
    }

    /// Whether something in the bucket of this hash does not cancel.
    #[inline]
    fn keeps(&self, hash: u64) -> bool {
        self.sums.get(top(hash, self.bits)).is_some_and(|&sum| sum != 0)
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
    names: Vec<K>,
    counts: Vec<i64>,
    empty: K,
    shift: u32,
}

impl<K: Copy + Eq> Table<K> {
    const fn new(empty: K) -> Self {
        Self { names: Vec::new(), counts: Vec::new(), empty, shift: 0 }
    }

    /// Forget everything and make room for `names`.
    fn clear(&mut self, names: usize) {
        let slots = (names + names / 2 + 1).next_power_of_two();
        self.names.clear();
        self.names.resize(slots, self.empty);
        self.counts.clear();
        self.counts.resize(slots, 0);
        self.shift = u64::BITS - slots.trailing_zeros();
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, clippy::as_conversions, reason = "there are as many slots as bits left")]
    fn add(&mut self, name: K, hash: u64, weight: i64) {
        let mask = self.names.len().wrapping_sub(1);
        let mut place = hash.checked_shr(self.shift).unwrap_or(0) as usize & mask;
        while let (Some(taken), Some(count)) = (self.names.get_mut(place), self.counts.get_mut(place)) {
            if *taken == name || *taken == self.empty {
                *taken = name;
                *count += weight;
                return;
            }
            place = (place + 1) & mask;
        }
    }

    /// The names whose counts are not zero.
    fn unbalanced(&self) -> impl Iterator<Item = (K, i64)> {
        // Almost always there are none, which looking at all together tells fastest.
        let any = self.counts.iter().fold(0, |all, count| all | count) != 0;
        let counts = if any { self.counts.as_slice() } else { &[] };
        self.names.iter().copied().zip(counts.iter().copied()).filter(|&(_, count)| count != 0)
    }
}
