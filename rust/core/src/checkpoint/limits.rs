//! Every cap on what a file may ask for, with its reason.

/// Caps of the readers. All are far above what real checkpoints need and far below what hurts a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one metadata file. A DCP checkpoint of 1e7 chunks takes 1.4 GB; files are held in memory whole.
    pub metadata_bytes: u64,
    /// Bytes of one safetensors header, the limit of the reference library.
    pub header_bytes: u64,
    /// Containers within containers. Real metadata nests about a dozen deep; Python's own limit is 1,000.
    pub depth: usize,
    /// Chunks in one part; positions are 32-bit.
    pub chunks: usize,
    /// Objects in one pickle, of twelve bytes each. A DCP checkpoint of 1e7 chunks has 1.2e8.
    pub objects: usize,
    /// Dimensions of a tensor. NumPy stops at 64; no framework goes beyond.
    pub rank: usize,
    /// Bytes of one name (fqn, path). The longest real one seen has 64 KiB and was made to be long.
    pub name_bytes: usize,
    /// Times a compressed block may grow when it is expanded.
    pub expansion: u64,
}

impl Limits {
    /// The caps that every reader uses unless a caller lowers them.
    pub const DEFAULT: Self = Self {
        metadata_bytes: 1 << 32,
        header_bytes: 100_000_000,
        depth: 256,
        chunks: 1 << 31,
        objects: 1 << 28,
        rank: 64,
        name_bytes: 1 << 20,
        expansion: 1 << 12,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
