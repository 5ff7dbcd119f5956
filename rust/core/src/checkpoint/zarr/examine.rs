//! What the bytes of stored chunks say: their number, their shard indexes, and deeper down their first ones.

use super::chunk::{Chunks, View};
use super::shard::{Slot, Whole};
use super::store::Store;
use crate::checkpoint::limits::Limits;
use crate::checkpoint::ocdbt::tree::Source;
use crate::findings::{Code, Finding};

/// How chunks are judged.
#[derive(Clone, Copy, Debug)]
pub struct Judgement {
    /// Whether chunks are written even when they have nothing but the fill value: none may be absent then.
    pub stores_fill: bool,
    /// Whether the first bytes of chunks are looked at too.
    pub deep: bool,
    /// Caps.
    pub limits: Limits,
}

/// A range of a file that is needed to judge a chunk.
#[derive(Debug)]
pub struct Wanted {
    /// The file.
    pub file: Box<str>,
    /// First byte.
    pub byte_offset: u64,
    /// Number of bytes.
    pub byte_length: u64,
    chunk: usize,
    piece: Piece,
}

/// A piece of a chunk.
#[derive(Clone, Copy, Debug)]
enum Piece {
    Index,
    Head { inner: Option<usize>, length: u64 },
}

/// One who looks at chunks, finds faults and wants to see more.
#[derive(Debug)]
pub struct Examiner<'s> {
    store: &'s Store,
    chunks: &'s Chunks,
    judgement: Judgement,
    seen: Seen,
}

/// What was seen of chunks.
#[derive(Debug, Default)]
pub struct Seen {
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// What is wrong with the bytes of the elements.
    pub deep_findings: Vec<Finding>,
    /// What is needed to say more.
    pub wanted: Vec<Wanted>,
}

impl<'s> Examiner<'s> {
    /// One who has not seen anything yet.
    #[must_use]
    pub fn new(store: &'s Store, chunks: &'s Chunks, judgement: Judgement) -> Self {
        Self { store, chunks, judgement, seen: Seen::default() }
    }

    /// Everything that was seen.
    #[must_use]
    pub fn finish(self) -> Seen {
        self.seen
    }

    /// Judge a chunk by its length, and want the bytes of it that say more.
    pub fn measure(&mut self, chunk: usize) {
        let Some(view) = self.chunks.view(self.store, chunk) else { return };
        let length = view.entry.length();
        // A chunk without bytes is judged as any record without bytes is.
        if length == 0 {
            return;
        }
        if let Some(exact) = view.array.codecs.exact_length().filter(|exact| *exact != u128::from(length)) {
            let finding = view.finding(Code::RangeSizeMismatch).with("length", length).with("expected", exact);
            self.seen.findings.push(finding.with("reason", format!("{length} bytes, the chunk takes {exact}")));
        }
        let Some(sharding) = view.array.codecs.sharding() else {
            if let Some(bytes) = view.array.codecs.telling_bytes(length).filter(|_| self.judgement.deep) {
                self.fetch(view, chunk, Piece::Head { inner: None, length }, 0, bytes);
            }
            return;
        };
        match sharding.index_offset(length).zip(sharding.index_length()) {
            Some((offset, bytes)) if bytes <= self.judgement.limits.header_bytes => {
                self.fetch(view, chunk, Piece::Index, offset, bytes);
            }
            Some((_, bytes)) => {
                let reason = format!("a shard index of {bytes} bytes");
                self.seen.findings.push(view.finding(Code::MetadataTooLarge).with("reason", reason));
            }
            None => {
                let reason = format!("{length} bytes are fewer than the shard index takes");
                self.seen.findings.push(view.finding(Code::ShardIndexCorrupt).with("reason", reason));
            }
        }
    }

    /// Take bytes that were wanted.
    pub fn see(&mut self, wanted: &Wanted, bytes: &[u8]) {
        if let Some(view) = self.chunks.view(self.store, wanted.chunk) {
            self.judge(view, wanted.chunk, wanted.piece, bytes);
        }
    }

    fn judge(&mut self, view: View<'s>, chunk: usize, piece: Piece, bytes: &[u8]) {
        match piece {
            Piece::Index => self.index(view, chunk, bytes),
            Piece::Head { inner, length } => {
                let inside = view.array.codecs.sharding().filter(|_| inner.is_some());
                let codecs = inside.map_or(&view.array.codecs, |sharding| &sharding.codecs);
                let Some((code, reason)) = codecs.judge(bytes, length) else { return };
                let finding = view.finding(code).with("reason", reason);
                self.seen.deep_findings.push(match inner {
                    Some(inner) => finding.with("inner", inner),
                    None => finding,
                });
            }
        }
    }

    fn index(&mut self, view: View<'s>, chunk: usize, bytes: &[u8]) {
        let Some(sharding) = view.array.codecs.sharding() else { return };
        let slots = match sharding.read_index(bytes) {
            Ok(slots) => slots,
            Err(fault) => {
                self.seen.findings.push(view.finding(Code::ShardIndexCorrupt).with("reason", fault.to_string()));
                return;
            }
        };
        let grid = &view.array.grid;
        let Some((corner, _)) = grid.cell(view.cell).and_then(|cell| grid.region(&cell)) else { return };
        let whole = Whole {
            shape: grid.shape(),
            corner: &corner,
            length: view.entry.length(),
            fill: view.array.fill.as_deref().filter(|_| !self.judgement.stores_fill),
        };
        let findings = sharding.judge(&slots, whole);
        let sound = findings.iter().all(|finding| finding.code != Code::RangeBeyondFile);
        self.seen.findings.extend(findings.into_iter().map(|finding| view.about(finding)));
        if self.judgement.deep && sound {
            self.look_inside(view, chunk, &slots);
        }
    }

    /// Want the first bytes of the inner chunks of a shard.
    fn look_inside(&mut self, view: View<'s>, chunk: usize, slots: &[Slot]) {
        let Some(sharding) = view.array.codecs.sharding() else { return };
        for (inner, slot) in slots.iter().enumerate() {
            let Some((offset, length)) = *slot else { continue };
            if let Some(bytes) = sharding.codecs.telling_bytes(length) {
                self.fetch(view, chunk, Piece::Head { inner: Some(inner), length }, offset, bytes);
            }
        }
    }

    /// Judge a piece of a chunk that is at hand, or want one that is in a file.
    fn fetch(&mut self, view: View<'s>, chunk: usize, piece: Piece, offset: u64, length: u64) {
        match &view.entry.source {
            Source::Inline { bytes, .. } => {
                let range = usize::try_from(offset).ok().zip(usize::try_from(length).ok());
                if let Some(piece_bytes) = range.and_then(|(offset, length)| bytes.get(offset..)?.get(..length)) {
                    self.judge(view, chunk, piece, piece_bytes);
                }
            }
            Source::At { file, byte_offset, .. } => {
                // An offset beyond 64 bits is in no file: that is judged as any such record is.
                let Some(byte_offset) = byte_offset.checked_add(offset) else { return };
                self.seen.wanted.push(Wanted { file: (**file).into(), byte_offset, byte_length: length, chunk, piece });
            }
        }
    }
}
