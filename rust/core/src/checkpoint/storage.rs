//! Whether the bytes of every chunk are there: each record in an existing file, inside it, of a fitting length, and
//! sharing no byte with another's.
//!
//! One pass over the records. Files whose records come in the order of their bytes, as writers leave them, need nothing
//! more; of the others the claimed bytes are put in order and walked: near-linear whatever they say.

use std::borrow::Cow;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry as Slot;

use super::inventory::{Inventory, Place, within};
use super::part::{Encoding, Filling, Part, Record, Tensor};
use crate::findings::{Code, Finding, Positions};
use crate::interrupt::{Interrupt, Interrupted};
use crate::tally::Tally;

mod claim;

use self::claim::{Claim, NOBODY};

/// Rows between two questions whether to go on.
const BLOCK: usize = 1 << 14;

/// Judge where the bytes of a part's chunks and entries are.
///
/// Empty chunks need no record. What the records say about their tensors' shapes is not judged here.
///
/// # Errors
///
/// [`Interrupted`] when the caller wants no answer any more.
pub fn judge(
    part: &Part,
    inventory: &Inventory,
    tally: &mut Tally,
    interrupt: Interrupt<'_>,
) -> Result<(), Interrupted> {
    let mut storage = Storage::new(part, inventory, tally);
    storage.entries();
    for (number, tensor) in part.tensors().iter().enumerate() {
        storage.tensor(number, tensor, interrupt)?;
    }
    storage.missing_files();
    storage.shared_and_unclaimed_bytes(interrupt)?;
    storage.unreferenced_files(inventory);
    Ok(())
}

/// What is known of one recorded path.
struct FileFacts {
    place: Place,
    /// End of the bytes that were claimed so far.
    claimed: u64,
    /// The number that stands for the file where several spellings of its path have been recorded.
    file: u32,
    /// Whether a record of this file is at fault: holes then follow from it.
    faulty: bool,
    /// Whether anything has been claimed.
    used: bool,
    /// Whether every claim began where the bytes claimed before it ended, or behind them where holes are allowed.
    in_order: bool,
}

/// What needs a file that is not there.
struct Need {
    /// How many chunks and entries.
    records: u64,
    /// The first of them, and which chunks of it.
    fqn: Box<str>,
    positions: Positions,
    /// Whether others need it too.
    others: bool,
}

struct Storage<'a> {
    part: &'a Part,
    files: Vec<FileFacts>,
    needs: HashMap<u32, Need, foldhash::fast::RandomState>,
    tally: &'a mut Tally,
    /// Findings of the tensor at hand by code and file, with their number if they were kept.
    grouped: HashMap<(Code, u32), Option<usize>, foldhash::fast::RandomState>,
}

/// A chunk or an entry, for a finding to name.
struct Owner<'a> {
    fqn: &'a str,
    position: Option<u64>,
    region: Option<(&'a [i64], &'a [i64])>,
}

impl<'a> Storage<'a> {
    fn new(part: &'a Part, inventory: &Inventory, tally: &'a mut Tally) -> Self {
        let files = file_facts(part, inventory);
        Self { part, files, needs: HashMap::default(), tally, grouped: HashMap::default() }
    }

    /// Judge the records of one tensor.
    fn tensor(&mut self, number: usize, tensor: &Tensor, interrupt: Interrupt<'_>) -> Result<(), Interrupted> {
        let part = self.part;
        let Some(chunks) = part.chunks(tensor) else { return Ok(()) };
        if number.is_multiple_of(BLOCK) {
            interrupt.check()?;
        }
        self.grouped.clear();
        let rows = tensor.rows().zip(chunks.iter()).zip(part.records(tensor)).zip(part.positions(tensor));
        for (((row, (offsets, sizes)), record), &position) in rows {
            if row.is_multiple_of(BLOCK) {
                interrupt.check()?;
            }
            let owner = Owner { fqn: tensor.fqn(), position: Some(position.into()), region: Some((offsets, sizes)) };
            let Some(record) = *record else {
                if !sizes.contains(&0) {
                    self.fault(Code::StorageMissing, u32::MAX, &owner, |finding| finding);
                }
                continue;
            };
            if let Some(size) = self.range(record, u32::try_from(row).unwrap_or(NOBODY), &owner) {
                self.length(record, size, tensor, sizes, &owner);
            }
        }
        Ok(())
    }

    /// Judge the records of entries that are not tensors, and those that belong to nothing.
    fn entries(&mut self) {
        let part = self.part;
        for &reserved in &part.reserved {
            self.claim(reserved, NOBODY);
        }
        for (number, blob) in (0_u32..).zip(&part.blobs) {
            self.grouped.clear();
            let owner = Owner { fqn: &blob.fqn, position: None, region: None };
            match blob.record {
                None => self.fault(Code::StorageMissing, u32::MAX, &owner, |finding| finding),
                Some(record) => {
                    self.range(record, self.blob(number), &owner);
                }
            }
        }
        for orphan in &part.orphans {
            let key = orphan.offsets.as_ref().map_or_else(|| "no offsets".into(), |at| format!("offsets {at:?}"));
            let mut finding = Finding::new(Code::StorageOrphan).of_tensor(&orphan.fqn).with("key", key);
            if let Some(record) = orphan.record {
                if let Some(path) = self.path(record.file) {
                    finding = finding.in_file(path);
                }
                if let Some((start, end)) = span(record) {
                    finding = finding.in_bytes(start, end.saturating_sub(start));
                }
                self.claim(record, NOBODY);
            }
            self.tally.push(finding);
        }
    }

    /// Claim the bytes of a record for a row, a blob or nobody.
    fn claim(&mut self, record: Record, owner: u32) {
        let free = self.part.rules.filling == Filling::Free;
        let Some(claim) = self.claim_of(record, owner) else { return };
        let Some(facts) = self.facts(claim.file) else { return };
        facts.in_order &= claim.start == facts.claimed || (free && claim.start > facts.claimed);
        facts.claimed = facts.claimed.max(claim.end);
        facts.used = true;
    }

    /// The bytes of a record, if it says which they are.
    fn claim_of(&self, record: Record, owner: u32) -> Option<Claim> {
        if record.encoding == Encoding::Unplaced {
            return None;
        }
        let (start, end) = span(record)?;
        let file = self.files.get(usize::try_from(record.file).ok()?)?.file;
        Some(Claim { file, owner, start, end })
    }

    /// How the owner of a blob's bytes is numbered: behind all rows.
    fn blob(&self, number: u32) -> u32 {
        u32::try_from(self.part.chunk_count()).ok().and_then(|rows| rows.checked_add(number)).unwrap_or(NOBODY)
    }

    /// Judge a byte range, and claim it; the size of its file if nothing is wrong with the range by itself.
    fn range(&mut self, record: Record, row: u32, owner: &Owner<'_>) -> Option<u64> {
        let Record { file, byte_offset, byte_length, encoding } = record;
        let size = match self.facts(file)?.place {
            Place::File(size) => size,
            Place::Missing => {
                self.need(file, owner);
                return None;
            }
            Place::Outside => {
                self.fault(Code::PathEscape, file, owner, |finding| finding);
                return None;
            }
        };
        if encoding == Encoding::Unplaced {
            return Some(size);
        }
        let numbers = |finding: Finding| finding.with("byte_offset", byte_offset).with("byte_length", byte_length);
        if byte_offset < 0 || byte_length < 0 {
            self.fault(Code::RangeNegative, file, owner, numbers);
            return None;
        }
        let Some((start, end)) = span(record) else {
            self.fault(Code::RangeOverflow, file, owner, numbers);
            return None;
        };
        self.claim(record, row);
        if end <= size {
            return Some(size);
        }
        let short = end.saturating_sub(size);
        self.fault(Code::RangeBeyondFile, file, owner, |finding| {
            finding.in_bytes(start, end.saturating_sub(start)).with("end", end).with("size", size).with("short", short)
        });
        // The length is judged all the same: a wrong one may be why the range sticks out.
        Some(size)
    }

    /// Judge the length of a range that is one.
    fn length(&mut self, record: Record, size: u64, tensor: &Tensor, sizes: &[i64], owner: &Owner<'_>) {
        let Record { file, encoding, .. } = record;
        let (Some((start, end)), Some(needed)) = (span(record), byte_length(tensor, sizes)) else { return };
        let length = end.saturating_sub(start);
        let code = match encoding {
            Encoding::Raw if length != needed && self.part.rules.filling == Filling::Packed => Code::HeaderSizeMismatch,
            Encoding::Raw if length != needed => Code::RangeSizeMismatch,
            Encoding::Archived if length < needed => Code::RangeTooSmall,
            Encoding::Transformed if length == 0 && needed > 0 && size == 0 => Code::FileEmpty,
            Encoding::Transformed if length == 0 && needed > 0 => Code::RangeTooSmall,
            _ => return,
        };
        self.fault(code, file, owner, |finding| {
            finding.in_bytes(start, length).with("byte_length", length).with("needed", needed)
        });
    }

    /// Report something about a chunk or an entry; the chunks of one tensor with one fault in one file are one finding.
    fn fault(&mut self, code: Code, file: u32, owner: &Owner<'_>, tell: impl FnOnce(Finding) -> Finding) {
        let same = self.facts(file).map_or(file, |facts| facts.file);
        if let Some(facts) = self.facts(same) {
            facts.faulty = true;
        }
        match self.grouped.entry((code, file)) {
            Slot::Occupied(number) => {
                let finding = number.get().and_then(|number| self.tally.kept(number));
                if let (Some(finding), Some(position)) = (finding, owner.position) {
                    finding.positions.push(position);
                    finding.region = None;
                    finding.byte_range = None;
                }
            }
            Slot::Vacant(slot) => {
                if !self.tally.keeps(code) {
                    self.tally.count(code);
                    slot.insert(None);
                    return;
                }
                let mut finding = tell(Finding::new(code).of_tensor(owner.fqn));
                if let Some(position) = owner.position {
                    finding = finding.at(position);
                }
                if let Some((offsets, sizes)) = owner.region {
                    finding = finding.in_region(offsets, sizes);
                }
                if let Some(path) = self.part.files().get(usize::try_from(file).unwrap_or(usize::MAX)) {
                    finding = finding.in_file(path);
                }
                slot.insert(self.tally.push(finding));
            }
        }
    }

    /// Note that a chunk or an entry needs a file that is not there.
    fn need(&mut self, file: u32, owner: &Owner<'_>) {
        let need = self.needs.entry(file).or_insert_with(|| Need {
            records: 0,
            fqn: owner.fqn.into(),
            positions: Positions::default(),
            others: false,
        });
        need.records = need.records.saturating_add(1);
        need.others |= *need.fqn != *owner.fqn;
        if let (false, Some(position)) = (need.others, owner.position) {
            need.positions.push(position);
        }
    }

    fn missing_files(&mut self) {
        for (number, path) in (0_u32..).zip(self.part.files()) {
            let Some(need) = self.needs.remove(&number) else { continue };
            let mut finding = Finding::new(Code::FileMissing).in_file(path).with("records", need.records);
            if !need.others {
                finding = finding.of_tensor(&need.fqn).at_all(need.positions);
            }
            self.tally.push(finding.with("first", String::from(need.fqn)));
        }
    }

    fn unreferenced_files(&mut self, inventory: &Inventory) {
        let Some(suffix) = self.part.rules.data_suffix else { return };
        let known: Vec<Cow<'_, str>> = self.part.files().iter().filter_map(|path| within(path)).collect();
        let known: hashbrown::HashSet<&str, foldhash::fast::RandomState> = known.iter().map(AsRef::as_ref).collect();
        let directories: hashbrown::HashSet<&str, foldhash::fast::RandomState> =
            known.iter().map(|path| directory(path)).chain([""]).collect();
        let mut unreferenced: Vec<(&str, u64)> = inventory
            .iter()
            .filter(|&(path, size)| {
                size > 0 && path.ends_with(suffix) && directories.contains(directory(path)) && !known.contains(path)
            })
            .collect();
        unreferenced.sort_unstable();
        for (path, size) in unreferenced {
            self.tally.push(Finding::new(Code::FileUnreferenced).in_file(path).with("size", size));
        }
    }

    fn path(&self, file: u32) -> Option<&'a str> {
        self.part.files().get(usize::try_from(file).ok()?).map(AsRef::as_ref)
    }

    fn facts(&mut self, file: u32) -> Option<&mut FileFacts> {
        self.files.get_mut(usize::try_from(file).ok()?)
    }
}

/// Look up every recorded path, finding out which of them are one file.
fn file_facts(part: &Part, inventory: &Inventory) -> Vec<FileFacts> {
    let mut respelt: HashMap<String, u32, foldhash::fast::RandomState> = HashMap::default();
    let mut facts = Vec::with_capacity(part.files().len());
    for (number, path) in (0_u32..).zip(part.files()) {
        let place = inventory.place(path);
        let file = match within(path) {
            Some(Cow::Owned(plain)) => {
                let first = part.file(&plain).unwrap_or(number);
                *respelt.entry(plain).or_insert(first)
            }
            _ => number,
        };
        facts.push(FileFacts { place, claimed: 0, file, faulty: false, used: false, in_order: true });
    }
    facts
}

/// First byte and end of a record, if they are numbers of bytes and the end has 63 bits.
fn span(record: Record) -> Option<(u64, u64)> {
    let end = record.byte_offset.checked_add(record.byte_length)?;
    let length = u64::try_from(record.byte_length).ok()?;
    let start = u64::try_from(record.byte_offset).ok()?;
    debug_assert_eq!(start.checked_add(length), u64::try_from(end).ok());
    Some((start, u64::try_from(end).ok()?))
}

/// Bytes that the elements of a chunk take; `None` for a size that is no size, an unknown dtype, or beyond 64 bits.
fn byte_length(tensor: &Tensor, sizes: &[i64]) -> Option<u64> {
    let bits = u128::from(tensor.dtype().bits()?);
    let mut elements = 1_u64;
    for &size in sizes {
        elements = elements.checked_mul(u64::try_from(size).ok()?)?;
    }
    // In 128 bits: eight bits for each of 2^61 elements are no more than 2^61 bytes.
    u64::try_from(u128::from(elements).checked_mul(bits)?.div_ceil(8)).ok()
}

/// The directory part of a path, with its `/`.
fn directory(path: &str) -> &str {
    path.rfind('/').and_then(|slash| path.get(..=slash)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
