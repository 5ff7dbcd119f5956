//! Building databases, to have something to read in tests.

use super::envelope::{self, tests::plain};
use super::node::Stored;

/// A number of seven bits to the byte.
pub(super) fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(u8::try_from(number & 0x7f).unwrap() | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap());
    bytes
}

fn column<T: Copy>(items: impl IntoIterator<Item = T>, number: impl Fn(T) -> u64) -> Vec<u8> {
    items.into_iter().flat_map(|item| varint(number(item))).collect()
}

fn len(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap()
}

/// A table of files, each with the length of its base path.
pub(super) fn files(table: &[(&str, u64)]) -> Vec<u8> {
    let mut bytes = varint(u64::try_from(table.len()).unwrap());
    bytes.extend(column(table.iter().skip(1), |_| 0));
    bytes.extend(column(table, |(path, _)| len(path.as_bytes())));
    bytes.extend(column(table, |(_, base)| *base));
    bytes.extend(table.iter().flat_map(|(path, _)| path.bytes()));
    bytes
}

/// A leaf.
pub(super) fn leaf(table: &[(&str, u64)], entries: &[(&[u8], Stored)]) -> Vec<u8> {
    let mut body = vec![0];
    body.extend(files(table));
    body.extend(varint(u64::try_from(entries.len()).unwrap()));
    body.extend(column(entries.iter().skip(1), |_| 0));
    body.extend(column(entries, |(key, _)| len(key)));
    body.extend(entries.iter().flat_map(|(key, _)| key.iter().copied()));
    body.extend(column(entries, |(_, value)| match value {
        Stored::Inline(bytes) => len(bytes),
        Stored::At(place) => place.byte_length,
    }));
    body.extend(entries.iter().map(|(_, value)| u8::from(matches!(value, Stored::At(_)))));
    let places =
        || entries.iter().filter_map(|(_, value)| if let Stored::At(place) = value { Some(*place) } else { None });
    body.extend(column(places(), |place| u64::try_from(place.file).unwrap()));
    body.extend(column(places(), |place| place.byte_offset));
    for (_, value) in entries {
        if let Stored::Inline(bytes) = value {
            body.extend(bytes);
        }
    }
    plain(envelope::TREE_NODE, &body)
}

/// A node below: key, length of the common prefix, number of the file, first byte, number of bytes.
pub(super) type Below<'a> = (&'a [u8], u64, u64, u64, u64);

/// A node above others.
pub(super) fn interior(height: u8, table: &[(&str, u64)], below: &[Below<'_>]) -> Vec<u8> {
    let mut body = vec![height];
    body.extend(files(table));
    body.extend(varint(u64::try_from(below.len()).unwrap()));
    body.extend(column(below.iter().skip(1), |_| 0));
    body.extend(column(below, |child| len(child.0)));
    body.extend(column(below, |child| child.1));
    body.extend(below.iter().flat_map(|child| child.0.iter().copied()));
    body.extend(column(below, |child| child.2));
    body.extend(column(below, |child| child.3));
    body.extend(column(below, |child| child.4));
    for _ in 0..3 {
        body.extend(column(below, |_| 1));
    }
    plain(envelope::TREE_NODE, &body)
}

/// A manifest of one version, whose root of this height is at this place of the only file.
pub(super) fn manifest(file: &str, height: u8, byte_offset: u64, byte_length: u64) -> Vec<u8> {
    let mut body = settings(0);
    body.extend(files(&[(file, 0)]));
    body.extend([1, 1, height, 0]);
    body.extend(varint(byte_offset));
    body.extend(varint(byte_length));
    body.extend([1, 0, 0]);
    body.extend([0; 8]);
    body.push(0);
    plain(envelope::MANIFEST, &body)
}

/// The settings that a manifest of this kind begins with.
pub(super) fn settings(kind: u8) -> Vec<u8> {
    let mut body = vec![7; 16];
    body.push(kind);
    body.extend(varint(1024));
    body.extend(varint(100_000_000));
    body.extend([4, 1, 3, 0, 0, 0]);
    body
}
