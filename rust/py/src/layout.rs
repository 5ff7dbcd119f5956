//! Bounds of layouts, and the index of their offsets.

use std::collections::BTreeMap;

use numpy::{PyArray1, PyArray2, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyInt, PySlice, PyTuple};
use shardproof_core::bounds::{self, EmptyPastEnd};
use shardproof_core::index;
use shardproof_core::layout::{Shards, Table};
use shardproof_core::local;
use shardproof_core::tally::Tally;

use crate::arrays::{self, Rows, table};
use crate::ints::Ints;
use crate::{door, raised, records};

/// Findings that were kept, and how many there are of each code.
pub(crate) type Counted<'py> = (Vec<Bound<'py, PyTuple>>, BTreeMap<u16, u64>);

/// Hand over what was counted and kept.
pub(crate) fn counted<'py>(py: Python<'py>, tally: &Tally) -> PyResult<Counted<'py>> {
    let kept = tally.findings().iter().map(|finding| records::tuple(py, finding)).collect::<PyResult<_>>()?;
    Ok((kept, tally.counts().iter().map(|(code, &count)| (code.number(), count)).collect()))
}

/// Whether all fields are tables with a row for every chunk, and all shapes as long as these rows and of 64 bits: then
/// the layout has no fault of form.
#[pyfunction]
pub(crate) fn are_tables(shapes: &Bound<'_, PyTuple>, fields: &Bound<'_, PyTuple>) -> bool {
    let ints = Ints::new(shapes.py());
    let (mut rank, mut rows) = (None, None);
    shapes.iter_borrowed().all(|shape| {
        shape.cast::<PyTuple>().is_ok_and(|shape| {
            *rank.get_or_insert(shape.len()) == shape.len() && shape.iter_borrowed().all(|dim| ints.read(dim).is_some())
        })
    }) && fields.iter_borrowed().all(|field| {
        field.cast::<PyArray2<i64>>().is_ok_and(|field| match *field.shape() {
            [len, width] => *rows.get_or_insert(len) == len && rank == Some(width),
            _ => false,
        })
    })
}

/// Whether every chunk lies inside the tensor.
#[pyfunction]
pub(crate) fn chunks_inside(py: Python<'_>, shape: Vec<i64>, offsets: &Rows<'_>, sizes: &Rows<'_>) -> PyResult<bool> {
    let chunks = arrays::chunks(&shape, offsets, sizes)?;
    door::run(py, chunks.len(), |_| Ok(bounds::inside(chunks).is_some()))
}

/// Name every fault of sign and bounds; row i is reported under `positions[i]`.
#[pyfunction]
pub(crate) fn chunk_faults<'py>(
    py: Python<'py>,
    shape: Vec<i64>,
    offsets: &Rows<'_>,
    sizes: &Rows<'_>,
    positions: Option<Vec<u64>>,
    most: usize,
) -> PyResult<Counted<'py>> {
    let chunks = arrays::chunks(&shape, offsets, sizes)?;
    let tally = door::run(py, chunks.len(), |_| {
        let mut tally = Tally::keeping(most);
        bounds::name_faults(chunks, place(positions.as_deref()), EmptyPastEnd::Warning, &mut tally);
        Ok(tally)
    })?;
    counted(py, &tally)
}

/// Whether every shard lies inside the global and the local tensor.
#[pyfunction]
pub(crate) fn shards_inside(
    py: Python<'_>,
    global_shape: Vec<i64>,
    global_offsets: &Rows<'_>,
    local_sizes: &Rows<'_>,
    local_shape: Vec<i64>,
    local_offsets: &Rows<'_>,
) -> PyResult<bool> {
    let chunks = arrays::chunks(&global_shape, global_offsets, local_sizes)?;
    let shards = Shards::new(chunks, &local_shape, table(local_offsets)?).map_err(raised::invalid_input)?;
    door::run(py, chunks.len(), |_| Ok(bounds::shards_inside(shards)))
}

/// Name every fault of sign and bounds of shards; row i is reported under `positions[i]`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the tables of a layout, one by one")]
pub(crate) fn shard_faults<'py>(
    py: Python<'py>,
    global_shape: Vec<i64>,
    global_offsets: &Rows<'_>,
    local_sizes: &Rows<'_>,
    local_shape: Vec<i64>,
    local_offsets: &Rows<'_>,
    positions: Option<Vec<u64>>,
    most: usize,
) -> PyResult<Counted<'py>> {
    let chunks = arrays::chunks(&global_shape, global_offsets, local_sizes)?;
    let shards = Shards::new(chunks, &local_shape, table(local_offsets)?).map_err(raised::invalid_input)?;
    let tally = door::run(py, chunks.len(), |_| {
        let mut tally = Tally::keeping(most);
        bounds::name_shard_faults(shards, place(positions.as_deref()), &mut tally);
        Ok(tally)
    })?;
    counted(py, &tally)
}

/// Name elements that several shards have, and count those of the local tensor that none has.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the tables of a layout, one by one")]
pub(crate) fn local_faults<'py>(
    py: Python<'py>,
    global_shape: Vec<i64>,
    global_offsets: &Rows<'_>,
    local_sizes: &Rows<'_>,
    local_shape: Vec<i64>,
    local_offsets: &Rows<'_>,
    positions: Option<Vec<u64>>,
    seed: u128,
    most: usize,
) -> PyResult<Counted<'py>> {
    let chunks = arrays::chunks(&global_shape, global_offsets, local_sizes)?;
    let shards = Shards::new(chunks, &local_shape, table(local_offsets)?).map_err(raised::invalid_input)?;
    let tally = door::run(py, chunks.len(), |interrupt| {
        let mut tally = Tally::keeping(most);
        local::name_faults(shards, &place(positions.as_deref()), seed, &mut tally, interrupt).map(|()| tally)
    })?;
    counted(py, &tally)
}

/// Slices of the local tensor that the shard at `position` is; None where there is no such shard.
#[pyfunction]
pub(crate) fn slices<'py>(
    py: Python<'py>,
    local_offsets: &Rows<'_>,
    local_sizes: &Rows<'_>,
    position: usize,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let (Some(starts), Some(lens)) = (table(local_offsets)?.row(position), table(local_sizes)?.row(position)) else {
        return Ok(None);
    };
    let slice = py.get_type::<PySlice>();
    let slices = starts
        .iter()
        .zip(lens)
        .map(|(&start, &len)| slice.call1((start, start.saturating_add(len))))
        .collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(py, slices).map(Some)
}

pub(crate) fn place(positions: Option<&[u64]>) -> impl Fn(usize) -> u64 {
    move |row| match positions {
        Some(positions) => positions.get(row).copied().unwrap_or(u64::MAX),
        None => u64::try_from(row).unwrap_or(u64::MAX),
    }
}

/// Finds the shard that starts at an offset.
#[pyclass(frozen, module = "shardproof._core")]
pub(crate) struct OffsetIndex {
    index: index::OffsetIndex,
    offsets: Py<PyArray2<i64>>,
    sizes: Py<PyArray2<i64>>,
    ints: Ints,
}

#[pymethods]
impl OffsetIndex {
    #[new]
    fn new(py: Python<'_>, offsets: &Rows<'_>, sizes: &Rows<'_>) -> PyResult<Self> {
        let (starts, lengths) = (table(offsets)?, table(sizes)?);
        let index = door::run(py, starts.len(), |_| Ok(index::OffsetIndex::new(starts, lengths)))?
            .map_err(raised::limit_exceeded)?;
        Ok(Self { index, offsets: offsets.clone().unbind(), sizes: sizes.clone().unbind(), ints: Ints::new(py) })
    }

    /// Position of the shard that starts at `offset`, exact ints, or None; a wrong hint is ignored.
    #[pyo3(signature = (offset, hint=None))]
    fn find(&self, offset: &Bound<'_, PyTuple>, hint: Option<usize>) -> PyResult<Option<usize>> {
        self.at(offset, hint)
    }

    /// Positions of the shards that start at each row of `offsets`, -1 where there is none.
    fn find_many<'py>(&self, py: Python<'py>, offsets: &Rows<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let queries = table(offsets)?;
        let mut answers = Vec::new();
        answers.try_reserve_exact(queries.len()).map_err(raised::limit_exceeded)?;
        answers.resize(queries.len(), 0);
        let (starts, sizes) = (self.offsets.bind(py), self.sizes.bind(py));
        let (starts, sizes): (Table<'_>, Table<'_>) = (table(starts)?, table(sizes)?);
        door::run(py, queries.len(), |interrupt| {
            self.index.find_many(starts, sizes, queries, &mut answers, interrupt)
        })?;
        Ok(PyArray1::from_vec(py, answers))
    }

    /// Bytes of memory that the index holds.
    fn memory_bytes(&self) -> usize {
        self.index.memory_bytes()
    }
}

impl OffsetIndex {
    /// Position of the shard that `wanted` means, where that is plain to see: an offset of exact ints, or an object with
    /// such an `offset` and with an `index` that is None or an exact int.
    fn plainly(&self, wanted: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
        let py = wanted.py();
        if let Ok(offset) = wanted.cast_exact::<PyTuple>() {
            return self.at(offset, None);
        }
        let Some(offset) = wanted.getattr_opt(intern!(py, "offset"))? else { return Ok(None) };
        let Ok(offset) = offset.cast::<PyTuple>() else { return Ok(None) };
        match wanted.getattr_opt(intern!(py, "index"))? {
            Some(hint) if !hint.is_none() => match hint.cast_exact::<PyInt>() {
                Ok(hint) => self.at(offset, hint.extract().ok()),
                Err(_) => Ok(None),
            },
            _ => self.at(offset, None),
        }
    }

    /// Position of the shard that starts at `offset`; None too where that holds anything but exact ints of 64 bits.
    fn at(&self, offset: &Bound<'_, PyTuple>, hint: Option<usize>) -> PyResult<Option<usize>> {
        let py = offset.py();
        let mut few = [0; 8];
        let mut many;
        let values = if let Some(few) = few.get_mut(..offset.len()) {
            few
        } else {
            many = vec![0; offset.len()];
            many.as_mut_slice()
        };
        for (value, number) in values.iter_mut().zip(offset.iter_borrowed()) {
            let Some(number) = self.ints.read(number) else { return Ok(None) };
            *value = number;
        }
        Ok(self.index.find(table(self.offsets.bind(py))?, table(self.sizes.bind(py))?, values, hint))
    }
}

/// What a `ShardLayout` looks shards up with: a call from Python comes here without a Python frame on its way.
#[pyclass(frozen, subclass, module = "shardproof._core")]
pub(crate) struct Resolver {
    index: PyOnceLock<Py<OffsetIndex>>,
}

#[pymethods]
impl Resolver {
    #[new]
    #[pyo3(signature = (*_args, **_named))]
    fn new(_args: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> Self {
        Self { index: PyOnceLock::new() }
    }

    /// The index of a layout that was found valid.
    #[getter(_index)]
    fn index(&self, py: Python<'_>) -> Option<Py<OffsetIndex>> {
        self.index.get(py).map(|index| index.clone_ref(py))
    }

    #[setter(_index)]
    fn set_index(&self, py: Python<'_>, index: Py<OffsetIndex>) {
        // Of two threads that were as fast as each other, the first has it.
        drop(self.index.set(py, index));
    }

    /// Find the shard that a metadata index or an offset means.
    ///
    /// No offset and exactly one shard; a right hint; the first shard at that offset, a non-empty one before an empty
    /// one. A hint that is wrong, negative or too large is ignored.
    ///
    /// Parameters
    /// ----------
    /// wanted
    ///     A `MetadataIndex`, or an object of torch or TensorPlay like it; a sequence of integers; or None.
    ///
    /// Returns
    /// -------
    /// int
    ///     Position of the shard.
    ///
    /// Raises
    /// ------
    /// LookupFailed
    ///     If no shard is meant.
    /// LayoutError
    ///     If the layout is faulty.
    /// InvalidType
    ///     If the offset or the hint is no integer.
    ///
    /// Examples
    /// --------
    /// >>> from shardproof import ShardLayout
    /// >>> ShardLayout((8,), [(0,), (4,)], [(0,), (4,)], [(4,), (4,)], (8,)).resolve((4,))
    /// 1
    fn resolve<'py>(slf: &Bound<'py, Self>, wanted: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if let Some(index) = slf.get().index.get(py)
            && let Some(position) = index.get().plainly(wanted)?
        {
            return Ok(position.into_pyobject(py)?.into_any());
        }
        slf.call_method1(intern!(py, "_resolve"), (wanted,))
    }
}
