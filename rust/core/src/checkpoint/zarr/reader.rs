//! Reading a directory of zarr arrays, or an Orbax item, without opening a file.
//!
//! A [`Reader`] knows which files there are. It asks for the ranges that it needs, gets their bytes, asks for more, and
//! in the end hands over a [`Part`].

use std::collections::VecDeque;

use super::chunk::{self, Chunks};
use super::examine::{Examiner, Judgement, Seen, Wanted};
use super::metadata;
use super::store::{Entry, Node, Store, VERSION_3};
use crate::checkpoint::inventory::{Inventory, Place};
use crate::checkpoint::limits::Limits;
use crate::checkpoint::ocdbt::tree::{self, Ask, MANIFEST, Source, Walk};
use crate::checkpoint::orbax::{self, Tree};
use crate::checkpoint::part::{Part, TooMany};
use crate::findings::{Code, Finding};

/// What a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Arrays and groups, in files or in a database.
    Zarr,
    /// An item of an Orbax checkpoint: arrays, a tree of parameters and a marker of completion.
    Orbax,
}

/// A range of a file that is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The file.
    pub file: Box<str>,
    /// First byte.
    pub byte_offset: u64,
    /// Number of bytes.
    pub byte_length: u64,
}

/// Ranges that are asked for at once: enough to keep a remote store busy.
const BATCH_RANGES: usize = 4096;
/// Bytes that are asked for at once, unless a single range has more.
const BATCH_BYTES: u64 = 1 << 26;

/// A directory that is being read.
#[derive(Debug)]
pub struct Reader {
    layout: Layout,
    files: Inventory,
    judgement: Judgement,
    stage: Stage,
    queue: VecDeque<(Range, Task)>,
    /// How many of the queue were handed out and wait for their answers.
    handed_out: usize,
    tree: Option<Tree>,
    walk: Option<Walk>,
    store: Store,
    chunks: Chunks,
    part: Part,
    deep_findings: Vec<Finding>,
}

/// What is to be done once nothing is asked for any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Begin,
    OpenStore,
    PlaceChunks,
    Done,
}

/// What a range is needed for.
#[derive(Debug)]
enum Task {
    Tree,
    ArrayMetadatas,
    Walk(Ask),
    Metadata(usize),
    Chunk(Wanted),
}

impl Reader {
    /// Begin to read a directory that has these files, by paths relative to it and lengths.
    ///
    /// `deep` looks at the first bytes of chunks, and at older versions of a database, too.
    #[must_use]
    pub fn new(layout: Layout, files: impl IntoIterator<Item = (Box<str>, u64)>, deep: bool, limits: Limits) -> Self {
        Self {
            layout,
            files: files.into_iter().collect(),
            judgement: Judgement { stores_fill: false, deep, limits },
            stage: Stage::Begin,
            queue: VecDeque::new(),
            handed_out: 0,
            tree: None,
            walk: None,
            store: Store::default(),
            chunks: Chunks::default(),
            part: Part::new(),
            deep_findings: Vec::new(),
        }
    }

    /// The ranges that are needed next; none when everything is read.
    pub fn ranges(&mut self) -> Vec<Range> {
        while self.queue.is_empty() && self.stage != Stage::Done {
            self.stage = match self.stage {
                Stage::Begin => self.begin(),
                Stage::OpenStore => self.open_store(),
                Stage::PlaceChunks | Stage::Done => self.place_chunks(),
            };
        }
        let mut bytes = 0_u64;
        let mut batch = Vec::new();
        for (range, _) in self.queue.iter().take(BATCH_RANGES) {
            bytes = bytes.saturating_add(range.byte_length);
            if bytes > BATCH_BYTES && !batch.is_empty() {
                break;
            }
            batch.push(range.clone());
        }
        self.handed_out = batch.len();
        batch
    }

    /// Take the bytes of the ranges that were handed out last, in their order; `None` for what could not be read.
    pub fn answer<B: AsRef<[u8]>>(&mut self, answers: impl IntoIterator<Item = Option<B>>) {
        let mut answers = answers.into_iter();
        for _ in 0..std::mem::take(&mut self.handed_out) {
            let Some((range, task)) = self.queue.pop_front() else { return };
            let bytes = answers.next().flatten();
            let bytes = bytes.as_ref().map(AsRef::as_ref);
            let bytes = bytes.filter(|bytes| u64::try_from(bytes.len()) == Ok(range.byte_length));
            if bytes.is_none() {
                let finding = Finding::new(Code::FileUnreadable).in_file(&range.file);
                let finding = finding.in_bytes(range.byte_offset, range.byte_length);
                self.part.findings.push(finding.with("reason", "these bytes cannot be read"));
            }
            self.take(&range, task, bytes);
        }
    }

    /// Everything that was read, and apart from it what only the deep look found.
    #[must_use]
    pub fn finish(self) -> (Part, Vec<Finding>) {
        (self.part, self.deep_findings)
    }

    fn take(&mut self, range: &Range, task: Task, bytes: Option<&[u8]>) {
        let limits = self.judgement.limits;
        match (task, bytes) {
            (Task::Walk(ask), bytes) => {
                let asks = self.walk.as_mut().map(|walk| walk.answer(&ask, bytes, &self.files));
                self.enqueue_walk(asks.unwrap_or_default());
            }
            (Task::Metadata(entry), bytes) => self.open(entry, bytes),
            (Task::Tree, Some(bytes)) => match orbax::tree(bytes, &limits) {
                Ok(tree) => self.tree = Some(tree),
                Err(error) => self.part.findings.push(orbax::fault(&error, &range.file)),
            },
            (Task::ArrayMetadatas, Some(bytes)) => {
                if let Err(error) = orbax::array_metadatas(bytes, &limits) {
                    self.part.findings.push(orbax::fault(&error, &range.file));
                }
            }
            (Task::Chunk(asked), Some(bytes)) => {
                let mut examiner = Examiner::new(&self.store, &self.chunks, self.judgement);
                examiner.see(&asked, bytes);
                let seen = examiner.finish();
                self.note(seen);
            }
            (Task::Tree | Task::ArrayMetadatas | Task::Chunk(_), None) => {}
        }
    }

    fn begin(&mut self) -> Stage {
        if self.layout == Layout::Orbax {
            if self.length(orbax::COMMIT_MARKER).is_none() {
                self.absent(Code::CommitMarkerMissing, orbax::COMMIT_MARKER, "it is written last, and is not there");
            }
            match self.length(orbax::TREE) {
                Some(length) => self.enqueue_file(orbax::TREE, length, Task::Tree),
                None => self.absent(Code::MetadataMissing, orbax::TREE, "it lists the parameters, and is not there"),
            }
            let files = self.files.iter().filter(|(path, _)| path.starts_with(orbax::ARRAY_METADATAS));
            let mut files: Vec<(Box<str>, u64)> = files.map(|(path, length)| (path.into(), length)).collect();
            files.sort_unstable();
            for (path, length) in files {
                self.enqueue_file(&path, length, Task::ArrayMetadatas);
            }
        }
        if self.length(MANIFEST).is_some() {
            let (walk, asks) = Walk::begin(&self.files, self.judgement.deep, self.judgement.limits);
            self.walk = Some(walk);
            self.enqueue_walk(asks);
        }
        Stage::OpenStore
    }

    /// Put together all keys, and ask for the metadata of every array.
    fn open_store(&mut self) -> Stage {
        if let Some(walk) = &mut self.walk {
            self.part.findings.append(&mut walk.findings);
            self.deep_findings.append(&mut walk.older);
            let values = std::mem::take(&mut walk.values).into_iter();
            // What is no text is no key of an array.
            let entries =
                values.filter_map(|(key, source)| Some(Entry { key: String::from_utf8(key).ok()?.into(), source }));
            self.store.entries = entries.collect();
        } else if self.uses_database() {
            let merged = self.files.iter().any(|(path, _)| path.starts_with("d/"));
            if merged || !self.has_process_databases() {
                self.absent(Code::FileMissing, MANIFEST, "arrays are in a database, its manifest is not there");
            } else {
                let reason = "the databases of the processes were never merged into one";
                self.absent(Code::MergeUnfinished, MANIFEST, reason);
            }
            // Nothing is known of any array: nothing more can be said.
            return Stage::Done;
        } else {
            self.store.entries = self.files.iter().map(|(path, length)| Entry::file(path, length)).collect();
        }
        self.store.entries.sort_unstable_by(|one, other| one.key.cmp(&other.key));

        for number in 0..self.store.entries.len() {
            let Some(entry) = self.store.entries.get(number).filter(|entry| entry.metadata_of().is_some()) else {
                continue;
            };
            match &entry.source {
                Source::Inline { bytes, .. } => {
                    let bytes = bytes.clone();
                    self.open(number, Some(&bytes));
                }
                Source::At { file, byte_offset, byte_length } => {
                    let range = Range { file: (**file).into(), byte_offset: *byte_offset, byte_length: *byte_length };
                    match tree::refuse(&self.files, file, *byte_offset, *byte_length) {
                        None => self.enqueue(range, Task::Metadata(number)),
                        Some(finding) => {
                            self.part.findings.push(finding);
                            self.open(number, None);
                        }
                    }
                }
            }
        }
        Stage::PlaceChunks
    }

    /// Whether the arrays are in a database.
    fn uses_database(&self) -> bool {
        let stated = self.tree.as_ref().and_then(|tree| tree.uses_ocdbt);
        self.layout == Layout::Orbax && stated.unwrap_or_else(|| self.has_process_databases())
    }

    /// Whether there are databases of single processes, as there are before a merge and after it.
    fn has_process_databases(&self) -> bool {
        self.files.iter().any(|(path, _)| path.starts_with("ocdbt.process_") && path.ends_with(MANIFEST))
    }

    /// Read the metadata of an array or group; one that cannot be read is there nevertheless.
    fn open(&mut self, number: usize, bytes: Option<&[u8]>) {
        let Some(entry) = self.store.entries.get(number) else { return };
        let Some((path, name)) = entry.metadata_of() else { return };
        let read = bytes.map(|bytes| {
            if name == VERSION_3 {
                metadata::version_3(bytes, &self.judgement.limits)
            } else {
                let array = metadata::version_2(bytes, &self.judgement.limits);
                array.map(|array| metadata::Node::Array(Box::new(array)))
            }
        });
        let node = match read {
            None => Node::Closed,
            Some(Ok(metadata::Node::Group)) => Node::Group,
            Some(Ok(metadata::Node::Array(array))) => Node::Array(array),
            Some(Err(fault)) => {
                self.part.findings.push(fault.finding(path, entry.place()));
                Node::Closed
            }
        };
        self.store.nodes.add(path, node);
    }

    fn place_chunks(&mut self) -> Stage {
        self.judgement.stores_fill = self.tree.as_ref().is_some_and(|tree| tree.stores_fill);
        let lost = self.walk.as_ref().map(|walk| walk.lost.as_slice()).unwrap_or_default();
        let unknown = |path: &str| lost.iter().any(|span| span.touches(path));
        if let Some(tree) = &self.tree {
            self.part.findings.extend(tree.against(&self.store.nodes, unknown));
        }
        if self.layout == Layout::Zarr {
            self.part.findings.extend(chunk::orphans(&self.store));
        }
        if let Err(error) = self.judge_chunks() {
            self.part.findings.push(Finding::new(Code::MetadataTooLarge).with("reason", error.to_string()));
        }
        Stage::Done
    }

    fn judge_chunks(&mut self) -> Result<(), TooMany> {
        let lost = self.walk.as_ref().map(|walk| walk.lost.as_slice()).unwrap_or_default();
        let unknown = |path: &str| lost.iter().any(|span| span.touches(path));
        let (chunks, strays) = Chunks::among(&self.store)?;
        self.part.findings.extend(strays);
        let placed = chunks.fill(&self.store, unknown, self.judgement.stores_fill, &mut self.part)?;
        let mut examiner = Examiner::new(&self.store, &chunks, self.judgement);
        for chunk in placed {
            examiner.measure(chunk);
        }
        let seen = examiner.finish();
        self.chunks = chunks;
        self.note(seen);
        Ok(())
    }

    fn length(&self, path: &str) -> Option<u64> {
        match self.files.place(path) {
            Place::File(length) => Some(length),
            Place::Missing | Place::Outside => None,
        }
    }

    fn absent(&mut self, code: Code, file: &str, reason: &str) {
        self.part.findings.push(Finding::new(code).in_file(file).with("reason", reason));
    }

    fn enqueue_file(&mut self, path: &str, length: u64, task: Task) {
        self.enqueue(Range { file: path.into(), byte_offset: 0, byte_length: length }, task);
    }

    /// Ask for a range, unless no metadata is that long.
    fn enqueue(&mut self, range: Range, task: Task) {
        let limit = self.judgement.limits.metadata_bytes;
        if range.byte_length <= limit {
            self.queue.push_back((range, task));
            return;
        }
        let reason = format!("{} bytes of metadata, more than {limit}", range.byte_length);
        let finding = Finding::new(Code::MetadataTooLarge).in_file(&range.file);
        self.part.findings.push(finding.with("reason", reason));
        self.take(&range, task, None);
    }

    fn enqueue_walk(&mut self, asks: Vec<Ask>) {
        for ask in asks {
            let range = Range { file: (*ask.path).into(), byte_offset: ask.byte_offset, byte_length: ask.byte_length };
            self.enqueue(range, Task::Walk(ask));
        }
    }

    /// Note what was seen of chunks and ask for more; what is in no file is judged as any record in none is.
    fn note(&mut self, seen: Seen) {
        self.part.findings.extend(seen.findings);
        self.deep_findings.extend(seen.deep_findings);
        for one in seen.wanted {
            let (offset, length) = (one.byte_offset, one.byte_length);
            if tree::refuse(&self.files, &one.file, offset, length).is_none() {
                let range = Range { file: one.file.clone(), byte_offset: offset, byte_length: length };
                self.queue.push_back((range, Task::Chunk(one)));
            }
        }
    }
}

#[cfg(test)]
mod tests;
