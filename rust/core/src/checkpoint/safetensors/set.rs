//! The files of a model put together: each holds whole tensors, or DCP's pieces of them.

use hashbrown::{HashMap, HashSet};

use super::Header;
use crate::checkpoint::dcp_hf;
use crate::checkpoint::index::Index;
use crate::checkpoint::inventory::Inventory;
use crate::checkpoint::part::{EqualBoxes, Filling, Part, Rules, TooMany};
use crate::findings::{Code, Finding};

type Set<T> = HashSet<T, foldhash::fast::RandomState>;

/// Put the tensors of a set of files together.
///
/// Without an index all files belong to the set; with one those that it names. `whole` is a copy of the same tensors in
/// one piece each: where it is there, the global shapes of pieces are not inferred.
///
/// # Errors
///
/// [`TooMany`] when a part cannot have so many chunks or files.
pub fn assemble(
    headers: &[&Header],
    index: Option<&Index>,
    whole: Option<&Part>,
    inventory: &Inventory,
) -> Result<Part, TooMany> {
    let mut part = Part::new();
    part.rules = Rules { filling: Filling::Packed, equal_boxes: EqualBoxes::Duplicates, data_suffix: None };
    let readable_index = index.filter(|index| index.readable);
    let members: Vec<&Header> = match readable_index {
        Some(index) => {
            let files: Set<String> = index.files().into_iter().collect();
            headers.iter().copied().filter(|header| files.contains(header.path.as_ref())).collect()
        }
        None => headers.to_vec(),
    };
    if members.iter().any(|header| header.sharding.is_some()) {
        dcp_hf::assemble(&mut part, &members, whole)?;
    } else {
        whole_tensors(&mut part, &members)?;
    }
    if let Some(index) = index {
        part.findings.extend(index.compare(headers, inventory));
    } else {
        let missing = missing_numbers(headers);
        part.incomplete |= !missing.is_empty();
        part.findings.extend(missing);
    }
    if readable_index.is_none() && part.tensors().len() > 1 {
        duplicates(&mut part, &members);
    }
    Ok(part)
}

/// Enter files of whole tensors.
fn whole_tensors(part: &mut Part, headers: &[&Header]) -> Result<(), TooMany> {
    let mut origin: Vec<i64> = Vec::new();
    for header in headers {
        let file = header.enter(part)?;
        for entry in &header.entries {
            origin.resize(entry.shape.len(), 0);
            part.push_tensor(&entry.fqn, entry.dtype.clone(), &entry.shape);
            part.push_chunk(0, &origin, &entry.shape, Some(entry.record(file)))?;
        }
    }
    Ok(())
}

/// Report tensors that several files of whole tensors hold, where no index says which of them counts.
fn duplicates(part: &mut Part, headers: &[&Header]) {
    let mut first: HashMap<&str, &Header, foldhash::fast::RandomState> = HashMap::default();
    let whole = headers.iter().filter(|header| header.sharding.is_none());
    for (header, entry) in whole.flat_map(|header| header.entries.iter().map(move |entry| (header, entry))) {
        let holder = *first.entry(&entry.fqn).or_insert(header);
        if holder.path != header.path {
            let finding = Finding::new(Code::TensorDuplicate).of_tensor(&entry.fqn).in_file(&header.path);
            part.findings.push(finding.with("other", holder.path.as_ref()));
        }
    }
}

/// Report numbers that are missing from names such as `model-00002-of-00003.safetensors`.
fn missing_numbers(headers: &[&Header]) -> Vec<Finding> {
    let mut sets: HashMap<(&str, &str), Vec<u64>, foldhash::fast::RandomState> = HashMap::default();
    for (stem, number, count) in headers.iter().filter_map(|header| numbered(&header.path)) {
        sets.entry((stem, count)).or_default().push(number);
    }
    let mut sets: Vec<_> = sets.into_iter().collect();
    sets.sort_unstable();
    let mut findings = Vec::new();
    for ((stem, count), mut present) in sets {
        let Ok(most) = count.parse::<u64>() else { continue };
        present.sort_unstable();
        present.dedup();
        let width = count.len();
        // A name may claim any number of files: only as many are looked for as could be named.
        let missing = (1..=most).filter(|number| present.binary_search(number).is_err()).take(1_000);
        findings.extend(missing.map(|number| {
            let path = format!("{stem}-{number:0width$}-of-{count}.safetensors");
            let reason = format!("the names of its neighbours say that there are {most} files");
            Finding::new(Code::FileMissing).in_file(&path).with("reason", reason)
        }));
    }
    findings
}

/// Take apart `STEM-NUMBER-of-COUNT.safetensors`; the rank in front of a DCP stem is none of its name.
fn numbered(path: &str) -> Option<(&str, u64, &str)> {
    let (rest, count) = path.strip_suffix(".safetensors")?.rsplit_once("-of-")?;
    let (stem, number) = rest.rsplit_once('-')?;
    let digits = |text: &str| !text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(number) || !digits(count) {
        return None;
    }
    let piece = stem.strip_prefix("shard-").and_then(|rest| rest.split_once('-'));
    let stem = piece.filter(|(rank, _)| digits(rank)).map_or(stem, |(_, stem)| stem);
    Some((stem, number.parse().ok()?, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_those_of_the_files_not_of_the_ranks() {
        assert_eq!(numbered("model-00002-of-00010.safetensors"), Some(("model", 2, "00010")));
        assert_eq!(numbered("shard-00003-model-00001-of-00002.safetensors"), Some(("model", 1, "00002")));
        assert_eq!(numbered("d/a-b-1-of-2.safetensors"), Some(("d/a-b", 1, "2")));
        assert_eq!(numbered("model.safetensors"), None);
        assert_eq!(numbered("model-x-of-2.safetensors"), None);
        assert_eq!(numbered("model-1-of-99999999999999999999.safetensors"), None);
    }
}
