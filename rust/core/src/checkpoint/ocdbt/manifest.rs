//! The manifest: which versions a database has and where their trees begin.

use super::envelope::{self, MANIFEST, VERSION_NODE};
use super::wire::{DataFile, Fault, Place, Wire};
use crate::checkpoint::limits::Limits;

/// What a manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manifest {
    /// The versions, here.
    Single(Versions),
    /// Nothing but the settings: the versions are in `manifest.` followed by 16 hexadecimal digits.
    Numbered,
}

/// The versions that a manifest or a version node lists, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    /// Files that the rest refers to.
    pub files: Vec<DataFile>,
    /// The versions listed in place.
    pub versions: Vec<Version>,
    /// Nodes that list older versions.
    pub nodes: Vec<VersionNode>,
}

/// One version: a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Number of the version, from 1.
    pub generation: u64,
    /// Height of the root; 0 for a leaf.
    pub height: u8,
    /// Where the root is; no place at all for a version without keys.
    pub root: Place,
    /// Keys in the tree.
    pub keys: u64,
}

/// A node that lists older versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionNode {
    /// The last version below it.
    pub generation: u64,
    /// Where it is.
    pub place: Place,
    /// Its height; 0 for a leaf.
    pub height: u8,
}

impl Versions {
    /// The newest version listed in place.
    #[must_use]
    pub fn newest(&self) -> Option<&Version> {
        self.versions.last()
    }
}

/// Read a manifest.
///
/// # Errors
///
/// [`Fault`] when it is damaged or of an unknown kind.
pub fn read(bytes: &[u8], limits: &Limits) -> Result<Manifest, Fault> {
    let body = envelope::open(bytes, MANIFEST, limits)?;
    let mut wire = Wire::new(&body);
    wire.bytes(16, "its identity")?;
    let kind = wire.varint("its kind")?;
    wire.varint("the length of inline values")?;
    wire.varint("the length of nodes")?;
    let arity = wire.byte("the arity of the tree of versions")?;
    match wire.varint("its compression")? {
        0 => {}
        1 => drop(wire.bytes(4, "the level of compression")?),
        method => return Err(Fault::Unknown("compression", method)),
    }
    match kind {
        0 => {}
        1 => return wire.end().map(|()| Manifest::Numbered),
        kind => return Err(Fault::Unknown("kind of manifest", kind)),
    }
    let files = wire.files("")?;
    let versions = versions(&mut wire, arity, files.len())?;
    let nodes = version_nodes(&mut wire, arity, files.len(), None)?;
    wire.end()?;
    if versions.is_empty() {
        return Err(Fault::Empty("versions"));
    }
    Ok(Manifest::Single(Versions { files, versions, nodes }))
}

/// Read a node of the tree of versions, a child of the given height of what refers to it from `base`.
///
/// # Errors
///
/// [`Fault`] when it is damaged.
pub fn read_version_node(bytes: &[u8], expected: u8, base: &str, limits: &Limits) -> Result<Versions, Fault> {
    let body = envelope::open(bytes, VERSION_NODE, limits)?;
    let mut wire = Wire::new(&body);
    let arity = wire.byte("its arity")?;
    let height = wire.byte("its height")?;
    if height != expected {
        return Err(Fault::Height(height, expected));
    }
    let files = wire.files(base)?;
    let (versions, nodes) = match height.checked_sub(1) {
        None => (versions(&mut wire, arity, files.len())?, Vec::new()),
        Some(below) => (Vec::new(), version_nodes(&mut wire, arity, files.len(), Some(below))?),
    };
    wire.end()?;
    if versions.is_empty() && nodes.is_empty() {
        return Err(Fault::Empty("versions"));
    }
    Ok(Versions { files, versions, nodes })
}

fn versions(wire: &mut Wire<'_>, arity: u8, files: usize) -> Result<Vec<Version>, Fault> {
    let count = count(wire, arity)?;
    let generations = generations(wire, count)?;
    let heights = wire.bytes(count, "the height of a tree")?;
    let roots = wire.places(count, files)?;
    let keys = wire.varints(count, "a number of keys")?;
    wire.varints(count, "a number of bytes")?;
    wire.varints(count, "a number of bytes")?;
    times(wire, count)?;
    let columns = generations.into_iter().zip(heights).zip(roots).zip(keys);
    Ok(columns.map(|(((generation, &height), root), keys)| Version { generation, height, root, keys }).collect())
}

/// Nodes that list versions; a manifest states the height of each, a node's own are all one below it.
fn version_nodes(wire: &mut Wire<'_>, arity: u8, files: usize, below: Option<u8>) -> Result<Vec<VersionNode>, Fault> {
    // A manifest has a node for each height, at most 64 of them, whatever the arity.
    let count = count(wire, arity.max(6))?;
    let generations = generations(wire, count)?;
    let places = wire.places(count, files)?;
    wire.varints(count, "a number of versions")?;
    times(wire, count)?;
    let heights = match below {
        Some(height) => vec![height; count],
        None => wire.bytes(count, "a height")?.to_vec(),
    };
    let columns = generations.into_iter().zip(places).zip(heights);
    Ok(columns.map(|((generation, place), height)| VersionNode { generation, place, height }).collect())
}

/// How many versions or nodes are listed: at most two to the power of the arity.
fn count(wire: &mut Wire<'_>, arity: u8) -> Result<usize, Fault> {
    let count = wire.count("a number of versions")?;
    let limit = 1_u64.checked_shl(u32::from(arity)).unwrap_or(u64::MAX);
    match u64::try_from(count) {
        Ok(stated) if stated > limit => Err(Fault::TooLarge("a number of versions", stated, limit)),
        _ => Ok(count),
    }
}

fn generations(wire: &mut Wire<'_>, count: usize) -> Result<Vec<u64>, Fault> {
    let generations = wire.varints(count, "the number of a version")?;
    if generations.is_sorted_by(|before, after| before < after) {
        Ok(generations)
    } else {
        Err(Fault::Unordered("versions"))
    }
}

fn times(wire: &mut Wire<'_>, count: usize) -> Result<(), Fault> {
    (0..count).try_for_each(|_| wire.fixed("a time").map(drop))
}
