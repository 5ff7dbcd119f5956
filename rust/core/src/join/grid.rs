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

    let Some(cells) = Cells::fill(&grid, &lefts, boxes * most, interrupt)? else { return Ok(None) };
    let Some(visits) = Visits::plan(&grid, &rights, &cells, boxes * most, interrupt)? else { return Ok(None) };
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
        let (Some(start), Some(stop), Some(row)) =
            (rights.starts.get(right), rights.stops.get(right), rows.get_mut(right))
        else {
            continue;
        };
        row.start = found.len();
        grid.range(start, stop).each(&grid.strides, |cell, first| {
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
    Ok(Some(Pairs { rows, lefts: found, count }))
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

    fn iter(&self) -> impl Iterator<Item = (&'a [i64; R], &'a [i64; R])> {
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
    fn bin(self, coordinate: i64) -> u32 {
        let distance = coordinate.clamp(self.low, self.high - 1).abs_diff(self.low);
        let bin = (u128::from(distance) * u128::from(self.scale)) >> 64;
        u32::try_from(bin.min(u128::from(self.bins - 1))).unwrap_or(u32::MAX)
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

    /// Visit each cell, and say in which dimensions (as bits) it is the first one.
    fn each(&self, strides: &[usize; R], mut visit: impl FnMut(usize, u32)) {
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
    /// `None` when the boxes touch more than `most` cells.
    fn fill(
        grid: &Grid<R>,
        lefts: &Side<'_, R>,
        most: u64,
        interrupt: Interrupt<'_>,
    ) -> Result<Option<Self>, Interrupted> {
        let mut touched = 0u64;
        for (start, stop) in lefts.iter() {
            touched = touched.saturating_add(grid.range(start, stop).cells());
        }
        interrupt.check()?;
        if touched > most.min(u64::from(u32::MAX)) {
            return Ok(None);
        }
        // Filled from the back, so that the ends of the cells become their starts and positions ascend.
        let mut starts = vec![0u32; grid.cells + 1];
        for (start, stop) in lefts.iter() {
            grid.range(start, stop).each(&grid.strides, |cell, _| {
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
        for ((&start, &stop), &position) in lefts.starts.iter().zip(lefts.stops).zip(lefts.positions).rev() {
            grid.range(&start, &stop).each(&grid.strides, |cell, first| {
                if let Some(end) = starts.get_mut(cell) {
                    *end -= 1;
                    if let Some(entry) = entries.get_mut(index(*end)) {
                        *entry = Entry { start, stop, position, first };
                    }
                }
            });
        }
        interrupt.check()?;
        Ok(Some(Self { starts, entries }))
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
    /// `None` when the boxes touch more than `most` cells.
    fn plan<const R: usize>(
        grid: &Grid<R>,
        rights: &Side<'_, R>,
        cells: &Cells<R>,
        most: u64,
        interrupt: Interrupt<'_>,
    ) -> Result<Option<Self>, Interrupted> {
        let (mut touched, mut candidates) = (0u64, 0);
        let mut corners: Vec<usize> = Vec::with_capacity(rights.positions.len());
        for (row, (start, stop)) in rights.iter().enumerate() {
            if row.is_multiple_of(BLOCK) {
                interrupt.check()?;
            }
            let range = grid.range(start, stop);
            touched = touched.saturating_add(range.cells());
            if touched > most {
                return Ok(None);
            }
            range.each(&grid.strides, |cell, first| {
                let (start, end) = cells.bounds(cell);
                candidates += volume(end - start);
                if first == (1 << R) - 1 {
                    corners.push(cell);
                }
            });
        }
        Ok(Some(Self { order: order(&corners, grid.cells), candidates }))
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
