use super::*;
use crate::checkpoint::dtype::Dtype;
use crate::checkpoint::limits::Limits;

/// A file of one-dimensional pieces of bytes (name, offset, size), with a note unless `note` says what it is.
fn header(path: &str, pieces: &[(&str, i64, i64)], note: Option<&str>) -> Header {
    let mut end = 0_i64;
    let mut entries = Vec::new();
    for &(name, _, size) in pieces {
        let begin = end;
        end = end.checked_add(size).unwrap();
        entries.push(format!(r#""{name}":{{"dtype":"U8","shape":[{size}],"data_offsets":[{begin},{end}]}}"#));
    }
    let places = pieces.iter().map(|(name, offset, _)| format!(r#""{name}":{{"saved_offsets":[{offset}]}}"#));
    let places = format!("{{{}}}", places.collect::<Vec<_>>().join(","));
    let note = note.map_or(places, str::to_owned).replace('"', "\\\"");
    entries.push(format!(r#""__metadata__":{{"DCP_SHARDING_INFO":"{note}"}}"#));
    let text = format!("{{{}}}", entries.join(","));
    let mut bytes = u64::try_from(text.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend_from_slice(text.as_bytes());
    bytes.resize(bytes.len().checked_add(usize::try_from(end).unwrap()).unwrap(), 0);
    Header::read(path, &bytes, u64::try_from(bytes.len()).unwrap(), &Limits::DEFAULT)
}

fn assembled(headers: &[Header], whole: Option<&Part>) -> Part {
    let mut part = Part::new();
    assemble(&mut part, &headers.iter().collect::<Vec<_>>(), whole).unwrap();
    part
}

fn codes(part: &Part) -> Vec<Code> {
    part.findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn shapes_reach_as_far_as_the_pieces_and_are_said_to_be_inferred() {
    let part = assembled(&[header("2", &[("w", 4, 3)], None), header("1", &[("w", 0, 4), ("v", 0, 2)], None)], None);
    let shapes: Vec<_> = part.tensors().iter().map(|tensor| (tensor.fqn(), tensor.shape())).collect();
    assert_eq!(shapes, [("w", &[7_i64][..]), ("v", &[2])]);
    assert_eq!(codes(&part), [Code::SizeInferred]);
}

#[test]
fn a_copy_in_one_piece_declares_the_shape_unless_it_is_too_small() {
    for (declared, shape, expected) in
        [(9, 9, vec![]), (7, 7, vec![]), (6, 7, vec![Code::ShapeMismatch, Code::SizeInferred])]
    {
        let mut whole = Part::new();
        whole.push_tensor("w", Dtype::named("uint8"), &[declared]);
        let part = assembled(&[header("1", &[("w", 4, 3)], None)], Some(&whole));
        assert_eq!(part.tensors()[0].shape(), [shape]);
        assert_eq!(codes(&part), expected);
    }
}

#[test]
fn a_tensor_with_a_piece_in_no_known_place_is_not_entered() {
    let headers = [
        header("1", &[("w", 0, 4), ("v", 0, 1)], Some(r#"{"v":{"saved_offsets":[0]}}"#)),
        header("2", &[("w", 4, 4)], None),
    ];
    let part = assembled(&headers, None);
    assert_eq!(part.tensors().iter().map(super::super::part::Tensor::fqn).collect::<Vec<_>>(), ["v"]);
    assert_eq!(codes(&part), [Code::ShardingInfoMissing, Code::SizeInferred]);
}

#[test]
fn a_note_that_is_none_is_one_finding() {
    for note in ["{", "[]", r#"{"w":[0]}"#, r#"{"w":{"saved_offsets":["x"]}}"#, r#"{"w":{}}"#] {
        let part = assembled(&[header("1", &[("w", 0, 4)], Some(note))], None);
        assert_eq!(codes(&part), [Code::HeaderMalformed], "{note}");
    }
}

#[test]
fn what_the_note_says_is_held_against_the_file() {
    let note = r#"{"w":{"saved_offsets":[0,0]},"x":{"saved_offsets":[0]}}"#;
    let part = assembled(&[header("1", &[("w", 0, 4)], Some(note))], None);
    assert_eq!(codes(&part), [Code::ShardingInfoExtra, Code::ChunkRankMismatch, Code::SizeInferred]);
}
