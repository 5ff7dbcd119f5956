//! Metadata readers: bytes in, columns out, every cap in one place.

pub mod dtype;
pub mod inventory;
pub mod json;
pub mod judge;
pub mod limits;
pub mod part;
pub mod storage;
pub mod tally;
