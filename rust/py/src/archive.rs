//! Looking into the archives that records are. Python reads the bytes, the core says which.

use std::collections::HashSet;

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyTuple;
use shardproof_core::checkpoint::archive::{Window, examine};
use shardproof_core::interrupt::Interrupt;

use crate::part::Part;
use crate::{door, records};

/// A way to read ranges that is Python's; after it raised, nothing is read any more.
pub(crate) struct Asking<'py> {
    read: Bound<'py, PyAny>,
    raised: Option<PyErr>,
}

impl<'py> Asking<'py> {
    pub(crate) const fn new(read: Bound<'py, PyAny>) -> Self {
        Self { read, raised: None }
    }

    /// The bytes of the range that these arguments stand for.
    pub(crate) fn ask(&mut self, range: impl PyCallArgs<'py>) -> Option<Vec<u8>> {
        if self.raised.is_some() {
            return None;
        }
        let given = self.read.call1(range).and_then(|bytes| Ok(bytes.extract::<Option<PyBackedBytes>>()?));
        given.map_err(|error| self.raised = Some(error)).ok().flatten().map(|bytes| bytes.to_vec())
    }

    /// Raise what was raised.
    pub(crate) fn finish(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }
}

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
    let mut asking = Asking::new(read);
    let mut ask = |start, length| asking.ask((start, length));
    let mut window = Window::new(size, &mut ask);
    let skip = |fqn: &str, position: u32| failed.contains(&(fqn, position));
    let found = door::attached(|| examine(part.columns(), file, &mut window, &skip, Interrupt::NEVER))?;
    asking.finish()?;
    found.unwrap_or_default().iter().map(|finding| records::tuple(py, finding)).collect()
}
