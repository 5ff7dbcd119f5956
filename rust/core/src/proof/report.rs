//! The verdict on a layout with everything that is wrong with it.

use hashbrown::HashMap;

use super::{Error, Expected, Question, Verdict, decide};
use crate::bounds::{self, EmptyPastEnd};
use crate::findings::{Code, Finding, Positions, Value};
use crate::interrupt::Interrupt;
use crate::layout::{Chunks, Inside, Table};
use crate::plan::cover;
use crate::tally::Tally;
use crate::volume::Volume;

/// How many times the naming of faults may look at a chunk, for each chunk and at least.
const LOOKS: u64 = 64;
const LOOKS_AT_LEAST: u64 = 1 << 22;

/// What is known of how a layout covers its tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Whether what lies inside the tensor covers it as expected; `None` if its shape is negative.
    pub verdict: Option<Verdict>,
    /// Elements covered less often than expected.
    pub uncovered: Volume,
    /// Elements covered more often than expected.
    pub overcovered: Volume,
    /// Whether these totals are exact; else there are at least so many.
    pub complete: bool,
}

/// Judge bounds and coverage of one tensor, adding what is found to `tally`.
///
/// Coverage is judged on what remains of a layout with faults: chunks that stick out are cut to the tensor, chunks
/// with negative numbers dropped. `position_of` gives the position under which a row is reported.
///
/// # Errors
///
/// As [`decide`].
pub fn judge(
    chunks: Chunks<'_>,
    position_of: &dyn Fn(usize) -> u64,
    question: &Question<'_>,
    tally: &mut Tally,
    interrupt: Interrupt<'_>,
) -> Result<Report, Error> {
    if let Some(inside) = bounds::inside(chunks) {
        return Layout { chunks: inside, position_of }.judge(question, tally, interrupt);
    }
    bounds::name_shape_faults(chunks.shape(), tally);
    bounds::name_faults(chunks, position_of, EmptyPastEnd::Warning, tally);
    let clipped = bounds::clip(chunks);
    let row_of = |row| clipped.rows().get(row).copied().unwrap_or(row);
    let Some(inside) = clipped.inside().filter(|_| chunks.shape().iter().all(|&dim| dim >= 0)) else {
        let nothing = Volume::default();
        return Ok(Report { verdict: None, uncovered: nothing.clone(), overcovered: nothing, complete: false });
    };
    Layout { chunks: inside, position_of: &|row| position_of(row_of(row)) }.judge(question, tally, interrupt)
}

/// Offsets and sizes of a chunk.
type Row<'a> = (&'a [i64], &'a [i64]);

/// The first row with a box, and how many rows have it.
type Copied = (usize, u64);

/// Chunks inside their tensor, and where they stand in the caller's list.
struct Layout<'a> {
    chunks: Inside<'a>,
    position_of: &'a dyn Fn(usize) -> u64,
}

impl Layout<'_> {
    fn judge(self, question: &Question<'_>, tally: &mut Tally, interrupt: Interrupt<'_>) -> Result<Report, Error> {
        let verdict = decide(self.chunks, question, interrupt)?;
        let nothing = Volume::default();
        let mut report =
            Report { verdict: Some(verdict), uncovered: nothing.clone(), overcovered: nothing, complete: true };
        self.note_empty(tally);
        if !verdict.whole {
            self.explain(question, &mut report, tally, interrupt)?;
        }
        Ok(report)
    }

    fn note_empty(&self, tally: &mut Tally) {
        let sizes = self.chunks.chunks().sizes();
        if sizes.values().contains(&0) {
            let empty = sizes.iter().enumerate().filter(|(_, sizes)| sizes.contains(&0));
            let positions: Positions = empty.map(|(row, _)| (self.position_of)(row)).collect();
            let count = positions.count;
            tally.push(Finding::new(Code::EmptyChunks).at_all(positions).with("count", count));
        }
    }

    /// Say where the tensor is not covered as expected.
    fn explain(
        &self,
        question: &Question<'_>,
        report: &mut Report,
        tally: &mut Tally,
        interrupt: Interrupt<'_>,
    ) -> Result<(), Error> {
        let layout = self.chunks.chunks();
        let shape = layout.shape();
        let filled = layout.sizes().iter().filter(|sizes| !sizes.contains(&0)).count();
        if filled == 0 {
            report.uncovered = Volume::of(shape);
            tally.push(Finding::new(Code::NoChunks).with("elements", Value::elements(shape)));
            return Ok(());
        }
        let expected = if let Expected::Times(times) = question.expected { times } else { 1 };
        let copies = self.duplicates(expected, tally);
        let rows = u64::try_from(layout.len()).unwrap_or(u64::MAX);
        let mut looks = rows.saturating_mul(LOOKS).max(LOOKS_AT_LEAST);
        let regions = cover::uneven(self.chunks, expected, false, &mut looks, interrupt)?;
        report.complete = regions.complete;
        for region in regions.list {
            let sizes = region.sizes();
            let times = u64::try_from(region.chunks.len()).unwrap_or(u64::MAX);
            let rows = region.chunks.iter().filter_map(|&row| usize::try_from(row).ok());
            let code = match times {
                0 => Code::ChunkGap,
                _ if times < expected => Code::UnderReplicated,
                _ => Code::ChunkOverlap,
            };
            let total = if times < expected { &mut report.uncovered } else { &mut report.overcovered };
            *total = total.plus(&Volume::of(&sizes));
            // Copies of one box are one finding already.
            if code == Code::ChunkOverlap && copies.explain(rows.clone()) {
                continue;
            }
            let finding = Finding::new(code).in_region(&region.low, &sizes).with("elements", Value::elements(&sizes));
            let finding = finding.at_all(rows.map(|row| (self.position_of)(row)).collect());
            tally.push(finding.with("times", times).with("expected", expected));
        }
        self.note_multiple(question, tally, interrupt)
    }

    /// Report boxes that occur more than `expected` times, once each.
    fn duplicates(&self, expected: u64, tally: &mut Tally) -> Copies {
        let layout = self.chunks.chunks();
        let mut first: HashMap<Row<'_>, Copied, foldhash::fast::RandomState> = HashMap::default();
        let mut copies = Copies(Vec::with_capacity(layout.len()));
        for (row, (offsets, sizes)) in layout.iter().enumerate() {
            let (original, count) = first.entry((offsets, sizes)).or_insert((row, 0));
            *count = count.saturating_add(1);
            copies.0.push(*original);
        }
        let mut many: Vec<_> = first.into_iter().filter(|((_, sizes), _)| !sizes.contains(&0)).collect();
        many.retain(|&(_, (_, count))| count > expected);
        many.sort_unstable_by_key(|&(_, (original, _))| original);
        for ((offsets, sizes), (original, count)) in many {
            let finding = Finding::new(Code::ChunkDuplicate).in_region(offsets, sizes).with("times", count);
            let rows = copies.0.iter().enumerate().skip(original).filter(|&(_, &other)| other == original);
            let positions = rows.map(|(row, _)| (self.position_of)(row)).take(Positions::SHOWN).collect::<Positions>();
            tally.push(finding.at_all(Positions { count, ..positions }));
        }
        copies
    }

    /// Note that the chunks cover a tensor whose declared size is a whole multiple of theirs in one dimension.
    fn note_multiple(&self, question: &Question<'_>, tally: &mut Tally, interrupt: Interrupt<'_>) -> Result<(), Error> {
        let layout = self.chunks.chunks();
        let mut reach = vec![0_i64; layout.rank()];
        for (offsets, sizes) in layout.iter().filter(|(_, sizes)| !sizes.contains(&0)) {
            for (reach, (&start, &size)) in reach.iter_mut().zip(offsets.iter().zip(sizes)) {
                *reach = (*reach).max(start.saturating_add(size));
            }
        }
        let mut short = reach.iter().zip(layout.shape()).enumerate().filter(|(_, (reach, dim))| reach < dim);
        let Some((dimension, (&reached, &dim))) = short.next() else { return Ok(()) };
        if short.next().is_some() || dim.checked_rem(reached) != Some(0) {
            return Ok(());
        }
        // Empty chunks may stand behind what the others reach.
        let kept = layout.iter().filter(|(_, sizes)| !sizes.contains(&0));
        let (offsets, sizes): (Vec<&[i64]>, Vec<&[i64]>) = kept.unzip();
        let rows = offsets.len();
        let (offsets, sizes) = (offsets.concat(), sizes.concat());
        let tables = Table::new(&offsets, rows, reach.len())
            .and_then(|offsets| Chunks::new(&reach, offsets, Table::new(&sizes, rows, reach.len())?));
        let Some(smaller) = tables.ok().and_then(bounds::inside) else { return Ok(()) };
        if decide(smaller, question, interrupt)?.whole {
            let finding = Finding::new(Code::DeclaredMultiple).in_dimension(dimension);
            tally.push(finding.with("factor", dim.checked_div(reached).unwrap_or(1)));
        }
        Ok(())
    }
}

/// For every row, the first row with the same box.
struct Copies(Vec<usize>);

impl Copies {
    /// Whether all of `rows` are copies of one box.
    fn explain(&self, mut rows: impl Iterator<Item = usize>) -> bool {
        let first = rows.next().and_then(|row| self.0.get(row));
        first.is_some() && rows.all(|row| self.0.get(row) == first)
    }
}
