//! Stage 3: an equal share of each parameter for each process, one after another in the order of the parameters.

use super::document::Stored;
use super::enter::{Entering, Stretch, elements};
use super::state::{Content, Optimizer, Shapes, State};
use crate::checkpoint::part::TooMany;
use crate::findings::{Code, Finding};
use crate::interrupt::{Interrupt, Interrupted};

/// The shares of one process.
struct Holder<'s> {
    file: u32,
    /// What is stored, and before which element of all that it begins.
    stored: Vec<(u128, &'s Stored)>,
}

/// Enter the parameters.
pub(super) fn enter(
    entering: &mut Entering<'_>,
    shapes: &[Shapes],
    optimizers: &[Option<&State>],
    interrupt: Interrupt<'_>,
) -> Result<Result<(), TooMany>, Interrupted> {
    let world = u128::try_from(optimizers.len()).unwrap_or(u128::MAX).max(1);
    let parameters = || shapes.iter().flatten();
    let share = |shape: &[i64]| elements(shape).unwrap_or_default().div_ceil(world);
    let needed = parameters().fold(0_u128, |sum, (_, shape)| sum.saturating_add(share(shape)));
    let mut holders = Vec::new();
    for (process, state) in (0_u128..).zip(optimizers) {
        let Some((state, shares)) = state.and_then(|state| Some((state, state.optimizer()?.shares()))) else {
            continue;
        };
        let file = match entering.part.file_number(&state.path) {
            Ok(file) => file,
            Err(too_many) => return Ok(Err(too_many)),
        };
        let mut held = 0_u128;
        let stored = shares.iter().map(|stored| {
            let begin = held;
            held = held.saturating_add(stored.elements);
            (begin, stored)
        });
        let stored = stored.collect();
        if held == needed {
            holders.push((process, Holder { file, stored }));
        } else {
            let reason = format!("{held} elements are stored, the shares of the parameters take {needed}");
            entering.report(Finding::new(Code::PayloadMismatch).in_file(&state.path).with("reason", reason));
            // Which parameter it is that lacks elements cannot be told.
            entering.part.incomplete = true;
        }
    }
    let mut at = 0_u128;
    for (fqn, shape) in parameters() {
        interrupt.check()?;
        let (total, share) = (elements(shape).unwrap_or_default(), share(shape));
        let stretches = holders.iter().flat_map(|(process, holder)| {
            let start = process.saturating_mul(share).min(total);
            holder.stretches(at, start, share.min(total.saturating_sub(start)))
        });
        if let Err(too_many) = entering.parameter(fqn, shape, stretches) {
            return Ok(Err(too_many));
        }
        at = at.saturating_add(share);
    }
    Ok(Ok(()))
}

impl Holder<'_> {
    /// The stretches of `count` elements from `at` on; they are those of a parameter from `start` on.
    fn stretches(&self, at: u128, start: u128, count: u128) -> impl Iterator<Item = Stretch<'_>> {
        let end = at.saturating_add(count);
        let from = self.stored.partition_point(|&(begin, stored)| begin.saturating_add(stored.elements) <= at);
        let behind = self.stored.get(from..).unwrap_or_default().iter().take_while(move |&&(begin, _)| begin < end);
        behind.map(move |&(begin, stored)| {
            let first = at.max(begin);
            let last = end.min(begin.saturating_add(stored.elements));
            Stretch {
                start: start.saturating_add(first.saturating_sub(at)),
                elements: last.saturating_sub(first),
                stored,
                at: first.saturating_sub(begin),
                file: self.file,
            }
        })
    }
}

impl Optimizer {
    fn shares(&self) -> &[Stored] {
        match &self.content {
            Content::Shares(shares) => shares,
            Content::Cut(_) => &[],
        }
    }
}
