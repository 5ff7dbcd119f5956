//! Whether every element of a tensor is covered exactly as often as it should be.
//!
//! Chunks that touch are merged first, exactly and in constant memory ([`crate::coalesce`]); layouts in order end there.
//! Where the tensor has few points, the corners of what is left settle the rest exactly ([`crate::exact`]). Else it goes
//! into the coverage residue, a sum that depends on nothing but how often each element is covered, takes O(rank) a chunk
//! in any order and no memory, and whose error is bounded for every layout.

pub(crate) mod fault;
mod keys;
mod product;
mod report;
pub mod residue;
mod sum;
mod trace;

pub use self::keys::TooFewKeys;
use self::product::Product;
pub use self::report::{Report, judge};
use self::sum::Sum;
use self::trace::{Keyed, Trace};
use crate::bounds;
use crate::coalesce::{self, Brick, Point, Stack};
use crate::exact::{self, Grid};
use crate::field::{Mersenne61, Mersenne127};
use crate::interrupt::{Interrupt, Interrupted};
use crate::layout::{Chunks, Inside, Table};
use crate::volume::Volume;

/// How often every element should be covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Exactly this often.
    Times(u64),
    /// Equally often, at least once.
    Uniform,
}

impl Expected {
    /// Whether `multiplicity` is what is expected.
    #[must_use]
    pub const fn is(self, multiplicity: u64) -> bool {
        match self {
            Self::Times(times) => multiplicity == times,
            Self::Uniform => multiplicity > 0,
        }
    }
}

/// What settled the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The tensor has no elements.
    Empty,
    /// The chunks have the wrong number of elements.
    Volume,
    /// Merging left so few boxes that they could be compared with each other.
    Coalesced,
    /// The coverage residue.
    Residue,
    /// The corners of all boxes, cancelled against those of the tensor.
    Corners,
}

impl Method {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Volume => "volume",
            Self::Coalesced => "coalesced",
            Self::Residue => "residue",
            Self::Corners => "corners",
        }
    }
}

/// Whether a tensor is covered as expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Whether it is.
    pub whole: bool,
    /// How often every element is covered, if equally often and known.
    pub multiplicity: Option<u64>,
    /// What settled it.
    pub method: Method,
    /// At most how probable it is that `whole` is wrong; 0 when exact. A verdict of not whole is always exact.
    pub error_bound: f64,
}

impl Verdict {
    const fn exact(expected: Expected, multiplicity: u64, method: Method) -> Self {
        Self { whole: expected.is(multiplicity), multiplicity: Some(multiplicity), method, error_bound: 0.0 }
    }

    const fn uneven(method: Method) -> Self {
        Self { whole: false, multiplicity: None, method, error_bound: 0.0 }
    }
}

/// How to look at what merging leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rigour {
    /// By what is fastest: linear, with a bounded probability of error or none.
    Bounded,
    /// By corners: without error, up to rank [`exact::MAX_RANK`].
    Exact,
}

/// What is asked of a layout.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// How often every element should be covered.
    pub expected: Expected,
    /// How to look at what merging leaves.
    pub rigour: Rigour,
    /// Sixteen bytes for each dimension, uniformly random and unknown to whoever made the layout.
    pub keys: &'a [u8],
}

impl Question<'_> {
    /// Where corners are put; no answer depends on it.
    pub(crate) fn seed(&self) -> u128 {
        self.keys.first_chunk().map_or(0, |key| u128::from_le_bytes(*key))
    }
}

/// Why there is no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The caller gave too few random bytes.
    #[error(transparent)]
    TooFewKeys(#[from] TooFewKeys),
    /// An exact proof has 2^rank corners for each chunk.
    #[error("an exact proof takes 2^rank corners for each chunk: rank {rank} is above the limit of {limit}", limit = exact::MAX_RANK)]
    RankTooHigh {
        /// Rank of the tensor.
        rank: usize,
    },
    /// The caller raised the flag.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// Decide whether `chunks` cover every element as often as asked.
///
/// Empty chunks cover nothing. A tensor of rank 0 has one element, which every chunk covers; a tensor without elements
/// is whole.
///
/// # Errors
///
/// [`Error::TooFewKeys`]; [`Error::RankTooHigh`] for an exact proof that merging does not settle;
/// [`Error::Interrupted`].
pub fn decide(chunks: Inside<'_>, question: &Question<'_>, interrupt: Interrupt<'_>) -> Result<Verdict, Error> {
    let &Question { expected, rigour, keys } = question;
    let seed = question.seed();
    let layout = chunks.chunks();
    let rows = u64::try_from(layout.len()).unwrap_or(u64::MAX);
    if layout.shape().contains(&0) {
        let multiplicity = if let Expected::Times(times) = expected { times } else { 1 };
        return Ok(Verdict { whole: true, ..Verdict::exact(expected, multiplicity, Method::Empty) });
    }
    if layout.rank() == 0 {
        return Ok(Verdict::exact(expected, rows, Method::Coalesced));
    }
    let keys = keys::each(keys, layout.rank())?;
    let case = Case { chunks, expected, rigour, keys, seed, interrupt };
    let spanned = spanned(layout);
    if expected == Expected::Times(1)
        && let Some(verdict) = case.by_grid(&spanned)?
    {
        return Ok(verdict);
    }
    if let Some((shape, offsets, sizes)) = narrowed(layout, &spanned) {
        let table = |values| Table::new(values, layout.len(), shape.len());
        let narrow = table(&offsets).and_then(|offsets| Chunks::new(&shape, offsets, table(&sizes)?));
        if let Some(narrow) = narrow.ok().and_then(bounds::inside) {
            return decide(narrow, question, interrupt);
        }
    }
    macro_rules! first_that_fits {
        ($point:ty: $($trace:expr),*) => {{
            $(if let Some(verdict) = case.run::<$point, _>($trace)? {
                return Ok(verdict);
            })*
        }};
    }
    macro_rules! sums {
        ($point:ty) => {
            first_that_fits!($point: case.keyed::<$point, Sum<_, Mersenne61, 2>>(), case.keyed::<$point, Sum<_, Mersenne127, 1>>())
        };
    }
    match layout.rank() {
        1 => {
            first_that_fits!([i64; 1]: case.keyed::<[i64; 1], Product<Mersenne61, 2>>());
            sums!([i64; 1]);
        }
        2 => {
            first_that_fits!([i64; 2]: case.keyed::<[i64; 2], Product<Mersenne61, 2>>());
            sums!([i64; 2]);
        }
        3 => sums!([i64; 3]),
        4 => sums!([i64; 4]),
        5 => sums!([i64; 5]),
        6 => sums!([i64; 6]),
        7 => sums!([i64; 7]),
        8 => sums!([i64; 8]),
        _ => sums!(Vec<i64>),
    }
    // No dimension is too large for the last of them.
    Err(TooFewKeys { bytes: keys.as_flattened().len(), rank: layout.rank() }.into())
}

/// Chunks whose grid of all points is never outgrown: it takes a MiB, which fits the cache.
const GRID: usize = 1 << 15;
/// Chunks of which a copy may be made: it fits the cache, and memory does not grow.
const NARROWED: usize = 1 << 16;

/// A shape, offsets and sizes.
type Columns = (Vec<i64>, Vec<i64>, Vec<i64>);

/// For each dimension, whether every chunk is as long as the tensor in it, so that it decides nothing.
fn spanned(layout: Chunks<'_>) -> Vec<bool> {
    let column = |table: Table<'_>, dimension: usize, all: i64| {
        table.values().iter().skip(dimension).step_by(layout.rank()).all(|&number| number == all)
    };
    let spanned = |(dimension, &dim)| column(layout.sizes(), dimension, dim) && column(layout.offsets(), dimension, 0);
    layout.shape().iter().enumerate().map(spanned).collect()
}

/// A layout of few chunks without the dimensions that decide nothing, the first apart.
fn narrowed(layout: Chunks<'_>, spanned: &[bool]) -> Option<Columns> {
    let rank = layout.rank();
    if layout.len() > NARROWED {
        return None;
    }
    let cut = |&(dimension, _): &(usize, &i64)| dimension == 0 || spanned.get(dimension) != Some(&true);
    let (kept, shape): (Vec<_>, Vec<_>) = layout.shape().iter().enumerate().filter(cut).unzip();
    let columns = |values: &[i64]| {
        let mut columns = vec![0; layout.len().saturating_mul(kept.len())];
        for (place, &dimension) in kept.iter().enumerate() {
            let column = columns.iter_mut().skip(place).step_by(kept.len());
            column.zip(values.iter().skip(dimension).step_by(rank)).for_each(|(to, &from)| *to = from);
        }
        columns
    };
    (kept.len() < rank).then(|| (shape, columns(layout.offsets().values()), columns(layout.sizes().values())))
}

/// A question of rank 1 or more about a tensor with elements.
struct Case<'a> {
    chunks: Inside<'a>,
    expected: Expected,
    rigour: Rigour,
    keys: &'a [[u8; 16]],
    seed: u128,
    interrupt: Interrupt<'a>,
}

impl Case<'_> {
    fn keyed<P: Point, T: Keyed<P>>(&self) -> Option<T> {
        T::new(self.chunks.chunks().shape(), self.keys)
    }

    /// By bits for all corners, where the tensor has few points and is to be covered once.
    fn by_grid(&self, spanned: &[bool]) -> Result<Option<Verdict>, Error> {
        let layout = self.chunks.chunks();
        macro_rules! by_rank {
            ($($rank:literal)*) => {
                match layout.rank() {
                    $($rank => {
                        let grid = Grid::<$rank, { 1 << $rank }>::of_all_points(layout.shape(), spanned, layout.len().min(GRID));
                        self.run::<[i64; $rank], _>(grid)
                    })*
                    _ => Ok(None),
                }
            };
        }
        by_rank!(1 2 3 4 5 6)
    }

    /// `None` if the tensor is too large for a trace of this kind.
    fn run<P: Point, T: Trace<P>>(&self, trace: Option<T>) -> Result<Option<Verdict>, Error> {
        let layout = self.chunks.chunks();
        let Some((mut trace, whole)) = trace.zip(Brick::whole(layout.shape())) else { return Ok(None) };
        let (mut handed_on, traced) = (0_usize, self.rigour == Rigour::Bounded || T::METHOD == Method::Corners);
        let stack = coalesce::survivors(self.chunks, self.interrupt, &mut |brick| {
            handed_on = handed_on.saturating_add(1);
            if traced {
                trace.add(brick);
            }
        })?;
        if handed_on == 0
            && let Some(multiplicity) = settle(&stack, &whole)
        {
            return Ok(Some(Verdict::exact(self.expected, multiplicity, Method::Coalesced)));
        }
        // Here is at least one box: without any, merging has settled it.
        let times = match self.expected {
            Expected::Times(times) if times <= u64::try_from(layout.len()).unwrap_or(u64::MAX) => Some(times),
            Expected::Times(_) => None,
            Expected::Uniform => Volume::total(layout).quotient(&whole.volume()),
        };
        let Some(times) = times else { return Ok(Some(Verdict::uneven(Method::Volume))) };
        if !traced {
            return self.by_corners(times).map(Some);
        }
        stack.bricks().iter().for_each(|brick| trace.add(brick));
        let bound = trace.error_bound(times, layout.shape());
        let whole = trace.is(times, &whole);
        Ok(Some(Verdict {
            whole,
            multiplicity: whole.then_some(times),
            method: T::METHOD,
            error_bound: if whole { bound } else { 0.0 },
        }))
    }

    fn by_corners(&self, times: u64) -> Result<Verdict, Error> {
        let rank = self.chunks.chunks().rank();
        let whole =
            exact::cancels(self.chunks, times, self.seed, self.interrupt)?.ok_or(Error::RankTooHigh { rank })?;
        Ok(Verdict { whole, multiplicity: whole.then_some(times), method: Method::Corners, error_bound: 0.0 })
    }
}

/// How often `stack` covers the whole tensor, if comparing its few boxes can tell.
///
/// Boxes that are the whole tensor each cover it once. Others do so together if no two of them meet and they have as
/// many elements.
fn settle<P: Point>(stack: &Stack<P>, whole: &Brick<P>) -> Option<u64> {
    let (all, parts): (Vec<_>, Vec<_>) = stack.bricks().iter().partition(|brick| *brick == whole);
    let times = u64::try_from(all.len()).ok()?;
    if parts.is_empty() {
        return Some(times);
    }
    let volume = parts.iter().fold(Volume::default(), |sum, part| sum.plus(&part.volume()));
    let apart = || parts.iter().zip(1..).all(|(a, next)| parts.iter().skip(next).all(|b| !a.meets(b)));
    if volume == whole.volume() && apart() { times.checked_add(1) } else { None }
}

#[cfg(test)]
pub(crate) mod tests;
