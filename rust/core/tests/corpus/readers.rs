//! What must hold whatever bytes a reader gets: it never panics, and reading again gives an equal result.

use std::fmt::Debug;

use shardproof_core::checkpoint::archive::{Archive, Window, examine};
use shardproof_core::checkpoint::dtype::Dtype;
use shardproof_core::checkpoint::index::Index;
use shardproof_core::checkpoint::inventory::Inventory;
use shardproof_core::checkpoint::judge;
use shardproof_core::checkpoint::limits::Limits;
use shardproof_core::checkpoint::ocdbt::{envelope, manifest, node};
use shardproof_core::checkpoint::part::{Encoding, Part, Record};
use shardproof_core::checkpoint::safetensors::{self, Header, set};
use shardproof_core::checkpoint::zarr::metadata;
use shardproof_core::checkpoint::zarr::reader::{Layout, Reader};
use shardproof_core::checkpoint::zarr::shard::Whole;
use shardproof_core::checkpoint::{dcp, orbax};
use shardproof_core::interrupt::Interrupt;

const LIMITS: Limits = Limits::DEFAULT;

/// Read twice; the result.
fn again<T: Debug + PartialEq>(read: impl Fn() -> T) -> T {
    let first = read();
    assert_eq!(first, read());
    first
}

/// Judge a part that was read, beside files of these sizes.
fn judged(part: &Part, sizes: &[(&str, usize)]) {
    let inventory: Inventory = sizes.iter().map(|&(path, size)| (path, u64::try_from(size).unwrap())).collect();
    let rank = part.tensors().iter().map(|tensor| tensor.shape().len()).max().unwrap_or_default();
    let keys = vec![0x5a; 16 * rank];
    again(|| judge::judge(part, &inventory, &keys, 3, Interrupt::NEVER)).unwrap();
    for tensor in part.tensors() {
        let chunks = part.chunks(tensor).unwrap();
        assert_eq!(chunks.len(), part.records(tensor).len());
        assert_eq!(chunks.len(), part.positions(tensor).len());
    }
}

/// The beginning of a safetensors file.
pub(crate) fn safetensors(bytes: &[u8]) {
    let size = u64::try_from(bytes.len()).unwrap();
    if let Some(extent) = safetensors::extent(bytes, size, &LIMITS) {
        assert!(extent <= size);
    }
    let header = again(|| Header::read("a", bytes, size, &LIMITS));
    let inventory: Inventory = [("a", size)].into_iter().collect();
    let part = again(|| set::assemble(&[&header], None, None, &inventory)).unwrap();
    judged(&part, &[("a", bytes.len())]);
}

/// An index of safetensors files.
pub(crate) fn index(bytes: &[u8]) {
    let index = again(|| Index::read("i", bytes, &LIMITS));
    assert!(index.readable || !index.findings.is_empty());
    let inventory: Inventory = index.files().into_iter().map(|file| (file, 7)).collect();
    again(|| index.compare(&[], &inventory));
}

/// Metadata of DCP, alone and as that of two processes.
pub(crate) fn dcp(bytes: &[u8]) {
    let read = |files: &[(&str, &[u8])]| {
        again(|| {
            let reading = dcp::read(files, true, &LIMITS, Interrupt::NEVER).unwrap();
            (reading.part, reading.origin)
        })
    };
    let (part, _) = read(&[(".metadata", bytes)]);
    assert!(part.chunk_count() <= bytes.len());
    judged(&part, &[("__0_0.distcp", 1 << 20)]);
    let (part, _) = read(&[("__0.metadata", bytes), ("__1.metadata", bytes)]);
    judged(&part, &[]);
}

/// Where metadata of arrays ends and the content of their chunks begins, in the input of [`zarr`].
pub(crate) const SEAM: u8 = 0;

/// Metadata of a zarr array, and behind a zero byte what its chunks hold.
pub(crate) fn zarr(bytes: &[u8]) {
    let (metadata, content) = match bytes.iter().position(|&byte| byte == SEAM) {
        Some(seam) => (&bytes[..seam], &bytes[seam + 1..]),
        None => (bytes, &[][..]),
    };
    for name in ["zarr.json", ".zarray"] {
        let chunks = ["0", "0.0", "c", "c/0", "c/0/0", "c/1/0"];
        let files: Vec<(&str, &[u8])> =
            std::iter::once((name, metadata)).chain(chunks.map(|chunk| (chunk, content))).collect();
        let part = directory(Layout::Zarr, &files);
        judged(&part, &files.iter().map(|(path, content)| (*path, content.len())).collect::<Vec<_>>());
    }
    shard(metadata, content);
    drop(again(|| orbax::tree(metadata, &LIMITS)));
    drop(again(|| orbax::step(metadata, &LIMITS)));
}

/// Read a directory that holds these files, shallow and deep.
fn directory(layout: Layout, files: &[(&str, &[u8])]) -> Part {
    let read = |deep| {
        let sizes = files.iter().map(|(path, content)| ((*path).into(), u64::try_from(content.len()).unwrap()));
        let mut reader = Reader::new(layout, sizes, deep, LIMITS);
        loop {
            let ranges = reader.ranges();
            if ranges.is_empty() {
                return reader.finish();
            }
            let answers: Vec<_> = ranges
                .iter()
                .map(|range| {
                    let (_, content) = files.iter().find(|(path, _)| *path == range.file.as_ref())?;
                    let start = usize::try_from(range.byte_offset).ok()?;
                    content.get(start..start.checked_add(usize::try_from(range.byte_length).ok()?)?)
                })
                .collect();
            reader.answer(answers);
        }
    };
    let (deep, _) = again(|| read(true));
    let (shallow, _) = again(|| read(false));
    assert_eq!(deep.tensors(), shallow.tensors());
    shallow
}

/// An index of a shard whose checksum is right, whatever is in it.
fn shard(metadata: &[u8], content: &[u8]) {
    let Ok(metadata::Node::Array(array)) = again(|| metadata::version_3(metadata, &LIMITS)) else { return };
    let Some(sharding) = array.codecs.sharding() else { return };
    let Some(length) = sharding.index_length().and_then(|length| usize::try_from(length).ok()) else { return };
    let Some(table) = content.get(..length) else { return };
    let mut table = table.to_vec();
    if sharding.index_checksum {
        table.truncate(length - 4);
        table.extend(crc32c::crc32c(&table).to_le_bytes());
    }
    let slots = again(|| sharding.read_index(&table)).unwrap();
    let shape = array.grid.shape();
    let corner = vec![0; shape.len()];
    let whole =
        Whole { shape, corner: &corner, length: u64::try_from(content.len()).unwrap(), fill: array.fill.as_deref() };
    again(|| sharding.judge(&slots, whole));
}

/// A manifest or node of a database, as it is and as the body of a sound envelope.
pub(crate) fn ocdbt(bytes: &[u8]) {
    for magic in [envelope::MANIFEST, envelope::TREE_NODE, envelope::VERSION_NODE] {
        parse(magic, bytes);
        parse(magic, &seal(magic, 0, bytes));
        parse(magic, &seal(magic, 1, bytes));
    }
    let sealed = seal(envelope::MANIFEST, 0, bytes);
    let files = [("manifest.ocdbt", sealed.as_slice()), ("d/0", bytes), ("d/1", bytes)];
    let part = directory(Layout::Orbax, &files);
    judged(&part, &[("manifest.ocdbt", sealed.len()), ("d/0", bytes.len()), ("d/1", bytes.len())]);
}

fn parse(magic: u32, bytes: &[u8]) {
    match magic {
        envelope::MANIFEST => drop(again(|| manifest::read(bytes, &LIMITS))),
        envelope::VERSION_NODE => {
            for height in [0, 1, u8::MAX] {
                drop(again(|| manifest::read_version_node(bytes, height, "base/", &LIMITS)));
            }
        }
        _ => {
            for (height, prefix, least, end) in
                [(0, &b""[..], &b""[..], None), (1, b"a", b"a", Some(&b"b"[..])), (u8::MAX, b"", b"", None)]
            {
                let expected = node::Expected { height, prefix, least, end, base: "base/" };
                if let Ok(node) = again(|| node::read(bytes, expected, &LIMITS))
                    && let node::Entries::Interior(children) = node.entries
                {
                    assert!(children.iter().all(|child| child.prefix_length <= child.key.len()));
                }
            }
        }
    }
}

/// Put a body in an envelope whose length and checksum are right.
pub(crate) fn seal(magic: u32, compression: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = magic.to_be_bytes().to_vec();
    bytes.extend((u64::try_from(body.len()).unwrap() + 18).to_le_bytes());
    bytes.extend([0, compression]);
    bytes.extend(body);
    bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
    bytes
}

/// An archive that is a record of a DCP checkpoint.
pub(crate) fn archive(bytes: &[u8]) {
    let size = u64::try_from(bytes.len()).unwrap();
    let range = |start: u64, length: u64| {
        let start = usize::try_from(start).ok()?;
        Some(bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)?.to_vec())
    };
    let mut read = range;
    let mut window = Window::new(size, &mut read);
    if let Ok(archive) = Archive::open(&mut window, 0, size) {
        for member in archive.members() {
            assert!(member.byte_offset.checked_add(member.byte_length).is_some_and(|end| end <= size));
            let right = archive.content(&mut window, member).is_ok();
            // Zero stands for no checksum where one is only looked at in passing.
            assert!(member.checksum == 0 || right == archive.check(&mut window, member).is_ok());
        }
    }
    let mut part = Part::new();
    part.push_tensor("t", Dtype::named("float32"), &[4, 3]);
    let file = part.file_number("f").unwrap();
    let byte_length = i64::try_from(size).unwrap();
    let record = Record { file, byte_offset: 0, byte_length, encoding: Encoding::Archived };
    part.push_chunk(0, &[0, 0], &[4, 3], Some(record)).unwrap();
    again(|| {
        let mut read = range;
        examine(&part, file, &mut Window::new(size, &mut read), &|_, _| false, Interrupt::NEVER).unwrap()
    });
}
