//! Metadata readers: bytes in, columns out, every cap in one place.

pub mod archive;
pub mod coverage;
pub mod dcp;
pub mod dcp_hf;
pub mod deepspeed;
pub mod dtype;
pub mod index;
pub mod inventory;
pub mod json;
pub mod judge;
pub mod limits;
pub mod megatron;
pub mod ocdbt;
pub mod orbax;
pub mod part;
pub mod pickle;
pub mod safetensors;
pub mod storage;
pub mod zarr;
