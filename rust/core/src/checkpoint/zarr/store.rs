//! Keys and where their values are: a directory of files or a database, all the same.

use std::sync::Arc;

use hashbrown::HashMap;

use super::key::Keys;
use super::metadata::Array;
use crate::checkpoint::ocdbt::tree::Source;

/// Last part of the key of an array's or group's metadata, version 3.
pub const VERSION_3: &str = "zarr.json";
/// Last part of the key of an array's metadata, version 2.
pub const VERSION_2: &str = ".zarray";

/// Parts that the name of a chunk can have: the coordinates and a `c`.
const NAME_PARTS: usize = 66;

/// A key and where its value is.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key: path of a file, or key of a database.
    pub key: Box<str>,
    /// Where its value is.
    pub source: Source,
}

impl Entry {
    /// A file of a directory.
    #[must_use]
    pub fn file(path: &str, byte_length: u64) -> Self {
        Self { key: path.into(), source: Source::At { file: path.into(), byte_offset: 0, byte_length } }
    }

    /// Number of bytes of the value.
    #[must_use]
    pub fn length(&self) -> u64 {
        match &self.source {
            Source::Inline { bytes, .. } => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            Source::At { byte_length, .. } => *byte_length,
        }
    }

    /// File that the value is in.
    #[must_use]
    pub fn place(&self) -> &Arc<str> {
        match &self.source {
            Source::Inline { file, .. } | Source::At { file, .. } => file,
        }
    }

    /// Path of the array whose metadata this is, and the name that it has there.
    #[must_use]
    pub fn metadata_of(&self) -> Option<(&str, &str)> {
        let (path, name) = self.key.rsplit_once('/').unwrap_or(("", &self.key));
        matches!(name, VERSION_3 | VERSION_2).then_some((path, name))
    }
}

/// What is at a path.
#[derive(Clone, Debug)]
pub enum Node {
    /// An array.
    Array(Box<Array>),
    /// A group.
    Group,
    /// Something that cannot be read or judged.
    Closed,
}

/// Everything that is known of a store.
#[derive(Clone, Debug, Default)]
pub struct Store {
    /// Keys, in ascending order.
    pub entries: Vec<Entry>,
    /// Arrays and groups.
    pub nodes: Nodes,
}

/// Arrays and groups by path.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    nodes: Vec<(Box<str>, Node)>,
    numbers: HashMap<Box<str>, usize, foldhash::fast::RandomState>,
}

impl Nodes {
    /// Add what is at a path; what is there already stays.
    pub fn add(&mut self, path: &str, node: Node) {
        if !self.numbers.contains_key(path) {
            self.numbers.insert(path.into(), self.nodes.len());
            self.nodes.push((path.into(), node));
        }
    }

    /// Whether there is anything at a path.
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        self.numbers.contains_key(path)
    }

    /// The array with a number, and its path.
    #[must_use]
    pub fn array(&self, number: usize) -> Option<(&str, &Array)> {
        match self.nodes.get(number)? {
            (path, Node::Array(array)) => Some((path, array)),
            _ => None,
        }
    }

    /// The arrays in order of their paths, by number.
    #[must_use]
    pub fn in_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.nodes.len()).filter(|&number| self.array(number).is_some()).collect();
        order.sort_unstable_by_key(|&number| self.nodes.get(number).map(|(path, _)| path.as_ref()));
        order
    }

    /// The innermost node above a key, unless it is a group, and what the key is called below it.
    #[must_use]
    pub fn owner<'k>(&self, key: &'k str) -> Option<(usize, &'k str)> {
        let mut end = key.len();
        for _ in 0..NAME_PARTS {
            let Some(slash) = key.get(..end)?.rfind('/') else {
                let root = self.numbers.get("")?;
                return (!self.is_group(*root)).then_some((*root, key));
            };
            if let Some(&number) = self.numbers.get(key.get(..slash)?) {
                let name = key.get(slash.checked_add(1)?..)?;
                return (!self.is_group(number)).then_some((number, name));
            }
            end = slash;
        }
        None
    }

    fn is_group(&self, number: usize) -> bool {
        matches!(self.nodes.get(number), Some((_, Node::Group)))
    }
}

/// The directory of an array to which a key would be a chunk, and the name that its metadata would have.
#[must_use]
pub fn orphaned_chunk(key: &str) -> Option<(&str, &'static str)> {
    let numeric = |part: &str| Keys::version_2('.').cell(part, 1).is_some();
    let mut rest = key;
    let mut numbers = 0_usize;
    for _ in 0..NAME_PARTS {
        let (above, part) = rest.rsplit_once('/').unwrap_or(("", rest));
        if part == "c" {
            return Some((above, VERSION_3));
        }
        if !numeric(part) {
            return (numbers > 0).then_some((rest, VERSION_2));
        }
        numbers = numbers.saturating_add(1);
        rest = above;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_belongs_to_the_innermost_array_above_it() {
        let mut nodes = Nodes::default();
        nodes.add("", Node::Group);
        nodes.add("a/b", Node::Closed);
        nodes.add("a/b/c/0", Node::Closed);
        assert_eq!(nodes.owner("a/b/c/1/2"), Some((1, "c/1/2")));
        assert_eq!(nodes.owner("a/b/c/0/2"), Some((2, "2")));
        assert_eq!(nodes.owner("a/0"), None);
        assert_eq!(nodes.owner("0"), None);
        let mut root = Nodes::default();
        root.add("", Node::Closed);
        assert_eq!(root.owner("c/0"), Some((0, "c/0")));
        assert_eq!(root.owner(&"x/".repeat(100)), None);
    }

    #[test]
    fn a_chunk_without_array_names_where_the_array_was() {
        assert_eq!(orphaned_chunk("dec/w/c/0/1"), Some(("dec/w", VERSION_3)));
        assert_eq!(orphaned_chunk("step/c"), Some(("step", VERSION_3)));
        assert_eq!(orphaned_chunk("old/0.1"), Some(("old", VERSION_2)));
        assert_eq!(orphaned_chunk("old/0/1"), Some(("old", VERSION_2)));
        assert_eq!(orphaned_chunk("readme.txt"), None);
        assert_eq!(orphaned_chunk("a/.zattrs"), None);
    }
}
