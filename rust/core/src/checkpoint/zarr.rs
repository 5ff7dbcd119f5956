//! zarr arrays, versions 2 and 3: what their metadata, the names of their chunks and their shard indexes say.

pub mod chunk;
pub mod codec;
pub mod examine;
pub mod grid;
pub mod key;
pub mod metadata;
pub mod payload;
pub mod reader;
pub mod shard;
pub mod store;
