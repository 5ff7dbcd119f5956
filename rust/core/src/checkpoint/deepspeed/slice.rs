//! The files of the processes that share the state of one slice of the model: how many there ought to be, and which.

use super::name::{Kind, Name};
use super::state::{Content, Optimizer, State};
use crate::findings::{Code, Finding};

/// Missing files that are named one by one.
const MOST: u32 = 1024;

/// The files that count.
pub(super) struct Slice<'s> {
    /// What the processes hold of the model: one for each process at stage 3, one for all otherwise; `None` where it is unknown.
    pub(super) models: Vec<Option<&'s State>>,
    /// What each process holds of the optimizer.
    pub(super) optimizers: Vec<Option<&'s State>>,
    /// Whether something of a file that counts is unknown.
    pub(super) incomplete: bool,
    pub(super) findings: Vec<Finding>,
}

/// How many processes there are, by the files of a slice.
struct World {
    number: u32,
    says: String,
    findings: Vec<Finding>,
}

impl<'s> Slice<'s> {
    /// Find out which of the files that are there belong together, and which are missing.
    ///
    /// # Errors
    ///
    /// What is wrong, if it cannot be found out.
    pub(super) fn new(number: u32, states: &'s [State], sizes: &dyn Fn(&State) -> u64) -> Result<Self, Box<Finding>> {
        let of = |kind| states.iter().filter(move |state| state.name.kind == kind);
        let bfloats = of(Kind::Optimizer).filter(|state| state.name.bfloat).count();
        let bfloat = bfloats > 0 && bfloats >= of(Kind::Optimizer).count().saturating_sub(bfloats);
        let shares = of(Kind::Optimizer).filter_map(State::optimizer).map(Optimizer::has_shares).next();
        let shares = shares.unwrap_or_else(|| {
            of(Kind::Model).next().is_some() && of(Kind::Model).all(|state| state.name.process.is_some())
        });
        let counts = |state: &&State| match state.name.kind {
            Kind::Model => state.name.process.is_some() == shares,
            Kind::Optimizer => state.name.bfloat == bfloat,
        };
        let World { number: world, says, mut findings } = world(states.iter().filter(counts))?;
        let there = u32::try_from(states.len()).unwrap_or(u32::MAX);
        if world > there.saturating_add(MOST) {
            let reason = format!("{says}, there are {there} files");
            return Err(Box::new(Finding::new(Code::RankCountMismatch).with("reason", reason)));
        }
        // A partition that was cut for another number of processes fits no other.
        let stale: Vec<Box<str>> = findings.iter().filter_map(|finding| finding.file.clone()).collect();
        let mut incomplete = false;
        let mut find = |kind, process| {
            let name = Name { model: number, kind, process, bfloat: bfloat && kind == Kind::Optimizer };
            let found = states.iter().find(|state| state.name == name);
            if found.is_none() {
                let missing = Finding::new(Code::FileMissing).in_file(&name.file());
                findings.push(missing.with("reason", says.clone()));
            }
            let usable = found.filter(|state| {
                state.facts.is_some() && (kind == Kind::Model || stale.iter().all(|path| **path != *state.path))
            });
            incomplete |= usable.is_none();
            usable
        };
        let models = if shares {
            (0..world).map(|process| find(Kind::Model, Some(process))).collect()
        } else {
            vec![find(Kind::Model, None)]
        };
        let optimizers = (0..world).map(|process| find(Kind::Optimizer, Some(process))).collect();
        let beyond = |state: &&State| !counts(state) || state.name.process.is_some_and(|process| process >= world);
        findings.extend(states.iter().filter(beyond).map(|state| unreferenced(state, sizes(state))));
        Ok(Self { models, optimizers, incomplete, findings })
    }
}

/// A file that nothing asks for.
pub(super) fn unreferenced(state: &State, size: u64) -> Finding {
    Finding::new(Code::FileUnreferenced).in_file(&state.path).with("size", size)
}

impl Optimizer {
    pub(super) const fn has_shares(&self) -> bool {
        matches!(self.content, Content::Shares(_))
    }
}

/// How many processes a file says that there are, and in which words.
fn stated(state: &State) -> Option<(i64, &'static str)> {
    let model = state.model().and_then(|model| model.world).map(|world| (world, "dp_world_size"));
    let most = |optimizer: &Optimizer| optimizer.counts.iter().copied().max();
    model.or_else(|| Some((state.optimizer().and_then(most)?, "partition_count")))
}

/// How many processes there are: what the file about the model says, unless all others are there and say otherwise.
///
/// Files that say something else are findings.
fn world<'s>(states: impl Iterator<Item = &'s State>) -> Result<World, Box<Finding>> {
    // Names sort those about the model first.
    let states: Vec<&State> = states.collect();
    let all: Vec<(&State, i64, &str)> =
        states.iter().filter_map(|state| stated(state).map(|(world, field)| (*state, world, field))).collect();
    let optimizers = || all.iter().filter(|(state, ..)| state.name.kind == Kind::Optimizer);
    let Some(&(first, mut number, mut field)) = all.first() else {
        let highest = states.iter().filter_map(|state| state.name.process).max();
        let number = highest.map_or(1, |process| process.saturating_add(1));
        let says = "no file says how many processes there were, and others have higher numbers".to_owned();
        return Ok(World { number, says, findings: Vec::new() });
    };
    if let Some(&(_, other, of)) = optimizers().next()
        && i64::try_from(optimizers().count()) == Ok(other)
        && optimizers().all(|&(_, world, _)| world == other)
    {
        (number, field) = (other, of);
    }
    let says = format!("{field} is {number}");
    let world = u32::try_from(number).ok().filter(|&world| world > 0).ok_or_else(|| {
        Box::new(Finding::new(Code::MetadataMalformed).in_file(&first.path).with("reason", says.clone()))
    })?;
    let inside = |state: &State| state.name.process.is_none_or(|process| process < world);
    let findings =
        all.iter().filter(|&&(state, other, _)| other != number && inside(state)).map(|&(state, other, of)| {
            let reason = format!("{of} is {other} here, {field} is {number} elsewhere");
            Finding::new(Code::RankCountMismatch).in_file(&state.path).with("reason", reason)
        });
    Ok(World { number: world, says, findings: findings.collect() })
}
