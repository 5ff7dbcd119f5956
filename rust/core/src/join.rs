//! All intersecting pairs of two sets of boxes, in time near the number of boxes plus the number of pairs.
//!
//! Boxes that cannot meet anything are dropped first, then every dimension in which each box meets each: chunks that
//! are all alike in a dimension, rows against columns, and one wanted chunk need no search at all. What remains is
//! a merge in one dimension ([`line`]), a grid where boxes are about as large as its cells ([`grid`]), and otherwise
//! a streamed segment tree, which has no bad input ([`segments`]). The work of the grid is counted before it is
//! begun, so the choice between the last two is never a bad one.
//!
//! Half-open boxes that only touch do not meet, and an empty box meets nothing. At rank 0 every box meets every other.

mod boxes;
mod grid;
mod line;
mod segments;
#[cfg(test)]
pub(crate) mod tests;

use crate::interrupt::{Interrupt, Interrupted};
use crate::layout::Inside;
use boxes::{Boxes, Hull};

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The caller stopped the search.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// There are more pairs than the caller allows.
    #[error("{count} pairs, more than {limit}")]
    TooMany {
        /// Pairs there are.
        count: u64,
        /// Pairs allowed.
        limit: u64,
    },
    /// A layout has more chunks than a pair can name.
    #[error("{chunks} chunks, more than {limit}")]
    TooManyChunks {
        /// Chunks of the longer layout.
        chunks: usize,
        /// Chunks allowed.
        limit: u32,
    },
    /// The list of pairs does not fit into memory.
    #[error("{count} pairs do not fit into memory")]
    OutOfMemory {
        /// Pairs there are.
        count: u64,
    },
}

/// Pairs of positions, ordered by the right position, then by the left one.
///
/// Rows may share storage: where everything meets everything, the lefts are held once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    rows: Vec<Row>,
    lefts: Vec<u32>,
    count: u64,
    disjoint: bool,
}

/// Where in `Pairs::lefts` the partners of one right box are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    start: usize,
    len: usize,
}

impl Pairs {
    /// How many pairs there are.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Whether the search saw that no two left boxes share an element near a right one.
    ///
    /// False says nothing: not every search looks.
    #[must_use]
    pub const fn lefts_are_disjoint(&self) -> bool {
        self.disjoint
    }

    /// Left positions that meet the box at `right`, ascending.
    #[must_use]
    pub fn of(&self, right: usize) -> &[u32] {
        self.rows
            .get(right)
            .and_then(|row| self.lefts.get(row.start..row.start.checked_add(row.len)?))
            .unwrap_or_default()
    }

    /// Left positions that meet each right box, for every right position in order.
    pub fn rows(&self) -> impl Iterator<Item = &[u32]> + Clone {
        (0..self.rows.len()).map(|right| self.of(right))
    }
}

/// List all intersecting pairs of `left` and `right`.
///
/// The pairs are counted before they are stored. Boxes are compared by coordinates alone; the shapes need not agree.
///
/// # Errors
///
/// [`Refused`] names the count when there are more than `limit` pairs, and says so when the caller interrupts.
pub fn pairs(left: Inside<'_>, right: Inside<'_>, limit: u64, interrupt: Interrupt<'_>) -> Result<Pairs, Refused> {
    for side in [left, right] {
        let chunks = side.chunks().len();
        if u32::try_from(chunks).is_err() {
            return Err(Refused::TooManyChunks { chunks, limit: u32::MAX });
        }
    }
    let Some((lefts, rights)) = candidates(left, right, interrupt)? else {
        return Ok(Pairs::none(right));
    };
    let mut found = match lefts.rank() {
        0 => everything(&lefts, &rights, limit)?,
        1 => line::pairs(&lefts, &rights, limit, interrupt)?,
        2 => searched::<2>(&lefts, &rights, limit, interrupt)?,
        3 => searched::<3>(&lefts, &rights, limit, interrupt)?,
        4 => searched::<4>(&lefts, &rights, limit, interrupt)?,
        _ => segments::pairs(&lefts, &rights, limit, interrupt)?,
    };
    found.spread(right.chunks().len(), &rights);
    Ok(found)
}

/// Count the intersecting pairs of `left` and `right` without storing one.
///
/// # Errors
///
/// [`Refused`] when the caller interrupts or a layout has more than 2^32 - 1 chunks.
pub fn count(left: Inside<'_>, right: Inside<'_>, interrupt: Interrupt<'_>) -> Result<u64, Refused> {
    match pairs(left, right, 0, interrupt) {
        Ok(pairs) => Ok(pairs.count()),
        Err(Refused::TooMany { count, .. }) => Ok(count),
        Err(refused) => Err(refused),
    }
}

/// The boxes that can meet one of the other side, without the dimensions in which each meets each.
///
/// `None` when no pair is left.
fn candidates(
    left: Inside<'_>,
    right: Inside<'_>,
    interrupt: Interrupt<'_>,
) -> Result<Option<(Boxes, Boxes)>, Interrupted> {
    let Some(hull) = Hull::of(right, interrupt)? else { return Ok(None) };
    let mut lefts = Boxes::within(left, &hull, interrupt)?;
    if lefts.is_empty() {
        return Ok(None);
    }
    let mut rights = Boxes::within(right, &lefts.hull(), interrupt)?;
    if rights.is_empty() {
        return Ok(None);
    }
    let kept: Vec<usize> = lefts
        .spans()
        .iter()
        .zip(rights.spans())
        .enumerate()
        .filter(|(_, (a, b))| a.last_start >= b.first_stop || b.last_start >= a.first_stop)
        .map(|(dimension, _)| dimension)
        .collect();
    lefts.keep(&kept);
    rights.keep(&kept);
    Ok(Some((lefts, rights)))
}

/// Each with each.
fn everything(lefts: &Boxes, rights: &Boxes, limit: u64) -> Result<Pairs, Refused> {
    let row = Row { start: 0, len: lefts.len() };
    let found = Pairs {
        rows: vec![row; rights.len()],
        lefts: lefts.positions().to_vec(),
        count: volume(lefts.len()).saturating_mul(volume(rights.len())),
        disjoint: lefts.len() < 2,
    };
    allow(found.count, limit)?;
    Ok(found)
}

/// By grid where that is cheap, else by segment tree.
fn searched<const R: usize>(
    lefts: &Boxes,
    rights: &Boxes,
    limit: u64,
    interrupt: Interrupt<'_>,
) -> Result<Pairs, Refused> {
    match grid::pairs::<R>(lefts, rights, limit, interrupt)? {
        Some(pairs) => Ok(pairs),
        None => segments::pairs(lefts, rights, limit, interrupt),
    }
}

impl Pairs {
    fn none(right: Inside<'_>) -> Self {
        Self { rows: vec![Row::default(); right.chunks().len()], lefts: Vec::new(), count: 0, disjoint: true }
    }

    /// Turn rows per candidate into rows per position.
    fn spread(&mut self, rights: usize, candidates: &Boxes) {
        if candidates.len() == rights {
            return;
        }
        let mut rows = vec![Row::default(); rights];
        for (&row, &position) in self.rows.iter().zip(candidates.positions()) {
            if let Some(place) = rows.get_mut(index(position)) {
                *place = row;
            }
        }
        self.rows = rows;
    }
}

const fn allow(count: u64, limit: u64) -> Result<(), Refused> {
    if count > limit { Err(Refused::TooMany { count, limit }) } else { Ok(()) }
}

/// An empty vector with room for `count` pairs.
fn room<T>(count: u64) -> Result<Vec<T>, Refused> {
    let mut list = Vec::new();
    let fits = usize::try_from(count).is_ok_and(|count| list.try_reserve_exact(count).is_ok());
    if fits { Ok(list) } else { Err(Refused::OutOfMemory { count }) }
}

/// A position as an index. Lossless: no target has pointers below 32 bits and a layout of 2^32 chunks.
fn index(position: u32) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

/// A length as a number of pairs.
fn volume(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}
