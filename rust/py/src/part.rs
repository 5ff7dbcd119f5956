//! One part of a checkpoint, kept as columns; Python asks for what it shows.

use std::collections::BTreeMap;

use numpy::PyArray1;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use shardproof_core::checkpoint::part::{Part as Columns, Record, Tensor};
use shardproof_core::checkpoint::{inventory::Inventory, judge};
use shardproof_core::interrupt::Interrupt;

use crate::{door, records};

/// Tensors, chunks and records of one part of a checkpoint.
#[pyclass(frozen, module = "shardproof._core")]
pub(crate) struct Part(Columns);

impl From<Columns> for Part {
    fn from(columns: Columns) -> Self {
        Self(columns)
    }
}

impl Part {
    /// The columns themselves.
    pub(crate) const fn columns(&self) -> &Columns {
        &self.0
    }

    fn named(&self, number: usize) -> PyResult<&Tensor> {
        self.0.tensors().get(number).ok_or_else(|| PyIndexError::new_err(number))
    }
}

type Place = (u32, i64, i64);

type Column<'py, T> = Bound<'py, PyArray1<T>>;

/// Offsets, sizes, positions.
type ChunkColumns<'py> = (Column<'py, i64>, Column<'py, i64>, Column<'py, u32>);

/// File numbers, first bytes, numbers of bytes.
type RecordColumns<'py> = (Column<'py, i64>, Column<'py, i64>, Column<'py, i64>);

/// Findings that were kept, and how many there are of each code.
type Judgement<'py> = (Vec<Bound<'py, PyTuple>>, BTreeMap<u16, u64>);

fn place(record: Record) -> Place {
    (record.file, record.byte_offset, record.byte_length)
}

#[pymethods]
impl Part {
    /// How many tensors there are.
    fn __len__(&self) -> usize {
        self.0.tensors().len()
    }

    /// Names of the tensors, in the order of the metadata.
    fn fqns(&self) -> Vec<&str> {
        self.0.tensors().iter().map(Tensor::fqn).collect()
    }

    /// Shape, dtype, bits of an element if known, and number of chunks of a tensor.
    fn tensor<'py>(&self, py: Python<'py>, number: usize) -> PyResult<(Bound<'py, PyTuple>, &str, Option<u32>, usize)> {
        let tensor = self.named(number)?;
        let shape = PyTuple::new(py, tensor.shape())?;
        Ok((shape, tensor.dtype().name(), tensor.dtype().bits(), tensor.rows().len()))
    }

    /// Offsets and sizes of a tensor's chunks, flat, and their positions in the metadata's own list.
    fn chunks<'py>(&self, py: Python<'py>, number: usize) -> PyResult<ChunkColumns<'py>> {
        let tensor = self.named(number)?;
        let chunks = self.0.chunks(tensor).ok_or_else(|| PyIndexError::new_err(number))?;
        Ok((
            PyArray1::from_slice(py, chunks.offsets().values()),
            PyArray1::from_slice(py, chunks.sizes().values()),
            PyArray1::from_slice(py, self.0.positions(tensor)),
        ))
    }

    /// File number (-1 where there is no record), first byte and number of bytes of each of a tensor's chunks.
    fn records<'py>(&self, py: Python<'py>, number: usize) -> PyResult<RecordColumns<'py>> {
        let records = self.0.records(self.named(number)?);
        let column = |of: fn(Record) -> i64, absent| {
            PyArray1::from_iter(py, records.iter().map(move |record| record.map_or(absent, of)))
        };
        Ok((
            column(|record| record.file.into(), -1),
            column(|record| record.byte_offset, 0),
            column(|record| record.byte_length, 0),
        ))
    }

    /// The rank of the tensor that has most dimensions.
    fn rank(&self) -> usize {
        self.0.tensors().iter().map(|tensor| tensor.shape().len()).max().unwrap_or_default()
    }

    /// How many chunks all tensors have together.
    fn chunk_count(&self) -> usize {
        self.0.chunk_count()
    }

    /// Paths of the files, as recorded, by number.
    fn files(&self) -> Vec<&str> {
        self.0.files().iter().map(AsRef::as_ref).collect()
    }

    /// Entries that are not tensors: name, and (file number, first byte, number of bytes) where they are recorded.
    fn blobs(&self) -> Vec<(&str, Option<Place>)> {
        self.0.blobs.iter().map(|blob| (blob.fqn.as_ref(), blob.record.map(place))).collect()
    }

    /// What reading brought to light.
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        self.0.findings.iter().map(|finding| records::tuple(py, finding)).collect()
    }

    /// Judge form, bounds, coverage and storage: up to `most` findings of each code, and how many there are of each.
    ///
    /// `keys` are sixteen random bytes for each dimension of `rank`.
    fn judge<'py>(
        &self,
        py: Python<'py>,
        sizes: Vec<(String, u64)>,
        keys: &[u8],
        most: usize,
    ) -> PyResult<Judgement<'py>> {
        let inventory: Inventory = sizes.into_iter().collect();
        let work = |interrupt: Interrupt<'_>| judge::judge(&self.0, &inventory, keys, most, interrupt);
        let tally = door::run(py, self.0.chunk_count(), work)?;
        let findings: PyResult<_> = tally.findings().iter().map(|finding| records::tuple(py, finding)).collect();
        Ok((findings?, tally.counts().iter().map(|(code, &count)| (code.number(), count)).collect()))
    }
}
