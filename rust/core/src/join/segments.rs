//! Pairs by a streamed segment tree, for boxes of any shape and rank.
//!
//! After A. Zomorodian and H. Edelsbrunner, "Fast software for box intersections" (2002). Two intervals meet when the
//! start of one lies in the other: asked both ways, strictly one way, each pair comes once. A node of the tree holds
//! intervals of one side and points (starts) of the other. Intervals that span all points of the node have nothing
//! left to decide in this dimension and go on to the next one, together with the points and in both roles; the rest
//! is split at the median of the points. In the last dimension the points in an interval are a range of a sorted list,
//! which is counted without being walked.
//!
//! O((n + m) log^(rank - 1) + pairs) up to a logarithm for sorting, whatever the boxes.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "indices into tables that exist, and numbers of pairs below 2^64 of two sides below 2^32"
)]

use super::boxes::Boxes;
use super::{Pairs, Refused, Row, allow, index, room, volume};
use crate::interrupt::{Interrupt, Interrupted};

/// Compare each with each up to so many pairs, or when one side has no more than `FEW` boxes.
const SMALL: usize = 24 * 24;
const FEW: usize = 4;

/// Pairs for each box that are kept while counting: where there are more, the search runs twice.
const KEPT: u64 = 16;

/// Pairs of two sets of boxes of one rank, 1 or more.
pub(super) fn pairs(lefts: &Boxes, rights: &Boxes, limit: u64, interrupt: Interrupt<'_>) -> Result<Pairs, Refused> {
    let kept = limit.min(KEPT * (volume(lefts.len()) + volume(rights.len())));
    let mut tree = Tree::over(lefts, rights, interrupt);
    let mut found = tree.search(kept, Vec::new())?;
    allow(found.count, limit)?;
    if found.count > kept {
        found = tree.search(found.count, room(found.count)?)?;
    }
    by_right(&found.pairs, lefts, rights)
}

/// Order pairs by right box, then by left position.
fn by_right(pairs: &[(u32, u32)], lefts: &Boxes, rights: &Boxes) -> Result<Pairs, Refused> {
    let mut rows = vec![Row::default(); rights.len()];
    for &(_, right) in pairs {
        if let Some(row) = rows.get_mut(index(right)) {
            row.len += 1;
        }
    }
    let mut total = 0;
    for row in &mut rows {
        row.start = total;
        total += row.len;
        row.len = 0;
    }
    let mut ordered = room(volume(pairs.len()))?;
    ordered.resize(pairs.len(), 0);
    for &(left, right) in pairs {
        if let (Some(row), Some(&position)) = (rows.get_mut(index(right)), lefts.positions().get(index(left)))
            && let Some(slot) = ordered.get_mut(row.start + row.len)
        {
            *slot = position;
            row.len += 1;
        }
    }
    for row in &rows {
        if let Some(partners) = ordered.get_mut(row.start..row.start + row.len) {
            partners.sort_unstable();
        }
    }
    Ok(Pairs { rows, lefts: ordered, count: volume(pairs.len()), disjoint: false })
}

/// Starts and stops of one side in one dimension.
#[derive(Default)]
struct Axis {
    starts: Vec<i64>,
    stops: Vec<i64>,
}

impl Axis {
    fn start(&self, place: u32) -> i64 {
        self.starts.get(index(place)).copied().unwrap_or_default()
    }

    fn stop(&self, place: u32) -> i64 {
        self.stops.get(index(place)).copied().unwrap_or_default()
    }
}

/// Which side the intervals of a node are from; its points are from the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Intervals {
    Left,
    Right,
}

impl Intervals {
    const fn swapped(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

/// Pairs seen so far; they are kept only while there are few enough.
struct Found {
    count: u64,
    kept: u64,
    pairs: Vec<(u32, u32)>,
}

impl Found {
    fn add(&mut self, interval: u32, points: impl ExactSizeIterator<Item = u32>, side: Intervals) {
        self.count += volume(points.len());
        if self.count <= self.kept {
            self.pairs.extend(points.map(|point| match side {
                Intervals::Left => (interval, point),
                Intervals::Right => (point, interval),
            }));
        }
    }
}

struct Tree<'a> {
    /// Both sides of each dimension, the most selective dimension first: it is decided last.
    dimensions: Vec<[Axis; 2]>,
    counts: [u32; 2],
    found: Found,
    interrupt: Interrupt<'a>,
}

impl<'a> Tree<'a> {
    fn over(lefts: &Boxes, rights: &Boxes, interrupt: Interrupt<'a>) -> Self {
        let rank = lefts.rank();
        let mut dimensions: Vec<(f64, [Axis; 2])> = (0..rank)
            .map(|dimension| {
                let sides = [lefts, rights].map(|side| Axis {
                    starts: side.starts().iter().skip(dimension).step_by(rank).copied().collect(),
                    stops: side.stops().iter().skip(dimension).step_by(rank).copied().collect(),
                });
                (chance(&sides), sides)
            })
            .collect();
        dimensions.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        Self {
            dimensions: dimensions.into_iter().map(|(_, sides)| sides).collect(),
            counts: [lefts, rights].map(|side| u32::try_from(side.len()).unwrap_or(u32::MAX)),
            found: Found { count: 0, kept: 0, pairs: Vec::new() },
            interrupt,
        }
    }

    fn search(&mut self, kept: u64, pairs: Vec<(u32, u32)>) -> Result<Found, Interrupted> {
        self.found = Found { count: 0, kept, pairs };
        let [lefts, rights] = self.counts.map(|count| (0..count).collect::<Vec<u32>>());
        let last = self.dimensions.len() - 1;
        self.node(lefts.clone(), &mut rights.clone(), last, Intervals::Left)?;
        self.node(rights, &mut lefts.clone(), last, Intervals::Right)?;
        Ok(std::mem::replace(&mut self.found, Found { count: 0, kept: 0, pairs: Vec::new() }))
    }

    /// The axis of the intervals and that of the points.
    fn axes(&self, dimension: usize, side: Intervals) -> Option<(&Axis, &Axis)> {
        let [left, right] = self.dimensions.get(dimension)?;
        Some(match side {
            Intervals::Left => (left, right),
            Intervals::Right => (right, left),
        })
    }

    /// Report the pairs whose point starts in the interval, all of which meet in every later dimension.
    fn node(
        &mut self,
        intervals: Vec<u32>,
        points: &mut [u32],
        dimension: usize,
        side: Intervals,
    ) -> Result<(), Interrupted> {
        if intervals.is_empty() || points.is_empty() {
            return Ok(());
        }
        self.interrupt.check()?;
        if intervals.len().saturating_mul(points.len()) <= SMALL || intervals.len().min(points.len()) <= FEW {
            self.each_with_each(&intervals, points, dimension, side);
            return Ok(());
        }
        if dimension == 0 {
            self.last(&intervals, points, side);
            return Ok(());
        }
        let Some((inner, outer)) = self.axes(dimension, side) else { return Ok(()) };

        // The range of the node is that of its points: with a range handed down, equal starts would split for ever.
        let (low, high) = points
            .iter()
            .map(|&point| outer.start(point))
            .fold((i64::MAX, i64::MIN), |(low, high), start| (low.min(start), high.max(start)));
        let (mut spanning, mut partial) = (Vec::new(), Vec::new());
        for interval in intervals {
            let (start, stop) = (inner.start(interval), inner.stop(interval));
            if reaches(start, low, side) && high < stop {
                spanning.push(interval);
            } else if reaches(start, high, side) && low < stop {
                partial.push(interval);
            }
        }
        let cut = if partial.is_empty() { low } else { median(points, |point| outer.start(point), low) };
        let (before, after) = split(points, |point| outer.start(point) < cut);
        let to = |interval: &u32| inner.start(*interval) < cut;
        let from = |interval: &u32| inner.stop(*interval) > cut;
        let (into_before, into_after): (Vec<u32>, Vec<u32>) =
            (partial.iter().copied().filter(to).collect(), partial.iter().copied().filter(from).collect());
        drop(partial);
        self.node(into_before, before, dimension, side)?;
        self.node(into_after, after, dimension, side)?;

        if !spanning.is_empty() {
            self.node(points.to_vec(), &mut spanning.clone(), dimension - 1, side.swapped())?;
            self.node(spanning, points, dimension - 1, side)?;
        }
        Ok(())
    }

    /// In the last dimension every pair is an answer: points in an interval are a range of the sorted points.
    fn last(&mut self, intervals: &[u32], points: &[u32], side: Intervals) {
        let Some([left, right]) = self.dimensions.first() else { return };
        let (inner, outer) = if side == Intervals::Left { (left, right) } else { (right, left) };
        let mut sorted: Vec<(i64, u32)> = points.iter().map(|&point| (outer.start(point), point)).collect();
        sorted.sort_unstable();
        for &interval in intervals {
            let (start, stop) = (inner.start(interval), inner.stop(interval));
            let first = sorted.partition_point(|&(point, _)| !reaches(start, point, side));
            let rest = sorted.get(first..).unwrap_or_default();
            let inside = rest.get(..rest.partition_point(|&(point, _)| point < stop)).unwrap_or_default();
            self.found.add(interval, inside.iter().map(|&(_, point)| point), side);
        }
    }

    fn each_with_each(&mut self, intervals: &[u32], points: &[u32], dimension: usize, side: Intervals) {
        for &interval in intervals {
            for &point in points {
                let meet = self.dimensions.iter().take(dimension + 1).enumerate().all(|(at, [left, right])| {
                    let (inner, outer) = if side == Intervals::Left { (left, right) } else { (right, left) };
                    let (start, stop) = (inner.start(interval), inner.stop(interval));
                    let (other, end) = (outer.start(point), outer.stop(point));
                    if at == dimension {
                        reaches(start, other, side) && other < stop
                    } else {
                        start < end && other < stop
                    }
                });
                if meet {
                    self.found.add(interval, std::iter::once(point), side);
                }
            }
        }
    }
}

/// Whether `point` is not before an interval that starts at `start`.
///
/// Strict for intervals of the right side, so that boxes with equal starts are one pair and not two.
const fn reaches(start: i64, point: i64, side: Intervals) -> bool {
    match side {
        Intervals::Left => start <= point,
        Intervals::Right => start < point,
    }
}

/// How likely two boxes meet in a dimension: the mean extents against the whole.
#[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "an estimate that decides only about speed")]
fn chance(sides: &[Axis; 2]) -> f64 {
    let (mut low, mut high, mut means) = (i64::MAX, 0, 0.0);
    for axis in sides {
        let mut total = 0u128;
        for (&start, &stop) in axis.starts.iter().zip(&axis.stops) {
            low = low.min(start);
            high = high.max(stop);
            total += u128::from(stop.abs_diff(start));
        }
        means += total as f64 / axis.starts.len() as f64;
    }
    means / high.abs_diff(low) as f64
}

/// The median key of the places, or the next one above `low` where the median is no more than that.
fn median(places: &mut [u32], key: impl Fn(u32) -> i64, low: i64) -> i64 {
    let (_, &mut middle, above) = {
        let half = places.len() / 2;
        places.select_nth_unstable_by_key(half, |&place| key(place))
    };
    let middle = key(middle);
    if middle > low {
        return middle;
    }
    above.iter().map(|&place| key(place)).filter(|&start| start > low).min().unwrap_or(low)
}

/// Move the places for which `first` holds to the front.
fn split(places: &mut [u32], first: impl Fn(u32) -> bool) -> (&mut [u32], &mut [u32]) {
    let mut end = 0;
    for at in 0..places.len() {
        if places.get(at).is_some_and(|&place| first(place)) {
            places.swap(at, end);
            end += 1;
        }
    }
    places.split_at_mut_checked(end).unwrap_or_default()
}
