//! The only place that looks inside NumPy arrays.
//!
//! Arrays come from `shardproof.layout`, which has made them int64, C-contiguous, aligned and of two dimensions. They
//! are read in place: whoever writes to an array while a call reads it gets an answer about some mixture of old and new.

use std::ptr;

use numpy::npyffi::{_PyArray_GET_ITEM_DATA, NPY_ARRAY_WRITEABLE, NpyTypes, PY_ARRAY_API, get_type_object};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use shardproof_core::layout::{Chunks, Table};

use crate::raised;

/// Integer tables of N rows.
pub(crate) type Rows<'py> = Bound<'py, PyArray2<i64>>;

/// Integers.
pub(crate) type Column<'py> = Bound<'py, PyArray1<i64>>;

/// View an array as a table.
pub(crate) fn table<'a>(array: &'a Rows<'_>) -> PyResult<Table<'a>> {
    let &[rows, rank] = array.shape() else { return Err(raised::invalid_input("a table has two dimensions")) };
    // SAFETY: the array lives as long as the view, since both are bound to `'a`. That nobody writes meanwhile is the
    // caller's promise, as everywhere in NumPy; tracking borrows instead would cost a look-up a third of its time.
    let values = unsafe { array.as_slice() }.map_err(|_| raised::invalid_input("a table is not C-contiguous"))?;
    Table::new(values, rows, rank).map_err(raised::invalid_input)
}

/// A read-only view of an int64 array that can be read in place; None for anything else.
///
/// A view, so that the caller's own array stays writeable.
pub(crate) fn frozen<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Rows<'py>>> {
    let py = value.py();
    let Ok(array) = value.cast::<PyArray2<i64>>() else { return Ok(None) };
    if !array.is_c_contiguous() || !array.is_aligned() {
        return Ok(None);
    }
    // SAFETY: there is an array, so that NumPy is loaded; null asks for the dtype of the array. The answer is a new
    // reference to an array alike, or null with an error set.
    let view: Rows<'py> = unsafe {
        let plain = get_type_object(py, NpyTypes::PyArray_Type);
        let view = PY_ARRAY_API.PyArray_View(py, array.as_array_ptr(), ptr::null_mut(), plain);
        Bound::from_owned_ptr_or_err(py, view)?.cast_into_unchecked()
    };
    freeze(&view);
    Ok(Some(view))
}

/// Forbid writing to an array that nobody else has yet.
pub(crate) fn freeze(array: &Rows<'_>) {
    // SAFETY: the pointer is that of a live array, and the flag is read and written with the thread attached.
    unsafe { (*_PyArray_GET_ITEM_DATA(array.as_array_ptr())).flags &= !NPY_ARRAY_WRITEABLE };
}

/// View two arrays as the chunks of a tensor.
pub(crate) fn chunks<'a>(shape: &'a [i64], offsets: &'a Rows<'_>, sizes: &'a Rows<'_>) -> PyResult<Chunks<'a>> {
    Chunks::new(shape, table(offsets)?, table(sizes)?).map_err(raised::invalid_input)
}

/// Make an array of `rows` rows of `values`, without a copy.
pub(crate) fn of_rows(py: Python<'_>, values: Vec<i64>, rows: usize, rank: usize) -> PyResult<Rows<'_>> {
    PyArray1::from_vec(py, values).reshape([rows, rank])
}

/// Make an array to be written. NumPy asks for huge pages, and says so where memory does not hold it.
pub(crate) fn column(py: Python<'_>, len: usize) -> PyResult<Column<'_>> {
    let empty = py.import("numpy")?.getattr("empty")?;
    Ok(empty.call1((len, "int64")).map_err(raised::limit_exceeded)?.cast_into()?)
}

/// Make an array of `rows` rows to be written.
pub(crate) fn rows(py: Python<'_>, rows: usize, rank: usize) -> PyResult<Rows<'_>> {
    column(py, rows.saturating_mul(rank))?.reshape([rows, rank])
}
