//! Offsets and sizes as people write them: sequences of sequences of integers.

use std::slice;

use numpy::PyUntypedArray;
use pyo3::Borrowed;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyList, PyTuple};
use shardproof_core::bounds;
use shardproof_core::layout::{Chunks, Shards, Table};

use crate::arrays;
use crate::ints::Ints;
use crate::raised;

/// Rows between two questions whether Ctrl-C was pressed.
const WATCH: usize = 1 << 16;

/// Read the rows of a field: (rows, whether they can never change).
///
/// Rows are an int64 array of N rows; or, where they differ in length or a number does not fit 64 bits, a list of
/// tuples of Python ints. `rank` is the width of an array without rows. What holds nothing but tuples of ints can
/// never change. None instead of rows where `value` is an array, but not a plain one: NumPy has to convert it.
///
/// # Errors
///
/// `InvalidType` that names field, shard and dimension for whatever is not an integer.
#[pyfunction]
pub(crate) fn read_rows<'py>(
    value: &Bound<'py, PyAny>,
    field: &str,
    rank: usize,
) -> PyResult<(Option<Bound<'py, PyAny>>, bool)> {
    let py = value.py();
    if let Some(table) = arrays::frozen(value)? {
        return Ok((Some(table.into_any()), false));
    }
    if value.is_instance_of::<PyUntypedArray>() {
        return Ok((None, false));
    }
    if let Ok(rows) = value.cast_exact::<PyTuple>()
        && let Some((values, width)) = exact(rows, rank)?
    {
        return Ok((Some(frozen_rows(py, values, rows.len(), width)?), true));
    }
    let (rows, frozen) = any(value, field, rank)?;
    Ok((Some(rows), frozen))
}

fn frozen_rows(py: Python<'_>, values: Vec<i64>, rows: usize, width: usize) -> PyResult<Bound<'_, PyAny>> {
    let table = arrays::of_rows(py, values, rows, width)?;
    arrays::freeze(&table);
    Ok(table.into_any())
}

/// Read a tuple of tuples of ints, all of these very types; `None` for anything else, whatever it is.
fn exact(rows: &Bound<'_, PyTuple>, rank: usize) -> PyResult<Option<(Vec<i64>, usize)>> {
    let first = rows.iter_borrowed().next();
    let width = first.map_or(Ok(rank), |first| first.cast_exact::<PyTuple>().map(|first| first.len()));
    let Ok(width) = width else { return Ok(None) };
    let mut values = Vec::new();
    let count = rows.len().saturating_mul(width);
    if values.try_reserve_exact(count).is_err() {
        return Ok(None);
    }
    values.resize(count, 0);
    let ints = Ints::new(rows.py());
    let (mut unread, mut free) = (rows.iter_borrowed(), values.iter_mut());
    while unread.len() > 0 {
        rows.py().check_signals()?;
        if !read_exact(ints, unread.by_ref().take(WATCH), width, &mut free) {
            return Ok(None);
        }
    }
    Ok(Some((values, width)))
}

/// Read rows that are tuples of `width` ints, all of these very types; whether all of them were.
fn read_exact<'a, 'py: 'a>(
    ints: Ints,
    rows: impl Iterator<Item = Borrowed<'a, 'py, PyAny>>,
    width: usize,
    free: &mut slice::IterMut<'_, i64>,
) -> bool {
    for row in rows {
        let Ok(row) = row.cast_exact::<PyTuple>() else { return false };
        if row.len() != width {
            return false;
        }
        for number in row.iter_borrowed() {
            let (Some(number), Some(place)) = (ints.read(number), free.next()) else { return false };
            *place = number;
        }
    }
    true
}

/// Numbers of a field that are read and judged together, while they are in the cache.
const BLOCK: usize = 1 << 13;

/// Whether shards that are written as tuples of tuples of ints, all of these very types, lie inside both tensors.
///
/// Nothing is kept, so that a first validation takes no memory. A false answer says nothing but that one has to look
/// closer.
#[pyfunction]
pub(crate) fn tuples_inside(
    global_shape: Vec<i64>,
    global_offsets: &Bound<'_, PyTuple>,
    local_offsets: &Bound<'_, PyTuple>,
    local_sizes: &Bound<'_, PyTuple>,
    local_shape: Vec<i64>,
) -> PyResult<bool> {
    let fields = [global_offsets, local_offsets, local_sizes];
    let rank = global_shape.len();
    if fields.iter().any(|field| field.len() != global_offsets.len()) || local_shape.len() != rank {
        return Ok(false);
    }
    let ints = Ints::new(global_offsets.py());
    let mut unread = fields.map(|field| field.iter_borrowed());
    let mut left = global_offsets.len();
    let block = left.min(BLOCK.checked_div(rank).unwrap_or(BLOCK).max(1));
    let mut read = fields.map(|_| vec![0; block.saturating_mul(rank)]);
    loop {
        let rows = left.min(block);
        for (unread, read) in unread.iter_mut().zip(&mut read) {
            read.truncate(rows.saturating_mul(rank));
            if !read_exact(ints, unread.by_ref().take(rows), rank, &mut read.iter_mut()) {
                return Ok(false);
            }
        }
        let [offsets, places, sizes] = read.each_ref().map(|values| Table::new(values, rows, rank));
        let (Ok(offsets), Ok(places), Ok(sizes)) = (offsets, places, sizes) else { return Ok(false) };
        let shards =
            Chunks::new(&global_shape, offsets, sizes).and_then(|chunks| Shards::new(chunks, &local_shape, places));
        if !shards.is_ok_and(bounds::shards_inside) {
            return Ok(false);
        }
        left = left.saturating_sub(rows);
        if left == 0 {
            return Ok(true);
        }
        global_offsets.py().check_signals()?;
    }
}

/// Read anything that can be iterated and holds things with `__index__`.
fn any<'py>(value: &Bound<'py, PyAny>, field: &str, rank: usize) -> PyResult<(Bound<'py, PyAny>, bool)> {
    let py = value.py();
    let rows = value.try_iter().map_err(|_| {
        raised::invalid_type(format_args!(
            "{field} is of type {}, not a sequence of sequences of integers",
            kind(value)
        ))
    })?;
    let mut wide: Vec<Bound<'py, PyTuple>> = Vec::new();
    let mut values = Vec::new();
    let mut width = None;
    let mut table = true;
    let mut frozen = value.is_instance_of::<PyTuple>();
    for (position, row) in rows.enumerate() {
        if position % WATCH == WATCH - 1 {
            py.check_signals()?;
        }
        let row = row?;
        frozen = frozen && row.is_instance_of::<PyTuple>();
        let numbers = row.try_iter().map_err(|_| {
            raised::invalid_type(format_args!("{field}, shard {position}: {} is no sequence of integers", kind(&row)))
        })?;
        let numbers = numbers
            .enumerate()
            .map(|(dimension, number)| {
                let number = number?;
                frozen = frozen && number.is_exact_instance_of::<PyInt>();
                integer(&number, field, position, dimension)
            })
            .collect::<PyResult<Vec<_>>>()?;
        table = table && *width.get_or_insert(numbers.len()) == numbers.len();
        for number in &numbers {
            match number.extract::<i64>() {
                Ok(number) => values.push(number),
                Err(_) => table = false,
            }
        }
        wide.push(PyTuple::new(py, numbers)?);
    }
    if table {
        let count = wide.len();
        return Ok((frozen_rows(py, values, count, width.unwrap_or(rank))?, frozen));
    }
    Ok((PyList::new(py, wide)?.into_any(), frozen))
}

fn integer<'py>(
    number: &Bound<'py, PyAny>,
    field: &str,
    position: usize,
    dimension: usize,
) -> PyResult<Bound<'py, PyInt>> {
    let refused = || {
        raised::invalid_type(format_args!(
            "{field}, shard {position}, dimension {dimension}: {} is no integer",
            shown(number)
        ))
    };
    if number.is_instance_of::<PyBool>() {
        return Err(refused());
    }
    match number.call_method0("__index__") {
        // A subclass of int may answer with itself.
        Ok(plain) => plain.py().get_type::<PyInt>().call1((plain,))?.cast_into::<PyInt>().map_err(PyErr::from),
        Err(raised) if raised.is_instance_of::<PyException>(number.py()) => {
            let refusal = refused();
            refusal.set_cause(number.py(), Some(raised));
            Err(refusal)
        }
        Err(raised) => Err(raised),
    }
}

fn kind(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| String::from("an unknown type"), |name| name.to_string())
}

fn shown(value: &Bound<'_, PyAny>) -> String {
    let shown = value.repr().map_or_else(|_| String::from("a value"), |repr| repr.to_string());
    format!("{} (of type {})", shown.chars().take(60).collect::<String>(), kind(value))
}
