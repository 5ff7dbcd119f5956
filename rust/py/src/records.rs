//! Findings as Python tuples; `shardproof.findings` makes records of them.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use shardproof_core::findings::{Finding, Value};

/// (number, fqn, count of positions, first positions, dimension, box, file, byte range, values).
pub(crate) fn tuple<'py>(py: Python<'py>, finding: &Finding) -> PyResult<Bound<'py, PyTuple>> {
    let values = PyDict::new(py);
    for (name, value) in &finding.values {
        let value = match value {
            Value::Int(number) => number.into_bound_py_any(py)?,
            Value::Decimal(digits) => py.get_type::<pyo3::types::PyInt>().call1((digits,))?,
            Value::Text(word) => word.into_bound_py_any(py)?,
            _ => continue,
        };
        values.set_item(name, value)?;
    }
    let region = match &finding.region {
        Some((offsets, sizes)) => Some((PyTuple::new(py, offsets)?, PyTuple::new(py, sizes)?)),
        None => None,
    };
    (
        finding.code.number(),
        finding.fqn.as_deref(),
        finding.positions.count,
        PyTuple::new(py, &finding.positions.first)?,
        finding.dimension,
        region,
        finding.file.as_deref(),
        finding.byte_range,
        values,
    )
        .into_pyobject(py)
}
