//! Merging boxes that touch, which changes nothing about how often any element is covered.
//!
//! A layout in an order that people use (rows, columns, row-major grids, depth-first splits) collapses to the whole
//! tensor, box by box, in constant memory: a proof without any probability.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "offset + size is at most i64::MAX for chunks inside a tensor; counters count rows of a table"
)]

use std::ops::Range;

use crate::interrupt::{Interrupt, Interrupted};
use crate::layout::{Inside, Table};
use crate::volume::Volume;

/// Rows in a segment.
const SEGMENT: usize = 1 << 16;
/// Boxes kept; more are handed on.
const DEPTH: usize = 64;
/// Rows after which it is judged whether merging is worth its time.
const BLOCK: usize = 256;
/// Of a block, merges that make it worth it.
const WORTH: usize = BLOCK / 8;
/// Blocks handed on untried when it was not.
const SKIPPED: usize = 15;

/// Coordinates of a point: an array where the rank is known at compile time, else a vector.
pub(crate) trait Point: AsRef<[i64]> + AsMut<[i64]> + Clone + Eq + Send + Sync {
    /// Something for each dimension.
    type Each<T: Copy + Send + Sync>: AsRef<[T]> + Clone + Send + Sync;

    /// A point of as many coordinates.
    fn of(coordinates: &[i64]) -> Option<Self>;

    /// Some rows of a table, as points.
    fn rows(table: Table<'_>, rows: Range<usize>) -> impl Iterator<Item = Self>;

    /// Make something for each dimension, if `all` has as many as there are dimensions.
    fn each<S: Copy, T: Copy + Send + Sync>(all: &[S], make: impl Fn(S) -> T) -> Option<Self::Each<T>>;
}

impl<const RANK: usize> Point for [i64; RANK] {
    type Each<T: Copy + Send + Sync> = [T; RANK];

    fn of(coordinates: &[i64]) -> Option<Self> {
        coordinates.try_into().ok()
    }

    #[inline]
    fn rows(table: Table<'_>, rows: Range<usize>) -> impl Iterator<Item = Self> {
        table.values().as_chunks::<RANK>().0.get(rows).unwrap_or_default().iter().copied()
    }

    fn each<S: Copy, T: Copy + Send + Sync>(all: &[S], make: impl Fn(S) -> T) -> Option<[T; RANK]> {
        <[S; RANK]>::try_from(all).ok().map(|all| all.map(make))
    }
}

impl Point for Vec<i64> {
    type Each<T: Copy + Send + Sync> = Vec<T>;

    fn of(coordinates: &[i64]) -> Option<Self> {
        Some(coordinates.to_vec())
    }

    fn rows(table: Table<'_>, rows: Range<usize>) -> impl Iterator<Item = Self> {
        rows.filter_map(move |row| table.row(row).map(<[i64]>::to_vec))
    }

    fn each<S: Copy, T: Copy + Send + Sync>(all: &[S], make: impl Fn(S) -> T) -> Option<Vec<T>> {
        Some(all.iter().map(|&one| make(one)).collect())
    }
}

/// A half-open box by its corners: never empty, never outside its tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Brick<P> {
    pub(crate) start: P,
    pub(crate) stop: P,
}

impl<P: Point> Brick<P> {
    /// All of `shape`.
    pub(crate) fn whole(shape: &[i64]) -> Option<Self> {
        let stop = P::of(shape)?;
        let mut start = stop.clone();
        start.as_mut().fill(0);
        Some(Self { start, stop })
    }

    /// The box at `start` with `sizes`, unless it is empty.
    #[inline]
    fn new(start: P, sizes: P) -> Option<Self> {
        let mut stop = sizes;
        let mut empty = false;
        for (stop, &start) in stop.as_mut().iter_mut().zip(start.as_ref()) {
            empty |= *stop == 0;
            *stop += start;
        }
        (!empty).then_some(Self { start, stop })
    }

    /// (start, stop) in every dimension.
    #[inline]
    pub(crate) fn sides(&self) -> impl Iterator<Item = (i64, i64)> {
        self.start.as_ref().iter().copied().zip(self.stop.as_ref().iter().copied())
    }

    /// The number of elements.
    pub(crate) fn volume(&self) -> Volume {
        self.sides().fold(Volume::from(1), |volume, (start, stop)| volume.times((stop - start).cast_unsigned()))
    }

    /// Whether the boxes share an element.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.sides().zip(other.sides()).all(|((a, b), (c, d))| a < d && c < b)
    }

    /// Take in `other` if both together are one box and share nothing.
    #[inline]
    #[expect(clippy::needless_bitwise_bool, reason = "comparing everything is cheaper than branching on each")]
    fn absorb(&mut self, other: &Self) -> bool {
        let (mut differing, mut touching) = (0_u32, true);
        for ((a, b), (c, d)) in self.sides().zip(other.sides()) {
            let same = (a == c) & (b == d);
            differing += u32::from(!same);
            touching &= same | (b == c) | (d == a);
        }
        // Equal boxes differ nowhere, and stay two.
        if differing != 1 || !touching {
            return false;
        }
        for (a, &c) in self.start.as_mut().iter_mut().zip(other.start.as_ref()) {
            *a = (*a).min(c);
        }
        for (b, &d) in self.stop.as_mut().iter_mut().zip(other.stop.as_ref()) {
            *b = (*b).max(d);
        }
        true
    }
}

/// The chunks in `rows` as boxes, without the empty ones.
#[inline]
pub(crate) fn bricks<P: Point>(chunks: Inside<'_>, rows: Range<usize>) -> impl Iterator<Item = Brick<P>> {
    let (starts, sizes) = (chunks.chunks().offsets(), chunks.chunks().sizes());
    P::rows(starts, rows.clone()).zip(P::rows(sizes, rows)).filter_map(|(start, sizes)| Brick::new(start, sizes))
}

/// The last boxes seen, as few as merging leaves.
#[derive(Clone, Debug)]
pub(crate) struct Stack<P>(Vec<Brick<P>>);

impl<P: Point> Stack<P> {
    pub(crate) fn new() -> Self {
        Self(Vec::with_capacity(DEPTH))
    }

    /// The boxes left.
    pub(crate) fn bricks(&self) -> &[Brick<P>] {
        &self.0
    }

    /// Add a box; answer whether it disappeared in another. A full stack hands its older half to `rest`.
    #[inline]
    fn push(&mut self, brick: Brick<P>, rest: &mut impl FnMut(&Brick<P>)) -> bool {
        if let Some(top) = self.0.last_mut()
            && top.absorb(&brick)
        {
            while let [.., below, top] = self.0.as_mut_slice()
                && below.absorb(top)
            {
                self.0.pop();
            }
            return true;
        }
        if self.0.len() == DEPTH {
            self.0.drain(..DEPTH / 2).for_each(|brick| rest(&brick));
        }
        self.0.push(brick);
        false
    }

    /// Add what another stack holds.
    pub(crate) fn take(&mut self, other: Self, rest: &mut impl FnMut(&Brick<P>)) {
        for brick in other.0 {
            self.push(brick, rest);
        }
    }

    /// Add the chunks in `rows` that are not empty, as long as enough of them merge.
    pub(crate) fn feed(&mut self, chunks: Inside<'_>, rows: Range<usize>, rest: &mut impl FnMut(&Brick<P>)) {
        let mut next = rows.start;
        let mut ahead = |count: usize| {
            let first = next;
            next = rows.end.min(first.saturating_add(count));
            first..next
        };
        loop {
            let block = ahead(BLOCK);
            if block.is_empty() {
                break;
            }
            let merged = bricks(chunks, block).filter(|brick| self.push(brick.clone(), rest)).count();
            if merged < WORTH {
                bricks(chunks, ahead(SKIPPED * BLOCK)).for_each(|brick| rest(&brick));
            }
        }
    }
}

/// Merge all chunks as far as a stack can, handing on to `rest` what it cannot hold.
///
/// The same chunks always leave the same boxes in the same order.
pub(crate) fn survivors<P: Point>(
    chunks: Inside<'_>,
    interrupt: Interrupt<'_>,
    rest: &mut impl FnMut(&Brick<P>),
) -> Result<Stack<P>, Interrupted> {
    let mut all = Stack::new();
    for rows in segments(chunks) {
        interrupt.check()?;
        let mut stack = Stack::new();
        stack.feed(chunks, rows, rest);
        all.take(stack, rest);
    }
    Ok(all)
}

/// Rows to be merged on their own, so that the outcome does not depend on how many threads share them.
pub(crate) fn segments(chunks: Inside<'_>) -> impl Iterator<Item = Range<usize>> {
    let rows = chunks.chunks().len();
    (0..rows).step_by(SEGMENT).map(move |first| first..rows.min(first.saturating_add(SEGMENT)))
}
