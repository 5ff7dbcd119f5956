//! Which boxes of a tensor are covered too rarely or too often, and by which chunks.
//!
//! The faults are found from the corners at which coverage departs from what is expected, and these are few where
//! faults are few: the corners of all chunks are cancelled against those of the tensor ([`crate::exact`]), the tensor is
//! split on the corners that survive ([`cut`]), and neighbours that are covered equally often are joined ([`patch`]).
//! Only then are the chunks looked up that cover what is covered ([`cover`]).

pub(crate) mod cover;
mod cut;
pub(crate) mod patch;

use crate::exact::{self, All};
use crate::interrupt::{Interrupt, Interrupted};
use crate::join::{self, Pairs, Refused};
use crate::layout::{Boxes, Inside};
use crate::{bounds, locate::cut::Piece};
pub(crate) use cover::{Region, Regions};

/// How many corners and chunks may be looked at, for each chunk and at least.
const LOOKS: u64 = 128;
const LOOKS_AT_LEAST: u64 = 1 << 20;
/// Boxes that are found, for each chunk and at least: a chunk that is a little short leaves a few.
const PIECES: usize = 4;
const PIECES_AT_LEAST: usize = 1 << 16;
/// Pairs of a chunk and a box that it meets, for each chunk and at least.
const PAIRS: u64 = 16;
const PAIRS_AT_LEAST: u64 = 1 << 20;

/// Find the regions of a tensor that are covered more or less often than `expected`, in row-major order.
///
/// `seed` only decides where corners are put. The work is bounded by the number of chunks: [`Regions::complete`] says
/// whether it sufficed, and a region whose chunks were too many to list has none.
///
/// # Errors
///
/// [`Interrupted`] when the caller raises the flag.
pub(crate) fn faults(
    chunks: Inside<'_>,
    expected: u64,
    seed: u128,
    interrupt: Interrupt<'_>,
) -> Result<Regions, Interrupted> {
    let rows = u64::try_from(chunks.chunks().len()).unwrap_or(u64::MAX);
    let looks = rows.saturating_mul(LOOKS).max(LOOKS_AT_LEAST);
    let mut search = Search { chunks, rows, seed, looks, interrupt };
    macro_rules! by_rank {
        ($($rank:literal)*) => {
            match chunks.chunks().rank() {
                $($rank => match search.by_corners::<$rank, { 1 << $rank }>(expected)? {
                    Some(regions) => Ok(regions),
                    None => search.by_chunks(expected),
                },)*
                _ => search.by_chunks(expected),
            }
        };
    }
    by_rank!(1 2 3 4 5 6)
}

struct Search<'a> {
    chunks: Inside<'a>,
    rows: u64,
    seed: u128,
    looks: u64,
    interrupt: Interrupt<'a>,
}

impl Search<'_> {
    /// Bisect the tensor between all its chunks: for ranks with too many corners.
    fn by_chunks(&mut self, expected: u64) -> Result<Regions, Interrupted> {
        cover::uneven(self.chunks, expected, false, &mut self.looks, self.interrupt)
    }

    /// `None` if more corners survive than may be looked at.
    fn by_corners<const RANK: usize, const COUNT: usize>(
        &mut self,
        expected: u64,
    ) -> Result<Option<Regions>, Interrupted> {
        // No element has more chunks than there are, so a larger number says no more.
        let level = expected.min(self.rows.saturating_add(1));
        let Some(all) = All::<RANK, COUNT>::new(self.chunks, level, self.interrupt) else { return Ok(None) };
        let shape = all.shape();
        let most = usize::try_from(self.looks >> 2).unwrap_or(usize::MAX);
        let mut corners = Vec::new();
        let mut take = |point: [i64; RANK], change| {
            if point.iter().zip(&shape).all(|(coordinate, dim)| coordinate < dim) {
                corners.push((point, change));
            }
            corners.len() < most
        };
        if !exact::each_unbalanced(&all, self.seed, true, &mut take)? {
            return Ok(None);
        }
        let room = self.chunks.chunks().len().saturating_mul(PIECES).max(PIECES_AT_LEAST);
        let (mut pieces, complete) = cut::pieces(shape, corners, room, &mut self.looks, self.interrupt)?;
        patch::join(&mut pieces);
        let mut regions = Regions { list: Vec::with_capacity(pieces.len()), complete };
        let (gaps, covered): (Vec<_>, Vec<_>) =
            pieces.into_iter().map(|piece| (piece, times(level, piece.surplus))).partition(|&(_, times)| times == 0);
        regions.list.extend(gaps.into_iter().map(|(piece, times)| region(piece, times)));
        self.name_chunks(&covered, &mut regions.list)?;
        patch::join(&mut regions.list);
        Ok(Some(regions))
    }

    /// Split `covered` by the chunks that cover it.
    fn name_chunks<const RANK: usize>(
        &mut self,
        covered: &[(Piece<RANK>, u64)],
        into: &mut Vec<Region>,
    ) -> Result<(), Interrupted> {
        let mut limit = self.rows.saturating_mul(PAIRS).max(PAIRS_AT_LEAST);
        let mut rest = covered;
        // All at once; where that is too much the first few, then more, as long as there is room.
        let mut batch = usize::MAX;
        while !rest.is_empty() {
            let (next, behind) = rest.split_at(batch.min(rest.len()));
            let Some(pairs) = self.meeting(next, limit)? else {
                if batch < usize::MAX {
                    break;
                }
                batch = 16;
                continue;
            };
            limit = limit.saturating_sub(pairs.count());
            for (&(piece, times), partners) in next.iter().zip(pairs.rows()) {
                let looks = &mut self.looks;
                match cover::within(self.chunks, &piece.low, &piece.high, partners, looks, self.interrupt)? {
                    Some(regions) => into.extend(regions),
                    None => into.push(region(piece, times)),
                }
            }
            rest = behind;
            batch = batch.saturating_mul(4);
        }
        into.extend(rest.iter().map(|&(piece, times)| region(piece, times)));
        Ok(())
    }

    /// The chunks that meet each piece, unless there are more than `limit`.
    fn meeting<const RANK: usize>(
        &self,
        pieces: &[(Piece<RANK>, u64)],
        limit: u64,
    ) -> Result<Option<Pairs>, Interrupted> {
        let mut boxes = Boxes::default();
        for (piece, _) in pieces {
            boxes.push(&piece.low, &piece.sizes());
        }
        let Some(boxes) = boxes.of(self.chunks.chunks().shape()).ok().and_then(bounds::inside) else {
            return Ok(None);
        };
        match join::pairs(self.chunks, boxes, limit, self.interrupt) {
            Ok(pairs) => Ok(Some(pairs)),
            Err(Refused::Interrupted(interrupted)) => Err(interrupted),
            Err(_) => Ok(None),
        }
    }
}

/// How often an element is covered that has `surplus` more than `level`.
fn times(level: u64, surplus: i64) -> u64 {
    level.saturating_add_signed(surplus)
}

/// A piece whose chunks are not listed.
fn region<const RANK: usize>(piece: Piece<RANK>, times: u64) -> Region {
    Region { low: piece.low.to_vec(), high: piece.high.to_vec(), times, chunks: Vec::new() }
}

#[cfg(test)]
mod tests;
