//! What must hold whatever layouts a kernel gets: its answer is that of painting every element, or of no cleverness.

use shardproof_core::bounds::{self, EmptyPastEnd};
use shardproof_core::flat;
use shardproof_core::interrupt::Interrupt;
use shardproof_core::join;
use shardproof_core::layout::{Chunks, Inside, Table};
use shardproof_core::plan::{self, Columns};
use shardproof_core::proof::{Expected, Question, Rigour, decide};
use shardproof_core::tally::Tally;

/// Numbers at which arithmetic goes wrong.
const EXTREMES: [i64; 12] = [
    -1,
    -2,
    i64::MIN,
    i64::MIN + 1,
    i64::MAX,
    i64::MAX - 1,
    1 << 62,
    (1 << 62) - 1,
    -(1 << 62),
    1 << 32,
    1 << 61,
    (1 << 61) - 1,
];

/// Bytes that are read as numbers; zeros when there are no more.
struct Dice<'a>(std::slice::Iter<'a, u8>);

impl Dice<'_> {
    fn byte(&mut self) -> u8 {
        self.0.next().copied().unwrap_or_default()
    }

    /// A number in `0..=most`.
    fn small(&mut self, most: i64) -> i64 {
        i64::from(self.byte()) % (most + 1)
    }

    /// A small number, or now and then one of the extremes.
    fn any(&mut self) -> i64 {
        match self.byte() {
            byte @ 0..200 => i64::from(byte % 10),
            byte => EXTREMES[usize::from(byte) % EXTREMES.len()],
        }
    }
}

type Box_ = (Vec<i64>, Vec<i64>);

#[derive(Debug)]
struct Layout {
    shape: Vec<i64>,
    boxes: Vec<Box_>,
}

impl Layout {
    fn with<T>(&self, ask: impl FnOnce(Chunks<'_>) -> T) -> T {
        let (rows, rank) = (self.boxes.len(), self.shape.len());
        let offsets: Vec<i64> = self.boxes.iter().flat_map(|(offsets, _)| offsets.clone()).collect();
        let sizes: Vec<i64> = self.boxes.iter().flat_map(|(_, sizes)| sizes.clone()).collect();
        let table = |values| Table::new(values, rows, rank).unwrap();
        ask(Chunks::new(&self.shape, table(&offsets), table(&sizes)).unwrap())
    }

    fn with_inside<T>(&self, ask: impl FnOnce(Inside<'_>) -> T) -> T {
        self.with(|chunks| ask(bounds::inside(chunks).unwrap()))
    }

    /// A shape of at most 6 in each of up to three dimensions.
    fn shape(dice: &mut Dice<'_>) -> Vec<i64> {
        (0..dice.small(3)).map(|_| dice.small(6)).collect()
    }

    /// Up to 20 boxes that lie inside.
    fn inside(shape: &[i64], dice: &mut Dice<'_>) -> Self {
        let mut boxes = Vec::new();
        for _ in 0..dice.small(20) {
            let offsets: Vec<i64> = shape.iter().map(|&dim| dice.small(dim)).collect();
            let sizes = shape.iter().zip(&offsets).map(|(&dim, &at)| dice.small(dim - at)).collect();
            boxes.push((offsets, sizes));
        }
        Self { shape: shape.to_vec(), boxes }
    }

    /// A cut of the tensor into boxes, some of them halved, one of them now and then doubled, moved or left out.
    fn nearly_whole(shape: &[i64], dice: &mut Dice<'_>) -> Self {
        let mut boxes = vec![(vec![0; shape.len()], shape.to_vec())];
        for _ in 0..dice.small(12) {
            let number = usize::from(dice.byte()) % boxes.len();
            let dimension = usize::from(dice.byte()) % shape.len().max(1);
            let Some(&size) = boxes[number].1.get(dimension) else { break };
            let first = dice.small(size);
            let mut second = boxes[number].clone();
            boxes[number].1[dimension] = first;
            second.0[dimension] += first;
            second.1[dimension] -= first;
            boxes.push(second);
        }
        let number = usize::from(dice.byte()) % boxes.len();
        match dice.small(5) {
            0 => drop(boxes.remove(number)),
            1 => boxes.push(boxes[number].clone()),
            2 => {
                let (offsets, sizes) = &mut boxes[number];
                let dimensions = offsets.iter_mut().zip(sizes).zip(shape);
                if let Some(((offset, _), _)) = dimensions.into_iter().find(|((at, size), dim)| **at + **size < **dim) {
                    *offset += 1;
                }
            }
            _ => {}
        }
        Self { shape: shape.to_vec(), boxes }
    }

    /// How often every element is covered, in the order in which elements lie.
    fn painted(&self) -> Vec<u64> {
        let mut paint = vec![0; usize::try_from(self.shape.iter().product::<i64>()).unwrap()];
        for (offsets, sizes) in &self.boxes {
            for element in elements(&self.shape, offsets, sizes) {
                paint[element] += 1;
            }
        }
        paint
    }
}

/// Numbers of the elements of a box, in ascending order.
fn elements(shape: &[i64], offsets: &[i64], sizes: &[i64]) -> Vec<usize> {
    let mut found = vec![0_i64];
    for ((&dim, &offset), &size) in shape.iter().zip(offsets).zip(sizes) {
        found = found.iter().flat_map(|before| (offset..offset + size).map(move |at| before * dim + at)).collect();
    }
    found.into_iter().map(|number| usize::try_from(number).unwrap()).collect()
}

/// Signs and bounds, of numbers of any size.
pub(crate) fn bounds(bytes: &[u8]) {
    let mut dice = Dice(bytes.iter());
    let shape: Vec<i64> = (0..dice.small(9)).map(|_| dice.any()).collect();
    let mut row = || shape.iter().map(|_| dice.any()).collect::<Vec<_>>();
    let boxes: Vec<Box_> = std::iter::repeat_with(|| (row(), row())).take(bytes.len() / 16 + 1).collect();
    let layout = Layout { shape: shape.clone(), boxes };
    let wide = i128::from;
    let fits = |at: i64, size: i64, dim: i64| at >= 0 && size >= 0 && wide(at) + wide(size) <= wide(dim);
    let is_inside =
        |(offsets, sizes): &Box_| offsets.iter().zip(sizes).zip(&shape).all(|((&at, &size), &dim)| fits(at, size, dim));
    let inside = shape.iter().all(|&dim| dim >= 0) && layout.boxes.iter().all(is_inside);
    layout.with(|chunks| {
        assert_eq!(bounds::inside(chunks).is_some(), inside);
        let mut tally = Tally::keeping(1000);
        bounds::name_shape_faults(&shape, &mut tally);
        bounds::name_faults(chunks, |row| u64::try_from(row).unwrap(), EmptyPastEnd::Fault, &mut tally);
        assert_eq!(tally.findings().is_empty(), inside);

        let clipped = bounds::clip(chunks);
        let mut left = clipped.inside().expect("clipped chunks are inside").chunks().iter();
        for (number, (offsets, sizes)) in chunks.iter().enumerate() {
            let meet: Vec<(i128, i128)> = offsets
                .iter()
                .zip(sizes)
                .zip(&shape)
                .map(|((&at, &size), &dim)| (wide(at).max(0), (wide(at) + wide(size)).min(wide(dim))))
                .collect();
            let kept = sizes.iter().all(|&size| size >= 0) && meet.iter().all(|(start, stop)| start < stop);
            assert_eq!(clipped.rows().contains(&number), kept, "{layout:?}");
            if kept {
                let (offsets, sizes) = left.next().unwrap();
                let cut: Vec<_> =
                    offsets.iter().zip(sizes).map(|(&at, &size)| (wide(at), wide(at) + wide(size))).collect();
                assert_eq!(cut, meet, "{layout:?}");
            }
        }
    });
}

/// The proof, both ways, against paint.
pub(crate) fn prove(bytes: &[u8]) {
    let mut dice = Dice(bytes.iter());
    let shape = Layout::shape(&mut dice);
    let layout = match dice.small(2) {
        0 => Layout::inside(&shape, &mut dice),
        _ => Layout::nearly_whole(&shape, &mut dice),
    };
    let times = 1 + u64::from(dice.small(3) == 3);
    let keys: Vec<u8> = (0..16 * shape.len()).map(|_| dice.byte().wrapping_mul(167).wrapping_add(91)).collect();
    let paint = layout.painted();
    let uniform = paint.windows(2).all(|pair| pair[0] == pair[1]);
    let truth = |expected: Expected| uniform && paint.iter().all(|&times| expected.is(times));
    for rigour in [Rigour::Exact, Rigour::Bounded] {
        for expected in [Expected::Times(times), Expected::Uniform] {
            let question = Question { expected, rigour, keys: &keys };
            let verdict = layout.with_inside(|chunks| decide(chunks, &question, Interrupt::NEVER)).unwrap();
            assert_eq!(verdict.whole, truth(expected), "{expected:?} {verdict:?} {layout:?}");
            if let (true, Some(multiplicity), Some(&painted)) = (verdict.whole, verdict.multiplicity, paint.first()) {
                assert_eq!(multiplicity, painted, "{layout:?}");
            }
        }
    }
}

/// Pairs of boxes that meet, and the reads between two layouts.
pub(crate) fn plan(bytes: &[u8]) {
    let mut dice = Dice(bytes.iter());
    let shape = Layout::shape(&mut dice);
    let saved = match dice.small(1) {
        0 => Layout::inside(&shape, &mut dice),
        _ => Layout::nearly_whole(&shape, &mut dice),
    };
    let wanted = Layout::inside(&shape, &mut dice);
    let naive: Vec<Vec<u32>> = wanted
        .boxes
        .iter()
        .map(|right| {
            let mine = elements(&shape, &right.0, &right.1);
            let meets = |left: &Box_| elements(&shape, &left.0, &left.1).iter().any(|element| mine.contains(element));
            (0..).zip(&saved.boxes).filter(|(_, left)| meets(left)).map(|(number, _)| number).collect()
        })
        .collect();
    let count: usize = naive.iter().map(Vec::len).sum();
    saved.with_inside(|saved_chunks| {
        wanted.with_inside(|wanted_chunks| {
            let pairs = join::pairs(saved_chunks, wanted_chunks, u64::MAX, Interrupt::NEVER).unwrap();
            assert_eq!(pairs.rows().map(<[u32]>::to_vec).collect::<Vec<_>>(), naive);
            assert_eq!(pairs.count(), u64::try_from(count).unwrap());
            let reads = plan::reads(saved_chunks, wanted_chunks, u64::MAX, Interrupt::NEVER).unwrap();
            let (rank, column) = (shape.len(), |rank: usize| vec![-1_i64; count * rank]);
            let (mut from, mut to) = (column(1), column(1));
            let (mut saved_offsets, mut wanted_offsets, mut lengths) = (column(rank), column(rank), column(rank));
            let columns = Columns {
                saved_positions: &mut from,
                wanted_positions: &mut to,
                saved_offsets: &mut saved_offsets,
                wanted_offsets: &mut wanted_offsets,
                lengths: &mut lengths,
            };
            let uneven = reads.write(columns, Interrupt::NEVER).unwrap();
            let mut filled: Vec<Vec<u64>> = wanted
                .boxes
                .iter()
                .map(|(_, sizes)| vec![0; usize::try_from(sizes.iter().product::<i64>()).unwrap()])
                .collect();
            for number in 0..count {
                let row = |column: &[i64]| column[number * rank..(number + 1) * rank].to_vec();
                let (left, right) = (usize::try_from(from[number]).unwrap(), usize::try_from(to[number]).unwrap());
                let placed = |offsets: &[i64], by: &[i64]| -> Vec<i64> {
                    offsets.iter().zip(by).map(|(at, by)| at + by).collect()
                };
                let (there, here, length) = (row(&saved_offsets), row(&wanted_offsets), row(&lengths));
                assert_eq!(placed(&saved.boxes[left].0, &there), placed(&wanted.boxes[right].0, &here));
                for element in elements(&wanted.boxes[right].1, &here, &length) {
                    filled[right][element] += 1;
                }
            }
            for (number, times) in filled.iter().enumerate() {
                let sum = times.iter().sum::<u64>();
                assert_eq!(uneven.contains(&number), sum != u64::try_from(times.len()).unwrap());
            }
        });
    });
}

/// Ranges of elements as boxes, and back.
pub(crate) fn flat(bytes: &[u8]) {
    let mut dice = Dice(bytes.iter());
    let shape = Layout::shape(&mut dice);
    let all = shape.iter().product::<i64>();
    let (start, stop) = (dice.small(all + 2), dice.small(all + 2));
    let wide = |number: i64| u128::try_from(number).unwrap();
    let Ok(boxes) = flat::boxes(&shape, wide(start), wide(stop)) else {
        assert!(start > stop || stop > all, "{shape:?} {start} {stop}");
        return;
    };
    let chunks = boxes.of(&shape).unwrap();
    let found: Vec<usize> = chunks.iter().flat_map(|(offsets, sizes)| elements(&shape, offsets, sizes)).collect();
    let wanted: Vec<usize> = (start..stop).map(|number| usize::try_from(number).unwrap()).collect();
    assert_eq!(found, wanted, "{shape:?}");
    if start < stop {
        assert_eq!(flat::range(bounds::inside(chunks).unwrap()), Ok((wide(start), wide(stop))));
    }
    // Boxes of any kind are a range if and only if the elements of each follow one another, and the boxes do.
    let layout = Layout::inside(&shape, &mut dice);
    let stretches: Vec<Vec<usize>> = layout.boxes.iter().map(|(at, sizes)| elements(&shape, at, sizes)).collect();
    let mut paint = stretches.concat();
    paint.sort_unstable();
    let follow = |numbers: &[usize]| numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    let ends = paint.first().zip(paint.last()).map_or((0, 0), |(&first, &last)| (first, last + 1));
    let truth = stretches.iter().all(|stretch| follow(stretch)) && follow(&paint);
    let truth = truth.then(|| (u128::try_from(ends.0).unwrap(), u128::try_from(ends.1).unwrap()));
    assert_eq!(layout.with_inside(flat::range).ok(), truth, "{layout:?}");
}
