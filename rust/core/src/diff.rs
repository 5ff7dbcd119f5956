//! How two layouts of one tensor differ, whatever the order of their chunks.
//!
//! Chunks that touch are merged on both sides first: rows against columns are one box against one box. What is left
//! is planned in both directions, and the elements without a source are the difference.

use crate::bounds;
use crate::findings::Code;
use crate::interrupt::Interrupt;
use crate::layout::{Boxes, Inside, Table};
use crate::locate::{Region, patch};
use crate::plan::{self, Columns, Refused, WriteError};

/// How two layouts compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The same chunks, each as often.
    None,
    /// The same elements, cut in another way.
    Cut,
    /// Elements that only one side has.
    Elements(Sides),
}

/// What only one of two layouts covers. The boxes overlap at most where the layout's own chunks do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides {
    /// What only the left one covers.
    pub left: Boxes,
    /// What only the right one covers.
    pub right: Boxes,
    /// Whether these are all boxes: naming those of a very intricate difference stops at some point.
    pub complete: bool,
}

/// Why two layouts were not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// They cannot be planned from each other.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// They cannot be written as tables.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Compare the chunks, and then the elements, of two layouts. Empty chunks do not count.
///
/// # Errors
///
/// [`Error`] when the shapes differ, when merging leaves layouts that meet in more than `limit` places, and when the
/// caller interrupts.
pub fn layouts(left: Inside<'_>, right: Inside<'_>, limit: u64, interrupt: Interrupt<'_>) -> Result<Difference, Error> {
    let shape = left.chunks().shape();
    if shape != right.chunks().shape() {
        return Err(Refused::ShapesDiffer.into());
    }
    let [mut left, mut right] = [left, right].map(regions);
    if left == right {
        return Ok(Difference::None);
    }
    for side in [&mut left, &mut right] {
        side.dedup();
        patch::join(side);
    }
    if left == right {
        return Ok(Difference::Cut);
    }
    let [left, right] = [left, right].map(|side| boxes(&side));
    let (only_left, all_left) = missing(shape, &right, &left, limit, interrupt)?;
    let (only_right, all_right) = missing(shape, &left, &right, limit, interrupt)?;
    if only_left.is_empty() && only_right.is_empty() && all_left && all_right {
        return Ok(Difference::Cut);
    }
    Ok(Difference::Elements(Sides { left: only_left, right: only_right, complete: all_left && all_right }))
}

/// The chunks with elements, in a fixed order.
fn regions(chunks: Inside<'_>) -> Vec<Region> {
    let filled = chunks.chunks().iter().filter(|(_, sizes)| !sizes.contains(&0));
    let mut regions: Vec<Region> = filled
        .map(|(offsets, sizes)| Region {
            low: offsets.to_vec(),
            high: offsets.iter().zip(sizes).map(|(&start, &size)| start.saturating_add(size)).collect(),
            times: 1,
            chunks: Vec::new(),
        })
        .collect();
    regions.sort_unstable();
    regions
}

fn boxes(regions: &[Region]) -> Boxes {
    let mut boxes = Boxes::default();
    for region in regions {
        boxes.push(&region.low, &region.sizes());
    }
    boxes
}

/// What `held` does not have of `wanted`, and whether that is all.
fn missing(
    shape: &[i64],
    held: &Boxes,
    wanted: &Boxes,
    limit: u64,
    interrupt: Interrupt<'_>,
) -> Result<(Boxes, bool), Error> {
    let [held, wanted] = [held, wanted].map(|side| side.of(shape).map(bounds::inside));
    let (Some(held), Some(wanted)) = (held.map_err(WriteError::from)?, wanted.map_err(WriteError::from)?) else {
        // Merged chunks stay inside the tensor.
        return Ok((Boxes::default(), false));
    };
    let reads = plan::reads(held, wanted, limit, interrupt)?;
    let rows = usize::try_from(reads.count()).unwrap_or(usize::MAX);
    let column = |rank| vec![0; rows.saturating_mul(rank)];
    let (mut wanted_offsets, mut lengths) = (column(shape.len()), column(shape.len()));
    let uneven = reads.write(
        Columns {
            saved_positions: &mut column(1),
            wanted_positions: &mut column(1),
            saved_offsets: &mut column(shape.len()),
            wanted_offsets: &mut wanted_offsets,
            lengths: &mut lengths,
        },
        interrupt,
    )?;
    let table = |values| Table::new(values, rows, shape.len()).map_err(WriteError::from);
    let sources = reads.sources(table(&wanted_offsets)?, table(&lengths)?, &uneven, usize::MAX, interrupt);
    let sources = sources.map_err(Refused::from)?;
    let gaps = sources.findings.into_iter().filter(|finding| finding.code == Code::SourceGap);
    let mut gaps: Vec<Region> = gaps
        .filter_map(|finding| finding.region)
        .map(|(low, sizes)| Region {
            high: low.iter().zip(sizes).map(|(&start, size)| start.saturating_add(size)).collect(),
            low,
            times: 0,
            chunks: Vec::new(),
        })
        .collect();
    gaps.sort_unstable();
    gaps.dedup();
    patch::join(&mut gaps);
    Ok((boxes(&gaps), sources.complete))
}

#[cfg(test)]
mod tests;
