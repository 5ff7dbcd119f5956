#![expect(clippy::arithmetic_side_effects, reason = "a test counts small things")]
#![expect(clippy::needless_pass_by_value, reason = "json! makes values that are given away")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::checkpoint::part::Encoding;
use crate::checkpoint::zarr::shard::Slot;

/// Files by path.
type Files = BTreeMap<String, Vec<u8>>;

/// Read files that are all in memory, checking that only ranges of them are asked for.
fn read(layout: Layout, files: &Files, deep: bool) -> (Part, Vec<Finding>) {
    let inventory = files.iter().map(|(path, bytes)| (path.as_str().into(), u64::try_from(bytes.len()).unwrap()));
    let mut reader = Reader::new(layout, inventory, deep, Limits::DEFAULT);
    let mut rounds = 0;
    loop {
        let ranges = reader.ranges();
        if ranges.is_empty() {
            return reader.finish();
        }
        reader.answer(ranges.iter().map(|range| {
            let first = usize::try_from(range.byte_offset).unwrap();
            let last = first + usize::try_from(range.byte_length).unwrap();
            Some(files.get(&*range.file).expect("a file that is there").get(first..last).expect("a range in it"))
        }));
        rounds += 1;
        assert!(rounds < 1000, "reading ends");
    }
}

fn files<'a>(list: impl IntoIterator<Item = (&'a str, Vec<u8>)>) -> Files {
    list.into_iter().map(|(path, bytes)| (path.to_owned(), bytes)).collect()
}

fn zarray(shape: Json, chunks: Json, fill: Json) -> Vec<u8> {
    let array = json!({
        "zarr_format": 2, "shape": shape, "chunks": chunks, "fill_value": fill, "dtype": "<f4",
        "compressor": null, "filters": null, "order": "C", "dimension_separator": ".",
    });
    array.to_string().into_bytes()
}

fn zarr_json(shape: Json, chunks: Json, codecs: Json) -> Vec<u8> {
    let array = json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "float32", "fill_value": 0.0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default"}, "codecs": codecs,
    });
    array.to_string().into_bytes()
}

fn sharding(inner: Json, codecs: Json, location: &str) -> Json {
    json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": inner, "codecs": codecs, "index_location": location,
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, "crc32c"],
    }}])
}

/// An index of inner chunks: first byte and number of bytes, or nothing.
fn index(slots: &[Slot]) -> Vec<u8> {
    let mut bytes: Vec<u8> = slots
        .iter()
        .map(|slot| slot.unwrap_or((u64::MAX, u64::MAX)))
        .flat_map(|(offset, length)| [offset.to_le_bytes(), length.to_le_bytes()].concat())
        .collect();
    bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
    bytes
}

fn tree(parameters: &[(&str, &[i64])], zarr3: bool) -> Vec<u8> {
    let parameters: serde_json::Map<String, Json> = parameters
        .iter()
        .map(|(name, written)| {
            let keys: Vec<Json> = name.split('.').map(|key| json!({"key": key, "key_type": 2})).collect();
            let value = json!({"value_type": "jax.Array", "skip_deserialize": false, "write_shape": written});
            (format!("('{name}',)"), json!({"key_metadata": keys, "value_metadata": value}))
        })
        .collect();
    let tree = json!({
        "tree_metadata": parameters, "use_ocdbt": false, "use_zarr3": zarr3,
        "store_array_data_equal_to_fill_value": true,
    });
    tree.to_string().into_bytes()
}

fn codes(findings: &[Finding]) -> Vec<Code> {
    findings.iter().map(|finding| finding.code).collect()
}

/// Boxes of a tensor's chunks.
fn boxes(part: &Part, fqn: &str) -> Vec<(Vec<i64>, Vec<i64>)> {
    let tensor = part.tensors().iter().find(|tensor| tensor.fqn() == fqn).expect("the tensor");
    part.chunks(tensor).unwrap().iter().map(|(offsets, sizes)| (offsets.to_vec(), sizes.to_vec())).collect()
}

fn text(finding: &Finding, name: &str) -> String {
    match finding.values.iter().find(|(known, _)| *known == name) {
        Some((_, crate::findings::Value::Text(text))) => text.clone(),
        Some((_, crate::findings::Value::Int(number))) => number.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn columns_hold_what_is_stored_clipped_to_the_shape() {
    let stored = files([
        ("w/.zarray", zarray(json!([3, 5]), json!([2, 4]), json!(null))),
        ("w/0.0", vec![0; 32]),
        ("w/1.1", vec![0; 32]),
        ("w/.zattrs", b"{}".to_vec()),
        ("s/.zarray", zarray(json!([]), json!([]), json!(1.5))),
        ("s/0", vec![0; 4]),
        ("notes.txt", vec![1]),
    ]);
    let (part, _) = read(Layout::Zarr, &stored, true);
    assert_eq!(part.findings, []);
    assert_eq!(boxes(&part, "w"), [(vec![0, 0], vec![2, 4]), (vec![2, 4], vec![1, 1])]);
    assert_eq!(boxes(&part, "s"), [(vec![], vec![])]);
    let [scalar, w] = part.tensors() else { panic!("two tensors") };
    assert_eq!((scalar.fill(), w.fill()), (Some("1.5"), None));
    assert_eq!(part.positions(w), [0, 3]);
    let record = part.records(w).first().unwrap().unwrap();
    assert_eq!(part.files().get(usize::try_from(record.file).unwrap()).unwrap().as_ref(), "w/0.0");
    assert_eq!((record.byte_offset, record.byte_length, record.encoding), (0, 32, Encoding::Transformed));
}

#[test]
fn a_grid_of_a_billion_chunks_costs_what_is_stored() {
    let stored = files([
        ("zarr.json", zarr_json(json!([4_000_000_000_i64, i64::MAX]), json!([4, 3]), json!(["bytes"]))),
        ("c/0/0", vec![0; 48]),
        ("c/999999999/7", vec![0; 48]),
    ]);
    let (part, _) = read(Layout::Zarr, &stored, false);
    assert_eq!(part.findings, []);
    assert_eq!(boxes(&part, ""), [(vec![0, 0], vec![4, 3]), (vec![3_999_999_996, 21], vec![4, 3])]);
    assert_eq!(part.positions(part.tensors().first().unwrap()), [0, 1]);
}

#[test]
fn a_name_outside_the_grid_or_of_another_rank_is_a_stray() {
    let stored = files([
        (".zarray", zarray(json!([8, 6]), json!([2, 3]), json!(null))),
        ("9.0", vec![0; 24]),
        ("1.0.0", vec![0; 24]),
        ("9223372036854775807.0", vec![0; 24]),
    ]);
    let (part, _) = read(Layout::Zarr, &stored, false);
    assert_eq!(codes(&part.findings), [Code::ChunkRankMismatch, Code::ChunkOutOfBounds, Code::ChunkOverflow]);
    let stray = part.findings.get(1).unwrap();
    assert_eq!(stray.region, Some((vec![18, 0], vec![2, 3])));
    assert_eq!((stray.dimension, text(stray, "end"), text(stray, "dim")), (Some(0), "20".into(), "8".into()));
    assert_eq!(boxes(&part, ""), []);
}

#[test]
fn an_uncompressed_chunk_takes_what_its_shape_says_also_at_the_edge() {
    let lengths = |codecs: Json, length: usize| {
        let stored =
            files([("zarr.json", zarr_json(json!([7, 10]), json!([3, 4]), codecs)), ("c/2/2", vec![0; length])]);
        codes(&read(Layout::Zarr, &stored, false).0.findings)
    };
    assert_eq!(lengths(json!(["bytes"]), 48), []);
    assert_eq!(lengths(json!(["bytes"]), 52), [Code::RangeSizeMismatch]);
    assert_eq!(
        lengths(json!([{"name": "transpose", "configuration": {"order": [1, 0]}}, "bytes"]), 47),
        [Code::RangeSizeMismatch]
    );
    assert_eq!(lengths(json!(["bytes", "crc32c"]), 52), []);
    assert_eq!(lengths(json!(["bytes", "crc32c"]), 48), [Code::RangeSizeMismatch]);
    // Compressed, or made by nobody knows what, a chunk may take any number of bytes.
    assert_eq!(lengths(json!(["bytes", "gzip"]), 5), []);
    assert_eq!(lengths(json!(["mystery"]), 5), []);
    // A chunk without bytes is judged with the other records.
    assert_eq!(lengths(json!(["bytes"]), 0), []);
}

#[test]
fn an_index_of_a_shard_is_held_against_the_shard() {
    // Shards of 4 x 2 with inner chunks of 2 x 2 floats (16 bytes each), over an array of 3 x 2.
    let shard = |slots: &[Slot], location: &str, data: usize| {
        let array = zarr_json(json!([3, 2]), json!([4, 2]), sharding(json!([2, 2]), json!(["bytes"]), location));
        let pieces = if location == "end" { [vec![0; data], index(slots)] } else { [index(slots), vec![0; data]] };
        let stored = files([("w/zarr.json", array), ("w/c/0/0", pieces.concat())]);
        read(Layout::Zarr, &stored, false).0.findings
    };
    let sound = [Some((0, 16)), Some((16, 16))];
    assert_eq!(shard(&sound, "end", 32), []);
    assert_eq!(shard(&[Some((36, 16)), Some((52, 16))], "start", 32), []);
    assert_eq!(codes(&shard(&sound, "start", 32)), [Code::RangeBeyondFile]);
    let cases: &[(&[Slot], Code, &str)] = &[
        (&[Some((0, 16)), Some((17, 16))], Code::RangeBeyondFile, "1"),
        (&[Some((u64::MAX - 1, 16)), Some((16, 16))], Code::RangeBeyondFile, "0"),
        (&[Some((0, 16)), Some((8, 16))], Code::RangeOverlap, "1"),
        (&[Some((0, 16)), Some((16, 12))], Code::RangeSizeMismatch, "1"),
        (&[None, Some((16, 16))], Code::ChunkMissingFill, "0"),
    ];
    for (slots, code, inner) in cases {
        let findings = shard(slots, "end", 32);
        assert_eq!(codes(&findings), [*code], "{slots:?}");
        let finding = findings.first().unwrap();
        assert_eq!((text(finding, "inner").as_str(), finding.positions.first.as_slice()), (*inner, [0].as_slice()));
    }
    // The second inner chunk has one row of the array, and that row is what is absent.
    let absent = shard(&[Some((0, 16)), None], "end", 32);
    assert_eq!(absent.first().unwrap().region, Some((vec![2, 0], vec![1, 2])));
    assert_eq!(codes(&shard(&[None, None], "end", 1)), [Code::ChunkMissingFill]);
}

#[test]
fn an_inner_chunk_outside_the_array_need_not_be_stored() {
    let array = zarr_json(json!([2, 2]), json!([4, 2]), sharding(json!([2, 2]), json!(["bytes"]), "end"));
    let stored = files([("zarr.json", array), ("c/0/0", [vec![0; 16], index(&[Some((0, 16)), None])].concat())]);
    assert_eq!(read(Layout::Zarr, &stored, true).0.findings, []);
}

#[test]
fn every_bit_of_a_shard_index_counts_and_a_cut_shard_has_none() {
    let array = zarr_json(json!([4, 2]), json!([4, 2]), sharding(json!([2, 2]), json!(["bytes", "zstd"]), "end"));
    let shard = [vec![0; 32], index(&[Some((0, 16)), Some((16, 16))])].concat();
    let mut tried = 0;
    for bit in 32 * 8..shard.len() * 8 {
        let mut flipped = shard.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let (part, _) = read(Layout::Zarr, &files([("zarr.json", array.clone()), ("c/0/0", flipped)]), false);
        assert_eq!(codes(&part.findings), [Code::ShardIndexCorrupt], "bit {bit}");
        tried += 1;
    }
    assert_eq!(tried, 36 * 8);
    for length in 1..shard.len() {
        let cut = files([("zarr.json", array.clone()), ("c/0/0", shard.get(..length).unwrap().to_vec())]);
        assert_eq!(codes(&read(Layout::Zarr, &cut, false).0.findings), [Code::ShardIndexCorrupt], "{length} bytes");
    }
}

#[test]
fn a_deep_look_holds_the_first_bytes_of_a_chunk_against_its_shape() {
    let frame =
        |bytes: usize| ruzstd::encoding::compress_to_vec(&*vec![7; bytes], ruzstd::encoding::CompressionLevel::Fastest);
    let look = |codecs: Json, chunk: Vec<u8>| {
        let stored = files([("zarr.json", zarr_json(json!([4, 4]), json!([4, 4]), codecs)), ("c/0/0", chunk)]);
        assert_eq!(read(Layout::Zarr, &stored, false).1, []);
        let (part, deep) = read(Layout::Zarr, &stored, true);
        assert_eq!(part.findings, []);
        codes(&deep)
    };
    let zstd = || json!(["bytes", "zstd"]);
    assert_eq!(look(zstd(), b"garbage that is no frame".to_vec()), [Code::PayloadMismatch]);
    // ruzstd writes frames without content size; one with it is written by hand: single segment, 64 or 60 bytes.
    let header = |held: u8| [&[0x28, 0xb5, 0x2f, 0xfd, 0x20, held][..], &frame(64)].concat();
    assert_eq!(look(zstd(), header(64)), []);
    assert_eq!(look(zstd(), header(60)), [Code::PayloadMismatch]);
    let mut checked = vec![1; 64];
    checked.extend(crc32c::crc32c(&checked).to_le_bytes());
    assert_eq!(look(json!(["bytes", "crc32c"]), checked.clone()), []);
    checked[9] ^= 4;
    assert_eq!(look(json!(["bytes", "crc32c"]), checked), [Code::ChecksumMismatch]);
    let blosc = |held: u32, stored: u32| {
        [&[2, 1, 0, 4][..], &held.to_le_bytes(), &[0; 4], &stored.to_le_bytes(), &[0; 4]].concat()
    };
    assert_eq!(look(json!(["bytes", "blosc"]), blosc(64, 20)), []);
    assert_eq!(look(json!(["bytes", "blosc"]), blosc(60, 20)), [Code::PayloadMismatch]);
    assert_eq!(look(json!(["bytes", "blosc"]), blosc(64, 21)), [Code::PayloadMismatch]);
}

#[test]
fn chunks_of_an_array_that_nothing_describes_are_told_once() {
    let stored = files([
        ("zarr.json", br#"{"zarr_format":3,"node_type":"group"}"#.to_vec()),
        ("dec/w/c/0/0", vec![0; 4]),
        ("dec/w/c/0/1", vec![0; 4]),
        ("old/0.0", vec![0; 4]),
        ("readme", vec![0; 4]),
    ]);
    let (part, _) = read(Layout::Zarr, &stored, false);
    let seen: Vec<_> = part.findings.iter().map(|finding| (finding.code, finding.file.as_deref())).collect();
    assert_eq!(
        seen,
        [(Code::ArrayMetadataMissing, Some("dec/w/zarr.json")), (Code::ArrayMetadataMissing, Some("old/.zarray")),]
    );
}

/// An Orbax item in files, with one array `w` of 4 x 4 in chunks of 2 x 2.
fn item() -> Files {
    files([
        ("_METADATA", tree(&[("w", &[2, 4])], false)),
        ("_sharding", b"{}".to_vec()),
        ("array_metadatas/process_0", br#"{"array_metadatas": []}"#.to_vec()),
        ("commit_success.txt", b"done".to_vec()),
        ("w/.zarray", zarray(json!([4, 4]), json!([2, 2]), json!(null))),
        ("w/0.0", vec![0; 16]),
        ("w/0.1", vec![0; 16]),
        ("w/1.0", vec![0; 16]),
        ("w/1.1", vec![0; 16]),
    ])
}

#[test]
fn an_orbax_item_says_what_is_not_as_it_should_be() {
    let after = |edit: fn(&mut Files)| {
        let mut files = item();
        edit(&mut files);
        codes(&read(Layout::Orbax, &files, false).0.findings)
    };
    assert_eq!(after(|_| ()), []);
    assert_eq!(after(|files| drop(files.remove("commit_success.txt"))), [Code::CommitMarkerMissing]);
    assert_eq!(after(|files| drop(files.remove("_METADATA"))), [Code::MetadataMissing]);
    assert_eq!(after(|files| files.get_mut("_METADATA").unwrap().truncate(40)), [Code::MetadataMalformed]);
    assert_eq!(after(|files| files.get_mut("_METADATA").unwrap().clear()), [Code::MetadataEmpty]);
    assert_eq!(after(|files| drop(files.remove("w/.zarray"))), [Code::ArrayMetadataMissing]);
    assert_eq!(after(|files| drop(files.remove("array_metadatas/process_0"))), []);
    assert_eq!(
        after(|files| files.get_mut("array_metadatas/process_0").unwrap().truncate(9)),
        [Code::MetadataMalformed]
    );
    assert_eq!(after(|files| drop(files.insert("_METADATA".into(), tree(&[], false)))), [Code::ArrayUnreferenced]);
    assert_eq!(
        after(|files| drop(files.insert("_METADATA".into(), tree(&[("w", &[4, 4]), ("v", &[])], false)))),
        [Code::ArrayMetadataMissing]
    );
}

#[test]
fn a_chunk_that_two_processes_wrote_is_told_with_both_numbers() {
    // An array of 10 in chunks of 4, written in pieces of 5: chunk 1 has elements of both.
    for (written, expected) in [(5, vec![Code::StorageChunkShared]), (4, vec![]), (8, vec![]), (10, vec![])] {
        let stored = files([
            ("_METADATA", tree(&[("w", &[written])], false)),
            ("commit_success.txt", vec![1]),
            ("w/.zarray", zarray(json!([10]), json!([4]), json!(null))),
        ]);
        assert_eq!(codes(&read(Layout::Orbax, &stored, false).0.findings), expected, "{written}");
    }
}

#[test]
fn databases_that_were_never_merged_are_told_from_a_lost_manifest() {
    let uses_database = || {
        let tree = String::from_utf8(tree(&[("w", &[4])], false)).unwrap();
        tree.replace("\"use_ocdbt\":false", "\"use_ocdbt\":true").into_bytes()
    };
    let mut stored = files([
        ("_METADATA", uses_database()),
        ("_sharding", b"{}".to_vec()),
        ("commit_success.txt", vec![1]),
        ("ocdbt.process_0/manifest.ocdbt", vec![1]),
        ("ocdbt.process_0/d/5f", vec![1]),
    ]);
    let found = |stored: &Files| codes(&read(Layout::Orbax, stored, false).0.findings);
    assert_eq!(found(&stored), [Code::MergeUnfinished]);
    stored.insert("d/8a".into(), vec![1]);
    assert_eq!(found(&stored), [Code::FileMissing]);
    stored.remove("_METADATA");
    assert_eq!(found(&stored), [Code::MetadataMissing, Code::FileMissing]);
}

#[test]
fn chunks_that_orbax_always_writes_may_not_be_absent() {
    let array = |layout, files: &Files| read(layout, files, false).0.tensors().first().unwrap().fill().is_some();
    let mut stored = item();
    stored.insert("w/.zarray".into(), zarray(json!([4, 4]), json!([2, 2]), json!(0)));
    assert!(!array(Layout::Orbax, &stored));
    assert!(array(Layout::Zarr, &stored));
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_is_read() {
    let stored = item();
    let inventory = stored.iter().map(|(path, bytes)| (path.as_str().into(), u64::try_from(bytes.len()).unwrap()));
    let mut reader = Reader::new(Layout::Orbax, inventory, true, Limits::DEFAULT);
    while !reader.ranges().is_empty() {
        reader.answer(std::iter::empty::<Option<Vec<u8>>>());
    }
    let (part, _) = reader.finish();
    assert_eq!(codes(&part.findings), [Code::FileUnreadable; 3]);
    assert_eq!(part.tensors().len(), 0);
}

proptest! {
    /// Whatever the files hold, reading ends, asks only for what is there, and reads the same again.
    #[test]
    fn no_file_makes_a_reader_panic(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
        orbax: bool,
    ) {
        let mut stored = item();
        let array = zarr_json(json!([3, 2]), json!([4, 2]), sharding(json!([2, 2]), json!(["bytes", "zstd"]), "end"));
        stored.insert("s/zarr.json".into(), array);
        stored.insert("s/c/0/0".into(), [vec![0; 32], index(&[Some((0, 16)), Some((16, 16))])].concat());
        let path = stored.keys().nth(which.index(stored.len())).unwrap().clone();
        let bytes = stored.get_mut(&path).unwrap();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let layout = if orbax { Layout::Orbax } else { Layout::Zarr };
        let once = read(layout, &stored, true);
        prop_assert_eq!(once, read(layout, &stored, true));
    }
}
