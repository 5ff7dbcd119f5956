//! Every range of small tensors against its elements.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::needless_range_loop,
    reason = "small numbers, and a test that overflows fails"
)]

use super::{Fault, range};
use crate::bounds;
use crate::join::tests::Layout;

const SHAPES: [&[i64]; 12] =
    [&[], &[0], &[1], &[7], &[3, 4], &[4, 3], &[1, 5], &[5, 1], &[2, 3, 4], &[3, 1, 2, 2], &[2, 0, 3], &[2, 2, 2, 2]];

/// The elements of a box by their number in the flattening, in order.
fn elements(shape: &[i64], offsets: &[i64], sizes: &[i64]) -> Vec<i64> {
    let mut found = vec![0];
    for ((&dim, &offset), &size) in shape.iter().zip(offsets).zip(sizes) {
        found = found.iter().flat_map(|&element| (offset..offset + size).map(move |at| element * dim + at)).collect();
    }
    found
}

/// Boxes, each as (offsets, sizes).
type Rows = Vec<(Vec<i64>, Vec<i64>)>;

/// The boxes of a range, row by row.
fn boxes(shape: &[i64], start: u128, stop: u128) -> Result<Rows, Fault> {
    let found = super::boxes(shape, start, stop)?;
    Ok(found.of(shape).unwrap().iter().map(|(offsets, sizes)| (offsets.to_vec(), sizes.to_vec())).collect())
}

/// The fewest contiguous boxes for each range, by trying every box.
fn fewest(shape: &[i64], total: usize) -> Vec<Vec<usize>> {
    let mut stretches = std::collections::HashSet::new();
    for (offsets, sizes) in Layout::universe(shape).rows() {
        let inside = elements(shape, &offsets, &sizes);
        if inside.windows(2).all(|pair| pair[0] + 1 == pair[1])
            && let (Some(&first), Some(&last)) = (inside.first(), inside.last())
        {
            stretches.insert((first, last + 1));
        }
    }
    let mut fewest = vec![vec![usize::MAX; total + 1]; total + 1];
    for start in 0..=total {
        fewest[start][start] = 0;
        for stop in start + 1..=total {
            fewest[start][stop] = (start..stop)
                .filter(|&cut| stretches.contains(&(i64::try_from(cut).unwrap(), i64::try_from(stop).unwrap())))
                .map(|cut| fewest[start][cut].saturating_add(1))
                .min()
                .unwrap();
        }
    }
    fewest
}

#[test]
fn every_range_becomes_the_fewest_contiguous_boxes_in_order_and_back() {
    let mut tried = 0;
    for shape in SHAPES {
        let total = usize::try_from(shape.iter().product::<i64>()).unwrap();
        let fewest = fewest(shape, total);
        for start in 0..=total {
            for stop in start..=total {
                let cut = boxes(shape, start as u128, stop as u128).unwrap();
                let covered: Vec<i64> = cut.iter().flat_map(|(o, s)| elements(shape, o, s)).collect();
                let (first, last) = (i64::try_from(start).unwrap(), i64::try_from(stop).unwrap());
                assert_eq!(covered, (first..last).collect::<Vec<_>>(), "{shape:?} {start} {stop}");
                assert_eq!(cut.len(), fewest[start][stop], "{shape:?} {start} {stop} {cut:?}");
                assert!(cut.len() < 2 * shape.len().max(1));
                let back = Layout::new(shape, &cut);
                let expected = if start == stop { (0, 0) } else { (start as u128, stop as u128) };
                assert_eq!(range(back.inside()), Ok(expected));
                let reversed: Vec<_> = cut.into_iter().rev().collect();
                assert_eq!(range(Layout::new(shape, &reversed).inside()), Ok(expected));
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 3 + 1 + 3 + 36 + 91 + 91 + 21 + 21 + 325 + 91 + 1 + 153);
}

#[test]
fn what_is_not_a_range_is_named() {
    assert_eq!(boxes(&[3, 4], 5, 4), Err(Fault::OutOfRange { start: 5, stop: 4, elements: 12 }));
    assert_eq!(boxes(&[3, 4], 5, 13), Err(Fault::OutOfRange { start: 5, stop: 13, elements: 12 }));
    assert_eq!(boxes(&[3, 0], 0, 1), Err(Fault::OutOfRange { start: 0, stop: 1, elements: 0 }));
    assert_eq!(boxes(&[3, -4], 0, 0), Err(Fault::NegativeShape { dimension: 1, size: -4 }));
    assert_eq!(boxes(&[i64::MAX; 3], 0, 0), Err(Fault::TooLarge));

    let layout = |boxes: &[(Vec<i64>, Vec<i64>)]| range(Layout::new(&[4, 6], boxes).inside());
    let row = (vec![0, 0], vec![1, 6]);
    assert_eq!(layout(&[row.clone(), (vec![1, 0], vec![2, 5])]), Err(Fault::NotContiguous { position: 1 }));
    let expected = 6;
    let gap = layout(&[(vec![1, 1], vec![1, 5]), row.clone()]);
    assert_eq!(gap, Err(Fault::NotAdjacent { position: 0, start: 7, expected }));
    let overlap = layout(&[row.clone(), (vec![0, 5], vec![1, 1])]);
    assert_eq!(overlap, Err(Fault::NotAdjacent { position: 1, start: 5, expected }));
    assert_eq!(layout(&[row.clone(), (vec![2, 3], vec![0, 2])]), Ok((0, 6)));
    assert_eq!(layout(&[row.clone(), row]), Err(Fault::NotAdjacent { position: 1, start: 0, expected }));
}

#[test]
fn a_range_is_exact_where_elements_are_beyond_64_bits() {
    let (max, shape) = (i64::MAX, [i64::MAX, i64::MAX]);
    let row = u128::from(max.unsigned_abs());
    let cut = boxes(&shape, row - 1, row * row - 1).unwrap();
    let expected =
        [(vec![0, max - 1], vec![1, 1]), (vec![1, 0], vec![max - 2, max]), (vec![max - 1, 0], vec![1, max - 1])];
    assert_eq!(cut, expected);
    let back = Layout::new(&shape, &cut);
    assert!(bounds::inside(back.inside().chunks()).is_some());
    assert_eq!(range(back.inside()), Ok((row - 1, row * row - 1)));
}
