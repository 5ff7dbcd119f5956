//! Reading zarr and Orbax: Python holds the files, the core says which bytes of them it needs.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyTuple;
use shardproof_core::checkpoint::limits::Limits;
use shardproof_core::checkpoint::orbax;
use shardproof_core::checkpoint::zarr::reader::{Layout, Reader};

use crate::part::Part;
use crate::{door, records};

/// A directory of arrays that is being read.
#[pyclass(module = "shardproof._core")]
pub(crate) struct ArrayReader {
    reader: Option<Reader>,
    files: usize,
}

#[pymethods]
impl ArrayReader {
    /// Begin to read a directory that has these files, by relative path and number of bytes.
    #[new]
    #[pyo3(signature = (files, *, orbax, deep))]
    fn new(py: Python<'_>, files: Vec<(String, u64)>, orbax: bool, deep: bool) -> PyResult<Self> {
        let layout = if orbax { Layout::Orbax } else { Layout::Zarr };
        let count = files.len();
        let files = files.into_iter().map(|(path, length)| (path.into_boxed_str(), length));
        let reader = door::run(py, count, |_| Ok(Reader::new(layout, files, deep, Limits::DEFAULT)))?;
        Ok(Self { reader: Some(reader), files: count })
    }

    /// The ranges that are needed next, as (path, first byte, number of bytes); none when everything is read.
    fn ranges(&mut self, py: Python<'_>) -> PyResult<Vec<(String, u64, u64)>> {
        let reader = self.reader.as_mut();
        let ranges = door::run(py, self.files, |_| Ok(reader.map(Reader::ranges).unwrap_or_default()))?;
        Ok(ranges.into_iter().map(|range| (range.file.into_string(), range.byte_offset, range.byte_length)).collect())
    }

    /// Take the bytes of these ranges, in their order; `None` for what could not be read.
    fn answer(&mut self, py: Python<'_>, answers: Vec<Option<PyBackedBytes>>) -> PyResult<()> {
        let reader = self.reader.as_mut();
        door::run(py, self.files, |_| {
            if let Some(reader) = reader {
                reader.answer(answers);
            }
            Ok(())
        })
    }

    /// Everything that was read, and apart from it what only the deep look found.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<(Part, Vec<Bound<'py, PyTuple>>)> {
        let reader = self.reader.take().ok_or_else(|| PyValueError::new_err("the reader has finished"))?;
        let (part, findings) = door::run(py, self.files, |_| Ok(reader.finish()))?;
        let findings: PyResult<_> = findings.iter().map(|finding| records::tuple(py, finding)).collect();
        Ok((part.into(), findings?))
    }
}

/// Items of an Orbax step, each with what wrote it, and whether the step was completed; raises what is wrong.
#[pyfunction]
pub(crate) fn orbax_step(content: &[u8]) -> PyResult<(Vec<(String, String)>, bool)> {
    let step = door::attached(|| orbax::step(content, &Limits::DEFAULT))?;
    let step = step.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((step.items, step.committed))
}
