//! Pairs by a grid: left boxes are copied into the cells they touch, right boxes look at the cells they touch.
//!
//! A pair is reported in the one cell that has the low corner of its intersection. The bin of a coordinate is
//! monotone, so that cell is, in each dimension, the first cell of one of the two boxes.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "cells and copies are small multiples of the number of boxes, coordinates lie in the hull of both sides"
)]

use super::boxes::{Boxes, Span};
use super::{Pairs, Refused, Row, allow, index, room, volume};
use crate::interrupt::{Interrupt, Interrupted};

/// Boxes between two questions to the caller.
const BLOCK: usize = 1 << 12;

/// Cells that a box may touch on average: 3 in each dimension, but no more than this.
const MOST_CELLS: u64 = 27;

/// Boxes of a cell that are compared with each other.
const CROWD: usize = 32;

/// Candidates that a box may have on average.
const MOST_CANDIDATES: u64 = 40;

/// Pairs of two sets of boxes of rank `R`; `None`, soon, when the boxes are too unlike for a grid.
pub(super) fn pairs<const R: usize>(
    lefts: &Boxes,
    rights: &Boxes,
    limit: u64,
    interrupt: Interrupt<'_>,
) -> Result<Option<Pairs>, Refused> {
    let lefts = Side::<R>::of(lefts);
    let rights = Side::<R>::of(rights);
    let grid = Grid::over(&lefts, &rights);
    let boxes = volume(lefts.positions.len()) + volume(rights.positions.len());
    let most = MOST_CELLS.min((0..R).fold(1, |cells, _| cells * 3));

    let Some(left_ranges) = grid.ranges(&lefts, boxes * most, interrupt)? else { return Ok(None) };
    let Some(ranges) = grid.ranges(&rights, boxes * most, interrupt)? else { return Ok(None) };
    let cells = Cells::fill(&grid, &lefts, &left_ranges, interrupt)?;
    drop(left_ranges);
    let visits = Visits::plan(&grid, &ranges, &cells);
    if visits.candidates > boxes * MOST_CANDIDATES {
        return Ok(None);
    }

    let mut rows = vec![Row::default(); rights.positions.len()];
    let mut found: Vec<u32> = room(visits.candidates.min(limit))?;
    let mut count = 0;
    let every_dimension = (1u32 << R) - 1;
    for (visited, right) in visits.order.into_iter().map(index).enumerate() {
        if visited.is_multiple_of(BLOCK) {
            interrupt.check()?;
        }
        let (Some(start), Some(stop), Some(range), Some(row)) =
            (rights.starts.get(right), rights.stops.get(right), ranges.get(right), rows.get_mut(right))
        else {
            continue;
        };
        row.start = found.len();
        range.each(&grid.strides, |cell, first| {
            for copy in cells.of(cell) {
                if copy.first | first == every_dimension && copy.meets(start, stop) {
                    count += 1;
                    if count <= limit {
                        found.push(copy.position);
                    }
                }
            }
        });
        row.len = found.len() - row.start;
        if let Some(partners) = found.get_mut(row.start..) {
            partners.sort_unstable();
        }
    }
    allow(count, limit)?;
    Ok(Some(Pairs { rows, lefts: found, count, disjoint: cells.disjoint() }))
}

/// The boxes of one side, at a rank known to the compiler.
struct Side<'a, const R: usize> {
    positions: &'a [u32],
    starts: &'a [[i64; R]],
    stops: &'a [[i64; R]],
    spans: &'a [Span],
}

impl<'a, const R: usize> Side<'a, R> {
    fn of(boxes: &'a Boxes) -> Self {
        Self {
            positions: boxes.positions(),
            starts: boxes.starts().as_chunks().0,
            stops: boxes.stops().as_chunks().0,
            spans: boxes.spans(),
        }
    }

    fn iter(&self) -> impl ExactSizeIterator<Item = (&'a [i64; R], &'a [i64; R])> + DoubleEndedIterator {
        self.starts.iter().zip(self.stops)
    }
}

/// Cells of equal extent over what both sides share, about one for each left box.
struct Grid<const R: usize> {
    axes: [Axis; R],
    strides: [usize; R],
    cells: usize,
}

impl<const R: usize> Grid<R> {
    fn over(lefts: &Side<'_, R>, rights: &Side<'_, R>) -> Self {
        let mut axes = [Axis::NOTHING; R];
        let count = u128::from(volume(lefts.positions.len())).max(1);
        for (dimension, (axis, (a, b))) in axes.iter_mut().zip(lefts.spans.iter().zip(rights.spans)).enumerate() {
            let total: u128 = lefts
                .iter()
                .filter_map(|(start, stop)| Some(u128::from(stop.get(dimension)?.abs_diff(*start.get(dimension)?))))
                .sum();
            *axis = Axis::new(*a, *b, (total / count).max(1));
        }
        let most = count * 2;
        while axes.iter().fold(1u128, |cells, axis| cells.saturating_mul(u128::from(axis.bins))) > most {
            if let Some(finest) = axes.iter_mut().max_by_key(|axis| axis.bins) {
                finest.bins /= 2;
            }
        }
        let mut strides = [1; R];
        let mut cells = 1;
        for (axis, stride) in axes.iter_mut().zip(&mut strides).rev() {
            axis.measure();
            *stride = cells;
            cells *= usize::try_from(axis.bins).unwrap_or(1);
        }
        Self { axes, strides, cells }
    }

    /// The cells of every box; `None` when they are more than `most`.
    fn ranges(
        &self,
        side: &Side<'_, R>,
        most: u64,
        interrupt: Interrupt<'_>,
    ) -> Result<Option<Vec<Range<R>>>, Interrupted> {
        let most = most.min(u64::from(u32::MAX));
        let mut touched = 0u64;
        let mut ranges = Vec::with_capacity(side.positions.len());
        for (row, (start, stop)) in side.iter().enumerate() {
            if row.is_multiple_of(BLOCK) {
                interrupt.check()?;
                if touched > most {
                    return Ok(None);
                }
            }
            let range = self.range(start, stop);
            touched = touched.saturating_add(range.cells());
            ranges.push(range);
        }
        Ok((touched <= most).then_some(ranges))
    }

    #[inline]
    fn range(&self, start: &[i64; R], stop: &[i64; R]) -> Range<R> {
        let mut range = Range { low: [0; R], high: [0; R] };
        for ((axis, (&start, &stop)), (low, high)) in
            self.axes.iter().zip(start.iter().zip(stop)).zip(range.low.iter_mut().zip(&mut range.high))
        {
            *low = axis.bin(start);
            *high = axis.bin(stop - 1);
        }
        range
    }
}

/// The bins of one dimension.
#[derive(Clone, Copy)]
struct Axis {
    low: i64,
    high: i64,
    bins: u64,
    /// `bins / (high - low)` with 64 fractional bits, rounded up: a box that starts with a bin starts in it.
    scale: u64,
}

impl Axis {
    const NOTHING: Self = Self { low: 0, high: 1, bins: 1, scale: 0 };

    fn new(a: Span, b: Span, mean: u128) -> Self {
        let low = a.first_start.max(b.first_start);
        let high = a.last_stop.min(b.last_stop).max(low.saturating_add(1));
        let bins = (u128::from(high.abs_diff(low)) + mean / 2) / mean;
        Self { low, high, bins: u64::try_from(bins).unwrap_or(u64::MAX).max(1), scale: 0 }
    }

    fn measure(&mut self) {
        let scale = (u128::from(self.bins) << 64).div_ceil(u128::from(self.high.abs_diff(self.low)));
        self.scale = u64::try_from(scale).unwrap_or(u64::MAX);
    }

    /// Monotone in `coordinate`; what lies outside counts as the nearest inside.
    #[inline]
    fn bin(self, coordinate: i64) -> u32 {
        let distance = coordinate.clamp(self.low, self.high - 1).abs_diff(self.low);
        let bin = u64::try_from((u128::from(distance) * u128::from(self.scale)) >> 64).unwrap_or(u64::MAX);
        u32::try_from(bin.min(self.bins - 1)).unwrap_or(u32::MAX)
    }
}

/// The cells that a box touches, from `low` to `high` inclusive in each dimension.
struct Range<const R: usize> {
    low: [u32; R],
    high: [u32; R],
}

impl<const R: usize> Range<R> {
    fn cells(&self) -> u64 {
        let widths = self.low.iter().zip(&self.high).map(|(&low, &high)| u64::from(high - low) + 1);
        widths.fold(1, u64::saturating_mul)
    }

    /// The first cell.
    fn corner(&self, strides: &[usize; R]) -> usize {
        self.low.iter().zip(strides).map(|(&bin, &stride)| index(bin) * stride).sum()
    }

    /// Visit each cell, and say in which dimensions (as bits) it is the first one.
    #[inline]
    fn each(&self, strides: &[usize; R], mut visit: impl FnMut(usize, u32)) {
        if self.low == self.high {
            return visit(self.corner(strides), (1 << R) - 1);
        }
        let mut at = self.low;
        loop {
            let (mut cell, mut first) = (0, 0);
            for ((&bin, &low), &stride) in at.iter().zip(&self.low).zip(strides) {
                cell += index(bin) * stride;
                first = first << 1 | u32::from(bin == low);
            }
            visit(cell, first);
            let mut ended = true;
            for ((bin, &low), &high) in at.iter_mut().zip(&self.low).zip(&self.high).rev() {
                if *bin < high {
                    *bin += 1;
                    ended = false;
                    break;
                }
                *bin = low;
            }
            if ended {
                return;
            }
        }
    }
}

/// A left box in one of the cells it touches.
#[derive(Clone, Copy)]
struct Entry<const R: usize> {
    start: [i64; R],
    stop: [i64; R],
    position: u32,
    /// The dimensions, as bits, in which this cell is the box's first.
    first: u32,
}

impl<const R: usize> Entry<R> {
    fn meets(&self, start: &[i64; R], stop: &[i64; R]) -> bool {
        self.start.iter().zip(stop).all(|(mine, other)| mine < other)
            && start.iter().zip(&self.stop).all(|(other, mine)| other < mine)
    }
}

/// The left boxes, cell by cell, copied so that a cell is read in one go.
struct Cells<const R: usize> {
    starts: Vec<u32>,
    entries: Vec<Entry<R>>,
}

impl<const R: usize> Cells<R> {
    fn fill(
        grid: &Grid<R>,
        lefts: &Side<'_, R>,
        ranges: &[Range<R>],
        interrupt: Interrupt<'_>,
    ) -> Result<Self, Interrupted> {
        // Filled from the back, so that the ends of the cells become their starts and positions ascend.
        let mut starts = vec![0u32; grid.cells + 1];
        for range in ranges {
            range.each(&grid.strides, |cell, _| {
                if let Some(count) = starts.get_mut(cell) {
                    *count += 1;
                }
            });
        }
        interrupt.check()?;
        let mut total = 0;
        for end in &mut starts {
            total += *end;
            *end = total;
        }
        let blank = Entry { start: [0; R], stop: [0; R], position: 0, first: 0 };
        let mut entries = vec![blank; index(total)];
        for (((&start, &stop), &position), range) in lefts.iter().zip(lefts.positions).zip(ranges).rev() {
            range.each(&grid.strides, |cell, first| {
                if let Some(end) = starts.get_mut(cell) {
                    *end -= 1;
                    if let Some(entry) = entries.get_mut(index(*end)) {
                        *entry = Entry { start, stop, position, first };
                    }
                }
            });
        }
        interrupt.check()?;
        Ok(Self { starts, entries })
    }

    /// Whether no two left boxes share an element; also false where a cell has too many to compare.
    fn disjoint(&self) -> bool {
        let mut cells = self.starts.iter().zip(self.starts.iter().skip(1));
        cells.all(|(&start, &end)| {
            let mut entries = self.entries.get(index(start)..index(end)).unwrap_or_default();
            if entries.len() > CROWD {
                return false;
            }
            while let Some((one, rest)) = entries.split_first() {
                if rest.iter().any(|other| other.meets(&one.start, &one.stop)) {
                    return false;
                }
                entries = rest;
            }
            true
        })
    }

    fn bounds(&self, cell: usize) -> (usize, usize) {
        match self.starts.get(cell..cell + 2) {
            Some(&[start, end]) => (index(start), index(end)),
            _ => (0, 0),
        }
    }

    fn of(&self, cell: usize) -> &[Entry<R>] {
        let (start, end) = self.bounds(cell);
        self.entries.get(start..end).unwrap_or_default()
    }
}

/// In which order to visit the right boxes, and how many left ones they will be compared with.
struct Visits {
    order: Vec<u32>,
    candidates: u64,
}

impl Visits {
    fn plan<const R: usize>(grid: &Grid<R>, ranges: &[Range<R>], cells: &Cells<R>) -> Self {
        let mut candidates = 0;
        for range in ranges {
            range.each(&grid.strides, |cell, _| {
                let (start, end) = cells.bounds(cell);
                candidates += volume(end - start);
            });
        }
        let corners: Vec<usize> = ranges.iter().map(|range| range.corner(&grid.strides)).collect();
        Self { order: order(&corners, grid.cells), candidates }
    }
}

/// The caller's order where it mostly follows the cells, else the order of the cells, which reads memory in order.
fn order(corners: &[usize], cells: usize) -> Vec<u32> {
    let places = 0..u32::try_from(corners.len()).unwrap_or(u32::MAX);
    let back = corners.iter().zip(corners.iter().skip(1)).filter(|(this, next)| next < this).count();
    if back < corners.len() / 4 {
        return places.collect();
    }
    let mut ends = vec![0u32; cells];
    for &cell in corners {
        if let Some(count) = ends.get_mut(cell) {
            *count += 1;
        }
    }
    let mut total = 0;
    for end in &mut ends {
        total += *end;
        *end = total;
    }
    let mut order = vec![0; corners.len()];
    for (place, &cell) in places.zip(corners).rev() {
        if let Some(end) = ends.get_mut(cell) {
            *end -= 1;
            if let Some(slot) = order.get_mut(index(*end)) {
                *slot = place;
            }
        }
    }
    order
}
