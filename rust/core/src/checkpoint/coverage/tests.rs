use super::*;
use crate::checkpoint::dtype::Dtype;
use crate::checkpoint::part::{Encoding, Rules};

/// Chunks of one dimension, as (offset, size, record).
fn part(dim: i64, equal_boxes: EqualBoxes, chunks: &[(i64, i64, i64)]) -> Part {
    let mut part = Part::new();
    part.rules = Rules { equal_boxes, ..Rules::NONE };
    let file = part.file_number("a").unwrap();
    part.push_tensor("w", Dtype::named("uint8"), &[dim]);
    for (position, &(offset, size, byte_offset)) in chunks.iter().enumerate() {
        let record = Record { file, byte_offset, byte_length: size, encoding: Encoding::Raw };
        assert_eq!(part.push_chunk(position + 10, &[offset], &[size], Some(record)), Ok(true));
    }
    part
}

/// (code, offset and size of the box, positions).
type Fault = (Code, Option<(i64, i64)>, Vec<u64>);

fn faults(part: &Part) -> Vec<Fault> {
    let mut tally = Tally::keeping(100);
    judge(part, &[42; 64], &mut tally, Interrupt::NEVER).unwrap();
    let region = |(offsets, sizes): &(Vec<i64>, Vec<i64>)| (offsets[0], sizes[0]);
    let findings = tally.findings().iter();
    findings.map(|one| (one.code, one.region.as_ref().map(region), one.positions.first.clone())).collect()
}

#[test]
fn what_is_covered_never_or_twice_is_named_with_the_positions_of_the_metadata() {
    use Code::{
        ChunkDuplicate, ChunkGap, ChunkNegative, ChunkOutOfBounds, ChunkOverlap, EmptyChunkPastEnd, EmptyChunks,
        ShapeNegative,
    };
    let once = EqualBoxes::Duplicates;
    for (dim, chunks, expected) in [
        (8, vec![(0, 4, 0), (4, 4, 4)], vec![]),
        (8, vec![(4, 4, 0), (0, 4, 4)], vec![]),
        (8, vec![(0, 3, 0), (5, 3, 3)], vec![(ChunkGap, Some((3, 2)), vec![])]),
        (
            8,
            vec![(0, 4, 0), (2, 4, 4)],
            vec![(ChunkOverlap, Some((2, 2)), vec![10, 11]), (ChunkGap, Some((6, 2)), vec![])],
        ),
        (8, vec![(0, 4, 0), (4, 4, 4), (4, 4, 8)], vec![(ChunkDuplicate, Some((4, 4)), vec![11, 12])]),
        (8, vec![(0, 8, 0), (0, 8, 8), (0, 8, 16)], vec![(ChunkDuplicate, Some((0, 8)), vec![10, 11, 12])]),
        (8, vec![], vec![(ChunkGap, Some((0, 8)), vec![])]),
        (0, vec![], vec![]),
        (0, vec![(0, 0, 0)], vec![(EmptyChunks, None, vec![])]),
        (8, vec![(0, 8, 0), (3, 0, 8), (8, 0, 8), (8, 0, 8)], vec![(EmptyChunks, None, vec![])]),
        (8, vec![(0, 8, 0), (9, 0, 8)], vec![(EmptyChunkPastEnd, None, vec![11]), (EmptyChunks, None, vec![])]),
        (8, vec![(0, 4, 0), (4, 5, 4)], vec![(ChunkOutOfBounds, None, vec![11])]),
        (8, vec![(-1, 4, 0), (4, 4, 4)], vec![(ChunkNegative, None, vec![10]), (ChunkGap, Some((3, 1)), vec![])]),
        (8, vec![(0, 8, 0), (4, -1, 8)], vec![(ChunkNegative, None, vec![11])]),
        (-8, vec![], vec![(ShapeNegative, None, vec![])]),
        (-8, vec![(0, 4, 0)], vec![(ShapeNegative, None, vec![])]),
    ] {
        assert_eq!(faults(&part(dim, once, &chunks)), expected, "{dim} {chunks:?}");
    }
}

#[test]
fn equal_boxes_with_records_of_their_own_are_replicas_where_processes_wrote_them() {
    let chunks = [(0, 4, 0), (4, 4, 4), (4, 4, 8)];
    assert_eq!(faults(&part(8, EqualBoxes::Replicas, &chunks)), [(Code::Replicas, None, vec![])]);
    let same_record = [(0, 4, 0), (4, 4, 4), (4, 4, 4)];
    assert_eq!(faults(&part(8, EqualBoxes::Replicas, &same_record))[0].0, Code::ChunkDuplicate);
    let overlap = [(0, 5, 0), (4, 4, 5), (4, 4, 9)];
    let found = faults(&part(8, EqualBoxes::Replicas, &overlap));
    assert_eq!(found, [(Code::Replicas, None, vec![]), (Code::ChunkOverlap, Some((4, 1)), vec![10, 11])]);
}

#[test]
fn gaps_are_what_the_format_lets_them_be() {
    let mut filled = part(8, EqualBoxes::Duplicates, &[]);
    filled.declare_fill("0.0");
    assert_eq!(faults(&filled), [(Code::ChunkMissingFill, Some((0, 8)), vec![])]);
    let mut incomplete = part(8, EqualBoxes::Duplicates, &[(0, 4, 0), (2, 4, 4)]);
    incomplete.incomplete = true;
    assert_eq!(faults(&incomplete), [(Code::ChunkOverlap, Some((2, 2)), vec![10, 11])]);
}

#[test]
fn a_size_declared_twice_too_large_is_hinted_at() {
    let found = faults(&part(20, EqualBoxes::Duplicates, &[(0, 5, 0), (5, 5, 5)]));
    assert_eq!(found.iter().map(|fault| fault.0).collect::<Vec<_>>(), [Code::ChunkGap, Code::DeclaredMultiple]);
}

#[test]
fn a_scalar_has_one_element() {
    for (chunks, expected) in [(0, vec![Code::ChunkGap]), (1, vec![]), (2, vec![Code::ChunkDuplicate])] {
        let mut part = Part::new();
        part.push_tensor("step", Dtype::named("int64"), &[]);
        for position in 0..chunks {
            assert_eq!(part.push_chunk(position, &[], &[], None), Ok(true));
        }
        let mut tally = Tally::keeping(100);
        judge(&part, &[], &mut tally, Interrupt::NEVER).unwrap();
        assert_eq!(tally.findings().iter().map(|finding| finding.code).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_shape_that_63_bits_of_bytes_cannot_hold_is_named() {
    for (shape, named) in [
        (vec![i64::MAX], false),
        (vec![i64::MAX, 2], true),
        (vec![i64::MAX, i64::MAX, i64::MAX], true),
        (vec![i64::MAX, 0, i64::MAX], false),
    ] {
        let mut part = Part::new();
        part.push_tensor("w", Dtype::named("uint8"), &shape);
        assert_eq!(part.push_chunk(0, &vec![0; shape.len()], &shape, None), Ok(true));
        let mut tally = Tally::keeping(100);
        judge(&part, &[42; 64], &mut tally, Interrupt::NEVER).unwrap();
        assert_eq!(tally.counts().contains_key(&Code::ShapeOverflow), named, "{shape:?}");
    }
}
