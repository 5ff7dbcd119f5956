//! Whether the bytes of every chunk are there: each record in an existing file, inside it, of a fitting length, and
//! sharing no byte with another's.
//!
//! One pass over the records, then one over the claimed bytes of each file in order: near-linear whatever they say.

use std::borrow::Cow;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry as Slot;

use super::inventory::{Inventory, Place, within};
use super::part::{Encoding, Filling, Part, Record, Tensor};
use crate::findings::{Code, Finding, Positions};
use crate::interrupt::{Interrupt, Interrupted};
use crate::tally::Tally;

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
    for (number, tensor) in part.tensors().iter().enumerate() {
        storage.tensor(number, tensor, interrupt)?;
    }
    storage.entries();
    storage.missing_files();
    storage.shared_and_unclaimed_bytes(interrupt)?;
    storage.unreferenced_files(inventory);
    Ok(())
}

/// Bytes of a file that something says are its own.
#[derive(Clone, Copy, Debug)]
struct Claim {
    file: u32,
    /// Who: a row of the part's columns, a blob counted on from there, or [`NOBODY`].
    owner: u32,
    start: u64,
    end: u64,
}

/// Owner of bytes that may not be shared with anybody and that nobody's fault is about.
const NOBODY: u32 = u32::MAX;

/// What is known of one recorded path.
struct FileFacts {
    place: Place,
    /// The number that stands for the file where several spellings of its path have been recorded.
    file: u32,
    /// Whether a record of this file is at fault: holes then follow from it.
    faulty: bool,
    /// Records that need the file, while it is missing.
    needed: u64,
    /// The only tensor or entry that needs it, and which of its chunks.
    needed_by: Option<(Box<str>, Positions)>,
    needed_by_others: bool,
}

struct Storage<'a> {
    part: &'a Part,
    files: Vec<FileFacts>,
    claims: Vec<Claim>,
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
        let claims = Vec::with_capacity(part.chunk_count());
        Self { part, files, claims, tally, grouped: HashMap::default() }
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
            let empty = sizes.contains(&0);
            let Some(record) = *record else {
                if !empty {
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
        for (number, blob) in part.blobs.iter().enumerate() {
            self.grouped.clear();
            let owner = Owner { fqn: &blob.fqn, position: None, region: None };
            match blob.record {
                None => self.fault(Code::StorageMissing, u32::MAX, &owner, |finding| finding),
                Some(record) => {
                    let row = part.chunk_count().saturating_add(number);
                    self.range(record, u32::try_from(row).unwrap_or(NOBODY), &owner);
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
                    self.claims.push(Claim { file: record.file, owner: NOBODY, start, end });
                }
            }
            self.tally.push(finding);
        }
        for &reserved in &part.reserved {
            if let Some((start, end)) = span(reserved) {
                self.claims.push(Claim { file: reserved.file, owner: NOBODY, start, end });
            }
        }
    }

    /// Judge a byte range, and claim it; the size of its file if nothing is wrong with the range by itself.
    fn range(&mut self, record: Record, row: u32, owner: &Owner<'_>) -> Option<u64> {
        let Record { file, byte_offset, byte_length, encoding } = record;
        let facts = self.facts(file)?;
        let claimed_file = facts.file;
        let size = match facts.place {
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
        self.claims.push(Claim { file: claimed_file, owner: row, start, end });
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
        let Some(facts) = self.facts(file) else { return };
        facts.needed = facts.needed.saturating_add(1);
        match &mut facts.needed_by {
            None => facts.needed_by = Some((owner.fqn.into(), owner.position.into_iter().collect())),
            Some((fqn, positions)) if **fqn == *owner.fqn => {
                if let Some(position) = owner.position {
                    positions.push(position);
                }
            }
            Some(_) => facts.needed_by_others = true,
        }
    }

    fn missing_files(&mut self) {
        for (path, facts) in self.part.files().iter().zip(&mut self.files) {
            let Some((fqn, positions)) = facts.needed_by.take() else { continue };
            let mut finding = Finding::new(Code::FileMissing).in_file(path).with("records", facts.needed);
            if !facts.needed_by_others {
                finding = finding.of_tensor(&fqn).at_all(positions);
            }
            self.tally.push(finding.with("first", String::from(fqn)));
        }
    }

    /// Walk the claimed bytes of each file in order.
    fn shared_and_unclaimed_bytes(&mut self, interrupt: Interrupt<'_>) -> Result<(), Interrupted> {
        let claims = by_file(&std::mem::take(&mut self.claims), self.files.len());
        interrupt.check()?;
        for of_file in claims.chunk_by(|left, right| left.file == right.file) {
            let mut holder: Option<Claim> = None;
            let mut claimed = 0_u64;
            for &claim in of_file {
                self.hole(claimed, claim);
                if let Some(holder) = holder {
                    self.shared(holder, claim);
                }
                claimed = claimed.max(claim.end);
                if claim.owner != NOBODY && holder.is_none_or(|holder| claim.end > holder.end) {
                    holder = Some(claim);
                }
            }
            if let Some(&last) = of_file.last() {
                self.rest(claimed, last.file);
            }
        }
        Ok(())
    }

    /// Report bytes between `claimed` and a claim behind it.
    fn hole(&mut self, claimed: u64, next: Claim) {
        if next.start <= claimed || self.part.rules.filling == Filling::Free {
            return;
        }
        let Some((size, faulty)) = self.size(next.file) else { return };
        let end = next.start.min(size);
        if claimed >= end {
            return;
        }
        let mut finding = match self.part.rules.filling {
            Filling::Packed if faulty => return,
            Filling::Packed => Finding::new(Code::HeaderHole),
            _ => Finding::new(Code::FileBytesUnreferenced),
        };
        let length = end.saturating_sub(claimed);
        finding = finding.in_bytes(claimed, length).with("byte_length", length);
        if self.part.rules.filling == Filling::Packed
            && let Some((fqn, position)) = self.name(next.owner)
        {
            finding = finding.of_tensor(fqn).at_all(position.into_iter().collect());
        }
        if let Some(path) = self.path(next.file) {
            finding = finding.in_file(path);
        }
        self.tally.push(finding);
    }

    /// Report bytes behind the last claim of a file.
    fn rest(&mut self, claimed: u64, file: u32) {
        let Some((size, faulty)) = self.size(file) else { return };
        let code = match self.part.rules.filling {
            Filling::Free => return,
            Filling::Packed if faulty => return,
            Filling::Packed => Code::FileTrailingBytes,
            Filling::Tiled => Code::FileBytesUnreferenced,
        };
        let Some(length) = size.checked_sub(claimed).filter(|&length| length > 0) else { return };
        let mut finding = Finding::new(code).in_bytes(claimed, length).with("byte_length", length);
        if let Some(path) = self.path(file) {
            finding = finding.in_file(path);
        }
        self.tally.push(finding);
    }

    /// Report bytes that two records claim, unless both are the same box of one tensor: those are judged as boxes.
    fn shared(&mut self, holder: Claim, claim: Claim) {
        let end = claim.end.min(holder.end);
        let inside = claim.start == claim.end && claim.start > holder.start && claim.start < holder.end;
        let shares = claim.start < end || (inside && self.part.rules.filling == Filling::Packed);
        if claim.owner == NOBODY || !shares || self.same_box(holder.owner, claim.owner) {
            return;
        }
        if !self.tally.keeps(Code::RangeOverlap) {
            self.tally.count(Code::RangeOverlap);
            return;
        }
        let length = end.saturating_sub(claim.start);
        let relation = if (holder.start, holder.end) == (claim.start, claim.end) { "all of" } else { "some of" };
        let mut finding = Finding::new(Code::RangeOverlap)
            .in_bytes(claim.start, length)
            .with("byte_length", length)
            .with("relation", relation);
        if let Some((fqn, position)) = self.name(claim.owner) {
            finding = finding.of_tensor(fqn).at_all(position.into_iter().collect());
        }
        if let Some((fqn, position)) = self.name(holder.owner) {
            let other = position.map_or_else(|| fqn.to_owned(), |position| format!("{fqn} chunk {position}"));
            finding = finding.with("other", other);
        }
        if let Some(path) = self.path(claim.file) {
            finding = finding.in_file(path);
        }
        self.tally.push(finding);
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

    /// Whether two claims are equal boxes of one tensor, as replicas and duplicates are.
    fn same_box(&self, left: u32, right: u32) -> bool {
        let (Some((left_tensor, left)), Some((right_tensor, right))) = (self.chunk(left), self.chunk(right)) else {
            return false;
        };
        std::ptr::eq(left_tensor, right_tensor)
            && self.part.chunks(left_tensor).is_some_and(|chunks| {
                chunks.offsets().row(left) == chunks.offsets().row(right)
                    && chunks.sizes().row(left) == chunks.sizes().row(right)
            })
    }

    /// The tensor that a row belongs to, and the row counted within it.
    fn chunk(&self, owner: u32) -> Option<(&'a Tensor, usize)> {
        let row = usize::try_from(owner).ok()?;
        let tensors = self.part.tensors();
        // A tensor without chunks begins where the next one does, which then comes behind it and is found.
        let after = tensors.partition_point(|tensor| tensor.rows().start <= row);
        let tensor = tensors.get(after.checked_sub(1)?).filter(|tensor| tensor.rows().contains(&row))?;
        Some((tensor, row.checked_sub(tensor.rows().start)?))
    }

    /// The name of an owner, and its position if it is a chunk.
    fn name(&self, owner: u32) -> Option<(&'a str, Option<u64>)> {
        if let Some((tensor, row)) = self.chunk(owner) {
            let position = self.part.positions(tensor).get(row).copied().map(u64::from);
            return Some((tensor.fqn(), position));
        }
        let number = usize::try_from(owner).ok()?.checked_sub(self.part.chunk_count())?;
        self.part.blobs.get(number).map(|blob| (blob.fqn.as_ref(), None))
    }

    fn path(&self, file: u32) -> Option<&'a str> {
        self.part.files().get(usize::try_from(file).ok()?).map(AsRef::as_ref)
    }

    fn facts(&mut self, file: u32) -> Option<&mut FileFacts> {
        self.files.get_mut(usize::try_from(file).ok()?)
    }

    /// Size of a file that is there, and whether a record of it is at fault.
    fn size(&self, file: u32) -> Option<(u64, bool)> {
        let facts = self.files.get(usize::try_from(file).ok()?)?;
        match facts.place {
            Place::File(size) => Some((size, facts.faulty)),
            _ => None,
        }
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
        facts.push(FileFacts { place, file, faulty: false, needed: 0, needed_by: None, needed_by_others: false });
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
    let bits = u64::from(tensor.dtype().bits()?);
    let mut elements = 1_u64;
    for &size in sizes {
        elements = elements.checked_mul(u64::try_from(size).ok()?)?;
    }
    Some(elements.checked_mul(bits)?.div_ceil(8))
}

/// The directory part of a path, with its `/`.
fn directory(path: &str) -> &str {
    path.rfind('/').and_then(|slash| path.get(..=slash)).unwrap_or_default()
}

/// Bring claims together by file, in order of their bytes within each.
///
/// A counting sort by file: records are written file by file, so that what remains to sort is nearly in order.
fn by_file(claims: &[Claim], files: usize) -> Vec<Claim> {
    let slot = |claim: &Claim| usize::try_from(claim.file).unwrap_or(usize::MAX);
    let mut next = vec![0_usize; files];
    for claim in claims {
        if let Some(count) = next.get_mut(slot(claim)) {
            *count = count.saturating_add(1);
        }
    }
    let mut before = 0_usize;
    for count in &mut next {
        before = before.saturating_add(std::mem::replace(count, before));
    }
    let mut sorted = claims.to_vec();
    sorted.truncate(before);
    for claim in claims {
        if let Some(position) = next.get_mut(slot(claim))
            && let Some(place) = sorted.get_mut(*position)
        {
            *place = *claim;
            *position = position.saturating_add(1);
        }
    }
    for of_file in sorted.chunk_by_mut(|left, right| left.file == right.file) {
        if !of_file.is_sorted_by_key(order) {
            of_file.sort_unstable_by_key(order);
        }
    }
    sorted
}

/// By start, then by end, then in the order of the metadata.
fn order(claim: &Claim) -> (u64, u64, u32) {
    (claim.start, claim.end, claim.owner)
}

#[cfg(test)]
mod tests;
