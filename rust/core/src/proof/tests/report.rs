use super::{Layout, Random, guillotine, plant};
use crate::findings::{Code, Finding};
use crate::interrupt::Interrupt;
use crate::layout::{Chunks, Table};
use crate::proof::{Expected, Question, Report, Rigour, judge};
use crate::tally::Tally;

/// Judge a layout that may have faults of bounds.
fn report(layout: &Layout, times: u64) -> (Report, Vec<Finding>) {
    let (rows, rank) = (layout.boxes.len(), layout.shape.len());
    let flat = |of: fn(&super::Box_) -> &Vec<i64>| layout.boxes.iter().flat_map(of).copied().collect::<Vec<_>>();
    let (offsets, sizes) = (flat(|row| &row.0), flat(|row| &row.1));
    let table = |values| Table::new(values, rows, rank).unwrap();
    let chunks = Chunks::new(&layout.shape, table(&offsets), table(&sizes)).unwrap();
    let keys = Random(31).keys(rank);
    let question = Question { expected: Expected::Times(times), rigour: Rigour::Bounded, keys: &keys };
    let mut tally = Tally::keeping(1000);
    let position_of = |row| u64::try_from(row).unwrap();
    let report = judge(chunks, &position_of, &question, &mut tally, Interrupt::NEVER).unwrap();
    (report, tally.findings().to_vec())
}

fn line(dim: i64, chunks: &[(i64, i64)]) -> Layout {
    Layout { shape: vec![dim], boxes: chunks.iter().map(|&(start, size)| (vec![start], vec![size])).collect() }
}

fn codes(findings: &[Finding]) -> Vec<Code> {
    findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn a_gap_and_an_overlap_of_equal_size_are_two_findings() {
    let (report, findings) = report(&line(8, &[(0, 4), (2, 4)]), 1);
    assert_eq!(codes(&findings), [Code::ChunkOverlap, Code::ChunkGap]);
    assert_eq!(findings[0].region, Some((vec![2], vec![2])));
    assert_eq!(findings[1].region, Some((vec![6], vec![2])));
    assert_eq!((report.uncovered.to_u128(), report.overcovered.to_u128()), (Some(2), Some(2)));
    assert!(report.complete);
}

#[test]
fn equal_chunks_are_one_finding_with_a_count() {
    let (_, findings) = report(&line(8, &[(0, 4), (4, 4), (0, 4), (0, 4)]), 1);
    assert_eq!(codes(&findings), [Code::ChunkDuplicate]);
    assert_eq!((findings[0].positions.count, &*findings[0].positions.first), (3, &[0, 2, 3][..]));
}

#[test]
fn a_replica_that_lacks_a_piece_is_named() {
    let (report, findings) = report(&line(8, &[(0, 8), (0, 5)]), 2);
    assert_eq!(codes(&findings), [Code::UnderReplicated]);
    assert_eq!(findings[0].region, Some((vec![5], vec![3])));
    assert_eq!(report.uncovered.to_u128(), Some(3));
}

#[test]
fn a_size_declared_twice_too_large_is_noted() {
    let (_, findings) = report(&line(20, &[(0, 5), (5, 5), (12, 0)]), 1);
    assert_eq!(codes(&findings), [Code::EmptyChunks, Code::ChunkGap, Code::DeclaredMultiple]);
}

#[test]
fn an_empty_chunk_past_the_end_is_no_gap_and_no_error() {
    let (report, findings) = report(&line(5, &[(0, 2), (2, 3), (6, 0)]), 1);
    assert_eq!(codes(&findings), [Code::EmptyChunkPastEnd]);
    assert!(report.verdict.is_some_and(|verdict| verdict.whole));
}

#[test]
fn a_chunk_that_sticks_out_covers_what_it_can() {
    let (report, findings) = report(&line(10, &[(0, 3), (3, 3), (6, 3), (9, 3)]), 1);
    assert_eq!(codes(&findings), [Code::ChunkOutOfBounds]);
    assert!(report.verdict.is_some_and(|verdict| verdict.whole), "what remains is whole");
}

#[test]
fn a_tensor_without_chunks_has_one_finding() {
    for chunks in [&[][..], &[(3, 0)][..]] {
        let (report, findings) = report(&line(5, chunks), 1);
        assert!(codes(&findings).contains(&Code::NoChunks) && !codes(&findings).contains(&Code::ChunkGap));
        assert_eq!(report.uncovered.to_u128(), Some(5));
    }
}

#[test]
fn nothing_can_be_said_of_a_negative_shape() {
    let (report, findings) = report(&line(-5, &[(0, 5)]), 1);
    assert!(report.verdict.is_none() && codes(&findings).contains(&Code::ShapeNegative));
}

#[test]
fn repainted_findings_are_exactly_what_is_wrong() {
    let (mut random, mut faulty) = (Random(32), 0);
    for _ in 0..3_000 {
        let rank = usize::try_from(random.below(4)).unwrap();
        let shape: Vec<i64> = (0..rank).map(|_| 1 + random.below(6)).collect();
        let mut layout = Layout { boxes: guillotine(&shape, 8, &mut random), shape };
        (0..random.below(4)).for_each(|_| plant(&mut layout, &mut random));
        let paint = layout.painted();
        let (report, findings) = report(&layout, 1);
        assert!(report.complete);
        let count = |wrong: fn(u64) -> bool| u128::try_from(paint.iter().filter(|&&times| wrong(times)).count()).ok();
        assert_eq!(report.uncovered.to_u128(), count(|times| times == 0), "{layout:?}");
        assert_eq!(report.overcovered.to_u128(), count(|times| times > 1), "{layout:?}");
        let boxes = findings.iter().filter(|finding| finding.code == Code::ChunkGap || finding.code == Code::NoChunks);
        let boxes = boxes.map(|finding| finding.region.clone().unwrap_or((vec![0; rank], layout.shape.clone())));
        let gaps = Layout { shape: layout.shape.clone(), boxes: boxes.collect() }.painted();
        assert!(gaps.iter().zip(&paint).all(|(&gap, &times)| gap == u64::from(times == 0)), "{layout:?} {findings:?}");
        faulty += u32::from(!findings.is_empty());
    }
    assert!(faulty > 1_000, "{faulty}");
}
