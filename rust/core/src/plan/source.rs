//! Whether every wanted element has a source, and only one.

use super::Reads;
use crate::bounds;
use crate::findings::{Code, Finding, Positions, Value};
use crate::interrupt::Interrupt;
use crate::join::{self, Refused};
use crate::layout::{Chunks, Inside, Table};
use crate::locate::cover::{self, Region};

/// Compare reads with each other up to so many, and join them beyond.
const FEW: usize = 32;

/// How often a read may be looked at, on average, to name the faults of a plan.
const LOOKS: u64 = 256;

/// What is wrong with the sources of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// The first findings, by wanted position.
    pub findings: Vec<Finding>,
    /// How many boxes of wanted elements have no source.
    pub gaps: u64,
    /// How many boxes of wanted elements have several sources.
    pub overlaps: u64,
    /// Whether these are all.
    pub complete: bool,
}

impl Reads<'_> {
    /// Name the wanted elements that have no source or several, up to `most` boxes of them, and count all.
    ///
    /// `wanted_offsets` and `lengths` are the columns that [`Reads::write`] wrote, `uneven` its answer.
    ///
    /// # Errors
    ///
    /// [`Refused`] when the caller interrupts.
    pub fn sources(
        &self,
        wanted_offsets: Table<'_>,
        lengths: Table<'_>,
        uneven: &[usize],
        most: usize,
        interrupt: Interrupt<'_>,
    ) -> Result<Sources, Refused> {
        let mut sources = Sources { complete: true, ..Sources::default() };
        let disjoint = self.disjoint(interrupt)?;
        if disjoint && uneven.is_empty() {
            return Ok(sources);
        }
        let chunks = u64::try_from(self.wanted.chunks().len()).unwrap_or(u64::MAX);
        let mut budget = self.count().saturating_add(chunks).saturating_mul(LOOKS);
        let mut uneven = uneven.iter().copied().peekable();
        let mut first = 0_usize;
        for (position, (partners, (offsets, sizes))) in self.pairs.rows().zip(self.wanted.chunks().iter()).enumerate() {
            let next = first.saturating_add(partners.len());
            let reads = wanted_offsets.between(first, next).zip(lengths.between(first, next));
            first = next;
            let suspect = uneven.next_if_eq(&position).is_some();
            if disjoint && !suspect {
                continue;
            }
            let Some((starts, lengths)) = reads else { break };
            let Some(layout) = Chunks::new(sizes, starts, lengths).ok().and_then(bounds::inside) else { break };
            if !suspect && !overlapping(layout, interrupt)? {
                continue;
            }
            let regions = cover::uneven(layout, 1, disjoint, &mut budget, interrupt)?;
            sources.complete &= regions.complete;
            for region in regions.list {
                let count = if region.chunks.is_empty() { &mut sources.gaps } else { &mut sources.overlaps };
                *count = count.saturating_add(1);
                if sources.findings.len() < most {
                    sources.findings.push(finding(&region, position, offsets, partners));
                }
            }
        }
        Ok(sources)
    }

    /// Whether it is known that no two saved chunks that are read share an element.
    fn disjoint(&self, interrupt: Interrupt<'_>) -> Result<bool, Refused> {
        if self.pairs.lefts_are_disjoint() || self.pairs.rows().all(|partners| partners.len() < 2) {
            return Ok(true);
        }
        let saved = self.saved.chunks();
        // With fewer reads than saved chunks, looking at each wanted chunk is less work.
        if usize::try_from(self.count()).is_ok_and(|reads| reads < saved.len()) {
            return Ok(false);
        }
        let filled = saved.sizes().iter().filter(|sizes| !sizes.contains(&0)).count();
        Ok(u64::try_from(filled) == Ok(join::count(self.saved, self.saved, interrupt)?))
    }
}

/// Offsets and sizes.
type Row<'a> = (&'a [i64], &'a [i64]);

/// Whether two chunks share an element.
fn overlapping(chunks: Inside<'_>, interrupt: Interrupt<'_>) -> Result<bool, Refused> {
    let rows = chunks.chunks();
    if rows.len() > FEW {
        return Ok(u64::try_from(rows.len()) != Ok(join::count(chunks, chunks, interrupt)?));
    }
    let meet = |a: Row<'_>, b: Row<'_>| {
        a.0.iter().zip(a.1).zip(b.0.iter().zip(b.1)).all(|((&start, &size), (&other, &length))| {
            start < other.saturating_add(length) && other < start.saturating_add(size)
        })
    };
    Ok(rows.iter().enumerate().any(|(position, row)| rows.iter().take(position).any(|other| meet(row, other))))
}

/// A finding about a region of the wanted chunk at `offsets`.
fn finding(region: &Region, wanted: usize, offsets: &[i64], partners: &[u32]) -> Finding {
    let starts: Vec<i64> = region.low.iter().zip(offsets).map(|(&low, &offset)| low.saturating_add(offset)).collect();
    let sizes = region.sizes();
    let wanted = u64::try_from(wanted).unwrap_or(u64::MAX);
    let found = if region.chunks.is_empty() {
        Finding::new(Code::SourceGap).at(wanted)
    } else {
        let saved = region.chunks.iter().filter_map(|&chunk| partners.get(usize::try_from(chunk).ok()?));
        Finding::new(Code::SourceOverlap)
            .at_all(saved.map(|&position| u64::from(position)).collect::<Positions>())
            .with("times", region.chunks.len())
            .with("wanted", wanted)
    };
    found.in_region(&starts, &sizes).with("elements", Value::elements(&sizes))
}
