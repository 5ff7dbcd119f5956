//! The only place that looks inside Python's ints.
//!
//! Asking Python for the value of an int is a call; a first validation makes hundreds of thousands of them. An int of
//! one digit is therefore read where CPython keeps it, in the versions whose layout is known here. Every other int, and
//! every other Python, goes through the call.

use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyInt;

/// How exact ints are read.
#[derive(Clone, Copy)]
pub(crate) struct Ints {
    direct: bool,
}

impl Ints {
    /// Look how this Python keeps its ints: with digits of 30 bits, or of 15 where it was configured so.
    pub(crate) fn new(py: Python<'_>) -> Self {
        // More than a digit of 15 bits.
        let probe: i64 = 1 << 20;
        Self { direct: probe.into_pyobject(py).is_ok_and(|found| direct::value(found.as_borrowed()) == Some(probe)) }
    }

    /// Read an exact int of 64 bits; a bool is an int, but not exactly one.
    #[inline]
    pub(crate) fn read(self, number: Borrowed<'_, '_, PyAny>) -> Option<i64> {
        let number = number.cast_exact::<PyInt>().ok()?;
        if self.direct
            && let Some(value) = direct::value(number)
        {
            return Some(value);
        }
        number.extract().ok()
    }
}

#[cfg(any(Py_LIMITED_API, PyPy, GraalPy, Py_3_15))]
mod direct {
    pub(super) fn value(_number: super::Borrowed<'_, '_, super::PyInt>) -> Option<i64> {
        None
    }
}

#[cfg(not(any(Py_LIMITED_API, PyPy, GraalPy, Py_3_15)))]
mod direct {
    use pyo3::ffi;

    /// CPython's `PyLongObject` with its first digit.
    #[repr(C)]
    struct Long {
        base: ffi::PyObject,
        size: isize,
        digit: u32,
    }

    /// Value of an int of at most one digit.
    #[inline]
    pub(super) fn value(number: super::Borrowed<'_, '_, super::PyInt>) -> Option<i64> {
        // SAFETY: an int is such a struct in these versions, it lives as long as the borrow, and never changes. The
        // first digit is there whatever the size is.
        let long = unsafe { &*number.as_ptr().cast::<Long>() };
        Some(i64::from(long.digit).wrapping_mul(sign(long.size)?))
    }

    /// Before 3.12 the size is the number of digits, negative for a negative int.
    #[cfg(not(Py_3_12))]
    #[inline]
    fn sign(size: isize) -> Option<i64> {
        if matches!(size, -1..=1) { i64::try_from(size).ok() } else { None }
    }

    /// From 3.12 on the size is a tag: in the two lowest bits one minus the sign, above the third the number of digits.
    #[cfg(Py_3_12)]
    #[inline]
    fn sign(tag: isize) -> Option<i64> {
        if tag.cast_unsigned() < 16 { i64::try_from(tag & 3).ok().map(|sign| 1_i64.wrapping_sub(sign)) } else { None }
    }
}
