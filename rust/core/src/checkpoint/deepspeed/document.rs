//! The things in DeepSpeed's pickles: dicts, lists, numbers, shapes, and tensors with the bytes they are in.

use std::cell::Cell;

use hashbrown::HashMap;

use super::role::Role;
use crate::checkpoint::archive::{self, Archive, Member};
use crate::checkpoint::dtype::Dtype;
use crate::checkpoint::pickle::{Arena, Handle, Items, View};
use crate::findings::{Code, Finding};

/// The pickle of an archive, and the archive's other members.
pub(super) struct Document<'a> {
    pub(super) arena: Arena<'a, Role>,
    members: HashMap<&'a str, &'a Member, foldhash::fast::RandomState>,
    /// How many numbers and characters may yet be copied out: what is shared in the pickle is not elsewhere.
    budget: Cell<usize>,
}

/// A tensor, and where its storage is in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) dtype: Dtype,
    pub(super) elements: u128,
    /// First byte of the tensor, where one element follows the other; `None` where the storage is not there.
    pub(super) byte_offset: Option<u64>,
}

/// Why nothing, or not all, is made of a pickle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    code: Code,
    reason: String,
}

impl Fault {
    pub(super) const fn unsupported(reason: String) -> Self {
        Self { code: Code::Unsupported, reason }
    }

    pub(super) fn finding(self, file: &str) -> Finding {
        Finding::new(self.code).in_file(file).with("reason", self.reason)
    }
}

/// In words alone: something is not as it should be.
impl From<String> for Fault {
    fn from(reason: String) -> Self {
        Self { code: Code::MetadataMalformed, reason }
    }
}

/// A storage as a persistent id names it.
struct Storage<'d> {
    key: &'d [u8],
    dtype: Option<Dtype>,
    elements: u128,
}

impl Storage<'_> {
    /// Bytes that it takes; one for each element where it has no dtype.
    fn byte_length(&self) -> Option<u128> {
        self.dtype.as_ref().map_or(Some(self.elements), |dtype| dtype.byte_length(self.elements))
    }
}

impl<'a> Document<'a> {
    pub(super) fn new(arena: Arena<'a, Role>, archive: &'a Archive) -> Self {
        let members = archive.members().iter().map(|member| (member.name.as_str(), member)).collect();
        let budget = Cell::new(arena.length().saturating_mul(4).saturating_add(1 << 10));
        Self { arena, members, budget }
    }

    /// Count what is copied out.
    fn spend(&self, amount: usize) -> Result<(), Fault> {
        let left = self.budget.get().checked_sub(amount).ok_or_else(|| Fault {
            code: Code::MetadataTooLarge,
            reason: "it stands for far more than the file holds".to_owned(),
        })?;
        self.budget.set(left);
        Ok(())
    }

    /// What a thing is, for a sentence.
    pub(super) fn noun(&self, handle: Handle) -> &'static str {
        self.arena.view(handle).noun()
    }

    /// Keys and values of a dict, in order or not.
    pub(super) fn pairs(&self, handle: Handle) -> Option<impl Iterator<Item = (Handle, Handle)>> {
        let dict = match self.arena.view(handle) {
            View::Dict(_) => Some(handle),
            View::Call { callee, items, .. } if self.is_mapping(callee) => items,
            _ => return None,
        };
        let items = dict.and_then(|dict| match self.arena.view(dict) {
            View::Dict(items) => Some(items.pairs()),
            _ => None,
        });
        Some(items.into_iter().flatten())
    }

    fn is_mapping(&self, callee: Handle) -> bool {
        self.arena.role(callee) == Some(Role::Archive(archive::Role::Mapping))
    }

    /// What a dict has under a name, unless that is `None`. Of equal keys Python keeps the last value.
    pub(super) fn entry(&self, dict: Handle, name: &str) -> Option<Handle> {
        let name = self.arena.find_text(name)?;
        let found = self.pairs(dict)?.filter(|&(key, _)| key == name).last();
        found.map(|(_, value)| value).filter(|&value| !matches!(self.arena.view(value), View::None))
    }

    /// The things in a list or tuple.
    pub(super) fn list(&self, handle: Handle, what: &str) -> Result<Items<'_>, Fault> {
        match self.arena.view(handle) {
            View::List(items) | View::Tuple(items) => Ok(items),
            other => Err(format!("{what} is {}, not a list", other.noun()).into()),
        }
    }

    /// A text.
    pub(super) fn text(&self, handle: Handle, what: &str) -> Result<Box<str>, Fault> {
        let text = self.arena.text(handle).ok_or_else(|| format!("{what} is {}, not a text", self.noun(handle)))?;
        self.spend(text.len().saturating_add(1))?;
        Ok(String::from_utf8_lossy(text).into())
    }

    /// A whole number of 64 bits.
    pub(super) fn number(&self, handle: Handle, what: &str) -> Result<i64, Fault> {
        match self.arena.view(handle) {
            View::Int(number) => Ok(number),
            View::Big(_) => Err(format!("{what} is beyond 64 bits").into()),
            other => Err(format!("{what} is {}, not a number", other.noun()).into()),
        }
    }

    /// What a class was called with, where that is one thing.
    pub(super) fn wrapped(&self, handle: Handle, role: Role) -> Option<Handle> {
        let (callee, arguments) = self.arena.call(handle)?;
        match self.arena.tuple(arguments)? {
            &[inner] if self.arena.role(callee) == Some(role) => Some(inner),
            _ => None,
        }
    }

    /// The numbers of a shape.
    pub(super) fn shape(&self, handle: Handle, what: &str) -> Result<Vec<i64>, Fault> {
        let tuple = self.wrapped(handle, Role::Archive(archive::Role::Size)).unwrap_or(handle);
        let numbers: Vec<i64> =
            self.list(tuple, what)?.map(|number| self.number(number, what)).collect::<Result<_, _>>()?;
        self.spend(numbers.len())?;
        Ok(numbers)
    }

    /// A tensor whose elements follow one another in its storage.
    pub(super) fn tensor(&self, handle: Handle, what: &str) -> Result<Stored, Fault> {
        self.call_of_tensor(handle)
            .ok_or_else(|| format!("{what} is {}, not a tensor", self.noun(handle)).into())
            .and_then(|arguments| self.rebuilt(arguments, what))
    }

    /// The arguments with which a tensor would be rebuilt.
    fn call_of_tensor(&self, handle: Handle) -> Option<Handle> {
        let mut at = handle;
        loop {
            let View::Call { callee, arguments, .. } = self.arena.view(at) else { return None };
            match self.arena.role(callee)? {
                Role::Archive(archive::Role::Tensor) => return Some(arguments),
                Role::Archive(archive::Role::Parameter) => at = *self.arena.tuple(arguments)?.first()?,
                Role::TensorOfType => return self.arena.tuple(arguments)?.get(2).copied(),
                _ => return None,
            }
        }
    }

    fn rebuilt(&self, arguments: Handle, what: &str) -> Result<Stored, Fault> {
        let arguments = self.arena.tuple(arguments).unwrap_or_default();
        let &[storage, offset, shape, strides, ..] = arguments else {
            return Err(format!("{what} is a tensor without storage, offset, shape and strides").into());
        };
        let View::Persistent(id) = self.arena.view(storage) else {
            return Err(format!("the storage of {what} is {}", self.noun(storage)).into());
        };
        let storage = self.storage(id)?;
        let dtype = storage.dtype.clone().ok_or_else(|| format!("the storage of {what} has no dtype"))?;
        let (shape, strides) = (self.shape(shape, what)?, self.shape(strides, what)?);
        let offset =
            u128::try_from(self.number(offset, what)?).map_err(|_| format!("{what} begins before its storage"))?;
        let mut elements = 1_u128;
        for (&size, &stride) in shape.iter().zip(&strides).rev() {
            let size = u128::try_from(size).map_err(|_| format!("the shape of {what} is {shape:?}"))?;
            if size > 1 && u128::try_from(stride) != Ok(elements) {
                return Err(format!("the strides of {what} are {strides:?}, its shape is {shape:?}").into());
            }
            elements = elements.checked_mul(size).ok_or_else(|| format!("the shape of {what} is {shape:?}"))?;
        }
        if offset.checked_add(elements).is_none_or(|end| end > storage.elements) {
            let held = storage.elements;
            return Err(format!("{what} has {elements} elements from {offset} on, its storage has {held}").into());
        }
        let member = self.member(&storage);
        let first = dtype.byte_length(offset).and_then(|bytes| u64::try_from(bytes).ok());
        let byte_offset = member.zip(first).and_then(|(member, first)| member.byte_offset.checked_add(first));
        Ok(Stored { dtype, elements, byte_offset })
    }

    /// The storage that a persistent id names.
    fn storage(&self, id: Handle) -> Result<Storage<'_>, Fault> {
        let foreign = || Fault::from("a persistent object that is no storage".to_owned());
        let Some(&[kind, class, key, _, elements]) = self.arena.tuple(id) else { return Err(foreign()) };
        let (Some(b"storage"), Some(key)) = (self.arena.text(kind), self.arena.text(key)) else {
            return Err(foreign());
        };
        let dtype = match self.arena.role(class) {
            Some(Role::Archive(archive::Role::Storage(dtype))) => Some(Dtype::named(dtype)),
            Some(Role::Archive(archive::Role::Bytes)) => None,
            _ => return Err(foreign()),
        };
        let elements = u128::try_from(self.number(elements, "the length of a storage")?)
            .map_err(|_| "the length of a storage is negative".to_owned())?;
        Ok(Storage { key, dtype, elements })
    }

    fn member(&self, storage: &Storage<'_>) -> Option<&'a Member> {
        let name = format!("data/{}", std::str::from_utf8(storage.key).ok()?);
        self.members.get(name.as_str()).copied()
    }

    /// Report storages that are not in the archive, or have other bytes than they take.
    pub(super) fn judge_storages(&self, file: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut seen: HashMap<&[u8], u128, foldhash::fast::RandomState> = HashMap::default();
        let report = |code, reason: String| Finding::new(code).in_file(file).with("reason", reason);
        for id in self.arena.persistent_ids() {
            let storage = match self.storage(id) {
                Ok(storage) => storage,
                Err(fault) => {
                    findings.push(fault.finding(file));
                    continue;
                }
            };
            let Some(needed) = storage.byte_length() else { continue };
            if seen.insert(storage.key, needed) == Some(needed) {
                continue;
            }
            let key = String::from_utf8_lossy(storage.key);
            match self.member(&storage) {
                None => findings.push(report(Code::PayloadMismatch, format!("the archive has no data/{key}"))),
                Some(member) if u128::from(member.byte_length) != needed => {
                    let held = member.byte_length;
                    let elements = storage.elements;
                    let reason = format!("data/{key} has {held} bytes, its {elements} elements take {needed}");
                    findings.push(report(Code::PayloadMismatch, reason).in_bytes(member.byte_offset, held));
                }
                Some(_) => {}
            }
        }
        findings
    }
}
