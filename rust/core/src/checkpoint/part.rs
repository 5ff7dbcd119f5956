//! What a reader makes of metadata: one part of a checkpoint, as columns.

use std::ops::Range;

use hashbrown::HashMap;

use super::dtype::Dtype;
use crate::findings::Finding;
use crate::layout::{Chunks, Table};

/// Where the bytes of a chunk or of a non-tensor entry are, as recorded: nothing here is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Number of the file in [`Part::files`].
    pub file: u32,
    /// First byte.
    pub byte_offset: i64,
    /// Number of bytes.
    pub byte_length: i64,
    /// What that number says about the chunk.
    pub encoding: Encoding,
}

/// How a chunk's elements lie in the bytes of its record, so far as their number depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// The elements and nothing else: exactly as many bytes as they take.
    Raw,
    /// The elements as they are, inside a container: never fewer bytes than they take.
    Archived,
    /// Compressed or otherwise transformed: any number of bytes but none.
    Transformed,
    /// Somewhere in the file, such as inside a node: only the file itself can be looked for.
    Unplaced,
}

/// What a format promises about its data files. A reader states it once for its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// What may lie between the records of a data file.
    pub filling: Filling,
    /// What it means that one tensor has the same box twice.
    pub equal_boxes: EqualBoxes,
    /// How names of data files end: one beside the others that nothing refers to is worth a warning unless empty.
    pub data_suffix: Option<&'static str>,
}

/// What may lie between the records of a data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    /// Anything.
    Free,
    /// Nothing, as the format's writers have it: bytes that no record claims are worth a warning.
    Tiled,
    /// Nothing, as the format demands: a hole or bytes behind the last record are errors.
    Packed,
}

/// What it means that one tensor has the same box twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EqualBoxes {
    /// An error.
    Duplicates,
    /// Copies from several processes, each with a record of its own; two with one record are still duplicates.
    Replicas,
}

impl Rules {
    /// A format that promises nothing.
    pub const NONE: Self = Self { filling: Filling::Free, equal_boxes: EqualBoxes::Duplicates, data_suffix: None };
}

impl Default for Rules {
    fn default() -> Self {
        Self::NONE
    }
}

/// One tensor; its chunks are rows of the part's columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    fqn: Box<str>,
    dtype: Dtype,
    shape: Box<[i64]>,
    fill: Option<Box<str>>,
    chunks: Range<usize>,
    first_coordinate: usize,
}

impl Tensor {
    /// The fully qualified name.
    #[must_use]
    pub fn fqn(&self) -> &str {
        &self.fqn
    }

    /// The element type.
    #[must_use]
    pub const fn dtype(&self) -> &Dtype {
        &self.dtype
    }

    /// The global shape.
    #[must_use]
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// What elements that no chunk covers read as, where the format lets them be absent.
    #[must_use]
    pub fn fill(&self) -> Option<&str> {
        self.fill.as_deref()
    }

    /// Rows of the part's columns that are this tensor's chunks.
    #[must_use]
    pub fn rows(&self) -> Range<usize> {
        self.chunks.clone()
    }
}

/// An entry that is not a tensor, or a record that no chunk asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub fqn: Box<str>,
    /// Offsets in the record's key, where it is a chunk's.
    pub offsets: Option<Box<[i64]>>,
    /// Where its bytes are; `None` where the metadata does not say.
    pub record: Option<Record>,
}

/// One part of a checkpoint: tensors, their chunks, where the bytes are, and what reading it brought to light.
///
/// Chunks of wrong rank or with numbers beyond 64 bits never enter: the reader reports them. Everything else enters
/// as stored, faulty or not, under the position that it has in the metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    tensors: Vec<Tensor>,
    offsets: Vec<i64>,
    sizes: Vec<i64>,
    positions: Vec<u32>,
    records: Vec<Option<Record>>,
    files: Vec<Box<str>>,
    file_numbers: HashMap<Box<str>, u32, foldhash::fast::RandomState>,
    /// Entries that are not tensors.
    pub blobs: Vec<Entry>,
    /// Records that belong to no chunk and no entry.
    pub orphans: Vec<Entry>,
    /// Bytes that are the format's own, such as a header in front of the data.
    pub reserved: Vec<Record>,
    /// What the format promises about its data files.
    pub rules: Rules,
    /// Whether a file that lists chunks could not be read: gaps may follow from that alone and are not reported.
    pub incomplete: bool,
    /// What reading brought to light.
    pub findings: Vec<Finding>,
}

/// A part would have more chunks or files than 32-bit numbers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than {} chunks or files in one part", u32::MAX)]
pub struct TooMany;

impl Part {
    /// A part with nothing in it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A part of which nothing is known but why.
    #[must_use]
    pub fn refused(findings: Vec<Finding>) -> Self {
        Self { findings, incomplete: true, ..Self::default() }
    }

    /// Begin a tensor: chunks that are pushed from now on are its own.
    pub fn push_tensor(&mut self, fqn: &str, dtype: Dtype, shape: &[i64]) {
        let row = self.records.len();
        self.tensors.push(Tensor {
            fqn: fqn.into(),
            dtype,
            shape: shape.into(),
            fill: None,
            chunks: row..row,
            first_coordinate: self.offsets.len(),
        });
    }

    /// Declare that elements of the tensor that was begun last may be absent, and what they read as then.
    pub fn declare_fill(&mut self, fill: &str) {
        if let Some(tensor) = self.tensors.last_mut() {
            tensor.fill = Some(fill.into());
        }
    }

    /// Add a chunk to the tensor that was begun last.
    ///
    /// `position` is its place in the metadata's own list. Both slices must be of the tensor's rank: a chunk of another
    /// rank, or one before any tensor, is not taken and the answer is `false`.
    ///
    /// # Errors
    ///
    /// [`TooMany`] when positions would not fit 32 bits.
    pub fn push_chunk(
        &mut self,
        position: usize,
        offsets: &[i64],
        sizes: &[i64],
        record: Option<Record>,
    ) -> Result<bool, TooMany> {
        let position = u32::try_from(position).map_err(|_| TooMany)?;
        let Some(tensor) = self.tensors.last_mut() else { return Ok(false) };
        if offsets.len() != tensor.shape.len() || sizes.len() != tensor.shape.len() {
            return Ok(false);
        }
        self.offsets.extend_from_slice(offsets);
        self.sizes.extend_from_slice(sizes);
        self.positions.push(position);
        self.records.push(record);
        tensor.chunks.end = self.records.len();
        Ok(true)
    }

    /// Take the tensor that was begun last out again, with its chunks.
    pub fn withdraw_tensor(&mut self) {
        if let Some(tensor) = self.tensors.pop() {
            self.offsets.truncate(tensor.first_coordinate);
            self.sizes.truncate(tensor.first_coordinate);
            self.positions.truncate(tensor.chunks.start);
            self.records.truncate(tensor.chunks.start);
        }
    }

    /// Say where the bytes of the chunk in a row of the columns are; what was said before, if anything.
    pub fn place(&mut self, row: usize, record: Record) -> Option<Record> {
        self.records.get_mut(row)?.replace(record)
    }

    /// The number of a file, giving it one when it is new.
    ///
    /// # Errors
    ///
    /// [`TooMany`] when numbers would not fit 32 bits.
    pub fn file_number(&mut self, path: &str) -> Result<u32, TooMany> {
        if let Some(&number) = self.file_numbers.get(path) {
            return Ok(number);
        }
        let number = u32::try_from(self.files.len()).map_err(|_| TooMany)?;
        self.files.push(path.into());
        self.file_numbers.insert(path.into(), number);
        Ok(number)
    }

    /// The number of a file that already has one.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<u32> {
        self.file_numbers.get(path).copied()
    }

    /// Paths of the files, as recorded, by number.
    #[must_use]
    pub fn files(&self) -> &[Box<str>] {
        &self.files
    }

    /// The tensors, in the order of the metadata.
    #[must_use]
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// Chunks of all tensors together.
    #[must_use]
    pub const fn chunk_count(&self) -> usize {
        self.records.len()
    }

    /// The chunks of a tensor of this part; `None` for a tensor of another part.
    #[must_use]
    pub fn chunks<'a>(&'a self, tensor: &'a Tensor) -> Option<Chunks<'a>> {
        let rank = tensor.shape.len();
        let coordinates = tensor.chunks.len().checked_mul(rank)?;
        let range = tensor.first_coordinate..tensor.first_coordinate.checked_add(coordinates)?;
        let offsets = Table::new(self.offsets.get(range.clone())?, tensor.chunks.len(), rank).ok()?;
        let sizes = Table::new(self.sizes.get(range)?, tensor.chunks.len(), rank).ok()?;
        Chunks::new(&tensor.shape, offsets, sizes).ok()
    }

    /// Offsets of one chunk, counted from the tensor's first, for a tensor of this part.
    #[must_use]
    pub fn offsets_of(&self, tensor: &Tensor, chunk: usize) -> Option<&[i64]> {
        let rank = tensor.shape.len();
        let first = tensor.first_coordinate.checked_add(chunk.checked_mul(rank)?)?;
        self.offsets.get(first..first.checked_add(rank)?).filter(|_| chunk < tensor.chunks.len())
    }

    /// Position of each chunk in the metadata's own list, for a tensor of this part.
    #[must_use]
    pub fn positions(&self, tensor: &Tensor) -> &[u32] {
        self.positions.get(tensor.rows()).unwrap_or_default()
    }

    /// Where the bytes of each chunk are, for a tensor of this part.
    #[must_use]
    pub fn records(&self, tensor: &Tensor) -> &[Option<Record>] {
        self.records.get(tensor.rows()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_belong_to_the_tensor_that_was_begun_last() {
        let mut part = Part::new();
        assert_eq!(part.push_chunk(0, &[], &[], None), Ok(false));
        part.push_tensor("scalar", Dtype::named("int64"), &[]);
        assert_eq!(part.push_chunk(0, &[], &[], None), Ok(true));
        part.push_tensor("w", Dtype::named("float32"), &[4, 6]);
        assert_eq!(part.push_chunk(0, &[0], &[4], None), Ok(false));
        let file = part.file_number("__0_0.distcp").unwrap();
        assert_eq!(part.file_number("__0_0.distcp"), Ok(file));
        let record = Record { file, byte_offset: 8, byte_length: 48, encoding: Encoding::Raw };
        assert_eq!(part.push_chunk(1, &[2, 0], &[2, 6], Some(record)), Ok(true));

        let [scalar, w] = part.tensors() else { panic!("two tensors") };
        assert_eq!(part.chunks(scalar).unwrap().len(), 1);
        let chunks = part.chunks(w).unwrap();
        assert_eq!(chunks.iter().collect::<Vec<_>>(), [([2, 0].as_slice(), [2, 6].as_slice())]);
        assert_eq!(part.positions(w), [1]);
        assert_eq!(part.records(w), [Some(record)]);
        assert_eq!((part.chunk_count(), part.files().len()), (2, 1));
    }
}
