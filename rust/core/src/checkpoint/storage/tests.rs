use super::*;
use crate::checkpoint::dtype::Dtype;
use crate::checkpoint::part::{Entry, Rules};

/// A one-dimensional tensor of bytes cut into chunks of `length`, each with a record.
fn tensor_of_bytes(part: &mut Part, fqn: &str, records: &[(&str, i64, i64, Encoding)]) {
    let length = 4_i64;
    part.push_tensor(fqn, Dtype::named("uint8"), &[length.checked_mul(i64::try_from(records.len()).unwrap()).unwrap()]);
    for (position, &(path, byte_offset, byte_length, encoding)) in records.iter().enumerate() {
        let file = part.file_number(path).unwrap();
        let record = Record { file, byte_offset, byte_length, encoding };
        let offset = length.checked_mul(i64::try_from(position).unwrap()).unwrap();
        assert_eq!(part.push_chunk(position, &[offset], &[length], Some(record)), Ok(true));
    }
}

fn judged(part: &Part, files: &[(&str, u64)]) -> Vec<Finding> {
    let mut tally = Tally::keeping(100);
    let inventory = files.iter().copied().collect();
    judge(part, &inventory, &mut tally, Interrupt::NEVER).unwrap();
    tally.findings().to_vec()
}

fn codes(findings: &[Finding]) -> Vec<Code> {
    findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn records_that_tile_their_files_are_sound_in_any_order() {
    let mut part = Part::new();
    part.rules = Rules { filling: Filling::Packed, data_suffix: Some(""), ..Rules::NONE };
    let raw = Encoding::Raw;
    tensor_of_bytes(&mut part, "w", &[("b", 4, 4, raw), ("a", 0, 4, raw), ("b", 0, 4, raw), ("./a", 4, 4, raw)]);
    assert_eq!(judged(&part, &[("a", 8), ("b", 8)]), []);
}

#[test]
fn each_fault_of_a_range_has_its_code_and_its_numbers() {
    for (offset, length, encoding, expected) in [
        (-1, 4, Encoding::Raw, vec![Code::RangeNegative]),
        (0, -4, Encoding::Raw, vec![Code::RangeNegative]),
        (i64::MIN, i64::MIN, Encoding::Raw, vec![Code::RangeNegative]),
        (1, i64::MAX, Encoding::Archived, vec![Code::RangeOverflow]),
        (i64::MAX, i64::MAX, Encoding::Transformed, vec![Code::RangeOverflow]),
        (97, 4, Encoding::Raw, vec![Code::RangeBeyondFile]),
        (0, i64::MAX, Encoding::Archived, vec![Code::RangeBeyondFile]),
        (0, 3, Encoding::Raw, vec![Code::RangeSizeMismatch]),
        (0, 5, Encoding::Raw, vec![Code::RangeSizeMismatch]),
        (98, 5, Encoding::Raw, vec![Code::RangeBeyondFile, Code::RangeSizeMismatch]),
        (0, 3, Encoding::Archived, vec![Code::RangeTooSmall]),
        (0, 5, Encoding::Archived, vec![]),
        (0, 0, Encoding::Transformed, vec![Code::RangeTooSmall]),
        (0, 1, Encoding::Transformed, vec![]),
        (-9, -9, Encoding::Unplaced, vec![]),
    ] {
        let mut part = Part::new();
        tensor_of_bytes(&mut part, "w", &[("a", offset, length, encoding)]);
        let findings = judged(&part, &[("a", 100)]);
        assert_eq!(codes(&findings), expected, "{offset} {length} {encoding:?}");
        for finding in findings {
            assert_eq!(finding.fqn.as_deref(), Some("w"));
            assert_eq!(finding.positions, Positions::one(0));
            assert_eq!(finding.file.as_deref(), Some("a"));
        }
    }
}

#[test]
fn a_length_is_judged_however_many_bits_the_elements_have_together() {
    for elements in [1, 1 << 60, 1 << 61, 1 << 62, i64::MAX] {
        let mut part = Part::new();
        let file = part.file_number("a").unwrap();
        part.push_tensor("w", Dtype::named("uint8"), &[elements]);
        let record = Record { file, byte_offset: 0, byte_length: 0, encoding: Encoding::Raw };
        assert_eq!(part.push_chunk(0, &[0], &[elements], Some(record)), Ok(true));
        assert_eq!(codes(&judged(&part, &[("a", 0)])), [Code::RangeSizeMismatch], "{elements}");
    }
}

#[test]
fn a_missing_file_is_one_finding_with_a_count() {
    let mut part = Part::new();
    let records = [("gone", 0, 4, Encoding::Raw), ("gone", 4, 4, Encoding::Raw)];
    tensor_of_bytes(&mut part, "w", &records);
    let findings = judged(&part, &[]);
    assert_eq!(codes(&findings), [Code::FileMissing]);
    assert_eq!((findings[0].fqn.as_deref(), findings[0].positions.count), (Some("w"), 2));
    tensor_of_bytes(&mut part, "v", &records);
    let findings = judged(&part, &[]);
    assert_eq!(codes(&findings), [Code::FileMissing]);
    assert_eq!(findings[0].fqn, None);
    assert!(findings[0].values.contains(&("records", 4_u64.into())));
}

#[test]
fn a_path_that_leaves_is_never_looked_up() {
    let mut part = Part::new();
    tensor_of_bytes(&mut part, "w", &[("../a", 0, 4, Encoding::Raw), ("/a", 0, 4, Encoding::Raw)]);
    assert_eq!(codes(&judged(&part, &[("a", 4)])), [Code::PathEscape, Code::PathEscape]);
}

#[test]
fn shared_bytes_name_both_sides_and_what_they_share() {
    let mut part = Part::new();
    tensor_of_bytes(&mut part, "v", &[("a", 0, 4, Encoding::Raw)]);
    tensor_of_bytes(&mut part, "w", &[("a", 8, 4, Encoding::Raw), ("a", 3, 4, Encoding::Raw)]);
    let findings = judged(&part, &[("a", 12)]);
    assert_eq!(codes(&findings), [Code::RangeOverlap]);
    assert_eq!((findings[0].fqn.as_deref(), &*findings[0].positions.first), (Some("w"), &[1][..]));
    assert_eq!(findings[0].byte_range, Some((3, 1)));
    assert!(findings[0].values.contains(&("other", "v chunk 0".into())));
}

#[test]
fn equal_boxes_of_one_tensor_may_have_one_record() {
    let mut part = Part::new();
    let file = part.file_number("a").unwrap();
    let record = Record { file, byte_offset: 0, byte_length: 4, encoding: Encoding::Raw };
    part.push_tensor("w", Dtype::named("uint8"), &[8]);
    for (position, offset) in [0, 0, 4].into_iter().enumerate() {
        assert_eq!(part.push_chunk(position, &[offset], &[4], Some(record)), Ok(true));
    }
    let findings = judged(&part, &[("a", 4)]);
    assert_eq!(codes(&findings), [Code::RangeOverlap]);
    assert_eq!(findings[0].positions.first, [2]);
}

#[test]
fn holes_are_what_the_format_says_they_are() {
    for (filling, expected) in [
        (Filling::Free, vec![]),
        (Filling::Tiled, vec![(Code::FileBytesUnreferenced, 0, 2), (Code::FileBytesUnreferenced, 6, 1)]),
        (Filling::Packed, vec![(Code::HeaderHole, 0, 2), (Code::FileTrailingBytes, 6, 1)]),
    ] {
        let mut part = Part::new();
        part.rules = Rules { filling, ..Rules::NONE };
        tensor_of_bytes(&mut part, "w", &[("a", 2, 4, Encoding::Raw)]);
        let found: Vec<_> = judged(&part, &[("a", 7), ("b", 7)])
            .iter()
            .map(|finding| (finding.code, finding.byte_range.unwrap()))
            .map(|(code, (first, length))| (code, first, length))
            .collect();
        assert_eq!(found, expected);
        let file = part.file_number("a").unwrap();
        for (byte_offset, byte_length) in [(0, 2), (6, 1)] {
            part.reserved.push(Record { file, byte_offset, byte_length, encoding: Encoding::Raw });
        }
        assert_eq!(judged(&part, &[("a", 7)]), []);
    }
}

#[test]
fn an_empty_range_sits_at_a_border_or_is_a_fault_where_bytes_are_packed() {
    for (at, expected) in [(0, vec![]), (4, vec![]), (2, vec![Code::RangeOverlap])] {
        let mut part = Part::new();
        part.rules = Rules { filling: Filling::Packed, ..Rules::NONE };
        tensor_of_bytes(&mut part, "w", &[("a", 0, 4, Encoding::Raw)]);
        let file = part.file_number("a").unwrap();
        part.push_tensor("empty", Dtype::named("uint8"), &[0]);
        let record = Record { file, byte_offset: at, byte_length: 0, encoding: Encoding::Raw };
        assert_eq!(part.push_chunk(0, &[0], &[0], Some(record)), Ok(true));
        assert_eq!(codes(&judged(&part, &[("a", 4)])), expected);
    }
}

#[test]
fn chunks_entries_and_records_without_a_partner_are_named() {
    let mut part = Part::new();
    part.push_tensor("w", Dtype::named("uint8"), &[4]);
    assert_eq!(part.push_chunk(7, &[0], &[4], None), Ok(true));
    assert_eq!(part.push_chunk(8, &[4], &[0], None), Ok(true));
    part.blobs.push(Entry { fqn: "step".into(), offsets: None, record: None });
    part.orphans.push(Entry { fqn: "w".into(), offsets: Some([9].into()), record: None });
    let findings = judged(&part, &[]);
    assert_eq!(codes(&findings), [Code::StorageMissing, Code::StorageOrphan, Code::StorageMissing]);
    assert_eq!(findings[0].fqn.as_deref(), Some("step"));
    assert_eq!(findings[2].positions, Positions::one(7));
}

#[test]
fn an_unreferenced_data_file_is_reported_beside_the_others_unless_it_is_empty() {
    let mut part = Part::new();
    part.rules = Rules { data_suffix: Some(".distcp"), ..Rules::NONE };
    tensor_of_bytes(&mut part, "w", &[("d/a.distcp", 0, 4, Encoding::Raw)]);
    let files = [("d/a.distcp", 4), ("d/b.distcp", 1), ("d/c.distcp", 0), ("e/a.distcp", 1), ("f.distcp", 1), ("g", 1)];
    let found: Vec<_> =
        judged(&part, &files).into_iter().map(|finding| (finding.code, finding.file.unwrap().into_string())).collect();
    assert_eq!(
        found,
        [(Code::FileUnreferenced, "d/b.distcp".to_owned()), (Code::FileUnreferenced, "f.distcp".to_owned())]
    );
}

#[test]
fn chunks_of_one_tensor_with_one_fault_in_one_file_are_one_finding() {
    let mut part = Part::new();
    tensor_of_bytes(&mut part, "w", &[("a", 100, 4, Encoding::Raw); 40]);
    let findings = judged(&part, &[("a", 4)]);
    assert_eq!(findings[0].code, Code::RangeBeyondFile);
    assert_eq!((findings[0].positions.count, findings[0].positions.first.len()), (40, Positions::SHOWN));
}

proptest::proptest! {
    #[test]
    fn shared_and_unclaimed_bytes_are_those_of_sets_of_bytes(
        records in proptest::collection::vec((0..2_usize, 0..10_i64, 0..5_i64), 0..8),
    ) {
        const SIZE: u64 = 12;
        let mut part = Part::new();
        part.rules = Rules { filling: Filling::Tiled, ..Rules::NONE };
        let names = ["a", "b"];
        let mut bytes = [[0_usize; 12]; 2];
        for (number, &(file, byte_offset, byte_length)) in records.iter().enumerate() {
            part.push_tensor(&format!("t{number}"), Dtype::named("uint8"), &[byte_length]);
            let file_number = part.file_number(names[file]).unwrap();
            let record = Record { file: file_number, byte_offset, byte_length, encoding: Encoding::Raw };
            assert_eq!(part.push_chunk(0, &[0], &[byte_length], Some(record)), Ok(true));
            for byte in byte_offset..(byte_offset + byte_length).min(12) {
                bytes[file][usize::try_from(byte).unwrap()] += 1;
            }
        }
        let findings = judged(&part, &[("a", SIZE), ("b", SIZE)]);
        for (name, bytes) in names.into_iter().zip(&bytes) {
            let of_file = || findings.iter().filter(|finding| finding.file.as_deref() == Some(name));
            let mut unclaimed = [false; 12];
            for (first, length) in of_file().filter(|one| one.code == Code::FileBytesUnreferenced).filter_map(|one| one.byte_range) {
                for byte in first..first + length {
                    assert!(!std::mem::replace(&mut unclaimed[usize::try_from(byte).unwrap()], true));
                }
            }
            let used = part.file(name).is_some();
            let expected: Vec<bool> = bytes.iter().map(|&claims| used && claims == 0).collect();
            assert_eq!(unclaimed.to_vec(), expected, "{name}");
            let shared = of_file().any(|one| one.code == Code::RangeOverlap);
            assert_eq!(shared, bytes.iter().any(|&claims| claims > 1), "{name}");
        }
    }
}
