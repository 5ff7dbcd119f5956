//! Which elements of a region no chunk has, or several, and which chunks those are.
//!
//! The region is cut at the middle one of the boundaries of its chunks, and the halves again, until a region has only
//! chunks that contain it. Where the chunks are disjoint, a half whose chunks have as many elements as itself is left
//! at once: a single fault is found on one path.

use std::cmp::Ordering;

use super::patch::{self, Patch};
use crate::interrupt::{Interrupt, Interrupted};
use crate::layout::Inside;
use crate::plan::volume;

/// A box that some chunks contain, and of which no other chunk has an element.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Region {
    pub(crate) low: Vec<i64>,
    pub(crate) high: Vec<i64>,
    /// How many chunks contain it.
    pub(crate) times: u64,
    /// Which, ascending; none where there were too many to list.
    pub(crate) chunks: Vec<u32>,
}

impl Region {
    /// Stops minus starts.
    pub(crate) fn sizes(&self) -> Vec<i64> {
        self.low.iter().zip(&self.high).map(|(&low, &high)| high.saturating_sub(low)).collect()
    }
}

impl Patch for Region {
    fn low(&self) -> &[i64] {
        &self.low
    }

    fn high(&self) -> &[i64] {
        &self.high
    }

    fn high_mut(&mut self) -> &mut [i64] {
        &mut self.high
    }

    fn compare_cause(&self, other: &Self) -> Ordering {
        (self.times, &self.chunks).cmp(&(other.times, &other.chunks))
    }
}

/// The regions that have no chunk or several, in row-major order of their low corners.
#[derive(Debug, Default)]
pub(crate) struct Regions {
    pub(crate) list: Vec<Region>,
    /// Whether there are no others.
    pub(crate) complete: bool,
}

impl Regions {
    /// The dimension in which a tensor of `shape` is declared a whole multiple of what its chunks cover, and the factor.
    ///
    /// That is so if nothing is wrong but one gap, which takes all behind the chunks in one dimension.
    pub(crate) fn declared_multiple(&self, shape: &[i64]) -> Option<(usize, i64)> {
        let [Region { low, high, times: 0, .. }] = self.list.as_slice() else { return None };
        let mut starts = low.iter().zip(shape).enumerate().filter(|(_, (low, _))| **low > 0);
        let (Some((dimension, (&covered, &dim))), None) = (starts.next(), starts.next()) else { return None };
        let whole = self.complete && high == shape && dim.checked_rem(covered) == Some(0);
        whole.then(|| (dimension, dim.checked_div(covered).unwrap_or(1)))
    }
}

/// Find the regions of a tensor that have more or fewer chunks than `expected`, looking at a chunk `budget` times altogether.
pub(crate) fn uneven(
    chunks: Inside<'_>,
    expected: u64,
    disjoint: bool,
    budget: &mut u64,
    interrupt: Interrupt<'_>,
) -> Result<Regions, Interrupted> {
    let shape = chunks.chunks().shape();
    let mut search =
        Search { chunks, expected, disjoint, budget, interrupt, above: Vec::new(), found: Regions::default() };
    search.found.complete = true;
    if !shape.contains(&0) {
        let all: Vec<u32> = (0..)
            .zip(chunks.chunks().sizes().iter())
            .filter(|(_, sizes)| !sizes.contains(&0))
            .map(|(chunk, _)| chunk)
            .collect();
        search.cut(&vec![0; shape.len()], shape, &all)?;
    }
    let mut found = search.found;
    patch::join(&mut found.list);
    Ok(found)
}

/// Split the region from `low` to `high` by the chunks that contain it, of those at `rows`, which are all that meet it.
///
/// `None` if that takes more than `budget` looks at a chunk.
pub(crate) fn within(
    chunks: Inside<'_>,
    low: &[i64],
    high: &[i64],
    rows: &[u32],
    budget: &mut u64,
    interrupt: Interrupt<'_>,
) -> Result<Option<Vec<Region>>, Interrupted> {
    let found = Regions { list: Vec::new(), complete: true };
    // Every region counts: none has that many chunks.
    let mut search =
        Search { chunks, expected: u64::MAX, disjoint: false, budget, interrupt, above: Vec::new(), found };
    search.cut(low, high, rows)?;
    Ok(search.found.complete.then_some(search.found.list))
}

struct Search<'a> {
    chunks: Inside<'a>,
    expected: u64,
    disjoint: bool,
    budget: &'a mut u64,
    interrupt: Interrupt<'a>,
    /// Chunks that contain the region that is looked at.
    above: Vec<u32>,
    found: Regions,
}

impl Search<'_> {
    /// `chunks` are those that may have elements of the region without being in `above`.
    fn cut(&mut self, low: &[i64], high: &[i64], chunks: &[u32]) -> Result<(), Interrupted> {
        self.interrupt.check()?;
        let looks = u64::try_from(chunks.len()).unwrap_or(u64::MAX).saturating_add(1);
        if *self.budget < looks {
            self.found.complete = false;
            return Ok(());
        }
        *self.budget = self.budget.saturating_sub(looks);

        let depth = self.above.len();
        let mut partial = Vec::new();
        let mut boundaries = vec![Vec::new(); low.len()];
        let mut filled = Some(0_u128);
        for &chunk in chunks {
            let Some((starts, stops)) = self.corners(chunk) else { continue };
            let clip = |((&low, &high), (&start, &stop)): ((&i64, &i64), (&i64, &i64))| {
                high.min(stop).saturating_sub(low.max(start))
            };
            let sides: Vec<i64> = low.iter().zip(high).zip(starts.iter().zip(&stops)).map(clip).collect();
            if sides.iter().any(|&side| side <= 0) {
                continue;
            }
            filled = filled.zip(volume(&sides)).and_then(|(sum, volume)| sum.checked_add(volume));
            let mut contains = true;
            for ((boundaries, (&low, &high)), ends) in
                boundaries.iter_mut().zip(low.iter().zip(high)).zip(starts.iter().zip(&stops))
            {
                for &end in [ends.0, ends.1] {
                    if low < end && end < high {
                        boundaries.push(end);
                        contains = false;
                    }
                }
            }
            if contains {
                self.above.push(chunk);
            } else {
                partial.push(chunk);
            }
        }

        let sides: Vec<i64> = low.iter().zip(high).map(|(&low, &high)| high.saturating_sub(low)).collect();
        let whole = self.disjoint && filled.is_some() && filled == volume(&sides);
        let widest = (0..).zip(&mut boundaries).max_by_key(|(_, ends)| ends.len());
        match widest {
            _ if whole => {}
            Some((dimension, ends)) if !partial.is_empty() => {
                let middle = ends.len() / 2;
                let at = *ends.select_nth_unstable(middle).1;
                let (mut below, mut above) = (high.to_vec(), low.to_vec());
                for corner in [&mut below, &mut above] {
                    if let Some(coordinate) = corner.get_mut(dimension) {
                        *coordinate = at;
                    }
                }
                self.cut(low, &below, &partial)?;
                self.cut(&above, high, &partial)?;
            }
            _ => {
                let times = u64::try_from(self.above.len()).unwrap_or(u64::MAX);
                if times != self.expected {
                    let mut chunks = self.above.clone();
                    chunks.sort_unstable();
                    self.found.list.push(Region { low: low.to_vec(), high: high.to_vec(), times, chunks });
                }
            }
        }
        self.above.truncate(depth);
        Ok(())
    }

    fn corners(&self, chunk: u32) -> Option<(&[i64], Vec<i64>)> {
        let (chunks, row) = (self.chunks.chunks(), usize::try_from(chunk).ok()?);
        let (starts, sizes) = (chunks.offsets().row(row)?, chunks.sizes().row(row)?);
        Some((starts, starts.iter().zip(sizes).map(|(&start, &size)| start.saturating_add(size)).collect()))
    }
}
