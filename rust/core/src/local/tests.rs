use super::name_faults;
use crate::findings::{Code, Value};
use crate::interrupt::Interrupt;
use crate::layout::{Chunks, Shards, Table};
use crate::tally::Tally;

/// Start in the global tensor, start in the local one, size.
type Shard = (i64, i64, i64);

/// A code, a box of one dimension, the number of elements or of copies.
type Found = (Code, Option<(i64, i64)>, Value);

fn judge(dim: i64, local: i64, shards: &[Shard]) -> Vec<Found> {
    let column = |of: fn(&Shard) -> i64| shards.iter().map(of).collect::<Vec<_>>();
    let (starts, places, sizes) = (column(|row| row.0), column(|row| row.1), column(|row| row.2));
    let (shape, local_shape) = ([dim], [local]);
    let table = |values| Table::new(values, shards.len(), 1).unwrap();
    let chunks = Chunks::new(&shape, table(&starts), table(&sizes)).unwrap();
    let mut tally = Tally::keeping(1_000);
    let shards = Shards::new(chunks, &local_shape, table(&places)).unwrap();
    name_faults(shards, &|row| u64::try_from(row).unwrap(), 3, &mut tally, Interrupt::NEVER).unwrap();
    let simple = |finding: &crate::findings::Finding| {
        let region = finding.region.as_ref().map(|(low, sizes)| (low[0], sizes[0]));
        let value = finding.values.iter().find(|(name, _)| *name == "elements" || *name == "times");
        (finding.code, region, value.map(|(_, value)| value.clone()).unwrap())
    };
    tally.findings().iter().map(simple).collect()
}

#[test]
fn every_two_shards_of_three_elements_are_judged_by_their_elements() {
    let mut tried = 0;
    let sides: Vec<(i64, i64)> = (0..=3).flat_map(|start| (0..=3 - start).map(move |size| (start, size))).collect();
    for &(a, size_a) in &sides {
        for &(b, size_b) in &sides {
            for at in 0..=3 - size_a {
                for to in 0..=3 - size_b {
                    let found = judge(3, 3, &[(a, at, size_a), (b, to, size_b)]);
                    let common = |a: i64, b: i64| (a + size_a).min(b + size_b) - a.max(b);
                    let (global, local) = (common(a, b).max(0), common(at, to).max(0));
                    let codes: Vec<Code> = found.iter().map(|finding| finding.0).collect();
                    let mut expected = Vec::new();
                    if global > 0 {
                        let equal = (a, size_a) == (b, size_b);
                        expected.push(if equal { Code::ChunkDuplicate } else { Code::ChunkOverlap });
                    }
                    if local > 0 {
                        expected.push(Code::LocalOverlap);
                        assert!(found.iter().any(|finding| finding.1 == Some((at.max(to), local))), "{found:?}");
                    }
                    let padding = 3 - size_a - size_b + local;
                    if padding > 0 {
                        expected.push(Code::LocalPadding);
                        assert_eq!(found.last().map(|last| &last.2), Some(&Value::Int(i128::from(padding))));
                    }
                    assert_eq!(codes, expected, "{:?}", [(a, at, size_a), (b, to, size_b)]);
                    tried += 1;
                }
            }
        }
    }
    assert_eq!(tried, 900);
}

#[test]
fn shards_that_stick_out_are_judged_by_what_is_inside() {
    let found = judge(8, 8, &[(0, 0, 6), (4, 4, 6), (-3, 0, 2)]);
    let codes: Vec<_> = found.iter().map(|(code, region, _)| (*code, *region)).collect();
    assert_eq!(
        codes,
        [(Code::ChunkOverlap, Some((4, 2))), (Code::LocalOverlap, Some((0, 2))), (Code::LocalOverlap, Some((4, 2)))]
    );
}

#[test]
fn padding_is_counted_exactly_to_the_ends_of_64_bits() {
    let most = i64::MAX;
    assert_eq!(judge(most, most, &[(0, 0, 1)]), [(Code::LocalPadding, None, Value::Int(i128::from(most) - 1))]);
    assert_eq!(judge(most, most, &[(0, 0, most)]), []);
    assert_eq!(judge(most, 0, &[(most, 0, 0)]), []);
}
