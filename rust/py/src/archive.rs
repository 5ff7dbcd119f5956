//! Looking into the archives that records are. Python reads the bytes, the core says which.

use std::collections::HashSet;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyTuple;
use shardproof_core::checkpoint::archive::{Window, examine};
use shardproof_core::interrupt::Interrupt;

use crate::part::Part;
use crate::records;

/// Look into the archives of a file of a part; `read` gives bytes by first byte and number of bytes.
///
/// `failed` names chunks that are not looked at again.
#[pyfunction]
pub(crate) fn examine_archives<'py>(
    py: Python<'py>,
    part: &Part,
    file: u32,
    size: u64,
    failed: Vec<(String, u32)>,
    read: Bound<'py, PyAny>,
) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let failed: HashSet<(&str, u32)> = failed.iter().map(|(fqn, position)| (fqn.as_str(), *position)).collect();
    let mut raised = None;
    let mut ask = |start: u64, length: u64| -> Option<Vec<u8>> {
        if raised.is_some() {
            return None;
        }
        let given = read.call1((start, length)).and_then(|bytes| Ok(bytes.extract::<Option<PyBackedBytes>>()?));
        given.map_err(|error| raised = Some(error)).ok().flatten().map(|bytes| bytes.to_vec())
    };
    let mut window = Window::new(size, &mut ask);
    let skip = |fqn: &str, position: u32| failed.contains(&(fqn, position));
    let found = examine(part.columns(), file, &mut window, &skip, Interrupt::NEVER);
    match raised {
        Some(error) => Err(error),
        None => found.unwrap_or_default().iter().map(|finding| records::tuple(py, finding)).collect(),
    }
}
