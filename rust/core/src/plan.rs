//! Read plans: which region of which saved chunk fills which region of which wanted chunk.
//!
//! A plan is five columns with a row per read, ordered by wanted position, then by saved position. The reads are
//! counted first and the columns, which the caller provides, are written once. Saved chunks that overlap are taken as
//! they are: each is read, and a finding says which elements have several sources.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "ends of chunks inside a tensor are at most i64::MAX, and rows are those of tables that exist"
)]

mod cost;
mod source;
#[cfg(test)]
pub(crate) mod tests;

use crate::interrupt::{Interrupt, Interrupted};
use crate::join::{self, Pairs};
use crate::layout::{Inside, ShapeError};

pub use cost::{Cost, CostError, cost};
pub use source::Sources;

/// Wanted chunks between two questions to the caller.
const BLOCK: i64 = 1 << 12;

/// Why there is no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The layouts are of tensors of different shapes.
    #[error("the saved and the wanted tensor differ in shape")]
    ShapesDiffer,
    /// There are too many reads, or the caller stopped the search.
    #[error(transparent)]
    Join(#[from] join::Refused),
}

/// The reads of a plan, found and counted, not yet written.
#[derive(Clone, Debug)]
pub struct Reads<'a> {
    saved: Inside<'a>,
    wanted: Inside<'a>,
    pairs: Pairs,
}

/// Where a plan is written: a row per read, regions relative to the chunk.
#[derive(Debug)]
pub struct Columns<'a> {
    /// Which saved chunk is read.
    pub saved_positions: &'a mut [i64],
    /// Which wanted chunk is filled.
    pub wanted_positions: &'a mut [i64],
    /// Where the region starts in the saved chunk.
    pub saved_offsets: &'a mut [i64],
    /// Where the region starts in the wanted chunk.
    pub wanted_offsets: &'a mut [i64],
    /// Size of the region.
    pub lengths: &'a mut [i64],
}

/// Find the reads that fill `wanted` from `saved`, at most `max_reads` of them.
///
/// An empty chunk is never read and needs no read.
///
/// # Errors
///
/// [`Refused`] when the shapes differ, when there are more reads (the error has their number; nothing of that size was
/// allocated), and when the caller interrupts.
pub fn reads<'a>(
    saved: Inside<'a>,
    wanted: Inside<'a>,
    max_reads: u64,
    interrupt: Interrupt<'_>,
) -> Result<Reads<'a>, Refused> {
    if saved.chunks().shape() != wanted.chunks().shape() {
        return Err(Refused::ShapesDiffer);
    }
    let pairs = join::pairs(saved, wanted, max_reads, interrupt)?;
    Ok(Reads { saved, wanted, pairs })
}

impl Reads<'_> {
    /// How many reads there are: the rows of the columns.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.pairs.count()
    }

    /// Write the plan, and answer which wanted chunks might not be filled exactly once.
    ///
    /// Those are the chunks whose reads have not as many elements as they have themselves. A chunk that is not among
    /// them may still have a gap and an overlap of one size: [`Reads::sources`] decides.
    ///
    /// # Errors
    ///
    /// [`WriteError`] when a column has another length than the plan, or the caller interrupts.
    pub fn write(&self, into: Columns<'_>, interrupt: Interrupt<'_>) -> Result<Vec<usize>, WriteError> {
        let rank = self.wanted.chunks().rank();
        let rows = usize::try_from(self.count()).unwrap_or(usize::MAX);
        let lengths = [
            (into.saved_positions.len(), 1),
            (into.wanted_positions.len(), 1),
            (into.saved_offsets.len(), rank),
            (into.wanted_offsets.len(), rank),
            (into.lengths.len(), rank),
        ];
        for (values, rank) in lengths {
            if rows.checked_mul(rank) != Some(values) {
                return Err(ShapeError::NotRectangular { values, rows, rank }.into());
            }
        }
        Ok(match rank {
            1 => self.write_rows::<1>(into, interrupt)?,
            2 => self.write_rows::<2>(into, interrupt)?,
            3 => self.write_rows::<3>(into, interrupt)?,
            4 => self.write_rows::<4>(into, interrupt)?,
            _ => self.write_rows::<0>(into, interrupt)?,
        })
    }

    /// `R` is the rank where the compiler knows it, else 0.
    fn write_rows<const R: usize>(
        &self,
        mut into: Columns<'_>,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<usize>, Interrupted> {
        let (saved, wanted) = (self.saved.chunks(), self.wanted.chunks());
        let rank = if R > 0 { R } else { wanted.rank() };
        let rows = |values| (0..).map(move |row| at(values, row, rank));
        let chunks = rows(wanted.offsets().values()).zip(rows(wanted.sizes().values()));
        let mut uneven = Vec::new();
        for ((position, partners), (offsets, sizes)) in (0_i64..).zip(self.pairs.rows()).zip(chunks) {
            if position % BLOCK == 0 {
                interrupt.check()?;
            }
            let mut filled = Some(0_u128);
            for &partner in partners {
                let row = usize::try_from(partner).unwrap_or(usize::MAX);
                let Some(mut read) = into.next(rank) else { return Ok(uneven) };
                *read.saved_position = i64::from(partner);
                *read.wanted_position = position;
                let volume = read.meet(
                    (at(saved.offsets().values(), row, rank), at(saved.sizes().values(), row, rank)),
                    (offsets, sizes),
                );
                filled = filled.zip(volume).and_then(|(sum, volume)| sum.checked_add(volume));
            }
            if filled.is_none() || filled != volume(sizes) {
                uneven.push(usize::try_from(position).unwrap_or(usize::MAX));
            }
        }
        Ok(uneven)
    }
}

/// The number of elements of a box, unless beyond 128 bits.
pub(crate) fn volume(sizes: &[i64]) -> Option<u128> {
    sizes.iter().try_fold(1_u128, |volume, &size| volume.checked_mul(u128::from(size.unsigned_abs())))
}

/// Row `row` of a table of `rank` columns.
fn at(values: &[i64], row: usize, rank: usize) -> &[i64] {
    values.get(row * rank..row * rank + rank).unwrap_or_default()
}

/// A row of every column.
struct Read<'a> {
    saved_position: &'a mut i64,
    wanted_position: &'a mut i64,
    saved_offsets: &'a mut [i64],
    wanted_offsets: &'a mut [i64],
    lengths: &'a mut [i64],
}

impl<'a> Columns<'a> {
    /// Take the first row off the columns.
    fn next(&mut self, rank: usize) -> Option<Read<'a>> {
        Some(Read {
            saved_position: self.saved_positions.split_off_first_mut()?,
            wanted_position: self.wanted_positions.split_off_first_mut()?,
            saved_offsets: self.saved_offsets.split_off_mut(..rank)?,
            wanted_offsets: self.wanted_offsets.split_off_mut(..rank)?,
            lengths: self.lengths.split_off_mut(..rank)?,
        })
    }
}

impl Read<'_> {
    /// Write the region that two chunks, as (offsets, sizes), share; its number of elements unless beyond 128 bits.
    #[inline]
    fn meet(&mut self, saved: (&[i64], &[i64]), wanted: (&[i64], &[i64])) -> Option<u128> {
        let chunks = saved.0.iter().zip(saved.1).zip(wanted.0.iter().zip(wanted.1));
        let row = self.saved_offsets.iter_mut().zip(&mut *self.wanted_offsets).zip(&mut *self.lengths);
        let mut volume = Some(1_u128);
        for (((&from, &from_size), (&to, &to_size)), ((saved_offset, wanted_offset), length)) in chunks.zip(row) {
            let start = from.max(to);
            *saved_offset = start - from;
            *wanted_offset = start - to;
            *length = (from + from_size).min(to + to_size) - start;
            volume = volume.and_then(|volume| volume.checked_mul(u128::from(length.unsigned_abs())));
        }
        volume
    }
}

/// Why a plan was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// A column has the wrong length.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The caller stopped the work.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}
