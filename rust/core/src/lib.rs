//! Proves that the shards of a checkpoint fit together.
//!
//! The core takes slices and returns vectors or columns. It opens no file, reads no clock and no environment, and
//! knows nothing of Python. Every box is half-open; every rank is allowed, rank 0 being a tensor of one element.
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, reason = "a test that overflows fails, which is all it should do")
)]

pub mod bounds;
pub mod checkpoint;
mod coalesce;
pub mod diff;
pub mod exact;
pub mod field;
pub mod findings;
pub mod flat;
pub mod index;
pub mod interrupt;
pub mod join;
pub mod layout;
pub mod local;
mod locate;
pub mod plan;
pub mod proof;
pub mod tally;
pub mod volume;
