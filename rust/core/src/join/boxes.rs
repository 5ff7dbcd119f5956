//! The boxes of one side, ready for a search.

use super::index;
use crate::interrupt::{Interrupt, Interrupted};
use crate::layout::Inside;

/// Rows between two questions to the caller.
const BLOCK: usize = 1 << 14;

/// The smallest box around a set of boxes.
#[derive(Clone, Debug)]
pub(super) struct Hull {
    low: Vec<i64>,
    high: Vec<i64>,
}

impl Hull {
    /// The hull of all boxes with elements; `None` when there is no such box.
    pub(super) fn of(boxes: Inside<'_>, interrupt: Interrupt<'_>) -> Result<Option<Self>, Interrupted> {
        let chunks = boxes.chunks();
        let mut hull = Self { low: vec![i64::MAX; chunks.rank()], high: vec![0; chunks.rank()] };
        let mut any = false;
        for (row, (offsets, sizes)) in chunks.iter().enumerate() {
            if row.is_multiple_of(BLOCK) {
                interrupt.check()?;
            }
            if sizes.contains(&0) {
                continue;
            }
            any = true;
            for (((low, high), &start), &len) in hull.low.iter_mut().zip(&mut hull.high).zip(offsets).zip(sizes) {
                *low = start.min(*low);
                *high = stop(start, len).max(*high);
            }
        }
        Ok(any.then_some(hull))
    }
}

/// Extremes of the boxes in one dimension.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) first_start: i64,
    pub(super) last_start: i64,
    pub(super) first_stop: i64,
    pub(super) last_stop: i64,
}

impl Span {
    const NOTHING: Self = Self { first_start: i64::MAX, last_start: 0, first_stop: i64::MAX, last_stop: 0 };

    fn widen(&mut self, start: i64, stop: i64) {
        self.first_start = self.first_start.min(start);
        self.last_start = self.last_start.max(start);
        self.first_stop = self.first_stop.min(stop);
        self.last_stop = self.last_stop.max(stop);
    }
}

/// Boxes with elements: starts and stops row-major, positions ascending.
#[derive(Clone, Debug)]
pub(super) struct Boxes {
    positions: Vec<u32>,
    starts: Vec<i64>,
    stops: Vec<i64>,
    spans: Vec<Span>,
}

impl Boxes {
    /// Collect the boxes that have elements and meet `hull`.
    pub(super) fn within(boxes: Inside<'_>, hull: &Hull, interrupt: Interrupt<'_>) -> Result<Self, Interrupted> {
        match boxes.chunks().rank() {
            1 => Self::within_rank::<1>(boxes, hull, interrupt),
            2 => Self::within_rank::<2>(boxes, hull, interrupt),
            3 => Self::within_rank::<3>(boxes, hull, interrupt),
            4 => Self::within_rank::<4>(boxes, hull, interrupt),
            _ => Self::within_any(boxes, hull, interrupt),
        }
    }

    fn with_room(boxes: Inside<'_>) -> Self {
        let chunks = boxes.chunks();
        let values = chunks.offsets().values().len();
        Self {
            positions: Vec::with_capacity(chunks.len()),
            starts: Vec::with_capacity(values),
            stops: Vec::with_capacity(values),
            spans: vec![Span::NOTHING; chunks.rank()],
        }
    }

    fn within_any(boxes: Inside<'_>, hull: &Hull, interrupt: Interrupt<'_>) -> Result<Self, Interrupted> {
        let mut found = Self::with_room(boxes);
        for (position, (offsets, sizes)) in (0u32..).zip(boxes.chunks().iter()) {
            if index(position).is_multiple_of(BLOCK) {
                interrupt.check()?;
            }
            let ends = offsets.iter().zip(sizes).map(|(&start, &len)| stop(start, len));
            let meets = offsets.iter().zip(sizes).zip(ends.clone()).zip(hull.low.iter().zip(&hull.high));
            let mut meets = meets.map(|(((&start, &len), end), (&low, &high))| len > 0 && start < high && low < end);
            if !meets.all(|meets| meets) {
                continue;
            }
            found.positions.push(position);
            found.starts.extend_from_slice(offsets);
            found.stops.extend(ends.clone());
            for ((span, &start), end) in found.spans.iter_mut().zip(offsets).zip(ends) {
                span.widen(start, end);
            }
        }
        Ok(found)
    }

    /// The same at a rank known to the compiler.
    fn within_rank<const R: usize>(
        boxes: Inside<'_>,
        hull: &Hull,
        interrupt: Interrupt<'_>,
    ) -> Result<Self, Interrupted> {
        let mut found = Self::with_room(boxes);
        let (Ok(low), Ok(high)) =
            (<[i64; R]>::try_from(hull.low.as_slice()), <[i64; R]>::try_from(hull.high.as_slice()))
        else {
            return Ok(found);
        };
        let mut spans = [Span::NOTHING; R];
        let (offsets, sizes) = (boxes.chunks().offsets().values(), boxes.chunks().sizes().values());
        for ((position, start), len) in (0u32..).zip(offsets.as_chunks::<R>().0).zip(sizes.as_chunks::<R>().0) {
            if index(position).is_multiple_of(BLOCK) {
                interrupt.check()?;
            }
            let mut end = *start;
            let mut meets = true;
            for (((end, &len), &low), &high) in end.iter_mut().zip(len).zip(&low).zip(&high) {
                meets &= len > 0 && *end < high;
                *end = stop(*end, len);
                meets &= low < *end;
            }
            if !meets {
                continue;
            }
            found.positions.push(position);
            found.starts.extend_from_slice(start);
            found.stops.extend_from_slice(&end);
            for ((span, &start), end) in spans.iter_mut().zip(start).zip(end) {
                span.widen(start, end);
            }
        }
        found.spans = spans.to_vec();
        Ok(found)
    }

    /// Keep only the dimensions in `kept`, which is ascending.
    pub(super) fn keep(&mut self, kept: &[usize]) {
        let rank = self.rank();
        if kept.len() == rank {
            return;
        }
        for table in [&mut self.starts, &mut self.stops] {
            *table = table
                .chunks_exact(rank)
                .flat_map(|row| kept.iter().filter_map(|&dimension| row.get(dimension).copied()))
                .collect();
        }
        self.spans = kept.iter().filter_map(|&dimension| self.spans.get(dimension).copied()).collect();
    }

    pub(super) const fn len(&self) -> usize {
        self.positions.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    pub(super) const fn rank(&self) -> usize {
        self.spans.len()
    }

    /// Position of each box in the caller's list.
    pub(super) fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// Starts, `rank` a box.
    pub(super) fn starts(&self) -> &[i64] {
        &self.starts
    }

    /// Stops, `rank` a box.
    pub(super) fn stops(&self) -> &[i64] {
        &self.stops
    }

    /// Extremes per dimension.
    pub(super) fn spans(&self) -> &[Span] {
        &self.spans
    }

    pub(super) fn hull(&self) -> Hull {
        Hull {
            low: self.spans.iter().map(|span| span.first_start).collect(),
            high: self.spans.iter().map(|span| span.last_stop).collect(),
        }
    }
}

/// The end of an interval that lies inside a tensor, where the sum cannot overflow.
const fn stop(start: i64, len: i64) -> i64 {
    start.saturating_add(len)
}
