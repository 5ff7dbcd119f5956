//! Pairs of intervals: a merge where the left ones, once sorted, both start and stop in order.
#![expect(clippy::arithmetic_side_effects, reason = "indices and lengths stay below 2^32, sums of lengths below 2^64")]

use super::boxes::Boxes;
use super::{Pairs, Refused, Row, allow, room, segments, volume};
use crate::interrupt::Interrupt;

/// Rows between two questions to the caller.
const BLOCK: usize = 1 << 14;

/// How far to step before searching.
const STEPS: usize = 8;

/// Pairs of two sets of boxes of rank 1.
///
/// In a list sorted by start whose stops ascend too, as those of all disjoint intervals do, the partners of an
/// interval are one range. Otherwise (nested intervals) the general search takes over.
pub(super) fn pairs(lefts: &Boxes, rights: &Boxes, limit: u64, interrupt: Interrupt<'_>) -> Result<Pairs, Refused> {
    let in_order = lefts.starts().is_sorted() && lefts.stops().is_sorted();
    let mut sorted: Vec<(i64, i64, u32)> = Vec::new();
    if !in_order {
        sorted = lefts
            .starts()
            .iter()
            .zip(lefts.stops())
            .zip(lefts.positions())
            .map(|((&start, &stop), &position)| (start, stop, position))
            .collect();
        sorted.sort_unstable();
        if !sorted.is_sorted_by_key(|&(_, stop, _)| stop) {
            return segments::pairs(lefts, rights, limit, interrupt);
        }
    }
    let (starts, stops): (Vec<i64>, Vec<i64>) = sorted.iter().map(|&(start, stop, _)| (start, stop)).unzip();
    let (starts, stops) = if in_order { (lefts.starts(), lefts.stops()) } else { (&starts[..], &stops[..]) };

    let mut count = 0;
    let mut rows = Vec::with_capacity(rights.len());
    let (mut first, mut last) = (0, 0);
    for (row, (&start, &stop)) in rights.starts().iter().zip(rights.stops()).enumerate() {
        if row.is_multiple_of(BLOCK) {
            interrupt.check()?;
        }
        first = seek(stops, first, |other| other <= start);
        last = seek(starts, last.max(first), |other| other < stop);
        // The two orders cannot cross: what starts before `stop` and stops after `start` lies between.
        let len = last.saturating_sub(first);
        rows.push(Row { start: first, len });
        count += volume(len);
    }
    allow(count, limit)?;
    let disjoint = stops.iter().zip(starts.iter().skip(1)).all(|(stop, next)| stop <= next);
    if in_order {
        return Ok(Pairs { rows, lefts: lefts.positions().to_vec(), count, disjoint });
    }
    let mut ordered = room(count)?;
    for row in &mut rows {
        let start = ordered.len();
        let partners = sorted.get(row.start..row.start + row.len).unwrap_or_default();
        ordered.extend(partners.iter().map(|&(_, _, position)| position));
        if let Some(partners) = ordered.get_mut(start..) {
            partners.sort_unstable();
        }
        row.start = start;
    }
    Ok(Pairs { rows, lefts: ordered, count, disjoint })
}

/// The first place where `before` fails, in a list where it holds up to some place and nowhere after.
///
/// `hint` is where the last search ended: lists in order cost a step or two a search.
fn seek(list: &[i64], hint: usize, before: impl Fn(i64) -> bool) -> usize {
    let at = |place: usize| list.get(place).is_some_and(|&value| before(value));
    if hint > 0 && !at(hint - 1) {
        return list.get(..hint - 1).unwrap_or_default().partition_point(|&value| before(value));
    }
    for place in hint..hint + STEPS {
        if !at(place) {
            return place.min(list.len());
        }
    }
    let rest = list.get(hint + STEPS..).unwrap_or_default();
    hint + STEPS + rest.partition_point(|&value| before(value))
}
