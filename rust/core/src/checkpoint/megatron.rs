//! What Megatron adds to DCP: a file that names the backend, and sharded objects.
//!
//! A sharded object is a number of entries `NAME/shard_I_N`, of which all N must be there.

use std::collections::BTreeMap;

use hashbrown::HashSet;

use super::json::{JsonError, Value};
use super::limits::Limits;
use super::part::Part;
use crate::findings::{Code, Finding};

/// How many missing pieces a finding names.
const SHOWN: usize = 16;

/// Pieces of one object, all of which say that it has the same number of pieces in each dimension.
#[derive(Default)]
struct Pieces {
    there: HashSet<Vec<u64>, foldhash::fast::RandomState>,
}

/// The backend that `metadata.json` names; `None` if it names none, so that it is somebody else's file.
///
/// # Errors
///
/// [`JsonError`] when the file is not what Megatron writes.
pub fn backend(content: &[u8], limits: &Limits) -> Result<Option<String>, JsonError> {
    let limit = usize::try_from(limits.header_bytes).unwrap_or(usize::MAX);
    let document = Value::document(content, limit)?.object()?.unique()?;
    document.value("sharded_backend").map(|backend| Ok(backend.string()?.into_owned())).transpose()
}

/// Report the pieces that are missing of each object.
pub fn judge_objects(part: &mut Part) {
    let mut objects: BTreeMap<(&str, Vec<u64>), Pieces> = BTreeMap::new();
    for blob in &part.blobs {
        if let Some((name, place, counts)) = piece(&blob.fqn) {
            objects.entry((name, counts)).or_default().there.insert(place);
        }
    }
    let mut findings = Vec::new();
    for ((name, counts), pieces) in objects {
        let expected = counts.iter().try_fold(1_u64, |product, &count| product.checked_mul(count)).unwrap_or(u64::MAX);
        let there = u64::try_from(pieces.there.len()).unwrap_or(u64::MAX);
        if there >= expected {
            continue;
        }
        let missing = expected.saturating_sub(there);
        let shown: Vec<String> = (0..expected)
            .map(|number| unravel(number, &counts))
            .filter(|place| !pieces.there.contains(place))
            .take(SHOWN)
            .map(|place| joined(&place))
            .collect();
        let more = if missing > u64::try_from(shown.len()).unwrap_or(u64::MAX) { ", ..." } else { "" };
        let reason = format!("{missing} of {expected} pieces of the object are missing: {}{more}", shown.join(", "));
        findings.push(Finding::new(Code::ShardedObjectGap).of_tensor(name).with("reason", reason));
    }
    part.findings.extend(findings);
}

/// Name, place and counts in `NAME/shard_I_N`; I and N are joined by dots where there are several dimensions.
fn piece(fqn: &str) -> Option<(&str, Vec<u64>, Vec<u64>)> {
    let (name, rest) = fqn.rsplit_once("/shard_")?;
    let (place, counts) = rest.split_once('_')?;
    let numbers = |text: &str| text.split('.').map(|number| number.parse().ok()).collect::<Option<Vec<u64>>>();
    let (place, counts) = (numbers(place)?, numbers(counts)?);
    let inside = place.len() == counts.len() && place.iter().zip(&counts).all(|(place, count)| place < count);
    inside.then_some((name, place, counts))
}

/// The place that has a number, the last dimension changing fastest.
fn unravel(mut number: u64, counts: &[u64]) -> Vec<u64> {
    let mut place: Vec<u64> = counts
        .iter()
        .rev()
        .map(|&count| {
            let at = number.checked_rem(count).unwrap_or_default();
            number = number.checked_div(count).unwrap_or_default();
            at
        })
        .collect();
    place.reverse();
    place
}

fn joined(place: &[u64]) -> String {
    place.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
}
