use super::*;
use crate::checkpoint::inventory::Inventory;
use crate::checkpoint::judge::judge;
use crate::interrupt::Interrupt;

/// Name, dtype, shape, begin and end, as a header has them.
type Tensor<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str);

/// Tensors, bytes of data, and what is wrong with them.
type Case<'a> = (&'a [Tensor<'a>], usize, &'a [(Code, &'a str)]);

/// A file of one header and `data` bytes behind it.
fn file(header: &str, data: usize) -> Vec<u8> {
    let mut bytes = u64::try_from(header.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.resize(bytes.len().checked_add(data).unwrap(), 0);
    bytes
}

/// Everything that is wrong with a file, as (code, tensor).
fn faults(bytes: &[u8]) -> Vec<(Code, Option<String>)> {
    let size = u64::try_from(bytes.len()).unwrap();
    let header = Header::read("m.safetensors", bytes, size, &Limits::DEFAULT);
    let inventory: Inventory = [("m.safetensors", size)].into_iter().collect();
    let part = set::assemble(&[&header], None, None, &inventory).unwrap();
    let tally = judge(&part, &inventory, &[7; 1024], 100, Interrupt::NEVER).unwrap();
    let faults = tally.findings().iter().filter(|finding| finding.code != Code::EmptyChunks);
    faults.map(|finding| (finding.code, finding.fqn.as_deref().map(str::to_owned))).collect()
}

/// Entries `name dtype shape begin end` as the JSON of a header.
fn entries(entries: &[Tensor<'_>]) -> String {
    let entry = |&(name, dtype, shape, begin, end): &_| {
        format!(r#""{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}"#)
    };
    format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(","))
}

#[test]
fn every_fault_of_a_header_has_its_own_code() {
    use Code::{
        FileTrailingBytes, HeaderDuplicateKey, HeaderHole, HeaderMalformed, HeaderSizeMismatch, HeaderUnknownDtype,
        RangeBeyondFile, RangeNegative, RangeOverflow, RangeOverlap, ShapeNegative, ShapeOverflow,
    };
    let a = ("a", "F32", "[2]", "0", "8");
    let cases: &[Case<'_>] = &[
        (&[], 0, &[]),
        (&[a], 8, &[]),
        (&[a, ("b", "F32", "[2]", "8", "16")], 16, &[]),
        (&[("b", "F32", "[2]", "8", "16"), a], 16, &[]),
        (&[("a", "F32", "[]", "0", "4")], 4, &[]),
        (&[("a", "F4", "[3]", "0", "2")], 2, &[]),
        // Two tensors of one name, with different ranges and with the same one.
        (&[a, ("a", "F32", "[2]", "8", "16")], 16, &[(HeaderDuplicateKey, "a")]),
        (&[a, a], 8, &[(HeaderDuplicateKey, "a")]),
        // Products and sums that wrap.
        (&[("a", "F32", "[4294967296,4294967296]", "0", "0")], 0, &[(ShapeOverflow, "a")]),
        (&[("a", "U8", "[9223372036854775810,2]", "0", "4")], 4, &[(ShapeOverflow, "a")]),
        (&[a, ("b", "U8", "[1]", "18446744073709551615", "18446744073709551616")], 8, &[(RangeOverflow, "b")]),
        (&[("a", "U8", "[8]", "0", "18446744073709551615")], 8, &[(RangeOverflow, "a")]),
        // One range for two, a part of it, and bytes that are nobody's.
        (&[a, ("b", "F32", "[2]", "0", "8")], 8, &[(RangeOverlap, "b")]),
        (&[a, ("b", "F32", "[2]", "4", "12")], 12, &[(RangeOverlap, "b")]),
        (&[a, ("b", "F32", "[2]", "12", "20")], 20, &[(HeaderHole, "b")]),
        (&[("a", "F32", "[2]", "4", "12")], 12, &[(HeaderHole, "a")]),
        (&[a], 12, &[(FileTrailingBytes, "")]),
        (&[a], 4, &[(RangeBeyondFile, "a")]),
        (&[("a", "F32", "[1000,1000]", "0", "4")], 4, &[(HeaderSizeMismatch, "a")]),
        (&[("a", "F32", "[1]", "0", "0")], 0, &[(HeaderSizeMismatch, "a")]),
        // Tensors without elements sit at a border.
        (&[a, ("e", "F32", "[0]", "8", "8"), ("b", "F32", "[2]", "8", "16")], 16, &[]),
        (&[a, ("e", "F32", "[0]", "4", "4")], 8, &[(RangeOverlap, "e")]),
        // An unknown dtype switches off nothing but the size.
        (&[("a", "F99", "[2]", "16", "8")], 16, &[(HeaderUnknownDtype, "a"), (RangeNegative, "a")]),
        (&[("a", "F99", "[2]", "0", "99")], 16, &[(HeaderUnknownDtype, "a"), (RangeBeyondFile, "a")]),
        // Numbers that are none.
        (&[("a", "F32", "[2]", "0.5", "8")], 8, &[(HeaderMalformed, "a")]),
        (&[("a", "F32", "[2]", "-8", "0")], 0, &[(RangeNegative, "a")]),
        (&[("a", "F32", "[-2]", "0", "8")], 8, &[(ShapeNegative, "a")]),
        (&[("a", "F32", "[true]", "0", "8")], 8, &[(HeaderMalformed, "a")]),
        (&[("a", "F32", "2", "0", "8")], 8, &[(HeaderMalformed, "a")]),
    ];
    for &(tensors, data, expected) in cases {
        let found = faults(&file(&entries(tensors), data));
        let expected: Vec<_> =
            expected.iter().map(|&(code, fqn)| (code, Some(fqn.to_owned()).filter(|fqn| !fqn.is_empty()))).collect();
        assert_eq!(found, expected, "{tensors:?}");
    }
    assert_eq!(cases.len(), 29);
}

#[test]
fn a_header_that_is_none_is_refused_with_a_reason() {
    let mut huge = file("{}", 0);
    huge[7] = 0x40;
    let mut beyond = file("{}", 0);
    beyond[0] = 3;
    for (bytes, code) in [
        (vec![], Code::FileEmpty),
        (vec![1, 0, 0], Code::HeaderMalformed),
        (vec![0; 8], Code::HeaderMalformed),
        (huge, Code::HeaderTooLarge),
        (beyond, Code::HeaderTooLarge),
        (file("nonsense", 0), Code::HeaderMalformed),
        (file("[]", 0), Code::HeaderMalformed),
        (file("{\"a\":", 0), Code::HeaderMalformed),
        (file("{}\0\0\0", 0), Code::HeaderMalformed),
        (file(r#"{"__metadata__":{"a":1}}"#, 0), Code::HeaderMalformed),
        (file(r#"{"__metadata__":[]}"#, 0), Code::HeaderMalformed),
        (file(r#"{"a":{"dtype":"F32","shape":[1]}}"#, 4), Code::HeaderMalformed),
        (file(r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}}"#, 4), Code::HeaderMalformed),
        (file(r#"{"a":{"dtype":"F32","dtype":"I8","shape":[4],"data_offsets":[0,4]}}"#, 4), Code::HeaderMalformed),
    ] {
        let found = faults(&bytes);
        assert_eq!(found.iter().map(|&(code, _)| code).collect::<Vec<_>>(), [code], "{bytes:?}");
    }
    assert_eq!(faults(&file(" {}   ", 0)), []);
}

#[test]
fn the_caller_learns_how_many_bytes_to_read() {
    let bytes = file("{}", 100);
    assert_eq!(extent(&bytes, 110, &Limits::DEFAULT), Some(10));
    assert_eq!(extent(&bytes, 9, &Limits::DEFAULT), None);
    assert_eq!(extent(&bytes[..7], 110, &Limits::DEFAULT), None);
    assert_eq!(extent(&[0xff; 8], u64::MAX, &Limits::DEFAULT), None);
    let limits = Limits { header_bytes: 1, ..Limits::DEFAULT };
    assert_eq!(extent(&bytes, 110, &limits), None);
}

#[test]
fn every_name_of_a_dtype_is_known() {
    assert!(DTYPES.iter().all(|&(_, torch)| Dtype::named(torch).bits().is_some()));
    assert_eq!(DTYPES.len(), 22);
}
