//! The files of all processes as parts: one for each slice of the model.

use std::collections::BTreeMap;

use super::enter::{Entering, Stretch, elements};
use super::name::{Kind, Name};
use super::slice::{Slice, unreferenced};
use super::state::{Model, Optimizer, State};
use super::{cut, share};
use crate::checkpoint::archive::{Read, Window};
use crate::checkpoint::limits::Limits;
use crate::checkpoint::part::{Part, TooMany};
use crate::findings::{Code, Finding};
use crate::interrupt::{Interrupt, Interrupted};

/// Missing slices that are named one by one.
const MOST: u32 = 1024;

/// What the files about one slice of the model say.
pub struct Reading {
    /// Number of the slice.
    pub slice: u32,
    /// Parameters, and where their elements are.
    pub part: Part,
}

/// How ranges of a file are read: its name, first byte and number of bytes; `None` where that fails.
pub type ReadFile<'r> = dyn FnMut(&str, u64, u64) -> Option<Vec<u8>> + 'r;

/// Read the files of one tag: those that are of DeepSpeed's kinds, by name and number of bytes.
///
/// # Errors
///
/// [`Interrupted`] when the caller wants no answer any more.
pub fn read(
    files: &[(Name, u64)],
    read: &mut ReadFile<'_>,
    limits: &Limits,
    interrupt: Interrupt<'_>,
) -> Result<Vec<Reading>, Interrupted> {
    let sizes: BTreeMap<Name, u64> = files.iter().copied().collect();
    let mut slices: BTreeMap<u32, Vec<State>> = BTreeMap::new();
    for (&name, &size) in &sizes {
        interrupt.check()?;
        let path = name.file();
        let mut range = |start, length| read(&path, start, length);
        let range: &mut Read<'_> = &mut range;
        let state = State::read(name, &mut Window::new(size, range), limits, interrupt)?;
        slices.entry(name.model).or_default().push(state);
    }
    let size = |state: &State| sizes.get(&state.name).copied().unwrap_or_default();
    let stated = slices.values().flatten().find_map(|state| state.model()?.slices);
    let there = u32::try_from(slices.len()).unwrap_or(u32::MAX);
    let count = stated.and_then(|count| u32::try_from(count).ok()).filter(|&count| count <= there.saturating_add(MOST));
    for slice in 0..count.unwrap_or_default() {
        slices.entry(slice).or_default();
    }
    let mut readings = Vec::new();
    let mut stale = Vec::new();
    for (&number, states) in &slices {
        if count.is_some_and(|count| count > 0 && number >= count) {
            stale.extend(states.iter().map(|state| unreferenced(state, size(state))));
            continue;
        }
        let mut reading = join(number, states, &size, limits, interrupt)?;
        if let (None, Some(stated)) = (count, stated) {
            let reason = format!("mp_world_size is {stated}, there are {there}");
            reading.part.findings.push(Finding::new(Code::RankCountMismatch).with("reason", reason));
        }
        readings.push(reading);
    }
    if let Some(first) = readings.first_mut() {
        first.part.findings.append(&mut stale);
    }
    Ok(readings)
}

/// Put the files of one slice together.
fn join(
    number: u32,
    states: &[State],
    sizes: &dyn Fn(&State) -> u64,
    limits: &Limits,
    interrupt: Interrupt<'_>,
) -> Result<Reading, Interrupted> {
    let mut part = Part::new();
    part.findings.extend(states.iter().flat_map(|state| state.findings.iter().cloned()));
    let name = Name { model: number, kind: Kind::Model, process: None, bfloat: false };
    let found = if states.is_empty() {
        let missing = Finding::new(Code::FileMissing).in_file(&name.file());
        let reason = "no file of this slice of the model is there, others say that there are more slices";
        Err(Box::new(missing.with("reason", reason)))
    } else {
        Slice::new(number, states, sizes)
    };
    let slice = match found {
        Ok(slice) => slice,
        Err(finding) => {
            part.findings.push(*finding);
            part.incomplete = true;
            return Ok(Reading { slice: number, part });
        }
    };
    part.findings.extend(slice.findings.iter().cloned());
    part.incomplete = slice.incomplete;
    let mut entering = Entering::new(part, limits);
    if let Err(too_many) = enter(&mut entering, &slice, interrupt)? {
        entering.report(Finding::new(Code::MetadataTooLarge).with("reason", too_many.to_string()));
    }
    Ok(Reading { slice: number, part: entering.part })
}

/// Enter all parameters of a slice.
fn enter(
    entering: &mut Entering<'_>,
    slice: &Slice<'_>,
    interrupt: Interrupt<'_>,
) -> Result<Result<(), TooMany>, Interrupted> {
    let known = || slice.models.iter().flatten();
    let Some((first, model)) = known().find_map(|state| Some((state, state.model()?))) else {
        return Ok(Ok(()));
    };
    let Some(shapes) = &model.groups else {
        let reason = "there are no param_shapes: nothing says which parameters were cut";
        let finding = Finding::new(Code::Unsupported).in_file(&first.path).with("reason", reason);
        entering.report(finding);
        return Ok(Ok(()));
    };
    for state in known().skip(1) {
        if let Some(other) = state.model() {
            compare(entering, &first.path, model, state, other);
        }
    }
    let entered = if slice.optimizers.iter().flatten().filter_map(|state| state.optimizer()).any(Optimizer::has_shares)
    {
        share::enter(entering, shapes, &slice.optimizers, interrupt)?
    } else {
        cut::enter(entering, shapes, &slice.optimizers, interrupt)?
    };
    Ok(entered.and_then(|()| frozen(entering, slice, model)))
}

/// Report parameters that another process has with other shapes, or not at all.
fn compare(entering: &mut Entering<'_>, path: &str, model: &Model, state: &State, other: &Model) {
    let all = |model: &Model| -> Vec<(Box<str>, Vec<i64>)> {
        model.groups.iter().flatten().flatten().chain(&model.frozen).cloned().collect()
    };
    let (ours, theirs) = (all(model), all(other));
    if !ours.iter().map(|(fqn, _)| fqn).eq(theirs.iter().map(|(fqn, _)| fqn)) {
        let reason = format!("it lists other parameters, or in another order, than {path}");
        entering.report(Finding::new(Code::MetadataMalformed).in_file(&state.path).with("reason", reason));
        return;
    }
    for ((fqn, expected), (_, shape)) in ours.iter().zip(&theirs).filter(|(ours, theirs)| ours != theirs) {
        let finding = Finding::new(Code::ShapeMismatch).of_tensor(fqn).in_file(&state.path);
        entering.report(finding.with("shape", format!("{shape:?}")).with("expected", format!("{expected:?}")));
    }
}

/// Enter the parameters that no optimizer holds: whole from one file, or in equal shares from all.
fn frozen(entering: &mut Entering<'_>, slice: &Slice<'_>, model: &Model) -> Result<(), TooMany> {
    let count = u128::try_from(slice.models.len()).unwrap_or(u128::MAX).max(1);
    for (fqn, shape) in &model.frozen {
        let total = elements(shape).unwrap_or_default();
        let share = total.div_ceil(count);
        let mut stretches = Vec::new();
        for (process, state) in (0_u128..).zip(&slice.models) {
            let Some((state, model)) = state.and_then(|state| Some((state, state.model()?))) else { continue };
            let Some(stored) = model.frozen_pieces.get(fqn) else { continue };
            // That there are too few shows as a gap.
            if stored.elements > share {
                let reason = format!("{} elements are stored, the parameter takes {share}", stored.elements);
                let finding = Finding::new(Code::PayloadMismatch).of_tensor(fqn).in_file(&state.path);
                entering.report(finding.with("reason", reason));
            }
            let start = process.saturating_mul(share).min(total);
            let held = stored.elements.min(share).min(total.saturating_sub(start));
            let file = entering.part.file_number(&state.path)?;
            stretches.push(Stretch { start, elements: held, stored, at: 0, file });
        }
        entering.parameter(fqn, shape, stretches)?;
    }
    Ok(())
}
