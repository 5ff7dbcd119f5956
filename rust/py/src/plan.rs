//! Read plans, differences of layouts, flat ranges.

use std::collections::BTreeMap;

use numpy::PyArrayMethods;
use pyo3::prelude::*;
use shardproof_core::bounds;
use shardproof_core::diff::{self, Difference};
use shardproof_core::findings::Code;
use shardproof_core::interrupt::{Interrupt, Interrupted};
use shardproof_core::layout::{Boxes, Chunks, Inside};
use shardproof_core::plan::{self, Columns, Refused, WriteError};
use shardproof_core::{flat, join};

use crate::arrays::{self, Column, Rows};
use crate::layout::Counted;
use crate::{door, raised, records};

/// Saved positions, wanted positions, saved offsets, wanted offsets, lengths.
type PlanColumns<'py> = (Column<'py>, Column<'py>, Rows<'py>, Rows<'py>, Rows<'py>);

/// Starts and sizes.
type BoxColumns<'py> = (Rows<'py>, Rows<'py>);

/// Plan the reads: the columns, what is wrong with the sources, and whether all of that was found.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the tables of two layouts, one by one")]
pub(crate) fn plan_reads<'py>(
    py: Python<'py>,
    shape: Vec<i64>,
    saved_offsets: &Rows<'_>,
    saved_sizes: &Rows<'_>,
    wanted_offsets: &Rows<'_>,
    wanted_sizes: &Rows<'_>,
    max_reads: u64,
    most: usize,
) -> PyResult<(PlanColumns<'py>, Counted<'py>, bool)> {
    let saved = inside(arrays::chunks(&shape, saved_offsets, saved_sizes)?)?;
    let wanted = inside(arrays::chunks(&shape, wanted_offsets, wanted_sizes)?)?;
    let chunks = saved.chunks().len().saturating_add(wanted.chunks().len());
    let reads = run(py, chunks, |interrupt| plan::reads(saved, wanted, max_reads, interrupt))?;

    let rows = usize::try_from(reads.count()).map_err(raised::limit_exceeded)?;
    let columns = (
        arrays::column(py, rows)?,
        arrays::column(py, rows)?,
        arrays::rows(py, rows, shape.len())?,
        arrays::rows(py, rows, shape.len())?,
        arrays::rows(py, rows, shape.len())?,
    );
    let uneven = {
        let (mut saved_positions, mut wanted_positions) = (columns.0.readwrite(), columns.1.readwrite());
        let (mut saved_offsets, mut wanted_offsets) = (columns.2.readwrite(), columns.3.readwrite());
        let mut lengths = columns.4.readwrite();
        let into = Columns {
            saved_positions: saved_positions.as_slice_mut()?,
            wanted_positions: wanted_positions.as_slice_mut()?,
            saved_offsets: saved_offsets.as_slice_mut()?,
            wanted_offsets: wanted_offsets.as_slice_mut()?,
            lengths: lengths.as_slice_mut()?,
        };
        run(py, rows, |interrupt| reads.write(into, interrupt))?
    };
    let (starts, lengths) = (arrays::table(&columns.3)?, arrays::table(&columns.4)?);
    let sources = run(py, rows.max(chunks), |interrupt| {
        reads.sources(starts, lengths, &uneven, most, interrupt).map_err(Refused::from)
    })?;
    let counts =
        BTreeMap::from([(Code::SourceGap.number(), sources.gaps), (Code::SourceOverlap.number(), sources.overlaps)]);
    let findings = sources.findings.iter().map(|finding| records::tuple(py, finding)).collect::<PyResult<_>>()?;
    Ok((columns, (findings, counts), sources.complete))
}

/// Elements, contiguous runs, elements of the shortest and of the longest run.
#[pyfunction]
pub(crate) fn plan_cost(
    py: Python<'_>,
    saved_sizes: &Rows<'_>,
    saved_positions: &Column<'_>,
    lengths: &Rows<'_>,
) -> PyResult<(u128, u128, u128, u128)> {
    let (sizes, lengths) = (arrays::table(saved_sizes)?, arrays::table(lengths)?);
    let saved_positions = saved_positions.readonly();
    let saved_positions = saved_positions.as_slice()?;
    let cost = door::run(py, lengths.len(), |_| Ok(plan::cost(sizes, saved_positions, lengths)))?;
    let cost = cost.map_err(raised::invalid_input)?;
    Ok((cost.elements, cost.runs, cost.shortest, cost.longest))
}

/// "equal", "recut" or "different", what only one side covers, and whether all of that was found.
#[pyfunction]
pub(crate) fn diff_layouts<'py>(
    py: Python<'py>,
    shape: Vec<i64>,
    left_offsets: &Rows<'_>,
    left_sizes: &Rows<'_>,
    right_offsets: &Rows<'_>,
    right_sizes: &Rows<'_>,
) -> PyResult<(&'static str, BoxColumns<'py>, BoxColumns<'py>, bool)> {
    let left = inside(arrays::chunks(&shape, left_offsets, left_sizes)?)?;
    let right = inside(arrays::chunks(&shape, right_offsets, right_sizes)?)?;
    let chunks = left.chunks().len().saturating_add(right.chunks().len());
    let none = Boxes::default;
    let (verdict, left, right, complete) =
        match run(py, chunks, |interrupt| diff::layouts(left, right, u64::MAX, interrupt))? {
            Difference::None => ("equal", none(), none(), true),
            Difference::Cut => ("recut", none(), none(), true),
            Difference::Elements(sides) => ("different", sides.left, sides.right, sides.complete),
        };
    Ok((verdict, boxes(py, left, shape.len())?, boxes(py, right, shape.len())?, complete))
}

/// Starts and sizes of the boxes of a flat range.
#[pyfunction]
pub(crate) fn flat_range_to_chunks(
    py: Python<'_>,
    shape: Vec<i64>,
    start: u128,
    stop: u128,
) -> PyResult<BoxColumns<'_>> {
    let found = flat::boxes(&shape, start, stop).map_err(raised::invalid_input)?;
    boxes(py, found, shape.len())
}

/// Start and stop of the flat range that chunks are.
#[pyfunction]
pub(crate) fn chunks_to_flat_range(
    py: Python<'_>,
    shape: Vec<i64>,
    offsets: &Rows<'_>,
    sizes: &Rows<'_>,
) -> PyResult<(u128, u128)> {
    let chunks = inside(arrays::chunks(&shape, offsets, sizes)?)?;
    door::run(py, chunks.chunks().len(), |_| Ok(flat::range(chunks)))?.map_err(raised::invalid_input)
}

fn inside(chunks: Chunks<'_>) -> PyResult<Inside<'_>> {
    bounds::inside(chunks).ok_or_else(|| raised::invalid_input("a chunk lies outside the tensor"))
}

fn boxes(py: Python<'_>, boxes: Boxes, rank: usize) -> PyResult<BoxColumns<'_>> {
    let rows = boxes.len();
    let (offsets, sizes) = boxes.into_columns();
    Ok((arrays::of_rows(py, offsets, rows, rank)?, arrays::of_rows(py, sizes, rows, rank)?))
}

/// Go through the door with work that can fail in other ways than by being stopped.
fn run<T: Send, E: Stop + Send>(
    py: Python<'_>,
    chunks: usize,
    work: impl FnOnce(Interrupt<'_>) -> Result<T, E> + Send,
) -> PyResult<T> {
    door::run(py, chunks, |interrupt| match work(interrupt) {
        Err(error) if error.stopped() => Err(Interrupted),
        done => Ok(done),
    })?
    .map_err(Stop::raised)
}

/// An error of a kernel, one case of which is that the caller stopped it.
trait Stop: Sized {
    fn stopped(&self) -> bool;
    fn raised(self) -> PyErr;
}

impl Stop for join::Refused {
    fn stopped(&self) -> bool {
        matches!(self, Self::Interrupted(_))
    }

    fn raised(self) -> PyErr {
        match self {
            Self::TooMany { count, limit } => {
                raised::limit_exceeded(format!("the plan has {count} reads, more than max_reads={limit}"))
            }
            Self::OutOfMemory { count } => raised::limit_exceeded(format!("{count} reads do not fit into memory")),
            other => raised::limit_exceeded(other),
        }
    }
}

impl Stop for Refused {
    fn stopped(&self) -> bool {
        matches!(self, Self::Join(error) if error.stopped())
    }

    fn raised(self) -> PyErr {
        match self {
            Self::Join(error) => error.raised(),
            Self::ShapesDiffer => raised::invalid_input(self),
        }
    }
}

impl Stop for WriteError {
    fn stopped(&self) -> bool {
        matches!(self, Self::Interrupted(_))
    }

    fn raised(self) -> PyErr {
        raised::invalid_input(self)
    }
}

impl Stop for diff::Error {
    fn stopped(&self) -> bool {
        match self {
            Self::Refused(error) => error.stopped(),
            Self::Write(error) => error.stopped(),
        }
    }

    fn raised(self) -> PyErr {
        match self {
            Self::Refused(error) => error.raised(),
            Self::Write(error) => error.raised(),
        }
    }
}
