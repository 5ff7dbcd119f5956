//! The corners of all boxes as bits on the grid of their cuts.
//!
//! Boxes start and stop at cuts, so their corners are points of a grid that has as many points in a dimension as there
//! are cuts in it. Layouts that a mesh makes have few more points than boxes. There a point has one bit for each of the
//! 2^rank corners that a box can have in it: no two boxes that share nothing set the same one, and what is set again is
//! put on a list. Everything cancels where as many bits of either sign are set. O(boxes * 2^rank + points), without
//! hashes and in no more memory than the chunks take.

use super::All;
use crate::coalesce::Brick;
use crate::interrupt::Interrupted;

/// Bytes that the points may take, and coordinates that a dimension may have, for each chunk and at least.
const ROOM: usize = 32;
const ROOM_AT_LEAST: usize = 1 << 16;
/// Of as many chunks, one may have corners that are set again.
const AGAIN: usize = 16;
const AGAIN_AT_LEAST: usize = 1 << 10;

/// Visit the corners that do not cancel, in no order, until `take` is false; `None` if the grid is too large.
///
/// # Errors
///
/// [`Interrupted`] when the caller raises the flag.
pub(super) fn each_unbalanced<const RANK: usize, const COUNT: usize>(
    all: &All<'_, RANK, COUNT>,
    take: &mut impl FnMut([i64; RANK], i64) -> bool,
) -> Result<Option<bool>, Interrupted> {
    let every = || Grid::<RANK, COUNT>::of_all_points(&all.whole.stop, &[false; RANK], all.chunks.chunks().len());
    let Some(mut grid) = every().map_or_else(|| Grid::of_cuts(all), |grid| Ok(Some(grid)))? else { return Ok(None) };
    all.each_box(&mut |brick| grid.add(brick))?;
    Ok((grid.again.len() < grid.most_again).then(|| grid.settle(&all.whole, all.times, take)))
}

/// 64 coordinates, which of them are cuts, and how many cuts there are before them.
#[derive(Clone, Copy, Default)]
struct Block {
    cuts: u64,
    before: usize,
}

/// The points of a dimension, numbered.
enum Axis {
    /// Every coordinate is one.
    Coordinates,
    /// The ends of the dimension are; this is the last.
    Ends(i64),
    /// Cuts are.
    Cuts(Vec<Block>),
}

impl Axis {
    #[inline]
    fn number(&self, coordinate: i64) -> usize {
        let coordinate = natural(coordinate);
        match self {
            Self::Coordinates => coordinate,
            Self::Ends(_) => usize::from(coordinate != 0),
            Self::Cuts(blocks) => blocks.get(coordinate >> 6).map_or(0, |block| {
                let below = block.cuts & !(u64::MAX << (coordinate & 63));
                block.before + natural(below.count_ones().into())
            }),
        }
    }

    fn coordinate(&self, number: usize) -> i64 {
        let found = match self {
            Self::Coordinates => Some(number),
            Self::Ends(last) => return if number == 0 { 0 } else { *last },
            Self::Cuts(blocks) => {
                blocks.partition_point(|block| block.before <= number).checked_sub(1).and_then(|at| {
                    let block = blocks.get(at)?;
                    let mut cuts = (0..64).filter(|bit| block.cuts >> bit & 1 == 1);
                    Some(at * 64 + cuts.nth(number - block.before)?)
                })
            }
        };
        found.and_then(|found| i64::try_from(found).ok()).unwrap_or_default()
    }
}

#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::as_conversions,
    reason = "inside of a small dimension"
)]
const fn natural(coordinate: i64) -> usize {
    coordinate as usize
}

/// Points, each with `COUNT` = 2^rank bits.
pub(crate) struct Grid<const RANK: usize, const COUNT: usize> {
    axes: [Axis; RANK],
    strides: [usize; RANK],
    points: usize,
    /// Bits of all points; nothing before there is a box.
    words: Vec<u64>,
    /// Point and corner of what was set again.
    again: Vec<(usize, usize)>,
    most_again: usize,
}

impl<const RANK: usize, const COUNT: usize> Grid<RANK, COUNT> {
    /// The bits of all corners of a point.
    const POINT: u64 = u64::MAX >> (64 - COUNT);
    /// In every point, the corners with an even number of stops.
    const EVEN: u64 = {
        let (mut bits, mut bit) = (0, 0);
        while bit < 64 {
            if (bit % COUNT).count_ones().is_multiple_of(2) {
                bits |= 1 << bit;
            }
            bit += 1;
        }
        bits
    };

    /// A grid of all coordinates, or of the ends only of dimensions that all chunks span; `None` if it is too large.
    pub(crate) fn of_all_points(shape: &[i64], spanned: &[bool], chunks: usize) -> Option<Self> {
        let (mut axes, mut lengths) = ([const { Axis::Coordinates }; RANK], [2; RANK]);
        for (((axis, points), &dim), spanned) in axes.iter_mut().zip(&mut lengths).zip(shape).zip(spanned) {
            if *spanned {
                *axis = Axis::Ends(dim);
            } else {
                *points = length(dim);
            }
        }
        Self::new(axes, lengths, chunks)
    }

    /// The grid of the cuts of all boxes; `None` if it is too large.
    fn of_cuts(all: &All<'_, RANK, COUNT>) -> Result<Option<Self>, Interrupted> {
        let chunks = all.chunks.chunks().len();
        let lengths = all.whole.stop.map(length);
        if lengths.iter().any(|&length| length > room(chunks)) {
            return Ok(None);
        }
        let mut blocks = lengths.map(|length| vec![Block::default(); (length >> 6) + 1]);
        let mut cut = |brick: &Brick<[i64; RANK]>| {
            for (blocks, (start, stop)) in blocks.iter_mut().zip(brick.sides()) {
                for coordinate in [natural(start), natural(stop)] {
                    if let Some(block) = blocks.get_mut(coordinate >> 6) {
                        block.cuts |= 1 << (coordinate & 63);
                    }
                }
            }
        };
        cut(&all.whole);
        all.each_box(&mut cut)?;
        let lengths = blocks.each_mut().map(|blocks| {
            let mut cuts = 0;
            for block in blocks {
                block.before = cuts;
                cuts += natural(block.cuts.count_ones().into());
            }
            cuts
        });
        Ok(Self::new(blocks.map(Axis::Cuts), lengths, chunks))
    }

    fn new(axes: [Axis; RANK], lengths: [usize; RANK], chunks: usize) -> Option<Self> {
        let (mut strides, mut points) = ([1; RANK], 1_usize);
        for (stride, length) in strides.iter_mut().zip(lengths).rev() {
            *stride = points;
            points = points.checked_mul(length)?;
        }
        if points > room(chunks).saturating_mul(8) / COUNT {
            return None;
        }
        let most_again = (chunks / AGAIN).max(AGAIN_AT_LEAST);
        Some(Self { axes, strides, points, words: Vec::new(), again: Vec::new(), most_again })
    }

    /// The points of the corners of a box: the bits of a corner's number say in which dimensions it is a stop.
    #[inline]
    fn corners(&self, brick: &Brick<[i64; RANK]>) -> [usize; COUNT] {
        let mut points = [0_usize; COUNT];
        let axes = self.axes.iter().zip(self.strides);
        for (dimension, ((start, stop), (axis, stride))) in brick.sides().zip(axes).enumerate() {
            // No product or sum is more than the number of points.
            let [start, stop] = [start, stop].map(|side| axis.number(side).wrapping_mul(stride));
            let (done, rest) = points.split_at_mut(1 << dimension);
            for (point, other) in done.iter_mut().zip(rest) {
                *other = point.wrapping_add(stop);
                *point = point.wrapping_add(start);
            }
        }
        points
    }

    /// Set the bits of a box.
    #[inline]
    pub(crate) fn add(&mut self, brick: &Brick<[i64; RANK]>) {
        if self.words.is_empty() {
            self.words = vec![0; self.points * COUNT / 64 + 1];
        }
        for (corner, point) in self.corners(brick).into_iter().enumerate() {
            let place = point.wrapping_mul(COUNT).wrapping_add(corner);
            let (Some(word), bit) = (self.words.get_mut(place >> 6), 1 << (place & 63)) else { continue };
            let before = *word;
            *word = before | bit;
            if before & bit != 0 {
                self.set_again(point, corner);
            }
        }
    }

    #[cold]
    fn set_again(&mut self, point: usize, corner: usize) {
        if self.again.len() < self.most_again {
            self.again.push((point, corner));
        }
    }

    /// Whether the boxes cover every element of `whole` once.
    pub(crate) fn covers_once(self, whole: &Brick<[i64; RANK]>) -> bool {
        // Boxes that set the same bit have an element in common.
        self.again.is_empty() && self.settle(whole, 1, &mut |_, _| false)
    }

    /// Hold all corners against those of the tensor, taken `times` times.
    fn settle(
        mut self,
        whole: &Brick<[i64; RANK]>,
        times: u64,
        take: &mut impl FnMut([i64; RANK], i64) -> bool,
    ) -> bool {
        let sign = |corner: usize| if corner.count_ones().is_multiple_of(2) { 1 } else { -1 };
        let times = i64::try_from(times).unwrap_or(i64::MAX);
        let mut rest: Vec<_> = self.again.iter().map(|&(point, corner)| (point, sign(corner))).collect();
        rest.extend(self.corners(whole).into_iter().enumerate().map(|(corner, point)| (point, -times * sign(corner))));
        rest.sort_unstable();
        for same in rest.chunk_by(|(one, _), (other, _)| one == other) {
            let Some(&(point, _)) = same.first() else { continue };
            let change = same.iter().map(|(_, change)| change).sum::<i64>() + self.forget(point);
            if change != 0 && !take(self.place(point), change) {
                return false;
            }
        }
        for (at, &word) in self.words.iter().enumerate() {
            // Almost always every point of a word cancels, which looking at all together tells fastest.
            if Self::counts(word & Self::EVEN) == Self::counts(word & !Self::EVEN) {
                continue;
            }
            for bit in (0..64).step_by(COUNT) {
                let change = Self::change(word >> bit);
                if change != 0 && !take(self.place((at * 64 + bit) / COUNT), change) {
                    return false;
                }
            }
        }
        true
    }

    /// By how much the bits of a point change coverage, which then are forgotten.
    fn forget(&mut self, point: usize) -> i64 {
        let (place, mut change) = (point * COUNT, 0);
        if let Some(word) = self.words.get_mut(place >> 6) {
            change = Self::change(*word >> (place & 63));
            *word &= !(Self::POINT << (place & 63));
        }
        change
    }

    /// By how much the lowest point of a word changes coverage.
    fn change(word: u64) -> i64 {
        let count = |bits: u64| i64::from((word & Self::POINT & bits).count_ones());
        count(Self::EVEN) - count(!Self::EVEN)
    }

    /// How many bits each point of a word has, all side by side.
    #[inline]
    const fn counts(word: u64) -> u64 {
        let (mut counts, mut width) = (word, 1);
        while width < COUNT {
            let lower = u64::MAX / ((1 << width) + 1);
            counts = (counts & lower) + (counts >> width & lower);
            width *= 2;
        }
        counts
    }

    /// The coordinates of a point.
    fn place(&self, mut point: usize) -> [i64; RANK] {
        let mut place = [0; RANK];
        for ((coordinate, axis), stride) in place.iter_mut().zip(&self.axes).zip(self.strides) {
            *coordinate = axis.coordinate(point / stride);
            point %= stride;
        }
        place
    }
}

/// Points of a dimension of which every coordinate is one.
const fn length(dim: i64) -> usize {
    natural(dim) + 1
}

/// Bytes that the points of a grid for so many chunks may take.
const fn room(chunks: usize) -> usize {
    let room = chunks.saturating_mul(ROOM);
    if room < ROOM_AT_LEAST { ROOM_AT_LEAST } else { room }
}
