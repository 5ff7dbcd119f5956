//! What a plan costs.

use crate::layout::{ShapeError, Table};

/// What the reads of a plan amount to, in elements of the saved chunks they come from.
///
/// A run is a stretch of a saved chunk, stored row-major, that a read takes as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Elements that are read.
    pub elements: u128,
    /// Contiguous runs.
    pub runs: u128,
    /// Elements of the shortest run; 0 when nothing is read.
    pub shortest: u128,
    /// Elements of the longest run; 0 when nothing is read.
    pub longest: u128,
}

/// Why a plan has no cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CostError {
    /// The columns are not those of one plan.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A read names a saved chunk that is not there.
    #[error("read {read} names saved chunk {position} of {chunks}")]
    NoSuchChunk {
        /// Which read.
        read: usize,
        /// What it names.
        position: i64,
        /// How many chunks there are.
        chunks: usize,
    },
    /// The reads have 2^128 elements or more.
    #[error("the reads have 2^128 elements or more")]
    TooLarge,
}

/// Add up what the reads cost that take `lengths` from the chunks at `saved_positions`.
///
/// # Errors
///
/// [`CostError`] when the columns do not belong together or the elements cannot be counted.
pub fn cost(saved_sizes: Table<'_>, saved_positions: &[i64], lengths: Table<'_>) -> Result<Cost, CostError> {
    if saved_positions.len() != lengths.len() {
        return Err(ShapeError::RowsDiffer { left: saved_positions.len(), right: lengths.len() }.into());
    }
    if saved_sizes.rank() != lengths.rank() {
        return Err(ShapeError::RankDiffers { left: saved_sizes.rank(), right: lengths.rank() }.into());
    }
    let mut cost = Cost::default();
    for (read, (&position, lengths)) in saved_positions.iter().zip(lengths.iter()).enumerate() {
        let sizes = usize::try_from(position).ok().and_then(|position| saved_sizes.row(position));
        let sizes = sizes.ok_or(CostError::NoSuchChunk { read, position, chunks: saved_sizes.len() })?;
        let (run, runs) = runs(sizes, lengths).ok_or(CostError::TooLarge)?;
        cost = cost.and(run, runs).ok_or(CostError::TooLarge)?;
    }
    Ok(cost)
}

impl Cost {
    fn and(self, run: u128, runs: u128) -> Option<Self> {
        let first = self.runs == 0;
        Some(Self {
            elements: self.elements.checked_add(run.checked_mul(runs)?)?,
            runs: self.runs.checked_add(runs)?,
            shortest: if first { run } else { self.shortest.min(run) },
            longest: self.longest.max(run),
        })
    }
}

/// The length of a run, and how many there are: whole trailing dimensions run on into each other.
fn runs(sizes: &[i64], lengths: &[i64]) -> Option<(u128, u128)> {
    let (mut run, mut runs, mut contiguous) = (1_u128, 1_u128, true);
    for (&size, &length) in sizes.iter().zip(lengths).rev() {
        let elements = u128::from(length.unsigned_abs());
        if contiguous {
            run = run.checked_mul(elements)?;
        } else {
            runs = runs.checked_mul(elements)?;
        }
        contiguous = contiguous && length == size;
    }
    Some((run, runs))
}
