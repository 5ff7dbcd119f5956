//! Headers of safetensors files, their index, and the part that they make together.

use pyo3::prelude::*;
use shardproof_core::checkpoint::index::Index;
use shardproof_core::checkpoint::inventory::Inventory;
use shardproof_core::checkpoint::limits::Limits;
use shardproof_core::checkpoint::safetensors::{self, Header, set};

use crate::door;
use crate::part::Part;
use crate::raised::limit_exceeded;

/// The header of one file.
#[pyclass(frozen, module = "shardproof._core")]
pub(crate) struct SafetensorsHeader(Header);

#[pymethods]
impl SafetensorsHeader {
    /// Read the header from the first bytes of a file of `size` bytes.
    #[new]
    fn new(path: &str, start: &[u8], size: u64) -> PyResult<Self> {
        door::attached(|| Header::read(path, start, size, &Limits::DEFAULT)).map(Self)
    }

    /// How many bytes from the start of the file the header takes, from the first eight; None if that cannot be.
    #[staticmethod]
    fn extent(start: &[u8], size: u64) -> Option<u64> {
        safetensors::extent(start, size, &Limits::DEFAULT)
    }

    /// Whether the header has DCP's note about the places of pieces.
    #[getter]
    fn holds_pieces(&self) -> bool {
        self.0.sharding.is_some()
    }
}

/// Which file of a set holds which tensor.
#[pyclass(frozen, module = "shardproof._core")]
pub(crate) struct SafetensorsIndex(Index);

#[pymethods]
impl SafetensorsIndex {
    /// Read an index.
    #[new]
    fn new(path: &str, content: &[u8]) -> PyResult<Self> {
        door::attached(|| Index::read(path, content, &Limits::DEFAULT)).map(Self)
    }

    /// The paths that it names, those that leave the checkpoint left out.
    fn files(&self) -> Vec<String> {
        self.0.files()
    }
}

/// Put the tensors of a set of files together.
#[pyfunction]
#[pyo3(signature = (headers, index, whole, sizes))]
pub(crate) fn assemble_safetensors(
    headers: Vec<PyRef<'_, SafetensorsHeader>>,
    index: Option<&SafetensorsIndex>,
    whole: Option<&Part>,
    sizes: Vec<(String, u64)>,
) -> PyResult<Part> {
    let headers: Vec<&Header> = headers.iter().map(|header| &header.0).collect();
    let inventory: Inventory = sizes.into_iter().collect();
    let (index, whole) = (index.map(|index| &index.0), whole.map(Part::columns));
    door::attached(|| set::assemble(&headers, index, whole, &inventory))?.map(Part::from).map_err(limit_exceeded)
}
