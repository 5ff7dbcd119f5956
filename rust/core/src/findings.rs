//! Codes and records: what is wrong with, or worth knowing of, a layout or a checkpoint.
//!
//! The core names the fault and the numbers that clash. Severity, wording and explanation live in one table in
//! Python, `shardproof/findings.py`; a test holds both lists of codes equal.

use crate::volume::Volume;

macro_rules! codes {
    ($($variant:ident = $number:literal, $name:literal;)*) => {
        /// A finding's stable code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = concat!("SP", stringify!($number), " `", $name, "`")] $variant = $number,)*
        }

        impl Code {
            /// Every code in ascending order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The digits of the code: 301 of `SP301`.
            #[must_use]
            pub const fn number(self) -> u16 {
                match self {
                    $(Self::$variant => $number,)*
                }
            }

            /// The kebab-case name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

// Append only: a published number never changes its meaning.
codes! {
    CountMismatch = 101, "count-mismatch";
    ChunkRankMismatch = 102, "chunk-rank-mismatch";
    ChunkNegative = 103, "chunk-negative";
    ShapeNegative = 104, "shape-negative";
    ChunkOverflow = 105, "chunk-overflow";
    ShapeOverflow = 106, "shape-overflow";
    ChunkOutOfBounds = 201, "chunk-out-of-bounds";
    ShardOutsideLocal = 202, "shard-outside-local";
    EmptyChunkPastEnd = 203, "empty-chunk-past-end";
    ChunkGap = 301, "chunk-gap";
    NoChunks = 302, "no-chunks";
    ChunkOverlap = 303, "chunk-overlap";
    ChunkDuplicate = 304, "chunk-duplicate";
    Replicas = 305, "replicas";
    UnderReplicated = 306, "under-replicated";
    LocalOverlap = 307, "local-overlap";
    LocalPadding = 308, "local-padding";
    EmptyChunks = 309, "empty-chunks";
    DeclaredMultiple = 310, "declared-multiple";
    SourceGap = 311, "source-gap";
    SourceOverlap = 312, "source-overlap";
    StorageMissing = 401, "storage-missing";
    StorageOrphan = 402, "storage-orphan";
    FileMissing = 403, "file-missing";
    FileEmpty = 404, "file-empty";
    FileUnreferenced = 405, "file-unreferenced";
    FileBytesUnreferenced = 406, "file-bytes-unreferenced";
    FileTrailingBytes = 407, "file-trailing-bytes";
    RangeBeyondFile = 408, "range-beyond-file";
    RangeNegative = 409, "range-negative";
    RangeOverflow = 410, "range-overflow";
    RangeOverlap = 411, "range-overlap";
    RangeTooSmall = 412, "range-too-small";
    RangeSizeMismatch = 413, "range-size-mismatch";
    PathEscape = 414, "path-escape";
    PayloadMismatch = 415, "payload-mismatch";
    ArchiveCorrupt = 416, "archive-corrupt";
    HeaderHole = 417, "header-hole";
    HeaderSizeMismatch = 418, "header-size-mismatch";
    ChecksumMismatch = 419, "checksum-mismatch";
    ShardIndexCorrupt = 420, "shard-index-corrupt";
    ManifestCorrupt = 421, "manifest-corrupt";
    NodeCorrupt = 422, "node-corrupt";
    ChunkMissingFill = 423, "chunk-missing-fill";
    StorageChunkShared = 424, "storage-chunk-shared";
    ChecksumAbsent = 425, "checksum-absent";
    ShapeMismatch = 501, "shape-mismatch";
    DtypeMismatch = 502, "dtype-mismatch";
    TensorDuplicate = 503, "tensor-duplicate";
    IndexMissingTensor = 504, "index-missing-tensor";
    IndexExtraTensor = 505, "index-extra-tensor";
    IndexTotalSize = 506, "index-total-size";
    ShardingInfoMissing = 507, "sharding-info-missing";
    ShardingInfoExtra = 508, "sharding-info-extra";
    ArrayUnreferenced = 509, "array-unreferenced";
    TensorMissing = 510, "tensor-missing";
    TensorUnexpected = 511, "tensor-unexpected";
    TensorReshaped = 512, "tensor-reshaped";
    TensorRetyped = 513, "tensor-retyped";
    MetadataEmpty = 601, "metadata-empty";
    MetadataTruncated = 602, "metadata-truncated";
    MetadataMalformed = 603, "metadata-malformed";
    MetadataTrailingBytes = 604, "metadata-trailing-bytes";
    MetadataForbiddenGlobal = 605, "metadata-forbidden-global";
    MetadataUnknownGlobal = 606, "metadata-unknown-global";
    MetadataForbiddenOpcode = 607, "metadata-forbidden-opcode";
    MetadataTooDeep = 608, "metadata-too-deep";
    MetadataTooLarge = 609, "metadata-too-large";
    HeaderTooLarge = 610, "header-too-large";
    HeaderMalformed = 611, "header-malformed";
    HeaderDuplicateKey = 612, "header-duplicate-key";
    HeaderUnknownDtype = 613, "header-unknown-dtype";
    IndexMalformed = 614, "index-malformed";
    IndexDuplicateKey = 615, "index-duplicate-key";
    ArrayMetadataMalformed = 616, "array-metadata-malformed";
    Unsupported = 617, "unsupported";
    SizeInferred = 618, "size-inferred";
    FileUnreadable = 619, "file-unreadable";
    MetadataMissing = 701, "metadata-missing";
    UncommittedStep = 702, "uncommitted-step";
    CommitMarkerMissing = 703, "commit-marker-missing";
    ItemMissing = 704, "item-missing";
    RankCountMismatch = 705, "rank-count-mismatch";
    ShardedObjectGap = 706, "sharded-object-gap";
    ArrayMetadataMissing = 707, "array-metadata-missing";
    MergeUnfinished = 708, "merge-unfinished";
}

/// A number or a word that a sentence about the finding needs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// A whole number.
    Int(i128),
    /// A whole number beyond 128 bits, in decimal.
    Decimal(String),
    /// A word, such as a dtype, a field or the name of a global.
    Text(String),
}

impl Value {
    /// The number of elements of a box, exact at any size; 1 at rank 0, 0 where a size is negative.
    #[must_use]
    pub fn elements(sizes: &[i64]) -> Self {
        Self::from(&Volume::of(sizes))
    }
}

macro_rules! value_from {
    ($($kind:ty),*) => {
        $(impl From<$kind> for Value {
            fn from(number: $kind) -> Self {
                Self::Int(i128::from(number))
            }
        })*
    };
}
value_from!(i64, u64, i32, u32, u16, u8);

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        i128::try_from(number).map_or_else(|_| Self::Decimal(number.to_string()), Self::Int)
    }
}

impl From<i128> for Value {
    fn from(number: i128) -> Self {
        Self::Int(number)
    }
}

impl From<u128> for Value {
    fn from(number: u128) -> Self {
        i128::try_from(number).map_or_else(|_| Self::Decimal(number.to_string()), Self::Int)
    }
}

impl From<&Volume> for Value {
    fn from(volume: &Volume) -> Self {
        volume.to_u128().map_or_else(|| Self::Decimal(volume.to_string()), Self::from)
    }
}

impl From<&str> for Value {
    fn from(word: &str) -> Self {
        Self::Text(word.to_owned())
    }
}

impl From<String> for Value {
    fn from(word: String) -> Self {
        Self::Text(word)
    }
}

/// Which chunks a finding is about: how many, and the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Positions {
    /// All of them.
    pub count: u64,
    /// The first [`Positions::SHOWN`] of them, ascending.
    pub first: Vec<u64>,
}

impl Positions {
    /// How many positions a finding names.
    pub const SHOWN: usize = 16;

    /// One position.
    #[must_use]
    pub fn one(position: u64) -> Self {
        Self { count: 1, first: vec![position] }
    }

    /// Count one more, naming it while there is room. Positions come in ascending order.
    pub fn push(&mut self, position: u64) {
        self.count = self.count.saturating_add(1);
        if self.first.len() < Self::SHOWN {
            self.first.push(position);
        }
    }
}

impl FromIterator<u64> for Positions {
    fn from_iter<I: IntoIterator<Item = u64>>(positions: I) -> Self {
        let mut all = Self::default();
        positions.into_iter().for_each(|position| all.push(position));
        all
    }
}

/// One thing wrong or noteworthy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind of thing.
    pub code: Code,
    /// The tensor, when it is about one.
    pub fqn: Option<Box<str>>,
    /// The chunks, when it is about chunks.
    pub positions: Positions,
    /// The dimension, when it is about one.
    pub dimension: Option<usize>,
    /// The box (offsets, sizes) that is uncovered, shared or outside.
    pub region: Option<(Vec<i64>, Vec<i64>)>,
    /// The file, relative to the checkpoint, `/` between its parts.
    pub file: Option<Box<str>>,
    /// First byte and number of bytes in `file`.
    pub byte_range: Option<(u64, u64)>,
    /// What the sentence needs, by name.
    pub values: Vec<(&'static str, Value)>,
}

impl Finding {
    /// A finding that so far says only what kind it is.
    #[must_use]
    pub const fn new(code: Code) -> Self {
        Self {
            code,
            fqn: None,
            positions: Positions { count: 0, first: Vec::new() },
            dimension: None,
            region: None,
            file: None,
            byte_range: None,
            values: Vec::new(),
        }
    }

    /// Name the tensor.
    #[must_use]
    pub fn of_tensor(mut self, fqn: &str) -> Self {
        self.fqn = Some(fqn.into());
        self
    }

    /// Name one chunk.
    #[must_use]
    pub fn at(mut self, position: u64) -> Self {
        self.positions = Positions::one(position);
        self
    }

    /// Name several chunks.
    #[must_use]
    pub fn at_all(mut self, positions: Positions) -> Self {
        self.positions = positions;
        self
    }

    /// Name the dimension.
    #[must_use]
    pub const fn in_dimension(mut self, dimension: usize) -> Self {
        self.dimension = Some(dimension);
        self
    }

    /// Name the box.
    #[must_use]
    pub fn in_region(mut self, offsets: &[i64], sizes: &[i64]) -> Self {
        self.region = Some((offsets.to_vec(), sizes.to_vec()));
        self
    }

    /// Name the file.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Name the bytes of the file.
    #[must_use]
    pub const fn in_bytes(mut self, first: u64, length: u64) -> Self {
        self.byte_range = Some((first, length));
        self
    }

    /// Give a number or word that the sentence needs.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.values.push((name, value.into()));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::Value;

    #[test]
    fn elements_are_exact_at_any_size() {
        assert_eq!(Value::elements(&[]), Value::Int(1));
        assert_eq!(Value::elements(&[i64::MAX; 2]), Value::Int(i128::from(i64::MAX) * i128::from(i64::MAX)));
        assert_eq!(Value::elements(&[i64::MAX, 0, i64::MAX, i64::MAX]), Value::Int(0));
        assert_eq!(Value::elements(&[10_i64.pow(18); 4]), Value::Decimal(format!("1{}", "0".repeat(72))));
        let cube = "784637716923335095224261902710254454442933591094742482943";
        assert_eq!(Value::elements(&[i64::MAX; 3]), Value::Decimal(cube.to_owned()));
    }
}
