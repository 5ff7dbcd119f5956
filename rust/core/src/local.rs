//! Whether the shards of one local tensor share elements, of the global tensor or of the local one.

use crate::bounds;
use crate::findings::{Code, Finding, Positions, Value};
use crate::interrupt::{Interrupt, Interrupted};
use crate::join::{self, Refused};
use crate::layout::{Chunks, Inside, Shards};
use crate::locate;
use crate::proof::fault::Uneven;
use crate::tally::Tally;
use crate::volume::Volume;

/// Name elements of the global tensor that several shards have, elements of the local tensor that belong to several,
/// and count those of the local tensor that belong to none.
///
/// Shards that stick out are cut to their tensor, those with negative numbers left out. `position_of` gives the
/// position under which a row is reported; no answer depends on `seed`.
///
/// # Errors
///
/// [`Interrupted`] when the caller raises the flag.
pub fn name_faults(
    shards: Shards<'_>,
    position_of: &dyn Fn(usize) -> u64,
    seed: u128,
    tally: &mut Tally,
    interrupt: Interrupt<'_>,
) -> Result<(), Interrupted> {
    inside(shards.chunks(), position_of, &mut |chunks, position_of| {
        if overlap(chunks, interrupt)? {
            Uneven { chunks, position_of, expected: 1, seed, gap: None }.name(tally, interrupt)?;
        }
        Ok(())
    })?;
    inside(shards.places(), position_of, &mut |places, position_of| {
        let padding = if overlap(places, interrupt)? {
            shared(places, position_of, seed, tally, interrupt)?
        } else {
            Volume::of(places.chunks().shape()).minus(&Volume::total(places.chunks()))
        };
        if !padding.is_zero() {
            tally.push(Finding::new(Code::LocalPadding).with("elements", &padding));
        }
        Ok(())
    })
}

/// What is done with chunks inside their tensor, and the position of each.
type Work<'a> = &'a mut dyn FnMut(Inside<'_>, &dyn Fn(usize) -> u64) -> Result<(), Interrupted>;

/// Do `work` with what lies inside the tensor.
fn inside(chunks: Chunks<'_>, position_of: &dyn Fn(usize) -> u64, work: Work<'_>) -> Result<(), Interrupted> {
    if let Some(inside) = bounds::inside(chunks) {
        return work(inside, position_of);
    }
    let clipped = bounds::clip(chunks);
    let row_of = |row| clipped.rows().get(row).copied().unwrap_or(row);
    clipped.inside().map_or(Ok(()), |inside| work(inside, &|row| position_of(row_of(row))))
}

/// Whether two chunks share an element. A chunk with elements meets itself and, if not, no other.
fn overlap(chunks: Inside<'_>, interrupt: Interrupt<'_>) -> Result<bool, Interrupted> {
    let filled = chunks.chunks().sizes().iter().filter(|sizes| !sizes.contains(&0)).count();
    match join::count(chunks, chunks, interrupt) {
        Ok(pairs) => Ok(u64::try_from(filled) != Ok(pairs)),
        Err(Refused::Interrupted(interrupted)) => Err(interrupted),
        Err(_) => Ok(true),
    }
}

/// Name what several shards have of the local tensor, and count what none has.
fn shared(
    places: Inside<'_>,
    position_of: &dyn Fn(usize) -> u64,
    seed: u128,
    tally: &mut Tally,
    interrupt: Interrupt<'_>,
) -> Result<Volume, Interrupted> {
    let mut padding = Volume::default();
    for region in locate::faults(places, 1, seed, interrupt)?.list {
        let sizes = region.sizes();
        if region.times == 0 {
            padding = padding.plus(&Volume::of(&sizes));
            continue;
        }
        let rows = region.chunks.iter().filter_map(|&row| usize::try_from(row).ok());
        let listed: Positions = rows.map(position_of).collect();
        let finding = Finding::new(Code::LocalOverlap).at_all(Positions { count: region.times, ..listed });
        tally.push(finding.in_region(&region.low, &sizes).with("elements", Value::elements(&sizes)));
    }
    Ok(padding)
}

#[cfg(test)]
mod tests;
