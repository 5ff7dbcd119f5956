//! Metadata readers: bytes in, columns out, every cap in one place.

pub mod dtype;
pub mod json;
pub mod limits;
pub mod part;
