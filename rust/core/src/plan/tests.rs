//! Plans against a table of elements.
#![expect(clippy::arithmetic_side_effects, reason = "small numbers, and a test that overflows fails")]

use super::{Columns, Cost, CostError, Refused, Sources, WriteError, cost, reads};
use crate::findings::{Code, Value};
use crate::interrupt::Interrupt;
use crate::join;
use crate::join::tests::{Dice, Layout};
use crate::layout::{ShapeError, Table};

/// The columns of a plan, owned.
#[derive(Debug, Default, PartialEq, Eq)]
struct Plan {
    saved_positions: Vec<i64>,
    wanted_positions: Vec<i64>,
    saved_offsets: Vec<i64>,
    wanted_offsets: Vec<i64>,
    lengths: Vec<i64>,
    uneven: Vec<usize>,
}

fn plan(saved: &Layout, wanted: &Layout) -> Plan {
    let reads = reads(saved.inside(), wanted.inside(), u64::MAX, Interrupt::NEVER).unwrap();
    let (rows, rank) = (usize::try_from(reads.count()).unwrap(), saved.inside().chunks().rank());
    let column = |rank| vec![-1; rows * rank];
    let mut plan = Plan {
        saved_positions: column(1),
        wanted_positions: column(1),
        saved_offsets: column(rank),
        wanted_offsets: column(rank),
        lengths: column(rank),
        uneven: Vec::new(),
    };
    let into = Columns {
        saved_positions: &mut plan.saved_positions,
        wanted_positions: &mut plan.wanted_positions,
        saved_offsets: &mut plan.saved_offsets,
        wanted_offsets: &mut plan.wanted_offsets,
        lengths: &mut plan.lengths,
    };
    plan.uneven = reads.write(into, Interrupt::NEVER).unwrap();
    plan
}

fn sources(saved: &Layout, wanted: &Layout, most: usize) -> Sources {
    let plan = plan(saved, wanted);
    let (rows, rank) = (plan.saved_positions.len(), saved.inside().chunks().rank());
    let table = |values| Table::new(values, rows, rank).unwrap();
    let reads = reads(saved.inside(), wanted.inside(), u64::MAX, Interrupt::NEVER).unwrap();
    reads.sources(table(&plan.wanted_offsets), table(&plan.lengths), &plan.uneven, most, Interrupt::NEVER).unwrap()
}

/// The elements of a box.
pub(crate) fn elements(offsets: &[i64], sizes: &[i64]) -> Vec<Vec<i64>> {
    let mut found = vec![Vec::new()];
    for (&offset, &size) in offsets.iter().zip(sizes) {
        found = found
            .iter()
            .flat_map(|element| (offset..offset + size).map(move |at| [&element[..], &[at]].concat()))
            .collect();
    }
    found
}

fn shifted(offsets: &[i64], by: &[i64]) -> Vec<i64> {
    offsets.iter().zip(by).map(|(a, b)| a + b).collect()
}

#[test]
fn a_read_is_exactly_what_two_chunks_share() {
    let (mut tried, mut seen) = (0, 0);
    for seed in 0..1_200 {
        let mut dice = Dice::new(seed);
        let rank = dice.below(6);
        let largest = [40, 9, 5, 3, 3].get(usize::try_from(rank).unwrap().saturating_sub(1)).copied().unwrap();
        let shape: Vec<i64> = (0..rank).map(|_| dice.below(largest) + 1).collect();
        let (saved, wanted) = (dice.layout(&shape, 12), dice.layout(&shape, 12));
        let plan = plan(&saved, &wanted);
        let rank = shape.len();
        let mut row = 0;
        for (at_wanted, (to, to_sizes)) in (0..).zip(wanted.rows()) {
            let inside = elements(&to, &to_sizes);
            let mut filled = 0;
            for (at_saved, (from, from_sizes)) in (0..).zip(saved.rows()) {
                let source = elements(&from, &from_sizes);
                let shared: Vec<_> = inside.iter().filter(|element| source.contains(element)).cloned().collect();
                if shared.is_empty() {
                    continue;
                }
                let column = |values: &[i64]| values[row * rank..row * rank + rank].to_vec();
                let lengths = column(&plan.lengths);
                assert_eq!((plan.saved_positions[row], plan.wanted_positions[row]), (at_saved, at_wanted));
                assert_eq!(elements(&shifted(&column(&plan.wanted_offsets), &to), &lengths), shared);
                assert_eq!(elements(&shifted(&column(&plan.saved_offsets), &from), &lengths), shared);
                filled += shared.len();
                row += 1;
            }
            let position = usize::try_from(at_wanted).unwrap();
            assert_eq!(plan.uneven.contains(&position), filled != inside.len(), "{saved:?} {wanted:?}");
        }
        assert_eq!(row, plan.saved_positions.len());
        tried += 1;
        seen += row;
    }
    assert_eq!(tried, 1_200);
    assert!(seen > 15_000, "{seen}");
}

#[test]
fn a_plan_is_exact_at_the_end_of_64_bits() {
    let max = i64::MAX;
    let saved = Layout::new(&[max; 3], &[(vec![0; 3], vec![max; 3]), (vec![max - 2; 3], vec![2; 3])]);
    let wanted = Layout::new(&[max; 3], &[(vec![max - 3; 3], vec![3; 3]), (vec![0; 3], vec![max; 3])]);
    let plan = plan(&saved, &wanted);
    assert_eq!(plan.saved_positions, [0, 1, 0, 1]);
    assert_eq!(plan.saved_offsets, [max - 3, max - 3, max - 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(plan.wanted_offsets, [0, 0, 0, 1, 1, 1, 0, 0, 0, max - 2, max - 2, max - 2]);
    assert_eq!(plan.lengths, [3, 3, 3, 2, 2, 2, max, max, max, 2, 2, 2]);
    assert_eq!(plan.uneven, [0, 1]);
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let one = Layout::new(&[4], &[(vec![0], vec![4])]);
    let other = Layout::new(&[4, 1], &[(vec![0, 0], vec![4, 1])]);
    let refused = reads(one.inside(), other.inside(), 9, Interrupt::NEVER);
    assert!(matches!(refused, Err(Refused::ShapesDiffer)));
    let refused = reads(one.inside(), one.inside(), 0, Interrupt::NEVER);
    assert!(matches!(refused, Err(Refused::Join(join::Refused::TooMany { count: 1, limit: 0 }))));

    let found = reads(one.inside(), one.inside(), 1, Interrupt::NEVER).unwrap();
    let (mut position, mut row, mut short) = ([0], [0], []);
    let into = Columns {
        saved_positions: &mut position.clone(),
        wanted_positions: &mut position,
        saved_offsets: &mut row.clone(),
        wanted_offsets: &mut row,
        lengths: &mut short,
    };
    let error = ShapeError::NotRectangular { values: 0, rows: 1, rank: 1 };
    assert_eq!(found.write(into, Interrupt::NEVER), Err(WriteError::Shape(error)));
}

#[test]
fn a_run_is_what_lies_together_in_the_saved_chunk() {
    let priced = |sizes: &[i64], lengths: &[i64]| {
        let table = |values| Table::new(values, 1, sizes.len()).unwrap();
        cost(table(sizes), &[0], table(lengths))
    };
    let costs = |elements, runs, run| Ok(Cost { elements, runs, shortest: run, longest: run });
    assert_eq!(priced(&[8, 64], &[8, 8]), costs(64, 8, 8));
    assert_eq!(priced(&[8, 64], &[3, 64]), costs(192, 1, 192));
    assert_eq!(priced(&[4, 5, 6], &[2, 3, 6]), costs(36, 2, 18));
    assert_eq!(priced(&[4, 5, 6], &[2, 5, 3]), costs(30, 10, 3));
    assert_eq!(priced(&[4, 1, 6], &[2, 1, 6]), costs(12, 1, 12));
    assert_eq!(priced(&[], &[]), costs(1, 1, 1));
    assert_eq!(priced(&[i64::MAX; 3], &[i64::MAX; 3]), Err(CostError::TooLarge));

    let sizes = Table::new(&[4, 4], 2, 1).unwrap();
    let lengths = Table::new(&[4, 2, 1], 3, 1).unwrap();
    assert_eq!(cost(sizes, &[0, 1, 1], lengths), Ok(Cost { elements: 7, runs: 3, shortest: 1, longest: 4 }));
    assert_eq!(cost(sizes, &[0, 2, 1], lengths), Err(CostError::NoSuchChunk { read: 1, position: 2, chunks: 2 }));
    assert_eq!(cost(sizes, &[0], lengths), Err(ShapeError::RowsDiffer { left: 1, right: 3 }.into()));
    let none = Table::new(&[], 0, 1).unwrap();
    assert_eq!(cost(sizes, &[], none), Ok(Cost::default()));
}

#[test]
fn every_wanted_element_without_one_source_is_named_once() {
    let (mut tried, mut gaps, mut overlaps) = (0, 0, 0);
    for seed in 0..3_000 {
        let mut dice = Dice::new(seed);
        let rank = dice.below(5);
        let largest = [30, 9, 5, 3].get(usize::try_from(rank).unwrap().saturating_sub(1)).copied().unwrap();
        let shape: Vec<i64> = (0..rank).map(|_| dice.below(largest) + 1).collect();
        let pieces = if seed % 5 == 0 { 40 } else { 9 };
        let (mut saved, wanted) = (dice.layout(&shape, pieces).rows(), dice.layout(&shape, 9));
        if seed % 2 == 0 && saved.len() > 1 {
            // A hole or a repetition in what may be a tiling.
            let (hole, again) = (dice.below(2) == 0, saved[0].clone());
            if hole {
                saved.remove(0);
            } else {
                saved.push(again);
            }
        }
        let saved = Layout::new(&shape, &saved);
        let sources = sources(&saved, &wanted, usize::MAX);
        assert!(sources.complete);

        let held: Vec<Vec<Vec<i64>>> = saved.rows().iter().map(|(o, s)| elements(o, s)).collect();
        let mut named = std::collections::HashMap::new();
        for finding in &sources.findings {
            let (offsets, sizes) = finding.region.clone().unwrap();
            let value = |name| finding.values.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone());
            let inside = elements(&offsets, &sizes);
            assert_eq!(value("elements"), Some(inside.len().into()));
            let (at, chunks) = if finding.code == Code::SourceGap {
                (finding.positions.first[0], Vec::new())
            } else {
                assert_eq!(value("times"), Some(finding.positions.count.into()));
                let Some(Value::Int(at)) = value("wanted") else { panic!("{finding:?}") };
                (u64::try_from(at).unwrap(), finding.positions.first.clone())
            };
            for element in inside {
                assert!(named.insert((at, element), chunks.clone()).is_none(), "{finding:?}");
            }
        }
        for (at, (offsets, sizes)) in (0..).zip(wanted.rows()) {
            for element in elements(&offsets, &sizes) {
                let all: Vec<u64> =
                    (0..).zip(&held).filter(|(_, held)| held.contains(&element)).map(|(at, _)| at).collect();
                let expected = (all.len() != 1).then(|| all.into_iter().take(16).collect::<Vec<_>>());
                assert_eq!(named.remove(&(at, element)), expected, "{saved:?} {wanted:?}");
            }
        }
        assert!(named.is_empty());
        tried += 1;
        gaps += sources.gaps;
        overlaps += sources.overlaps;
    }
    assert_eq!(tried, 3_000);
    assert!(gaps > 4_000 && overlaps > 4_000, "{gaps} {overlaps}");
}

#[test]
fn a_gap_and_an_overlap_of_one_size_do_not_cancel() {
    let wanted = Layout::new(&[8], &[(vec![0], vec![8])]);
    for extra in [0, 40] {
        // Beyond some number of reads the overlap is found by another search.
        let shape = [8 + extra];
        let mut saved = vec![(vec![0], vec![4]), (vec![2], vec![4])];
        saved.extend((8..8 + extra).map(|at| (vec![at], vec![1])));
        let (saved, whole) = (Layout::new(&shape, &saved), [(vec![0], vec![8 + extra])]);
        let found = sources(&saved, &Layout::new(&shape, &whole), 9);
        assert_eq!((found.gaps, found.overlaps), (1, 1));
        let boxes: Vec<_> =
            found.findings.iter().map(|finding| (finding.code, finding.region.clone().unwrap())).collect();
        assert_eq!(boxes, [(Code::SourceOverlap, (vec![2], vec![2])), (Code::SourceGap, (vec![6], vec![2]))]);
    }
    let none = sources(&Layout::new(&[8], &[]), &wanted, 9);
    assert_eq!((none.gaps, none.overlaps, none.findings.len()), (1, 0, 1));
}

#[test]
fn faults_are_counted_beyond_those_that_are_shown() {
    let saved: Vec<_> = (0..50).map(|k| (vec![2 * k], vec![1])).collect();
    let whole = Layout::new(&[100], &[(vec![0], vec![100])]);
    let found = sources(&Layout::new(&[100], &saved), &whole, 3);
    assert_eq!((found.gaps, found.findings.len(), found.complete), (50, 3, true));
}

#[test]
fn elements_beyond_128_bits_are_counted() {
    let max = i64::MAX;
    let saved = Layout::new(&[max; 3], &[(vec![0; 3], vec![1, max, max])]);
    let wanted = Layout::new(&[max; 3], &[(vec![0; 3], vec![max; 3])]);
    let found = sources(&saved, &wanted, 9);
    assert_eq!(found.findings[0].region, Some((vec![1, 0, 0], vec![max - 1, max, max])));
    assert_eq!(found.findings[0].values, [("elements", Value::elements(&[max - 1, max, max]))]);
}
