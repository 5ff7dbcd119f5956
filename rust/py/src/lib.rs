//! `shardproof._core`: conversion, the interpreter lock, signals and errors. No geometry lives here.
#![allow(clippy::needless_pass_by_value, reason = "arguments are what Python hands over")]

mod archive;
mod arrays;
mod dcp;
mod deepspeed;
mod door;
mod ints;
mod layout;
mod part;
mod plan;
mod proof;
mod raised;
mod records;
mod rows;
mod safetensors;
mod zarr;

use pyo3::prelude::*;

/// The compiled half of shardproof.
#[pymodule(gil_used = false)]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "a dunder is the name Python gives it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::archive::examine_archives;
    #[pymodule_export]
    use crate::dcp::{megatron_backend, read_dcp};
    #[pymodule_export]
    use crate::deepspeed::{examine_deepspeed, is_deepspeed, read_deepspeed};
    #[pymodule_export]
    use crate::door::panic;
    #[pymodule_export]
    use crate::layout::{
        OffsetIndex, Resolver, are_tables, chunk_faults, chunks_inside, local_faults, shard_faults, shards_inside,
        slices,
    };
    #[pymodule_export]
    use crate::part::Part;
    #[pymodule_export]
    use crate::plan::{chunks_to_flat_range, diff_layouts, flat_range_to_chunks, plan_cost, plan_reads};
    #[pymodule_export]
    use crate::proof::{prove, residue_salt, residue_share};
    #[pymodule_export]
    use crate::rows::{read_rows, tuples_inside};
    #[pymodule_export]
    use crate::safetensors::{SafetensorsHeader, SafetensorsIndex, assemble_safetensors};
    #[pymodule_export]
    use crate::zarr::{ArrayReader, orbax_step};

    /// Every finding code the core can emit, as (number, name), in ascending order.
    #[pyfunction]
    fn finding_codes() -> Vec<(u16, &'static str)> {
        shardproof_core::findings::Code::ALL.iter().map(|code| (code.number(), code.name())).collect()
    }
}
