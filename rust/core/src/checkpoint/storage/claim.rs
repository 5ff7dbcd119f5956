//! The bytes that records claim: shared ones, and those that nobody claims.

use super::{Storage, Tensor};
use crate::checkpoint::inventory::Place;
use crate::checkpoint::part::Filling;
use crate::findings::{Code, Finding};
use crate::interrupt::{Interrupt, Interrupted};

/// Bytes of a file that something says are its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    pub(super) file: u32,
    /// Who: a row of the part's columns, a blob counted on from there, or [`NOBODY`].
    pub(super) owner: u32,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// Owner of bytes that may not be shared with anybody and that nobody's fault is about.
pub(super) const NOBODY: u32 = u32::MAX;

impl<'a> Storage<'a> {
    /// Walk the claimed bytes of each file in order.
    pub(super) fn shared_and_unclaimed_bytes(&mut self, interrupt: Interrupt<'_>) -> Result<(), Interrupted> {
        for (file, path) in (0_u32..).zip(0..self.files.len()) {
            if let Some(facts) = self.files.get(path).filter(|facts| facts.in_order && facts.used) {
                self.rest(facts.claimed, file);
            }
        }
        let claims = by_file(&self.claims_out_of_order(), self.files.len());
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

    /// The claims on files where they did not come in order.
    fn claims_out_of_order(&self) -> Vec<Claim> {
        let part = self.part;
        let blobs = (0_u32..).zip(&part.blobs).map(|(number, blob)| (self.blob(number), blob.record));
        let nobody = part.orphans.iter().map(|orphan| orphan.record).chain(part.reserved.iter().copied().map(Some));
        let chunks = part.tensors().iter().flat_map(|tensor| {
            tensor.rows().zip(part.records(tensor)).map(|(row, record)| (u32::try_from(row).unwrap_or(NOBODY), *record))
        });
        let all = chunks.chain(blobs).chain(nobody.map(|record| (NOBODY, record)));
        let claims = all.filter_map(|(owner, record)| self.claim_of(record?, owner));
        let in_order = |claim: &Claim| {
            let facts = usize::try_from(claim.file).ok().and_then(|file| self.files.get(file));
            facts.is_none_or(|facts| facts.in_order)
        };
        claims.filter(|claim| !in_order(claim)).collect()
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

    /// Size of a file that is there, and whether a record of it is at fault.
    fn size(&self, file: u32) -> Option<(u64, bool)> {
        let facts = self.files.get(usize::try_from(file).ok()?)?;
        match facts.place {
            Place::File(size) => Some((size, facts.faulty)),
            _ => None,
        }
    }
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
