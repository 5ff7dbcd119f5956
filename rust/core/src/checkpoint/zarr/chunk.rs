//! Which keys of a store are chunks, and of which array.

use std::collections::BTreeSet;
use std::ops::Range;

use super::metadata::Array;
use super::store::{Entry, Store, orphaned_chunk};
use crate::checkpoint::ocdbt::tree::Source;
use crate::checkpoint::part::{Encoding, Part, Record, TooMany};
use crate::findings::{Code, Finding};

/// A chunk that is stored.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    array: usize,
    /// Place in the grid, row-major.
    cell: u128,
    entry: usize,
    /// Place that is shown: that in the grid as long as 32 bits can hold them all, else that among the stored ones.
    position: u32,
}

/// The stored chunks of all arrays, by array and by place in the grid.
#[derive(Debug, Default)]
pub struct Chunks {
    chunks: Vec<Chunk>,
}

/// A chunk and everything about it.
#[derive(Clone, Copy, Debug)]
pub struct View<'s> {
    /// Path of its array.
    pub path: &'s str,
    /// Its array.
    pub array: &'s Array,
    /// Where its bytes are.
    pub entry: &'s Entry,
    /// Place in the grid, row-major.
    pub cell: u128,
    position: u32,
}

impl Chunks {
    /// Find the chunks among the keys of a store, and the keys that would be chunks of another array.
    ///
    /// # Errors
    ///
    /// [`TooMany`] when 32 bits do not count them.
    pub fn among(store: &Store) -> Result<(Self, Vec<Finding>), TooMany> {
        let mut chunks = Vec::new();
        let mut strays = Vec::new();
        for (entry, stored) in store.entries.iter().enumerate() {
            let Some((number, name)) = store.nodes.owner(&stored.key) else { continue };
            let Some((path, array)) = store.nodes.array(number) else { continue };
            let Some(cell) = array.keys.cell(name, array.grid.rank()) else { continue };
            if let Some(finding) = stray(array, &cell) {
                // Nothing is wrong with the bytes: it is the name that is, also where a name is but a key.
                strays.push(finding.of_tensor(path).in_file(&stored.key));
            } else if let Some(cell) = array.grid.position(&cell) {
                chunks.push(Chunk { array: number, cell, entry, position: 0 });
            }
        }
        chunks.sort_unstable_by_key(|chunk| (chunk.array, chunk.cell));
        for siblings in chunks.chunk_by_mut(|one, other| one.array == other.array) {
            let array = siblings.first().and_then(|chunk| store.nodes.array(chunk.array));
            let cells = array.and_then(|(_, array)| array.grid.cell_count());
            let numbered = cells.is_some_and(|cells| cells <= 1 << 32);
            for (order, chunk) in siblings.iter_mut().enumerate() {
                let place = if numbered { u32::try_from(chunk.cell).ok() } else { u32::try_from(order).ok() };
                chunk.position = place.ok_or(TooMany)?;
            }
        }
        Ok((Self { chunks }, strays))
    }

    /// Put arrays and chunks into a part, and say which of the chunks were put there.
    ///
    /// Arrays of which something may be unknown are left out. Chunks may be absent where the array declares what they
    /// read as, unless the writer stores such chunks too.
    ///
    /// # Errors
    ///
    /// [`TooMany`] when a part has no room for so many.
    pub fn fill(
        &self,
        store: &Store,
        unknown: impl Fn(&str) -> bool,
        stores_fill: bool,
        part: &mut Part,
    ) -> Result<Vec<usize>, TooMany> {
        let mut placed = Vec::with_capacity(self.chunks.len());
        for number in store.nodes.in_order() {
            let Some((path, array)) = store.nodes.array(number).filter(|(path, _)| !unknown(path)) else { continue };
            part.push_tensor(path, array.dtype.clone(), array.grid.shape());
            if let Some(fill) = array.fill.as_deref().filter(|_| !stores_fill) {
                part.declare_fill(fill);
            }
            for at in self.of(number) {
                let Some(view) = self.view(store, at) else { continue };
                let cell = array.grid.cell(view.cell);
                let Some((offsets, sizes)) = cell.and_then(|cell| array.grid.region(&cell)) else { continue };
                let record = record(view.entry, part)?;
                let position = usize::try_from(view.position).map_err(|_| TooMany)?;
                if part.push_chunk(position, &offsets, &sizes, record)? {
                    placed.push(at);
                }
            }
        }
        Ok(placed)
    }

    /// Everything about a chunk.
    #[must_use]
    pub fn view<'s>(&self, store: &'s Store, at: usize) -> Option<View<'s>> {
        let chunk = *self.chunks.get(at)?;
        let (path, array) = store.nodes.array(chunk.array)?;
        let entry = store.entries.get(chunk.entry)?;
        Some(View { path, array, entry, cell: chunk.cell, position: chunk.position })
    }

    /// The chunks of one array.
    fn of(&self, array: usize) -> Range<usize> {
        let first = self.chunks.partition_point(|chunk| chunk.array < array);
        first..self.chunks.partition_point(|chunk| chunk.array <= array)
    }
}

impl View<'_> {
    /// A finding about this chunk.
    #[must_use]
    pub fn finding(&self, code: Code) -> Finding {
        self.about(Finding::new(code))
    }

    /// Say which chunk a finding is about; bytes that it names are bytes of the chunk.
    #[must_use]
    pub fn about(&self, finding: Finding) -> Finding {
        let mut finding = finding.of_tensor(self.path).at(u64::from(self.position)).in_file(self.entry.place());
        let Source::At { byte_offset, byte_length, .. } = &self.entry.source else {
            // A value within a node has no bytes of its own in the file.
            finding.byte_range = None;
            return finding;
        };
        let (offset, length) = finding.byte_range.unwrap_or((0, *byte_length));
        finding.in_bytes(byte_offset.saturating_add(offset), length)
    }
}

/// Directories with chunks of no array, each with the file that would say what they are.
#[must_use]
pub fn orphans(store: &Store) -> Vec<Finding> {
    let keys = store.entries.iter().map(|entry| &*entry.key);
    let directories: BTreeSet<_> =
        keys.filter(|key| store.nodes.owner(key).is_none()).filter_map(orphaned_chunk).collect();
    let findings = directories.into_iter().filter(|(path, _)| !store.nodes.contains(path)).map(|(path, name)| {
        let file = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        let finding = Finding::new(Code::ArrayMetadataMissing).of_tensor(path).in_file(&file);
        finding.with("reason", "there are chunks, and nothing says what they are chunks of")
    });
    findings.collect()
}

/// What is wrong with a cell that is none of the array.
fn stray(array: &Array, cell: &[i64]) -> Option<Finding> {
    let rank = array.grid.rank();
    if cell.len() != rank {
        let finding = Finding::new(Code::ChunkRankMismatch).with("field", "the name of a chunk");
        return Some(finding.with("rank", cell.len()).with("expected", rank));
    }
    let dimension = array.grid.first_outside(cell)?;
    let Some((offsets, sizes)) = array.grid.unclipped(cell) else {
        let finding = Finding::new(Code::ChunkOverflow).in_dimension(dimension);
        return Some(finding.with("reason", "the chunk would begin beyond 64 bits"));
    };
    let at = |numbers: &[i64]| numbers.get(dimension).copied().unwrap_or_default();
    let (offset, size) = (at(&offsets), at(&sizes));
    let end = i128::from(offset).saturating_add(i128::from(size));
    let finding = Finding::new(Code::ChunkOutOfBounds).in_dimension(dimension).in_region(&offsets, &sizes);
    let finding = finding.with("offset", offset).with("size", size).with("end", end);
    Some(finding.with("dim", at(array.grid.shape())))
}

/// Where the bytes of an entry are; `None` where that is beyond 63 bits.
fn record(entry: &Entry, part: &mut Part) -> Result<Option<Record>, TooMany> {
    let (byte_offset, encoding) = match &entry.source {
        Source::At { byte_offset, .. } => (*byte_offset, Encoding::Transformed),
        Source::Inline { node, .. } => (node.0, Encoding::Unplaced),
    };
    let Some((byte_offset, byte_length)) = i64::try_from(byte_offset).ok().zip(i64::try_from(entry.length()).ok())
    else {
        return Ok(None);
    };
    Ok(Some(Record { file: part.file_number(entry.place())?, byte_offset, byte_length, encoding }))
}
