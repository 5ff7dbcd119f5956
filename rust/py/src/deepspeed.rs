//! Reading DeepSpeed's ZeRO checkpoints. Python reads the bytes, the core says which.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use shardproof_core::checkpoint::archive::{self, Window};
use shardproof_core::checkpoint::deepspeed::{self, Name};
use shardproof_core::checkpoint::limits::Limits;
use shardproof_core::interrupt::Interrupt;

use crate::archive::Asking;
use crate::part::Part;
use crate::{door, records};

/// Number of a slice of the model, and what was read of it.
type Reading = (u32, Part);

/// Whether a file is one of those that processes write, by its name.
#[pyfunction]
pub(crate) fn is_deepspeed(name: &str) -> bool {
    Name::parse(name).is_some_and(|parsed| parsed.file() == name)
}

/// Read the files of one tag, given by name and size; `read` gives bytes by name, first byte and number of bytes.
#[pyfunction]
pub(crate) fn read_deepspeed(files: Vec<(String, u64)>, read: Bound<'_, PyAny>) -> PyResult<Vec<Reading>> {
    let named: Vec<(Name, u64)> = files.iter().filter_map(|(name, size)| Some((Name::parse(name)?, *size))).collect();
    let mut asking = Asking::new(read);
    let mut ask = |name: &str, start: u64, length: u64| asking.ask((name, start, length));
    let readings = door::attached(|| deepspeed::read(&named, &mut ask, &Limits::DEFAULT, Interrupt::NEVER))?;
    asking.finish()?;
    Ok(readings.unwrap_or_default().into_iter().map(|reading| (reading.slice, reading.part.into())).collect())
}

/// Check the checksums in a file; `read` gives bytes by first byte and number of bytes.
#[pyfunction]
pub(crate) fn examine_deepspeed<'py>(
    py: Python<'py>,
    name: &str,
    size: u64,
    read: Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let mut asking = Asking::new(read);
    let mut ask = |start, length| asking.ask((start, length));
    let found = door::attached(|| archive::whole(&mut Window::new(size, &mut ask), 0, size))?;
    asking.finish()?;
    found.err().map(|fault| records::tuple(py, &fault.finding(name))).transpose()
}
