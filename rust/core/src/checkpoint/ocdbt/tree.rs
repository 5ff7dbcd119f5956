//! A walk through the newest version of a database, from its manifest to its values.
//!
//! The walk opens no file: it says which ranges it needs and goes on when it has them.

use std::sync::Arc;

use hashbrown::HashSet;

use super::manifest::{self, Manifest, Versions};
use super::node::{self, Entries, Expected, Stored};
use super::wire::{Fault, Place};
use crate::checkpoint::inventory::{Inventory, Place as Found};
use crate::checkpoint::limits::Limits;
use crate::findings::{Code, Finding};

/// Name of the manifest.
pub const MANIFEST: &str = "manifest.ocdbt";

/// A range of a file that the walk needs, and what for.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The file.
    pub path: Arc<str>,
    /// First byte.
    pub byte_offset: u64,
    /// Number of bytes.
    pub byte_length: u64,
    purpose: Purpose,
}

#[derive(Clone, Debug)]
enum Purpose {
    Manifest { numbered: bool },
    Versions { height: u8, base: Box<str> },
    Node { height: u8, prefix_length: usize, span: Span, base: Box<str> },
}

/// Keys from the first one up to, and without, the end; all the rest where there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    first: Vec<u8>,
    end: Option<Vec<u8>>,
}

impl Span {
    const fn all() -> Self {
        Self { first: Vec::new(), end: None }
    }

    /// Whether keys below a path may be in it.
    #[must_use]
    pub fn touches(&self, path: &str) -> bool {
        // Keys below a path begin with it and a slash; the first key behind them has the next character in its place.
        let (first, behind) = (format!("{path}/"), format!("{path}0"));
        path.is_empty()
            || (self.first.as_slice() < behind.as_bytes()
                && self.end.as_deref().is_none_or(|end| end > first.as_bytes()))
    }
}

/// Where a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// In the node itself, which lies in this file.
    Inline {
        /// The value.
        bytes: Vec<u8>,
        /// The file of the node.
        file: Arc<str>,
        /// First byte and number of bytes of the node.
        node: (u64, u64),
    },
    /// In a file.
    At {
        /// The file.
        file: Arc<str>,
        /// First byte.
        byte_offset: u64,
        /// Number of bytes.
        byte_length: u64,
    },
}

/// What a walk has found so far.
#[derive(Debug)]
pub struct Walk {
    /// Keys and where their values are, in no order.
    pub values: Vec<(Vec<u8>, Source)>,
    /// Keys that nothing is known of, because a node could not be read.
    pub lost: Vec<Span>,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// What is wrong with nodes that list older versions.
    pub older: Vec<Finding>,
    /// Whether nodes that list older versions are looked at too.
    deep: bool,
    limits: Limits,
    seen: HashSet<(Arc<str>, u64), foldhash::fast::RandomState>,
    /// Bytes of nodes that may yet be read: a tree that fits its files never needs more than they have.
    budget: u64,
}

impl Walk {
    /// Begin a walk over a directory that has a manifest.
    #[must_use]
    pub fn begin(files: &Inventory, deep: bool, limits: Limits) -> (Self, Vec<Ask>) {
        let mut walk = Self {
            values: Vec::new(),
            lost: Vec::new(),
            findings: Vec::new(),
            older: Vec::new(),
            deep,
            limits,
            seen: HashSet::default(),
            budget: files.iter().fold(0, |total, (_, length)| u64::saturating_add(total, length)),
        };
        let asks = walk.ask_manifest(MANIFEST, false, files);
        (walk, asks)
    }

    /// Take what was asked for, or `None` where it could not be read, and say what is needed next.
    pub fn answer(&mut self, ask: &Ask, bytes: Option<&[u8]>, files: &Inventory) -> Vec<Ask> {
        let Some(bytes) = bytes else {
            self.lose(&ask.purpose);
            return Vec::new();
        };
        let next = match &ask.purpose {
            Purpose::Manifest { numbered } => self.manifest(bytes, *numbered, files),
            Purpose::Versions { height, base } => {
                manifest::read_version_node(bytes, *height, base, &self.limits).map(|versions| version_nodes(&versions))
            }
            Purpose::Node { height, prefix_length, span, base } => {
                let prefix = span.first.get(..*prefix_length).unwrap_or_default();
                let expected = Expected {
                    height: *height,
                    prefix,
                    least: &span.first,
                    end: span.end.as_deref(),
                    base: base.as_ref(),
                };
                node::read(bytes, expected, &self.limits).and_then(|node| self.node(node, ask, *height, span))
            }
        };
        match next {
            Ok(asks) => self.admit(asks, files),
            Err(fault) => {
                self.lose(&ask.purpose);
                self.report(ask, &fault);
                Vec::new()
            }
        }
    }

    fn manifest(&mut self, bytes: &[u8], numbered: bool, files: &Inventory) -> Result<Vec<Ask>, Fault> {
        match manifest::read(bytes, &self.limits)? {
            Manifest::Single(versions) => {
                let newest = *versions.newest().ok_or(Fault::Empty("versions"))?;
                let mut asks = if self.deep { version_nodes(&versions) } else { Vec::new() };
                if newest.root.is_missing() {
                    return Ok(asks);
                }
                let purpose = |base: &str| Purpose::Node {
                    height: newest.height,
                    prefix_length: 0,
                    span: Span::all(),
                    base: base.into(),
                };
                asks.extend(located(&versions, newest.root, purpose));
                Ok(asks)
            }
            Manifest::Numbered if numbered => Err(Fault::Unknown("kind of numbered manifest", 1)),
            Manifest::Numbered => {
                let newest = files.iter().map(|(path, _)| path).filter(|path| is_numbered(path)).max();
                Ok(self.ask_manifest(newest.ok_or(Fault::Empty("numbered manifest"))?, true, files))
            }
        }
    }

    fn ask_manifest(&mut self, path: &str, numbered: bool, files: &Inventory) -> Vec<Ask> {
        let byte_length = length(files, path).unwrap_or_default();
        let ask = Ask { path: path.into(), byte_offset: 0, byte_length, purpose: Purpose::Manifest { numbered } };
        // A numbered manifest is admitted with whatever else its predecessor asks for.
        if numbered { vec![ask] } else { self.admit(vec![ask], files) }
    }

    fn node(&mut self, node: node::Node, ask: &Ask, height: u8, span: &Span) -> Result<Vec<Ask>, Fault> {
        match node.entries {
            Entries::Leaf(entries) => {
                let count = self.values.len().saturating_add(entries.len());
                if count > self.limits.chunks {
                    let limit = u64::try_from(self.limits.chunks).unwrap_or(u64::MAX);
                    return Err(Fault::TooLarge("the number of keys", u64::try_from(count).unwrap_or(u64::MAX), limit));
                }
                for (key, stored) in entries {
                    let source = match stored {
                        Stored::Inline(bytes) => Source::Inline {
                            bytes,
                            file: Arc::clone(&ask.path),
                            node: (ask.byte_offset, ask.byte_length),
                        },
                        Stored::At(place) => {
                            let file = node.files.get(place.file).map(|file| Arc::clone(&file.path));
                            Source::At {
                                file: file.unwrap_or_default(),
                                byte_offset: place.byte_offset,
                                byte_length: place.byte_length,
                            }
                        }
                    };
                    self.values.push((key, source));
                }
                Ok(Vec::new())
            }
            Entries::Interior(children) => {
                // Every parent is one higher than its children: the walk ends.
                let below = height.checked_sub(1).ok_or(Fault::Height(0, height))?;
                let ends = children.iter().skip(1).map(|child| Some(child.key.clone())).chain([span.end.clone()]);
                let ends: Vec<_> = ends.collect();
                let asks = children.into_iter().zip(ends).filter_map(|(child, end)| {
                    let file = node.files.get(child.place.file)?;
                    let purpose = Purpose::Node {
                        height: below,
                        prefix_length: child.prefix_length,
                        span: Span { first: child.key, end },
                        base: file.base().into(),
                    };
                    Some(Ask {
                        path: Arc::clone(&file.path),
                        byte_offset: child.place.byte_offset,
                        byte_length: child.place.byte_length,
                        purpose,
                    })
                });
                Ok(asks.collect())
            }
        }
    }

    /// Let through what lies in files that are there and was not asked for before.
    fn admit(&mut self, asks: Vec<Ask>, files: &Inventory) -> Vec<Ask> {
        let mut admitted = Vec::with_capacity(asks.len());
        for ask in asks {
            if let Some(finding) = refuse(files, &ask.path, ask.byte_offset, ask.byte_length) {
                self.lose(&ask.purpose);
                self.findings_of(&ask.purpose).push(finding);
                continue;
            }
            let again = !self.seen.insert((Arc::clone(&ask.path), ask.byte_offset));
            match self.budget.checked_sub(ask.byte_length) {
                Some(rest) if !again => {
                    self.budget = rest;
                    admitted.push(ask);
                }
                _ => {
                    self.lose(&ask.purpose);
                    let fault = Fault::Unordered("nodes, of which one is referred to twice,");
                    self.report(&ask, &fault);
                }
            }
        }
        admitted
    }

    /// Remember which keys nothing can be said of.
    fn lose(&mut self, purpose: &Purpose) {
        match purpose {
            Purpose::Manifest { .. } => self.lost.push(Span::all()),
            // Older versions have keys of their own.
            Purpose::Versions { .. } => {}
            Purpose::Node { span, .. } => self.lost.push(span.clone()),
        }
    }

    fn report(&mut self, ask: &Ask, fault: &Fault) {
        let code = match ask.purpose {
            _ if fault.is_unsupported() => Code::Unsupported,
            Purpose::Manifest { .. } => Code::ManifestCorrupt,
            Purpose::Versions { .. } | Purpose::Node { .. } => Code::NodeCorrupt,
        };
        let finding = Finding::new(code).in_file(&ask.path).in_bytes(ask.byte_offset, ask.byte_length);
        self.findings_of(&ask.purpose).push(finding.with("reason", fault.to_string()));
    }

    /// Older versions are nobody's concern until a deep look.
    const fn findings_of(&mut self, purpose: &Purpose) -> &mut Vec<Finding> {
        match purpose {
            Purpose::Versions { .. } => &mut self.older,
            Purpose::Manifest { .. } | Purpose::Node { .. } => &mut self.findings,
        }
    }
}

/// Why a range cannot be read: the path leaves the checkpoint, the file is not there, or the range is not in it.
#[must_use]
pub fn refuse(files: &Inventory, path: &str, byte_offset: u64, byte_length: u64) -> Option<Finding> {
    let finding = |code| Finding::new(code).in_file(path).in_bytes(byte_offset, byte_length);
    let length = match files.place(path) {
        Found::Outside => return Some(finding(Code::PathEscape).with("reason", "the path leaves the checkpoint")),
        Found::Missing => return Some(finding(Code::FileMissing).with("reason", "it is referred to and not there")),
        Found::File(length) => length,
    };
    match byte_offset.checked_add(byte_length) {
        Some(end) if end <= length => None,
        _ => {
            let reason = format!("{byte_offset} + {byte_length} bytes, the file has {length}");
            Some(finding(Code::RangeBeyondFile).with("reason", reason))
        }
    }
}

/// The length of a file, if it is there.
fn length(files: &Inventory, path: &str) -> Option<u64> {
    match files.place(path) {
        Found::File(length) => Some(length),
        Found::Missing | Found::Outside => None,
    }
}

/// The nodes that list older versions.
fn version_nodes(versions: &Versions) -> Vec<Ask> {
    let nodes = versions.nodes.iter().filter_map(|node| {
        located(versions, node.place, |base| Purpose::Versions { height: node.height, base: base.into() })
    });
    nodes.collect()
}

/// What is at a place of a table of files.
fn located(versions: &Versions, place: Place, purpose: impl FnOnce(&str) -> Purpose) -> Option<Ask> {
    let file = versions.files.get(place.file)?;
    Some(Ask {
        path: Arc::clone(&file.path),
        byte_offset: place.byte_offset,
        byte_length: place.byte_length,
        purpose: purpose(file.base()),
    })
}

/// Whether this is the name of a numbered manifest.
fn is_numbered(path: &str) -> bool {
    let digits = path.strip_prefix("manifest.");
    digits.is_some_and(|digits| {
        digits.len() == 16 && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}
