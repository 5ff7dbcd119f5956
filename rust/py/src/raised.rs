//! The exceptions of `shardproof.errors`, built here and nowhere else in the bindings.

use std::fmt::Display;

use pyo3::import_exception;
use pyo3::prelude::*;

mod classes {
    use super::import_exception;
    import_exception!(shardproof.errors, InvalidInput);
    import_exception!(shardproof.errors, InvalidType);
    import_exception!(shardproof.errors, LimitExceeded);
}

/// Arguments that do not belong together.
pub(crate) fn invalid_input(says: impl Display) -> PyErr {
    classes::InvalidInput::new_err(says.to_string())
}

/// A value of a type that cannot be used.
pub(crate) fn invalid_type(says: impl Display) -> PyErr {
    classes::InvalidType::new_err(says.to_string())
}

/// A limit that an answer would exceed.
pub(crate) fn limit_exceeded(says: impl Display) -> PyErr {
    classes::LimitExceeded::new_err(says.to_string())
}
