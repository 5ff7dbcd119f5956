//! Whether every element of every tensor is covered once: proved where it is, and named where it is not.

use hashbrown::HashMap;

use super::part::{EqualBoxes, Part, Record, Tensor};
use crate::bounds::{self, EmptyPastEnd};
use crate::findings::{Code, Finding};
use crate::interrupt::{Interrupt, Interrupted};
use crate::layout::{Chunks, Inside, Table};
use crate::proof::fault::Uneven;
use crate::proof::{self, Expected, Question, Rigour};
use crate::tally::Tally;

/// Judge form, bounds and coverage of all tensors of a part.
///
/// `keys` holds sixteen bytes for each dimension of the tensor that has most, random and unknown to whoever wrote the
/// checkpoint. Chunks that stick out are cut to the tensor before coverage is judged.
///
/// # Errors
///
/// [`Interrupted`] when the caller wants no answer any more.
pub fn judge(part: &Part, keys: &[u8], tally: &mut Tally, interrupt: Interrupt<'_>) -> Result<(), Interrupted> {
    let mut empty = 0_u64;
    for tensor in part.tensors() {
        let Some(chunks) = part.chunks(tensor) else { continue };
        if is_one_piece(chunks) && byte_length(tensor) {
            continue;
        }
        let count = chunks.sizes().iter().filter(|sizes| sizes.contains(&0)).count();
        empty = empty.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        Judge { part, tensor, chunks, keys, tally: &mut *tally, interrupt }.all()?;
    }
    if empty > 0 {
        tally.push(Finding::new(Code::EmptyChunks).with("count", empty));
    }
    Ok(())
}

/// Whether a single chunk is all of a tensor with elements: then nothing needs to be proved.
fn is_one_piece(chunks: Chunks<'_>) -> bool {
    chunks.len() == 1
        && chunks.sizes().values() == chunks.shape()
        && chunks.offsets().values().iter().all(|&offset| offset == 0)
        && chunks.shape().iter().all(|&dim| dim > 0)
}

/// Whether 63 bits can count the bytes of a tensor. One without elements takes none, whatever its shape.
fn byte_length(tensor: &Tensor) -> bool {
    let bits = tensor.dtype().bits().unwrap_or(1);
    let dims = || tensor.shape().iter().map(|&dim| u128::try_from(dim).unwrap_or_default());
    let total = dims().try_fold(u128::from(bits), u128::checked_mul).map(|bits| bits.div_ceil(8));
    tensor.shape().contains(&0) || total.is_some_and(|total| i64::try_from(total).is_ok())
}

/// Offsets and sizes of a chunk.
type Row<'a> = (&'a [i64], &'a [i64]);

/// The row of a chunk, and how many copies of it came behind.
type Copies = (usize, u64);

struct Judge<'a> {
    part: &'a Part,
    tensor: &'a Tensor,
    chunks: Chunks<'a>,
    keys: &'a [u8],
    tally: &'a mut Tally,
    interrupt: Interrupt<'a>,
}

impl Judge<'_> {
    fn all(&mut self) -> Result<(), Interrupted> {
        if !byte_length(self.tensor) {
            let bits = self.tensor.dtype().bits().unwrap_or(1);
            self.report(
                Finding::new(Code::ShapeOverflow)
                    .with("shape", format!("{:?}", self.tensor.shape()))
                    .with("bits", bits),
            );
        }
        if let Some(inside) = bounds::inside(self.chunks) {
            return self.coverage(inside, &|row| row);
        }
        let positions = self.part.positions(self.tensor);
        let position_of = |row: usize| positions.get(row).copied().map_or(u64::MAX, u64::from);
        let mut faults = Tally::keeping(self.tally.most());
        // No chunk lies in a tensor of negative size: that it does not is no fault of its own.
        bounds::name_shape_faults(self.chunks.shape(), &mut faults);
        if faults.counts().is_empty() {
            bounds::name_faults(self.chunks, position_of, EmptyPastEnd::Warning, &mut faults);
        }
        self.tally.absorb(faults, |finding| finding.of_tensor(self.tensor.fqn()));
        if self.chunks.shape().iter().any(|&dim| dim < 0) {
            return Ok(());
        }
        let clipped = bounds::clip(self.chunks);
        let rows = clipped.rows();
        clipped.inside().map_or(Ok(()), |inside| self.coverage(inside, &|row| rows.get(row).copied().unwrap_or(row)))
    }

    /// Prove coverage by `chunks`, or say what is wrong with it; `row_of` gives the row that each of them has.
    fn coverage(&mut self, chunks: Inside<'_>, row_of: &dyn Fn(usize) -> usize) -> Result<(), Interrupted> {
        if self.is_whole(chunks)? {
            return Ok(());
        }
        if self.part.rules.equal_boxes == EqualBoxes::Replicas {
            let kept = self.without_replicas(chunks, row_of);
            if kept.len() < chunks.chunks().len() {
                let (offsets, sizes) = (kept.table(chunks.chunks().offsets()), kept.table(chunks.chunks().sizes()));
                let rank = chunks.chunks().rank();
                let table = |values| Table::new(values, kept.len(), rank).ok();
                if let Some(once) = table(&offsets)
                    .zip(table(&sizes))
                    .and_then(|(offsets, sizes)| Chunks::new(chunks.chunks().shape(), offsets, sizes).ok())
                    .and_then(bounds::inside)
                    && !self.is_whole(once)?
                {
                    return self.name(once, &|row| row_of(kept.0.get(row).copied().unwrap_or(row)));
                }
                return Ok(());
            }
        }
        self.name(chunks, row_of)
    }

    const fn question(&self) -> Question<'_> {
        Question { expected: Expected::Times(1), rigour: Rigour::Bounded, keys: self.keys }
    }

    fn is_whole(&self, chunks: Inside<'_>) -> Result<bool, Interrupted> {
        match proof::decide(chunks, &self.question(), self.interrupt) {
            Ok(verdict) => Ok(verdict.whole),
            Err(proof::Error::Interrupted(interrupted)) => Err(interrupted),
            Err(_) => Ok(false),
        }
    }

    /// Report copies of a box that have records of their own, and leave one of each.
    fn without_replicas(&mut self, chunks: Inside<'_>, row_of: &dyn Fn(usize) -> usize) -> Kept {
        let records = self.part.records(self.tensor);
        let record = |row: usize| -> Option<Record> { *records.get(row_of(row))? };
        let mut first: HashMap<Row<'_>, Copies, foldhash::fast::RandomState> = HashMap::default();
        let mut kept = Kept(Vec::new());
        for (row, (offsets, sizes)) in chunks.chunks().iter().enumerate() {
            let (original, copies) = first.entry((offsets, sizes)).or_insert((row, 0));
            if *original == row || sizes.contains(&0) || record(*original) == record(row) {
                kept.0.push(row);
            } else {
                *copies = copies.saturating_add(1);
            }
        }
        let most = first.values().map(|&(_, copies)| copies).max().unwrap_or_default();
        if most > 0 {
            self.report(Finding::new(Code::Replicas).with("times", most.saturating_add(1)));
        }
        kept
    }

    /// Name the elements that are covered never, or more than once.
    fn name(&mut self, chunks: Inside<'_>, row_of: &dyn Fn(usize) -> usize) -> Result<(), Interrupted> {
        let positions = self.part.positions(self.tensor);
        let gap = match self.tensor.fill() {
            Some(fill) => Some(Finding::new(Code::ChunkMissingFill).with("fill", fill)),
            None => (!self.part.incomplete).then(|| Finding::new(Code::ChunkGap)),
        };
        let uneven = Uneven {
            chunks,
            position_of: &|row| positions.get(row_of(row)).copied().map_or(u64::MAX, u64::from),
            expected: 1,
            seed: self.question().seed(),
            gap,
        };
        let mut faults = Tally::keeping(self.tally.most());
        let totals = uneven.name(&mut faults, self.interrupt)?;
        self.tally.absorb(faults, |finding| finding.of_tensor(self.tensor.fqn()));
        if !totals.complete {
            let reason = "not every element is covered exactly once; where was not found within the limits";
            self.report(Finding::new(Code::ChunkGap).with("reason", reason));
        }
        Ok(())
    }

    fn report(&mut self, finding: Finding) {
        self.tally.push(finding.of_tensor(self.tensor.fqn()));
    }
}

/// Rows that are left of a layout, ascending.
struct Kept(Vec<usize>);

impl Kept {
    const fn len(&self) -> usize {
        self.0.len()
    }

    fn table(&self, of: Table<'_>) -> Vec<i64> {
        self.0.iter().filter_map(|&row| of.row(row)).flatten().copied().collect()
    }
}

#[cfg(test)]
mod tests;
