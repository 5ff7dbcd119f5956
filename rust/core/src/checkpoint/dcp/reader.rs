//! One metadata file: its tensors and chunks, and where it says their bytes are.

use hashbrown::HashMap;

use super::document::{Document, NotNumbers};
use super::fault::Fault;
use super::role::Role;
use super::{Flavour, Origin};
use crate::checkpoint::limits::Limits;
use crate::checkpoint::part::{Entry, Part};
use crate::checkpoint::pickle::{Handle, View};
use crate::findings::{Code, Finding};
use crate::interrupt::{Interrupt, Interrupted};

mod storage;

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// Entries between two questions whether to go on.
const BLOCK: usize = 1 << 14;

/// What a name in the metadata stands for.
#[derive(Clone, Copy, Debug)]
enum Named {
    /// A tensor of the part: its number, its first row, and whether some of its chunks could not be entered.
    Tensor { number: usize, row: usize, partial: bool },
    /// An entry of the part that is not a tensor.
    Blob(usize),
    /// Something that could not be entered.
    Refused,
}

/// Handles of the names of attributes, where the pickle has them.
struct Attributes {
    properties: Option<Handle>,
    dtype: Option<Handle>,
    size: Option<Handle>,
    chunks: Option<Handle>,
    offsets: Option<Handle>,
    sizes: Option<Handle>,
    fqn: Option<Handle>,
    offset: Option<Handle>,
    index: Option<Handle>,
    relative_path: Option<Handle>,
    length: Option<Handle>,
    transforms: Option<Handle>,
}

pub(super) struct Reader<'a, 'd> {
    document: &'d Document<'a>,
    names: Attributes,
    named: Map<Handle, Named>,
    files: Map<Handle, u32>,
    pub(super) part: Part,
    pub(super) faults: Vec<Fault>,
    pub(super) origin: Origin,
    /// Attributes that the classes of the format do not have.
    foreign: Map<(Role, Handle), ()>,
    /// How many numbers and characters may yet be copied out: what is shared in the pickle is not in the columns.
    budget: usize,
    limits: &'d Limits,
    interrupt: Interrupt<'d>,
    offsets: Vec<i64>,
    sizes: Vec<i64>,
}

/// Reading a file ended early.
pub(super) enum Ended {
    Fault(Fault),
    Interrupted,
}

impl From<Fault> for Ended {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Interrupted> for Ended {
    fn from(_: Interrupted) -> Self {
        Self::Interrupted
    }
}

impl<'a, 'd> Reader<'a, 'd> {
    pub(super) fn new(document: &'d Document<'a>, bytes: usize, limits: &'d Limits, interrupt: Interrupt<'d>) -> Self {
        let name = |name| document.arena.find_text(name);
        let names = Attributes {
            properties: name("properties"),
            dtype: name("dtype"),
            size: name("size"),
            chunks: name("chunks"),
            offsets: name("offsets"),
            sizes: name("sizes"),
            fqn: name("fqn"),
            offset: name("offset"),
            index: name("index"),
            relative_path: name("relative_path"),
            length: name("length"),
            transforms: name("transform_descriptors"),
        };
        Self {
            document,
            names,
            named: HashMap::default(),
            files: HashMap::default(),
            part: Part::new(),
            faults: Vec::new(),
            origin: Origin::default(),
            foreign: HashMap::default(),
            budget: bytes.saturating_mul(4).saturating_add(1 << 10),
            limits,
            interrupt,
            offsets: Vec::new(),
            sizes: Vec::new(),
        }
    }

    /// Read everything; a fault that leaves nothing to be read is the error.
    pub(super) fn read(&mut self) -> Result<(), Ended> {
        let document = self.document;
        let root = document.arena.root();
        let View::Instance { class, state } = document.arena.view(root) else {
            return self.other_root(root);
        };
        if document.arena.role(class) != Some(Role::Metadata) {
            return Err(Fault::malformed(root, format!("it is {}, not Metadata", document.noun(root))).into());
        }
        if let View::Global(global) = document.arena.view(class)
            && document.arena.path(global).starts_with("tensorplay.")
        {
            self.origin.flavour = Flavour::TensorPlay;
        }
        let name = |name| document.arena.find_text(name);
        let wanted =
            ["state_dict_metadata", "storage_data", "all_local_plans", "planner_data", "storage_meta", "version"];
        let mut foreign = Vec::new();
        let [tensors, storage, plans, _, _, _] =
            document.attributes(state, wanted.map(name), &mut |key| foreign.push(key))?;
        for key in foreign {
            self.foreign(Role::Metadata, key);
        }
        self.origin.has_plans = plans.is_some();
        let tensors = tensors.ok_or_else(|| Fault::malformed(root, "Metadata has no state_dict_metadata"))?;
        let storage = storage.ok_or_else(|| Fault::malformed(root, "Metadata has no storage_data"))?;
        self.tensors(tensors)?;
        match document.arena.view(storage) {
            View::None => {}
            View::Dict(items) => {
                let mut unplaced = Vec::new();
                for (number, (key, value)) in items.pairs().enumerate() {
                    if number.is_multiple_of(BLOCK) {
                        self.interrupt.check()?;
                    }
                    self.record(key, value, &mut unplaced)?;
                }
                self.find_chunks(unplaced)?;
            }
            other => {
                return Err(Fault::malformed(storage, format!("storage_data is {}, not a dict", other.noun())).into());
            }
        }
        self.origin.foreign = self.foreign.keys().map(|&(role, key)| format!("{role:?}.{}", self.shown(key))).collect();
        self.origin.foreign.sort_unstable();
        Ok(())
    }

    /// A root that is no Metadata: an early TensorPlay wrote a dict with a version and nothing else.
    fn other_root(&mut self, root: Handle) -> Result<(), Ended> {
        if let View::Dict(mut items) = self.document.arena.view(root)
            && let (Some(key), Some(_), None) = (items.next(), items.next(), items.next())
            && self.document.arena.text(key) == Some(b"version")
        {
            self.origin.flavour = Flavour::VersionOnly;
            return Ok(());
        }
        Err(Fault::malformed(root, format!("it is {}, not Metadata", self.document.noun(root))).into())
    }

    fn shown(&self, text: Handle) -> String {
        self.document.arena.shown(text)
    }

    fn foreign(&mut self, role: Role, key: Handle) {
        if self.foreign.len() < 1 << 10 {
            self.foreign.insert((role, key), ());
        }
    }

    /// Count what is copied out.
    #[inline]
    fn spend(&mut self, at: Handle, amount: usize) -> Result<(), Fault> {
        match self.budget.checked_sub(amount) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => Err(Fault::too_large(at, "it stands for far more than the file holds")),
        }
    }

    /// A name, in a form that can be reported.
    fn name(&mut self, at: Handle) -> Result<Box<str>, Fault> {
        let text = self.document.arena.text(at).unwrap_or_default();
        if text.len() > self.limits.name_bytes {
            let most = self.limits.name_bytes;
            return Err(Fault::too_large(at, format!("a name of {} bytes, more than {most}", text.len())));
        }
        let name = String::from_utf8_lossy(text).into_owned().into_boxed_str();
        self.spend(at, name.len())?;
        Ok(name)
    }

    fn tensors(&mut self, tensors: Handle) -> Result<(), Ended> {
        let View::Dict(items) = self.document.arena.view(tensors) else {
            let noun = self.document.noun(tensors);
            return Err(Fault::malformed(tensors, format!("state_dict_metadata is {noun}, not a dict")).into());
        };
        for (number, (key, value)) in items.pairs().enumerate() {
            if number.is_multiple_of(BLOCK) {
                self.interrupt.check()?;
            }
            if self.document.arena.text(key).is_none() {
                return Err(Fault::malformed(key, format!("a name that is {}", self.document.noun(key))).into());
            }
            let fqn = self.name(key)?;
            if self.named.contains_key(&key) {
                self.faults.push(Fault::malformed(value, "the name is there twice").of_tensor(&fqn));
                continue;
            }
            let named = match self.entry(&fqn, value) {
                Ok(named) => named,
                Err(Ended::Fault(fault)) if fault.code == Code::MetadataMalformed => {
                    self.faults.push(fault.of_tensor(&fqn));
                    Named::Refused
                }
                Err(ended) => return Err(ended),
            };
            self.named.insert(key, named);
        }
        Ok(())
    }

    /// Enter what a name stands for.
    fn entry(&mut self, fqn: &str, value: Handle) -> Result<Named, Ended> {
        match self.document.state_of(value) {
            Some((Role::Bytes, _)) => {
                self.part.blobs.push(Entry { fqn: fqn.into(), offsets: None, record: None });
                Ok(Named::Blob(self.part.blobs.len().saturating_sub(1)))
            }
            Some((Role::Tensor, state)) => self.tensor(fqn, value, state),
            _ => {
                let noun = self.document.noun(value);
                Err(Fault::malformed(value, format!("{noun} is the metadata of neither a tensor nor bytes")).into())
            }
        }
    }

    fn tensor(&mut self, fqn: &str, at: Handle, state: Option<Handle>) -> Result<Named, Ended> {
        let names = [self.names.properties, self.names.size, self.names.chunks];
        let mut foreign = Vec::new();
        let found = self.document.attributes(state, names, &mut |key| foreign.push(key))?;
        for key in foreign {
            self.foreign(Role::Tensor, key);
        }
        let [Some(properties), Some(size), Some(chunks)] = found else {
            let missing = ["properties", "size", "chunks"].iter().zip(found).find(|(_, found)| found.is_none());
            let missing = missing.map_or("", |(name, _)| name);
            return Err(Fault::malformed(at, format!("the tensor has no attribute '{missing}'")).into());
        };
        let dtype = self.document.dtype(properties, self.names.dtype)?;
        let mut shape = Vec::new();
        match self.document.numbers(size, &mut shape) {
            Ok(()) => {}
            Err(NotNumbers::Wrong(fault)) => return Err(fault.into()),
            Err(NotNumbers::Beyond { dimension, value, negative }) => {
                let code = if negative { Code::ShapeNegative } else { Code::ShapeOverflow };
                let finding = Finding::new(code).of_tensor(fqn).in_dimension(dimension);
                let reason = format!("dimension {dimension} of the shape is beyond 64 bits");
                let finding = finding.with("field", "size").with("number", value);
                self.part.findings.push(finding.with("reason", reason));
                return Ok(Named::Refused);
            }
        }
        if shape.len() > self.limits.rank {
            let most = self.limits.rank;
            return Err(Fault::too_large(size, format!("{} dimensions, more than {most}", shape.len())).into());
        }
        self.spend(at, shape.len().saturating_add(1))?;
        let listed = self.document.list(chunks).ok_or_else(|| {
            Fault::malformed(chunks, format!("the chunks are {}, not a list", self.document.noun(chunks)))
        })?;
        let (number, row) = (self.part.tensors().len(), self.part.chunk_count());
        self.part.push_tensor(fqn, dtype, &shape);
        let mut partial = false;
        for (position, chunk) in listed.enumerate() {
            match self.chunk(fqn, shape.len(), position, chunk) {
                Ok(entered) => partial |= !entered,
                Err(fault) => {
                    self.part.withdraw_tensor();
                    return Err(fault.into());
                }
            }
            if position.is_multiple_of(BLOCK) {
                self.interrupt.check()?;
            }
        }
        Ok(Named::Tensor { number, row, partial })
    }

    /// Enter a chunk; whether it could be.
    #[inline]
    fn chunk(&mut self, fqn: &str, rank: usize, position: usize, at: Handle) -> Result<bool, Fault> {
        let Some((Role::Chunk, state)) = self.document.state_of(at) else {
            return Err(Fault::malformed(at, format!("chunk {position} is {}", self.document.noun(at))));
        };
        let mut foreign = None;
        let names = [self.names.offsets, self.names.sizes];
        let found = self.document.attributes(state, names, &mut |key| foreign = Some(key))?;
        if let Some(key) = foreign {
            self.foreign(Role::Chunk, key);
        }
        let [Some(offsets), Some(sizes)] = found else {
            let missing = if found.first() == Some(&None) { "offsets" } else { "sizes" };
            return Err(Fault::malformed(at, format!("chunk {position} has no attribute '{missing}'")));
        };
        let mut numbers = [std::mem::take(&mut self.offsets), std::mem::take(&mut self.sizes)];
        let entered = self.boxed(fqn, rank, position, [offsets, sizes], &mut numbers);
        [self.offsets, self.sizes] = numbers;
        entered
    }

    #[inline]
    fn boxed(
        &mut self,
        fqn: &str,
        rank: usize,
        position: usize,
        handles: [Handle; 2],
        numbers: &mut [Vec<i64>; 2],
    ) -> Result<bool, Fault> {
        let place = u64::try_from(position).unwrap_or(u64::MAX);
        for ((handle, numbers), field) in handles.into_iter().zip(&mut *numbers).zip(["offsets", "sizes"]) {
            match self.document.numbers(handle, numbers) {
                Ok(()) if numbers.len() == rank => {}
                Ok(()) => {
                    let finding = Finding::new(Code::ChunkRankMismatch).of_tensor(fqn).at(place).with("field", field);
                    let finding = finding.with("rank", numbers.len()).with("expected", rank);
                    self.part.findings.push(finding);
                    return self.spend(handle, fqn.len()).map(|()| false);
                }
                Err(NotNumbers::Wrong(fault)) => return Err(fault),
                Err(NotNumbers::Beyond { dimension, value, negative }) => {
                    let code = if negative { Code::ChunkNegative } else { Code::ChunkOverflow };
                    let finding = Finding::new(code).of_tensor(fqn).at(place).in_dimension(dimension);
                    let reason = format!("{field} in dimension {dimension} is beyond 64 bits");
                    let finding = finding.with("field", field).with("number", value).with("reason", reason);
                    self.part.findings.push(finding);
                    return self.spend(handle, fqn.len()).map(|()| false);
                }
            }
        }
        let [offsets, sizes] = handles;
        let [offset_numbers, size_numbers] = numbers;
        self.spend(offsets, rank.saturating_mul(2).saturating_add(1))?;
        if self.part.chunk_count() >= self.limits.chunks {
            return Err(Fault::too_large(sizes, format!("more than {} chunks", self.limits.chunks)));
        }
        self.part
            .push_chunk(position, offset_numbers, size_numbers, None)
            .map_err(|error| Fault::too_large(offsets, error.to_string()))
    }
}
