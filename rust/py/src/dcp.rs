//! Reading DCP metadata.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use shardproof_core::checkpoint::dcp::{self, Flavour};
use shardproof_core::checkpoint::limits::Limits;
use shardproof_core::checkpoint::megatron;
use shardproof_core::interrupt::Interrupt;

use crate::door;
use crate::part::Part;

/// Bytes of metadata that take as long to read as a chunk takes elsewhere.
const BYTES_PER_CHUNK: usize = 8;

/// Flavour, whether it has the plans of all processes, whether a mega store, and attributes that are not known.
type Origin = (&'static str, bool, bool, Vec<String>);

/// Read metadata files, given by path and content, and whether they are among files of Megatron: tensors, chunks and
/// records, and who wrote them.
#[pyfunction]
pub(crate) fn read_dcp(
    py: Python<'_>,
    files: Vec<(String, PyBackedBytes)>,
    megatron: bool,
) -> PyResult<(Part, Origin)> {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(path, content)| (path.as_str(), content.as_ref())).collect();
    let bytes: usize = files.iter().map(|(_, content)| content.len()).sum();
    let read = |interrupt: Interrupt<'_>| dcp::read(&files, megatron, &Limits::DEFAULT, interrupt);
    let reading = door::run(py, bytes / BYTES_PER_CHUNK, read)?;
    let origin = reading.origin;
    let flavour = match origin.flavour {
        Flavour::Torch => "torch",
        Flavour::TensorPlay => "tensorplay",
        Flavour::VersionOnly => "version only",
    };
    Ok((reading.part.into(), (flavour, origin.has_plans, origin.has_mega_store, origin.foreign)))
}

/// The backend that Megatron's `metadata.json` names, or None if it is somebody else's; raises what is wrong with it.
#[pyfunction]
pub(crate) fn megatron_backend(content: &[u8]) -> PyResult<Option<String>> {
    let backend = door::attached(|| megatron::backend(content, &Limits::DEFAULT))?;
    backend.map_err(|error| PyValueError::new_err(error.to_string()))
}
