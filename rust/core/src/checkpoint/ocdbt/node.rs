//! The nodes of a B+tree: keys and where their values are, or keys and where the nodes below are.

use super::envelope::{self, TREE_NODE};
use super::wire::{DataFile, Fault, Place, Wire};
use crate::checkpoint::limits::Limits;

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Files that the rest refers to.
    pub files: Vec<DataFile>,
    /// What it lists.
    pub entries: Entries,
}

/// What a node lists, in ascending order of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entries {
    /// Keys and values.
    Leaf(Vec<(Vec<u8>, Stored)>),
    /// Nodes below.
    Interior(Vec<Child>),
}

/// Where a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Here.
    Inline(Vec<u8>),
    /// In a file.
    At(Place),
}

/// A node below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// Every key below is this one or comes after it.
    pub key: Vec<u8>,
    /// How much of `key` all keys below begin with; they are stored without it.
    pub prefix_length: usize,
    /// Where it is.
    pub place: Place,
}

/// What a parent says of a node.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// Its height; 0 for a leaf.
    pub height: u8,
    /// What its keys are stored without.
    pub prefix: &'a [u8],
    /// No key of it comes before this one.
    pub least: &'a [u8],
    /// Every key of it comes before this one.
    pub end: Option<&'a [u8]>,
    /// What paths within it are relative to.
    pub base: &'a str,
}

/// Read a node and check it against what its parent says.
///
/// # Errors
///
/// [`Fault`] when it is damaged or not the node that its parent means.
pub fn read(bytes: &[u8], expected: Expected<'_>, limits: &Limits) -> Result<Node, Fault> {
    let body = envelope::open(bytes, TREE_NODE, limits)?;
    let mut wire = Wire::new(&body);
    let height = wire.byte("its height")?;
    if height != expected.height {
        return Err(Fault::Height(height, expected.height));
    }
    let files = wire.files(expected.base)?;
    let count = wire.count("a number of keys")?;
    if count == 0 {
        return Err(Fault::Empty("keys"));
    }
    let prefixes = wire.lengths(count.saturating_sub(1), "the length of a key")?;
    let suffixes = wire.lengths(count, "the length of a key")?;
    let common = if height == 0 { Vec::new() } else { wire.lengths(count, "the length of a key")? };
    let keys = wire.names(expected.prefix, &prefixes, &suffixes)?;
    if !keys.is_sorted_by(|before, after| before < after) {
        return Err(Fault::Unordered("keys"));
    }
    let before = keys.first().is_some_and(|key| key.as_slice() < expected.least);
    let behind = keys.last().zip(expected.end).is_some_and(|(key, end)| key.as_slice() >= end);
    if before || behind {
        return Err(Fault::Bounds);
    }
    let entries = if height == 0 {
        Entries::Leaf(keys.into_iter().zip(values(&mut wire, count, files.len())?).collect())
    } else {
        let places = wire.places(count, files.len())?;
        for _ in ["keys", "bytes of nodes", "bytes of values"] {
            wire.varints(count, "a count")?;
        }
        let children = keys.into_iter().zip(common).zip(places).map(|((key, common), place)| {
            let prefix_length = expected.prefix.len().saturating_add(common);
            if prefix_length > key.len() {
                return Err(Fault::Truncated("a common prefix"));
            }
            Ok(Child { key, prefix_length, place })
        });
        Entries::Interior(children.collect::<Result<_, _>>()?)
    };
    wire.end()?;
    Ok(Node { files, entries })
}

fn values(wire: &mut Wire<'_>, count: usize, files: usize) -> Result<Vec<Stored>, Fault> {
    let lengths = wire.varints(count, "the length of a value")?;
    let kinds = wire.bytes(count, "the kind of a value")?;
    if let Some(&kind) = kinds.iter().find(|kind| **kind > 1) {
        return Err(Fault::Unknown("kind of value", u64::from(kind)));
    }
    let distant = kinds.iter().map(|&kind| usize::from(kind)).sum();
    let numbers = wire.file_numbers(distant, files)?;
    let offsets = wire.varints(distant, "an offset")?;
    let mut places = numbers.into_iter().zip(offsets);
    let values = lengths.into_iter().zip(kinds).map(|(length, &kind)| {
        if kind == 0 {
            let length = usize::try_from(length).map_err(|_| Fault::Truncated("a value"))?;
            return Ok(Stored::Inline(wire.bytes(length, "a value")?.to_vec()));
        }
        // There is a place for each value of kind 1: they were counted.
        let (file, byte_offset) = places.next().ok_or(Fault::Truncated("a place"))?;
        Ok(Stored::At(Place { file, byte_offset, byte_length: length }))
    });
    values.collect()
}
