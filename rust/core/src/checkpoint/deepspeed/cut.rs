//! Stages 1 and 2: whether fragments add up to their parameters, and fill their partitions.

use hashbrown::HashSet;

use super::enter::{Entering, Stretch, elements};
use super::state::{Content, Group, Shapes, State};
use crate::checkpoint::part::TooMany;
use crate::findings::{Code, Finding};
use crate::interrupt::{Interrupt, Interrupted};

/// A process's partition of one group.
struct Holder<'s> {
    path: &'s str,
    file: u32,
    group: &'s Group,
}

/// The partitions of one group in the order of processes; `None` where one is not known.
type Holders<'s> = Vec<Option<Holder<'s>>>;

/// Enter the parameters of all groups.
pub(super) fn enter(
    entering: &mut Entering<'_>,
    shapes: &[Shapes],
    optimizers: &[Option<&State>],
    interrupt: Interrupt<'_>,
) -> Result<Result<(), TooMany>, Interrupted> {
    let world = i64::try_from(optimizers.len()).unwrap_or(i64::MAX);
    for state in optimizers.iter().flatten() {
        let held = state.optimizer().map_or(0, |optimizer| optimizer.groups().len());
        if held != shapes.len() {
            let reason = format!("it has {held} groups, param_shapes has {}", shapes.len());
            entering.report(Finding::new(Code::MetadataMalformed).in_file(&state.path).with("reason", reason));
            entering.part.incomplete = true;
        }
    }
    for (number, parameters) in shapes.iter().enumerate() {
        // Experts are shared by fewer processes than everything else: those of other processes have the same names.
        let counts = optimizers.iter().flatten().filter_map(|state| state.optimizer()?.counts.get(number).copied());
        if counts.clone().any(|count| count != world) {
            let reason = format!("fewer processes share group {number}, as they do experts: it was left out");
            entering.report(Finding::new(Code::Unsupported).with("reason", reason));
            continue;
        }
        let mut holders = Holders::new();
        for state in optimizers {
            let group = state.and_then(|state| Some((state, state.optimizer()?.groups().get(number)?)));
            holders.push(match group {
                None => None,
                Some((state, group)) => match entering.part.file_number(&state.path) {
                    Ok(file) => Some(Holder { path: &state.path, file, group }),
                    Err(too_many) => return Ok(Err(too_many)),
                },
            });
        }
        let mut wrong = HashSet::default();
        for (fqn, shape) in parameters {
            interrupt.check()?;
            match parameter(entering, fqn, shape, &holders) {
                Ok(right) if !right => drop(wrong.insert(fqn.as_ref())),
                Ok(_) => {}
                Err(too_many) => return Ok(Err(too_many)),
            }
        }
        judge(entering, parameters, &holders, &wrong);
    }
    Ok(Ok(()))
}

/// Enter one parameter; whether its fragments add up, as far as is known.
fn parameter(entering: &mut Entering<'_>, fqn: &str, shape: &[i64], holders: &Holders<'_>) -> Result<bool, TooMany> {
    let mut start = 0_u128;
    let mut known = true;
    let mut beyond = false;
    let mut last = None;
    let mut stretches = Vec::new();
    for holder in holders {
        let Some(holder) = holder else {
            // How much of the parameter is not known comes before the other fragments.
            known = false;
            continue;
        };
        let Some(&(at, elements)) = holder.group.fragments.get(fqn) else { continue };
        let stored = &holder.group.partition;
        // What is behind the end of the partition is nowhere.
        let held = elements.min(stored.elements.saturating_sub(at));
        beyond |= held < elements;
        if known {
            stretches.push(Stretch { start, elements: held, stored, at, file: holder.file });
        }
        start = start.saturating_add(elements);
        last = Some(holder.path);
    }
    entering.parameter(fqn, shape, stretches)?;
    let Some(total) = elements(shape) else { return Ok(true) };
    if start > total
        && let Some(path) = last
    {
        let reason = format!("the fragments of all processes hold {start} of {total} elements");
        entering.report(Finding::new(Code::ChunkOutOfBounds).of_tensor(fqn).in_file(path).with("reason", reason));
    }
    // That a partition is too short for its fragments is said of the partition: gaps follow from it.
    entering.part.incomplete |= beyond && start == total;
    Ok(start == total)
}

/// Judge whether fragments fill each partition of a group. They need not where one of its parameters is wrong.
fn judge(
    entering: &mut Entering<'_>,
    parameters: &Shapes,
    holders: &Holders<'_>,
    wrong: &HashSet<&str, foldhash::fast::RandomState>,
) {
    let listed: HashSet<&str, foldhash::fast::RandomState> = parameters.iter().map(|(fqn, _)| fqn.as_ref()).collect();
    let mut strange: HashSet<&str, foldhash::fast::RandomState> = HashSet::default();
    let mut padded = None;
    for Holder { path, group, .. } in holders.iter().flatten() {
        let held = group.partition.elements;
        let mismatch = |reason: String| Finding::new(Code::PayloadMismatch).in_file(path).with("reason", reason);
        for fqn in group.fragments.keys().filter(|fqn| !listed.contains(fqn.as_ref())) {
            if strange.insert(fqn) {
                let reason = "a fragment of the parameter is stored, param_shapes does not list it";
                let finding = Finding::new(Code::IndexExtraTensor).of_tensor(fqn).in_file(path);
                entering.report(finding.with("reason", reason));
            }
        }
        let ends = group.fragments.values().map(|&(start, elements)| start.saturating_add(elements));
        let end = ends.max().unwrap_or_default();
        let taken = group.fragments.values().fold(0_u128, |sum, &(_, elements)| sum.saturating_add(elements));
        let concerned = || group.fragments.keys().any(|fqn| wrong.contains(fqn.as_ref()));
        if end > held && concerned() {
            continue;
        }
        if end > held {
            entering.report(mismatch(format!("fragments end at element {end} of a partition of {held}")));
            continue;
        }
        if wrong.is_empty() && taken.saturating_add(group.alignment) < held {
            entering.report(mismatch(format!("fragments take {taken} elements of a partition of {held}")));
            continue;
        }
        let Some(padding) = group.padding else { continue };
        let whole = held.saturating_add(padding);
        let expected = *padded.get_or_insert(whole);
        if whole != expected {
            let reason = format!("{held} elements and {padding} of padding, other processes have {expected}");
            entering.report(mismatch(reason));
        }
    }
}

impl super::state::Optimizer {
    fn groups(&self) -> &[Group] {
        match &self.content {
            Content::Cut(groups) => groups,
            Content::Shares(_) => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::deepspeed::document::Stored;
    use crate::checkpoint::dtype::Dtype;
    use crate::checkpoint::limits::Limits;
    use crate::checkpoint::part::Part;

    /// What is reported of one parameter of 15 elements, held as (partition, start, elements) by each process.
    fn found(held: &[Option<(u128, u128, u128)>]) -> Vec<Code> {
        let limits = Limits::DEFAULT;
        let mut entering = Entering::new(Part::new(), &limits);
        let groups: Vec<Option<Group>> = held
            .iter()
            .map(|held| {
                held.map(|(elements, start, count)| Group {
                    partition: Stored { dtype: Dtype::named("float32"), elements, byte_offset: Some(0) },
                    padding: None,
                    alignment: 0,
                    fragments: std::iter::once(("w".into(), (start, count))).collect(),
                })
            })
            .collect();
        let holders: Holders<'_> =
            groups.iter().map(|group| group.as_ref().map(|group| Holder { path: "f", file: 0, group })).collect();
        let right = parameter(&mut entering, "w", &[3, 5], &holders).unwrap();
        let wrong = if right { HashSet::default() } else { std::iter::once("w").collect() };
        judge(&mut entering, &vec![("w".into(), vec![3, 5])], &holders, &wrong);
        entering.part.findings.iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn fragments_add_up_to_their_parameter_and_fill_their_partitions() {
        assert_eq!(found(&[Some((10, 0, 10)), Some((5, 0, 5))]), []);
        assert_eq!(found(&[Some((10, 0, 10)), Some((6, 0, 6))]), [Code::ChunkOutOfBounds]);
        // That a fragment is short shows as a gap, when coverage is judged.
        assert_eq!(found(&[Some((10, 0, 10)), Some((5, 0, 4))]), []);
        assert_eq!(found(&[Some((11, 0, 10)), Some((5, 0, 5))]), [Code::PayloadMismatch]);
        assert_eq!(found(&[Some((10, 1, 10)), Some((5, 0, 5))]), [Code::PayloadMismatch]);
        assert_eq!(found(&[Some((10, u128::MAX, 10)), Some((5, 0, 5))]), [Code::PayloadMismatch]);
        assert_eq!(found(&[None, Some((5, 0, 5))]), []);
        assert_eq!(found(&[None, Some((16, 0, 16))]), [Code::ChunkOutOfBounds]);
        assert_eq!(found(&[Some((20, 0, u128::MAX)), Some((5, 0, 5))]), [Code::ChunkOutOfBounds]);
    }
}
