//! Differences against sets of elements.

use std::collections::BTreeSet;

use super::{Difference, Error, layouts};
use crate::interrupt::Interrupt;
use crate::join::tests::{Dice, Layout};
use crate::plan::Refused;

fn elements(layout: &[(Vec<i64>, Vec<i64>)]) -> BTreeSet<Vec<i64>> {
    layout.iter().flat_map(|(offsets, sizes)| crate::plan::tests::elements(offsets, sizes)).collect()
}

fn differ(left: &Layout, right: &Layout) -> Difference {
    layouts(left.inside(), right.inside(), u64::MAX, Interrupt::NEVER).unwrap()
}

#[test]
fn layouts_differ_exactly_where_their_elements_do() {
    let mut seen = [0; 3];
    for seed in 0..3_000 {
        let mut dice = Dice::new(seed);
        let rank = dice.below(4);
        let largest = [20, 7, 4].get(usize::try_from(rank).unwrap().saturating_sub(1)).copied().unwrap();
        let shape: Vec<i64> = (0..rank).map(|_| dice.below(largest) + 1).collect();
        let left = dice.layout(&shape, 8);
        let right = if seed % 4 == 0 {
            let mut rows = left.rows();
            rows.rotate_left(1.min(left.rows().len()));
            Layout::new(&shape, &rows)
        } else {
            dice.layout(&shape, 8)
        };
        let sorted = |layout: &Layout| {
            let mut rows = layout.rows();
            rows.retain(|(_, sizes)| !sizes.contains(&0));
            rows.sort();
            rows
        };
        let (a, b) = (elements(&left.rows()), elements(&right.rows()));
        match differ(&left, &right) {
            Difference::None => {
                assert_eq!(sorted(&left), sorted(&right));
                seen[0] += 1;
            }
            Difference::Cut => {
                assert_ne!(sorted(&left), sorted(&right));
                assert_eq!(a, b);
                seen[1] += 1;
            }
            Difference::Elements(sides) => {
                assert!(sides.complete);
                for (boxes, expected) in [(sides.left, &a - &b), (sides.right, &b - &a)] {
                    let rows: Vec<_> =
                        boxes.of(&shape).unwrap().iter().map(|(o, s)| (o.to_vec(), s.to_vec())).collect();
                    assert_eq!(elements(&rows), expected, "{left:?} {right:?}");
                }
                seen[2] += 1;
            }
        }
    }
    assert!(seen.iter().all(|&times| times > 300), "{seen:?}");
}

#[test]
fn rows_and_columns_are_one_box_each() {
    let dim = 3_000;
    let rows: Vec<_> = (0..dim).map(|k| (vec![k, 0], vec![1, dim])).collect();
    let mut columns: Vec<_> = (0..dim).map(|k| (vec![0, k], vec![dim, 1])).collect();
    columns.reverse();
    let (rows, whole) = (Layout::new(&[dim, dim], &rows), Layout::new(&[dim, dim], &columns));
    let few = |right: &Layout| layouts(rows.inside(), right.inside(), 10, Interrupt::NEVER);
    assert_eq!(few(&whole), Ok(Difference::Cut));

    columns.remove(7);
    let Ok(Difference::Elements(sides)) = few(&Layout::new(&[dim, dim], &columns)) else { panic!("a column is gone") };
    assert!(sides.right.is_empty());
    assert_eq!(sides.left.into_columns(), (vec![0, dim - 8], vec![dim, 1]));
}

#[test]
fn layouts_of_two_shapes_are_refused() {
    let (one, other) = (Layout::new(&[4], &[]), Layout::new(&[5], &[]));
    let refused = layouts(one.inside(), other.inside(), 9, Interrupt::NEVER);
    assert_eq!(refused, Err(Error::Refused(Refused::ShapesDiffer)));
}
