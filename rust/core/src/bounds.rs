//! Rank, sign and bounds: one branch-free pass over the tables, and a second one only to name faults.

use crate::findings::{Code, Finding};
use crate::layout::{Chunks, Inside, Shards, Table};
use crate::tally::Tally;

/// Whether `start..start + len` lies in `0..dim`, for any `i64` at all.
///
/// Subtracting from `dim` cannot overflow once `len` is known to be in `0..=dim`; adding to `start` could.
#[must_use]
pub const fn fits(start: i64, len: i64, dim: i64) -> bool {
    start >= 0 && len >= 0 && len <= dim && start <= dim.saturating_sub(len)
}

/// Whether every chunk lies inside the tensor and no number is negative, the shape's included.
///
/// An empty chunk must lie inside too: `(9)+(0)` of `8` does not.
#[must_use]
pub fn inside(chunks: Chunks<'_>) -> Option<Inside<'_>> {
    all_fit(chunks.sizes(), [(chunks.shape(), chunks.offsets())]).then(|| Inside::vouched(chunks))
}

/// Whether every shard lies inside the global and inside the local tensor, and no number is negative.
#[must_use]
pub fn shards_inside(shards: Shards<'_>) -> bool {
    let chunks = shards.chunks();
    all_fit(chunks.sizes(), [(chunks.shape(), chunks.offsets()), (shards.local_shape(), shards.local_offsets())])
}

/// A shape, and where the sizes are put in it.
type Side<'a> = (&'a [i64], Table<'a>);

fn all_fit<const SIDES: usize>(sizes: Table<'_>, sides: [Side<'_>; SIDES]) -> bool {
    if sides.iter().any(|(shape, _)| shape.iter().any(|&dim| dim < 0)) {
        return false;
    }
    match sizes.rank() {
        0 => true,
        1 => of_rank::<1, SIDES>(sizes, sides),
        2 => of_rank::<2, SIDES>(sizes, sides),
        3 => of_rank::<3, SIDES>(sizes, sides),
        4 => of_rank::<4, SIDES>(sizes, sides),
        5 => of_rank::<5, SIDES>(sizes, sides),
        6 => of_rank::<6, SIDES>(sizes, sides),
        7 => of_rank::<7, SIDES>(sizes, sides),
        8 => of_rank::<8, SIDES>(sizes, sides),
        _ => sides.iter().all(|&side| one_by_one(side, sizes)),
    }
}

fn one_by_one((shape, offsets): Side<'_>, sizes: Table<'_>) -> bool {
    offsets.iter().zip(sizes.iter()).all(|(offsets, sizes)| {
        offsets.iter().zip(sizes).zip(shape).all(|((&start, &len), &dim)| fits(start, len, dim))
    })
}

/// Numbers without other bits are neither negative nor so large that one minus two others wraps.
const SAFE_BITS: i64 = (1 << 62) - 1;

fn of_rank<const RANK: usize, const SIDES: usize>(sizes: Table<'_>, sides: [Side<'_>; SIDES]) -> bool {
    let (size_rows, _) = sizes.values().as_chunks::<RANK>();
    let mut seen = 0;
    for (shape, offsets) in sides {
        let (offset_rows, _) = offsets.values().as_chunks::<RANK>();
        let Ok(shape) = <&[i64; RANK]>::try_from(shape) else { return false };
        seen |= bits_seen(shape, offset_rows, size_rows);
    }
    // Where only safe bits were seen nothing wrapped, and every distance to the end is at least zero. Otherwise there
    // is a fault or an enormous number: then rows are judged one by one.
    seen & !SAFE_BITS == 0 || sides.iter().all(|&side| one_by_one(side, sizes))
}

/// All bits of offsets, sizes and distances to the end, or-ed together: no branch, so that the loop vectorises.
#[inline]
fn bits_seen<const RANK: usize>(shape: &[i64; RANK], offsets: &[[i64; RANK]], sizes: &[[i64; RANK]]) -> i64 {
    let mut seen = [0; RANK];
    for (starts, lens) in offsets.iter().zip(sizes) {
        for (((seen, &start), &len), &dim) in seen.iter_mut().zip(starts).zip(lens).zip(shape) {
            *seen |= start | len | dim.wrapping_sub(len).wrapping_sub(start);
        }
    }
    seen.into_iter().fold(0, |all, bits| all | bits)
}

/// What an empty chunk behind the end of the tensor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyPastEnd {
    /// A fault like any other chunk outside the tensor: the protocol's rule.
    Fault,
    /// Worth a warning, since no element is concerned.
    Warning,
}

/// How the numbers of a side are called, and what lying outside it is.
struct Names {
    offsets: &'static str,
    sizes: &'static str,
    outside: Code,
}

const CHUNKS: Names = Names { offsets: "offsets", sizes: "sizes", outside: Code::ChunkOutOfBounds };
const GLOBAL: Names = Names { offsets: "global_offsets", sizes: "local_sizes", outside: Code::ChunkOutOfBounds };
const LOCAL: Names = Names { offsets: "local_offsets", sizes: "local_sizes", outside: Code::ShardOutsideLocal };

/// Name every negative dimension of `global_shape`.
pub fn name_shape_faults(global_shape: &[i64], tally: &mut Tally) {
    for (dimension, &dim) in global_shape.iter().enumerate().filter(|&(_, &dim)| dim < 0) {
        tally.push(
            Finding::new(Code::ShapeNegative).in_dimension(dimension).with("field", "global_shape").with("number", dim),
        );
    }
}

/// Name every fault of sign and bounds of `chunks`, one for each chunk, dimension and field.
///
/// `position_of` gives the position under which a row is reported.
pub fn name_faults(
    chunks: Chunks<'_>,
    position_of: impl Fn(usize) -> u64,
    empty_past_end: EmptyPastEnd,
    tally: &mut Tally,
) {
    for (row, (offsets, sizes)) in chunks.iter().enumerate() {
        // One chunk is empty in all of its dimensions as soon as it is in one.
        let rule = if sizes.contains(&0) { empty_past_end } else { EmptyPastEnd::Fault };
        let position = position_of(row);
        name_negative_sizes(&CHUNKS, sizes, position, tally);
        name_places(&CHUNKS, chunks.shape(), offsets, sizes, position, rule, tally);
    }
}

/// Name every fault of sign and bounds of `shards`, one for each shard, dimension and field.
pub fn name_shard_faults(shards: Shards<'_>, position_of: impl Fn(usize) -> u64, tally: &mut Tally) {
    let (chunks, places) = (shards.chunks(), shards.places());
    for (row, ((offsets, sizes), local_offsets)) in chunks.iter().zip(places.offsets().iter()).enumerate() {
        let position = position_of(row);
        name_negative_sizes(&GLOBAL, sizes, position, tally);
        name_places(&GLOBAL, chunks.shape(), offsets, sizes, position, EmptyPastEnd::Fault, tally);
        name_places(&LOCAL, places.shape(), local_offsets, sizes, position, EmptyPastEnd::Fault, tally);
    }
}

fn name_negative_sizes(names: &Names, sizes: &[i64], position: u64, tally: &mut Tally) {
    for (dimension, &len) in sizes.iter().enumerate().filter(|&(_, &len)| len < 0) {
        tally.push(negative(names.sizes, len, position, dimension));
    }
}

fn negative(field: &'static str, number: i64, position: u64, dimension: usize) -> Finding {
    Finding::new(Code::ChunkNegative).at(position).in_dimension(dimension).with("field", field).with("number", number)
}

fn name_places(
    names: &Names,
    shape: &[i64],
    offsets: &[i64],
    sizes: &[i64],
    position: u64,
    empty_past_end: EmptyPastEnd,
    tally: &mut Tally,
) {
    for (dimension, ((&start, &len), &dim)) in offsets.iter().zip(sizes).zip(shape).enumerate() {
        if start < 0 {
            tally.push(negative(names.offsets, start, position, dimension));
        }
        // Where one of the three is negative that was named, and nothing more can be said of the end.
        if start < 0 || len < 0 || dim < 0 || fits(start, len, dim) {
            continue;
        }
        let end = i128::from(start).saturating_add(i128::from(len));
        let code = match empty_past_end {
            _ if i64::try_from(end).is_err() => Code::ChunkOverflow,
            EmptyPastEnd::Warning => Code::EmptyChunkPastEnd,
            EmptyPastEnd::Fault => names.outside,
        };
        tally.push(
            Finding::new(code)
                .at(position)
                .in_dimension(dimension)
                .with("field", names.offsets)
                .with("offset", start)
                .with("size", len)
                .with("end", end)
                .with("dim", dim),
        );
    }
}

/// What is left of a faulty layout: chunks cut to the tensor, and where each came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clipped {
    shape: Vec<i64>,
    offsets: Vec<i64>,
    sizes: Vec<i64>,
    rows: Vec<usize>,
}

impl Clipped {
    /// The remaining chunks.
    #[must_use]
    pub fn inside(&self) -> Option<Inside<'_>> {
        let offsets = Table::new(&self.offsets, self.rows.len(), self.shape.len()).ok()?;
        let sizes = Table::new(&self.sizes, self.rows.len(), self.shape.len()).ok()?;
        Chunks::new(&self.shape, offsets, sizes).ok().and_then(inside)
    }

    /// Row that each remaining chunk had, ascending.
    #[must_use]
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }
}

/// Cut every chunk to the tensor and drop what then has no elements, so that coverage can still be judged.
///
/// A chunk with a negative size is dropped too. A negative dimension counts as zero.
#[must_use]
pub fn clip(chunks: Chunks<'_>) -> Clipped {
    let mut clipped = Clipped { shape: chunks.shape().iter().map(|&dim| dim.max(0)).collect(), ..Clipped::default() };
    for (row, (offsets, sizes)) in chunks.iter().enumerate() {
        let cut: Vec<(i64, i64)> = offsets
            .iter()
            .zip(sizes)
            .zip(&clipped.shape)
            .map(|((&start, &len), &dim)| {
                let stop = start.saturating_add(len).clamp(0, dim);
                let start = start.clamp(0, dim);
                (start, stop.saturating_sub(start))
            })
            .collect();
        if sizes.iter().any(|&len| len < 0) || cut.iter().any(|&(_, len)| len <= 0) {
            continue;
        }
        clipped.offsets.extend(cut.iter().map(|&(start, _)| start));
        clipped.sizes.extend(cut.iter().map(|&(_, len)| len));
        clipped.rows.push(row);
    }
    clipped
}

#[cfg(test)]
mod tests;
