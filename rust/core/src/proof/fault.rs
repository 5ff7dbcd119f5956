//! What is wrong with the coverage of a tensor, as findings.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::findings::{Code, Finding, Positions, Value};
use crate::interrupt::{Interrupt, Interrupted};
use crate::layout::Inside;
use crate::locate::{self, Region};
use crate::tally::Tally;
use crate::volume::Volume;

/// A layout that does not cover every element of its tensor `expected` times.
pub(crate) struct Uneven<'a> {
    /// The chunks.
    pub(crate) chunks: Inside<'a>,
    /// The position under which a row is reported.
    pub(crate) position_of: &'a dyn Fn(usize) -> u64,
    /// How often every element should be covered.
    pub(crate) expected: u64,
    /// Random bits, on which the answer does not depend.
    pub(crate) seed: u128,
    /// What is reported, with its box, of elements that are not covered; nothing if that is as it should be.
    pub(crate) gap: Option<Finding>,
}

/// How many elements are covered too rarely and too often.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    pub(crate) uncovered: Volume,
    pub(crate) overcovered: Volume,
    /// Whether these are exact; else there are at least so many.
    pub(crate) complete: bool,
}

impl Uneven<'_> {
    /// Name every box that is covered too rarely or too often, and chunks that are there too often.
    ///
    /// # Errors
    ///
    /// [`Interrupted`] when the caller raises the flag.
    pub(crate) fn name(&self, tally: &mut Tally, interrupt: Interrupt<'_>) -> Result<Totals, Interrupted> {
        let shape = self.chunks.chunks().shape();
        let regions = locate::faults(self.chunks, self.expected, self.seed, interrupt)?;
        let mut totals = Totals { complete: regions.complete, ..Totals::default() };
        let copies = Copies::among(&regions.list, self.chunks, self.expected);
        for (original, positions) in &copies.many {
            let layout = self.chunks.chunks();
            let (Some(offsets), Some(sizes)) = (layout.offsets().row(*original), layout.sizes().row(*original)) else {
                continue;
            };
            let finding = Finding::new(Code::ChunkDuplicate).in_region(offsets, sizes).with("times", positions.count);
            let first = positions.first.iter().map(|&row| usize::try_from(row).map_or(row, self.position_of)).collect();
            tally.push(finding.at_all(Positions { count: positions.count, first }));
        }
        for region in &regions.list {
            let too_few = region.times < self.expected;
            let total = if too_few { &mut totals.uncovered } else { &mut totals.overcovered };
            *total = total.plus(&Volume::of(&region.sizes()));
            // Copies of one box are one finding already.
            if too_few || !copies.explain(region) {
                tally.extend(self.finding(region));
            }
        }
        if let Some((dimension, factor)) = regions.declared_multiple(shape)
            && self.gap.as_ref().is_some_and(|gap| gap.code == Code::ChunkGap)
        {
            tally.push(Finding::new(Code::DeclaredMultiple).in_dimension(dimension).with("factor", factor));
        }
        Ok(totals)
    }

    fn finding(&self, region: &Region) -> Option<Finding> {
        let sizes = region.sizes();
        let finding = match region.times {
            0 => self.gap.clone()?,
            times if times < self.expected => Finding::new(Code::UnderReplicated),
            _ => Finding::new(Code::ChunkOverlap),
        };
        let rows = region.chunks.iter().filter_map(|&row| usize::try_from(row).ok());
        let listed: Positions = rows.map(self.position_of).collect();
        let finding = finding.at_all(Positions { count: region.times, ..listed });
        let finding = finding.in_region(&region.low, &sizes).with("elements", Value::elements(&sizes));
        Some(finding.with("times", region.times).with("expected", self.expected))
    }
}

/// Offsets and sizes of a chunk.
type Row<'a> = (&'a [i64], &'a [i64]);

/// Chunks that have the same box.
struct Copies {
    /// For a row, the first row with its box.
    first: HashMap<u32, u32, foldhash::fast::RandomState>,
    /// The rows of the boxes that are there more often than expected, by the first of them.
    many: BTreeMap<usize, Positions>,
}

impl Copies {
    /// Look among the chunks that are in a region with too many. Others have no copies beyond what is expected.
    fn among(regions: &[Region], chunks: Inside<'_>, expected: u64) -> Self {
        let layout = chunks.chunks();
        let over = || regions.iter().filter(|region| region.times > expected);
        let listed = over().all(|region| !region.chunks.is_empty());
        let mut rows: Vec<u32> = if listed {
            over().flat_map(|region| region.chunks.iter().copied()).collect()
        } else {
            (0..).take(layout.len()).collect()
        };
        rows.sort_unstable();
        rows.dedup();
        let mut originals: HashMap<Row<'_>, u32, foldhash::fast::RandomState> = HashMap::default();
        let mut copies: HashMap<u32, Positions, foldhash::fast::RandomState> = HashMap::default();
        let mut first = HashMap::default();
        for row in rows {
            let Ok(place) = usize::try_from(row) else { continue };
            let (Some(offsets), Some(sizes)) = (layout.offsets().row(place), layout.sizes().row(place)) else {
                continue;
            };
            if !sizes.contains(&0) {
                let original = *originals.entry((offsets, sizes)).or_insert(row);
                first.insert(row, original);
                copies.entry(original).or_default().push(u64::from(row));
            }
        }
        let many = copies.into_iter().filter(|(_, positions)| positions.count > expected);
        Self { first, many: many.filter_map(|(row, all)| Some((usize::try_from(row).ok()?, all))).collect() }
    }

    /// Whether all chunks of a region are copies of one box.
    fn explain(&self, region: &Region) -> bool {
        let mut originals = region.chunks.iter().map(|row| self.first.get(row));
        originals.next().is_some_and(|first| first.is_some() && originals.all(|other| other == first))
    }
}
