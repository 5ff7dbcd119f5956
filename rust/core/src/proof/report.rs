//! The verdict on a layout with everything that is wrong with it.

use super::fault::Uneven;
use super::{Error, Expected, Question, Verdict, decide};
use crate::bounds::{self, EmptyPastEnd};
use crate::findings::{Code, Finding, Positions, Value};
use crate::interrupt::Interrupt;
use crate::layout::{Chunks, Inside};
use crate::tally::Tally;
use crate::volume::Volume;

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
        if layout.sizes().iter().all(|sizes| sizes.contains(&0)) {
            report.uncovered = Volume::of(layout.shape());
            tally.push(Finding::new(Code::NoChunks).with("elements", Value::elements(layout.shape())));
            return Ok(());
        }
        let uneven = Uneven {
            chunks: self.chunks,
            position_of: self.position_of,
            expected: if let Expected::Times(times) = question.expected { times } else { 1 },
            seed: question.seed(),
            gap: Some(Finding::new(Code::ChunkGap)),
        };
        let totals = uneven.name(tally, interrupt)?;
        (report.uncovered, report.overcovered, report.complete) =
            (totals.uncovered, totals.overcovered, totals.complete);
        Ok(())
    }
}
