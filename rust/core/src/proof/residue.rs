//! One residue over many tensors, mergeable across threads, files and processes.
//!
//! Every tensor has a salt, and two field elements are accumulated, modulo 2^127 - 1 where no volume is zero:
//!
//! * `uneven`, the sum over tensors of `salt * (F(chunks) - vol(chunks) / vol(tensor) * F(tensor))`, where `F` is the
//!   coverage residue; it is zero if every tensor is covered uniformly;
//! * `coverage`, the sum of `salt * vol(chunks) / vol(tensor)`; then it says how often.
//!
//! Salts are partial fractions too: `1 / (pole + hash)`, where the hash of name, dtype and shape is a polynomial in a
//! random point. Different tensors have equal hashes, and unequal sums agree, only where polynomials of known degree
//! vanish, so that the probability of a wrong answer is bounded without any assumption but that the keys are random.

use super::TooFewKeys;
use super::keys;
use super::sum::Sum;
use super::trace::{Keyed, Trace};
use crate::bounds;
use crate::coalesce::{self, Brick, Point};
use crate::field::{Field, Mersenne127};
use crate::interrupt::Interrupt;
use crate::layout::{Chunks, Inside};
use crate::proof::Error;
use crate::volume::Volume;

/// The name, dtype and shape that together are one tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity<'a> {
    /// Fully qualified name.
    pub fqn: &'a str,
    /// Name of the dtype, any word.
    pub dtype: &'a str,
    /// Shape of the whole tensor.
    pub shape: &'a [i64],
}

impl Identity<'_> {
    /// The numbers that spell it: lengths first, so that no two identities are spelled alike.
    fn words(&self) -> impl Iterator<Item = u64> {
        let lengths = [self.fqn.len(), self.dtype.len(), self.shape.len()];
        let lengths = lengths.into_iter().map(|length| u64::try_from(length).unwrap_or(u64::MAX));
        let text = self.fqn.as_bytes().chunks(8).chain(self.dtype.as_bytes().chunks(8));
        let text = text.map(|bytes| bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)));
        lengths.chain(text).chain(self.shape.iter().map(|dim| dim.cast_unsigned()))
    }
}

/// What chunks add to the two accumulators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Zero, summed over all chunks of tensors that are covered uniformly.
    pub uneven: Mersenne127,
    /// The salts of all tensors, each as often as the tensor is covered.
    pub coverage: Mersenne127,
    /// Chunks that are not what the residue takes them for.
    pub faults: u64,
}

impl Share {
    const NOTHING: Self = Self { uneven: Mersenne127::ZERO, coverage: Mersenne127::ZERO, faults: 0 };
}

/// The keys of all tensors: sixteen bytes each for the hash, the salts and every dimension.
struct Keyring<'a> {
    point: Mersenne127,
    pole: Mersenne127,
    dimensions: &'a [[u8; 16]],
}

impl<'a> Keyring<'a> {
    fn new(bytes: &'a [u8], rank: usize) -> Result<Self, TooFewKeys> {
        let needed = rank.saturating_add(2);
        let [point, pole, dimensions @ ..] = keys::each(bytes, needed)? else {
            return Err(TooFewKeys { bytes: bytes.len(), rank: needed });
        };
        let number = |key: &[u8; 16]| Mersenne127::of_wide(u128::from_le_bytes(*key));
        Ok(Self { point: number(point), pole: number(pole), dimensions })
    }

    /// What the salt is one divided by. Zero only by a chance like that of a wrong answer; the salt is zero then.
    fn unsalted(&self, tensor: &Identity<'_>) -> Mersenne127 {
        let hash = tensor.words().fold(Mersenne127::ONE, |hash, word| hash.times(self.point).plus(Field::of(word)));
        self.pole.plus(hash)
    }
}

/// The salt of a tensor: what it adds to `coverage` when it is covered once. Zero if it has no elements.
///
/// # Errors
///
/// [`TooFewKeys`] unless `keys` has sixteen bytes for each dimension and 32 more.
pub fn salt(tensor: &Identity<'_>, keys: &[u8]) -> Result<Mersenne127, TooFewKeys> {
    let keyring = Keyring::new(keys, tensor.shape.len())?;
    Ok(if tensor.shape.contains(&0) { Mersenne127::ZERO } else { keyring.unsalted(tensor).inverse() })
}

/// What `chunks` of a tensor add to the accumulators.
///
/// Chunks with a negative number or outside the tensor are counted as faults, empty ones behind its end aside; what of
/// them lies inside is added like any other chunk.
///
/// # Errors
///
/// [`Error::TooFewKeys`] as [`salt`]; [`Error::Interrupted`].
pub fn share(
    fqn: &str,
    dtype: &str,
    chunks: Chunks<'_>,
    keys: &[u8],
    interrupt: Interrupt<'_>,
) -> Result<Share, Error> {
    if let Some(inside) = bounds::inside(chunks) {
        return share_inside(fqn, dtype, inside, keys, interrupt);
    }
    let faults = faults(chunks);
    let clipped = bounds::clip(chunks);
    let Some(inside) = clipped.inside().filter(|_| chunks.shape().iter().all(|&dim| dim >= 0)) else {
        return Ok(Share { faults, ..Share::NOTHING });
    };
    Ok(Share { faults, ..share_inside(fqn, dtype, inside, keys, interrupt)? })
}

/// How many chunks are faulty, at least one where the shape is.
fn faults(chunks: Chunks<'_>) -> u64 {
    let shape = chunks.shape();
    let is_faulty = |(offsets, sizes): &(&[i64], &[i64])| {
        let sides = || offsets.iter().zip(*sizes);
        let negative = sides().any(|(&start, &size)| start < 0 || size < 0);
        let outside = sides().zip(shape).any(|((&start, &size), &dim)| !bounds::fits(start, size, dim));
        negative || outside && !sizes.contains(&0)
    };
    let count = u64::try_from(chunks.iter().filter(is_faulty).count()).unwrap_or(u64::MAX);
    count.max(u64::from(shape.iter().any(|&dim| dim < 0)))
}

fn share_inside(
    fqn: &str,
    dtype: &str,
    chunks: Inside<'_>,
    keys: &[u8],
    interrupt: Interrupt<'_>,
) -> Result<Share, Error> {
    let layout = chunks.chunks();
    let shape = layout.shape();
    let keyring = Keyring::new(keys, shape.len())?;
    if shape.contains(&0) {
        return Ok(Share::NOTHING);
    }
    macro_rules! by_rank {
        ($($rank:literal)*) => {
            match shape.len() {
                $($rank => fractions::<[i64; $rank]>(chunks, keyring.dimensions, interrupt)?,)*
                _ => fractions::<Vec<i64>>(chunks, keyring.dimensions, interrupt)?,
            }
        };
    }
    let [(part, part_over), (whole, whole_over)] = by_rank!(1 2 3 4 5 6 7 8);
    let covered = in_field(&Volume::total(layout));
    let volume = in_field(&Volume::of(shape));
    // Everything over one denominator: s * (part - covered / volume * whole) and s * covered / volume.
    let both = part_over.times(whole_over);
    let over = both.times(volume).times(keyring.unsalted(&Identity { fqn, dtype, shape })).inverse();
    let [part, whole] = [part.times(whole_over).times(volume), covered.times(whole).times(part_over)];
    Ok(Share { uneven: part.minus(whole).times(over), coverage: covered.times(both).times(over), faults: 0 })
}

/// The residues of `chunks` and of the whole tensor, as fractions.
fn fractions<P: Point>(
    chunks: Inside<'_>,
    keys: &[[u8; 16]],
    interrupt: Interrupt<'_>,
) -> Result<[(Mersenne127, Mersenne127); 2], Error> {
    let shape = chunks.chunks().shape();
    let too_few = TooFewKeys { bytes: keys.as_flattened().len(), rank: shape.len() };
    let new = || Sum::<P, Mersenne127, 1>::new(shape, keys).ok_or(too_few);
    let (mut sum, mut goal) = (new()?, new()?);
    goal.add(&Brick::whole(shape).ok_or(too_few)?);
    let stack = coalesce::survivors(chunks, interrupt, &mut |brick| sum.add(brick))?;
    stack.bricks().iter().for_each(|brick| sum.add(brick));
    let ([part], [whole]) = (sum.lanes(), goal.lanes());
    Ok([part.parts(), whole.parts()])
}

fn in_field(volume: &Volume) -> Mersenne127 {
    let base = Mersenne127::of_wide(1 << 64);
    volume.limbs().rev().fold(Mersenne127::ZERO, |sum, limb| sum.times(base).plus(Mersenne127::of(limb)))
}
