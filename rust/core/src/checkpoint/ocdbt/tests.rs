#![expect(clippy::arithmetic_side_effects, reason = "a test counts small things")]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::build::{interior, leaf, manifest, settings};
use super::envelope::{self, tests::plain};
use super::manifest::Manifest;
use super::node::{self, Entries, Expected, Stored};
use super::tree::{MANIFEST, Source, Walk};
use super::wire::{Fault, Place};
use crate::checkpoint::inventory::Inventory;
use crate::checkpoint::limits::Limits;
use crate::findings::{Code, Finding};

const ROOT: Expected<'static> = Expected { height: 0, prefix: b"", least: b"", end: None, base: "" };

fn inline(value: &str) -> Stored {
    Stored::Inline(value.as_bytes().to_vec())
}

fn at(byte_offset: u64, byte_length: u64) -> Stored {
    Stored::At(Place { file: 0, byte_offset, byte_length })
}

/// Files, walked to the end.
fn walk(files: &BTreeMap<&str, Vec<u8>>, deep: bool) -> Walk {
    let length = |bytes: &Vec<u8>| u64::try_from(bytes.len()).unwrap();
    let inventory: Inventory = files.iter().map(|(path, bytes)| (*path, length(bytes))).collect();
    let (mut walk, mut asks) = Walk::begin(&inventory, deep, Limits::DEFAULT);
    let mut answered = 0;
    while let Some(ask) = asks.pop() {
        let file = files.get(&*ask.path).expect("only what is there is asked for");
        let first = usize::try_from(ask.byte_offset).unwrap();
        let last = first + usize::try_from(ask.byte_length).unwrap();
        asks.extend(walk.answer(&ask, file.get(first..last), &inventory));
        answered += 1;
        assert!(answered < 10_000, "the walk ends");
    }
    walk.values.sort_by(|one, other| one.0.cmp(&other.0));
    walk
}

fn codes(findings: &[Finding]) -> Vec<Code> {
    findings.iter().map(|finding| finding.code).collect()
}

fn keys(walk: &Walk) -> Vec<&str> {
    walk.values.iter().map(|(key, _)| std::str::from_utf8(key).unwrap()).collect()
}

/// A root above two leaves, one of which has its keys without their common prefix.
fn two_leaves() -> BTreeMap<&'static str, Vec<u8>> {
    let first = leaf(&[("d/v", 0)], &[(b"a/0", inline("x")), (b"a/1", at(3, 5))]);
    let second = leaf(&[], &[(b"0", inline("y")), (b"1", inline("z"))]);
    let lengths = [first.len(), second.len()].map(|length| u64::try_from(length).unwrap());
    let root =
        interior(1, &[("p/d/n", 2), ("d/m", 0)], &[(b"a/0", 0, 0, 0, lengths[0]), (b"b/0", 2, 1, 0, lengths[1])]);
    let length = u64::try_from(root.len()).unwrap();
    BTreeMap::from([
        (MANIFEST, manifest("d/root", 1, 0, length)),
        ("d/root", root),
        ("p/d/n", first),
        ("d/m", second),
        ("p/d/v", vec![0; 8]),
    ])
}

#[test]
fn keys_get_their_prefix_and_values_their_place() {
    let walked = walk(&two_leaves(), false);
    assert_eq!(walked.findings, []);
    assert_eq!(walked.lost, []);
    assert_eq!(keys(&walked), ["a/0", "a/1", "b/0", "b/1"]);
    let place = Source::At { file: "p/d/v".into(), byte_offset: 3, byte_length: 5 };
    assert_eq!(walked.values.get(1).unwrap().1, place);
}

#[test]
fn a_database_without_keys_has_no_root() {
    let files = BTreeMap::from([(MANIFEST, manifest("", 0, u64::MAX, u64::MAX))]);
    let walked = walk(&files, false);
    assert_eq!((walked.values.len(), walked.findings.len(), walked.lost.len()), (0, 0, 0));
}

#[test]
fn a_node_that_cannot_be_read_loses_only_its_own_keys() {
    for (change, code) in
        [("missing", Code::FileMissing), ("short", Code::RangeBeyondFile), ("flip", Code::NodeCorrupt)]
    {
        let mut files = two_leaves();
        match change {
            "missing" => drop(files.remove("p/d/n")),
            "short" => drop(files.get_mut("p/d/n").unwrap().pop()),
            _ => files.get_mut("p/d/n").unwrap()[20] ^= 1,
        }
        let walked = walk(&files, false);
        assert_eq!(codes(&walked.findings), [code], "{change}");
        assert_eq!(keys(&walked), ["b/0", "b/1"]);
        // Also "b": a key such as "b/." would have been in the node that is lost.
        let lost = |path| walked.lost.iter().any(|span| span.touches(path));
        assert!(lost("a") && lost("aa") && lost("") && !lost("c") && !lost("A"));
    }
}

#[test]
fn a_root_of_the_wrong_kind_is_refused_with_the_reason() {
    let reason = |files: &BTreeMap<&str, Vec<u8>>| {
        let walked = walk(files, true);
        assert!(walked.values.is_empty());
        let finding = walked.findings.first().expect("a finding").clone();
        (finding.code, finding.values.into_iter().find(|(name, _)| *name == "reason").map(|(_, value)| value))
    };
    let with_root = |height, root: Vec<u8>| {
        let length = u64::try_from(root.len()).unwrap();
        BTreeMap::from([(MANIFEST, manifest("d/root", height, 0, length)), ("d/root", root)])
    };
    let value = |text: &str| Some(text.into());
    let one: &[(&[u8], Stored)] = &[(b"k", inline("v"))];
    let cases = [
        (with_root(1, leaf(&[], one)), "its height is 0, its parent says 1"),
        (with_root(0, leaf(&[], &[])), "it has no keys"),
        (with_root(0, leaf(&[], &[(b"b", inline("")), (b"a", inline(""))])), "its keys are not in ascending order"),
        (with_root(0, leaf(&[], &[(b"a", inline("")), (b"a", inline(""))])), "its keys are not in ascending order"),
        (with_root(0, leaf(&[], &[(b"a", at(0, 1))])), "file 0 of 0"),
        (with_root(1, interior(1, &[("d/x", 0)], &[(b"a", 2, 0, 0, 1)])), "it ends in the middle of a common prefix"),
    ];
    for (files, expected) in cases {
        assert_eq!(reason(&files), (Code::NodeCorrupt, value(expected)));
    }
    let magic = with_root(0, plain(envelope::MANIFEST, b"x"));
    assert_eq!(reason(&magic), (Code::NodeCorrupt, value("it begins with 0x0cdb3a2a, not 0x0cdb20de")));
    let kind = BTreeMap::from([(MANIFEST, plain(envelope::MANIFEST, &settings(9)))]);
    assert_eq!(reason(&kind), (Code::Unsupported, value("unknown kind of manifest 9")));
    let numbered = BTreeMap::from([(MANIFEST, plain(envelope::MANIFEST, &settings(1)))]);
    assert_eq!(reason(&numbered), (Code::ManifestCorrupt, value("it has no numbered manifest")));
    let empty = BTreeMap::from([(MANIFEST, Vec::new())]);
    assert_eq!(reason(&empty), (Code::ManifestCorrupt, value("it ends in the middle of its checksum")));
}

#[test]
fn the_numbered_manifest_with_the_highest_number_counts() {
    let node = leaf(&[], &[(b"new", inline("v"))]);
    let length = u64::try_from(node.len()).unwrap();
    let files = BTreeMap::from([
        (MANIFEST, plain(envelope::MANIFEST, &settings(1))),
        ("manifest.0000000000000009", manifest("d/gone", 0, 0, 1)),
        ("manifest.000000000000000a", manifest("d/n", 0, 0, length)),
        ("manifest.notes", Vec::new()),
        ("d/n", node),
    ]);
    assert_eq!(keys(&walk(&files, false)), ["new"]);
}

#[test]
fn a_node_is_read_once_whoever_refers_to_it() {
    let shared = leaf(&[], &[(b"x", inline("v"))]);
    let length = u64::try_from(shared.len()).unwrap();
    let below = |keys: &[&'static [u8]]| keys.iter().map(|key| (*key, 1, 0, 0, length)).collect::<Vec<_>>();
    let root = interior(1, &[("d/n", 0)], &below(&[b"a", b"b", b"c"]));
    let root_length = u64::try_from(root.len()).unwrap();
    let files = BTreeMap::from([(MANIFEST, manifest("d/r", 1, 0, root_length)), ("d/r", root), ("d/n", shared)]);
    let walked = walk(&files, false);
    assert_eq!(keys(&walked), ["ax"]);
    assert_eq!(codes(&walked.findings), [Code::NodeCorrupt, Code::NodeCorrupt]);
}

#[test]
fn a_node_that_refers_to_itself_or_out_of_the_checkpoint_is_refused() {
    for (path, code) in [("d/r", Code::NodeCorrupt), ("../secret", Code::PathEscape), ("/etc/passwd", Code::PathEscape)]
    {
        let node = |length| interior(1, &[(path, 0)], &[(b"a", 0, 0, 0, length)]);
        let length = u64::try_from(node(60).len()).unwrap();
        let root = node(length);
        let files = BTreeMap::from([(MANIFEST, manifest("d/r", 1, 0, length)), ("d/r", root)]);
        assert_eq!(codes(&walk(&files, false).findings), [code], "{path}");
    }
}

#[test]
fn keys_outside_the_span_that_the_parent_states_are_refused() {
    for (least, end, sound) in [("k", None, true), ("l", None, false), ("", Some("k"), false), ("", Some("l"), true)] {
        let expected = Expected { least: least.as_bytes(), end: end.map(str::as_bytes), ..ROOT };
        let read = node::read(&leaf(&[], &[(b"k", inline("v"))]), expected, &Limits::DEFAULT);
        assert_eq!(read.as_ref().err(), (!sound).then_some(&Fault::Bounds), "{least} {end:?}");
    }
}

#[test]
fn a_few_bytes_never_stand_for_gigabytes_of_keys() {
    // 5,000 keys of 65,000 bytes each, of which all but one byte are taken from the key before.
    let count = 5_000;
    let mut body = vec![0, 0];
    body.extend(super::build::varint(count));
    body.extend((1..count).flat_map(|_| super::build::varint(64_999)));
    body.extend(super::build::varint(65_000));
    body.extend((1..count).flat_map(|_| [1]));
    body.extend(vec![b'a'; 65_000]);
    body.extend((1..count).map(|_| b'b'));
    body.extend(vec![0; 100_000]);
    let read = node::read(&plain(envelope::TREE_NODE, &body), ROOT, &Limits::DEFAULT);
    assert_eq!(read, Err(Fault::Expansion(1 << 28)));
}

proptest! {
    #[test]
    fn a_leaf_reads_back(
        entries in prop::collection::btree_map(
            prop::collection::vec(any::<u8>(), 0..12),
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..300).prop_map(Stored::Inline),
                (0..u64::MAX, 0..u64::MAX).prop_map(|(offset, length)| at(offset, length)),
            ],
            1..20,
        )
    ) {
        let entries: Vec<(&[u8], Stored)> = entries.iter().map(|(key, value)| (key.as_slice(), value.clone())).collect();
        let node = node::read(&leaf(&[("d/v", 0)], &entries), ROOT, &Limits::DEFAULT).unwrap();
        let expected = entries.into_iter().map(|(key, value)| (key.to_vec(), value)).collect();
        prop_assert_eq!(node.entries, Entries::Leaf(expected));
    }

    /// Whatever is within a sound envelope, reading ends, and the same bytes read the same.
    #[test]
    fn no_body_makes_a_reader_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        for (magic, sealed) in [
            (envelope::TREE_NODE, leaf(&[("d/v", 0)], &[(b"a/0", inline("x")), (b"a/1", at(3, 5))])),
            (envelope::TREE_NODE, interior(1, &[("p/d/n", 2)], &[(b"a", 0, 0, 0, 9), (b"b", 1, 0, 9, 9)])),
            (envelope::MANIFEST, manifest("d/root", 1, 0, 99)),
        ] {
            let mut body = envelope::open(&sealed, magic, &Limits::DEFAULT).unwrap();
            for (at, byte) in &edits {
                let at = at.index(body.len());
                body[at] = *byte;
            }
            body.truncate(cut.index(body.len()) + 1);
            let bytes = plain(magic, &body);
            if magic == envelope::MANIFEST {
                let read = super::manifest::read(&bytes, &Limits::DEFAULT);
                prop_assert_eq!(&read, &super::manifest::read(&bytes, &Limits::DEFAULT));
                if let Ok(Manifest::Single(versions)) = read {
                    prop_assert!(!versions.versions.is_empty());
                }
            } else {
                let expected = Expected { height: sealed[14], ..ROOT };
                let read = node::read(&bytes, expected, &Limits::DEFAULT);
                prop_assert_eq!(read, node::read(&bytes, expected, &Limits::DEFAULT));
            }
        }
    }
}
