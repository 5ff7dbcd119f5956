//! OCDBT, the key-value store in files that Orbax puts zarr arrays into.
//!
//! A manifest lists versions, a version is a B+tree, and its leaves hold small values or say where large ones are.

pub mod envelope;
pub mod manifest;
pub mod node;
pub mod tree;
pub mod wire;

#[cfg(test)]
mod build;
#[cfg(test)]
mod tests;
