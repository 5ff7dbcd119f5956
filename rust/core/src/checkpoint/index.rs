//! `*.index.json`: which file of a set holds which tensor, held against the headers of the files, both ways.

use hashbrown::{HashMap, HashSet};

use super::inventory::{Inventory, Place, within};
use super::json::{JsonError, Value};
use super::limits::Limits;
use super::safetensors::Header;
use crate::findings::{Code, Finding};

type Set<T> = HashSet<T, foldhash::fast::RandomState>;
type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// What an index says, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Path of the index.
    pub path: Box<str>,
    /// Tensors and the paths of their files, in the order of the index.
    pub weights: Vec<(Box<str>, Box<str>)>,
    /// The sum of tensor bytes that it states.
    pub total_size: Option<i128>,
    /// What is wrong with it.
    pub findings: Vec<Finding>,
    /// Whether it could be read.
    pub readable: bool,
}

impl Index {
    /// Read an index.
    #[must_use]
    pub fn read(path: &str, bytes: &[u8], limits: &Limits) -> Self {
        let mut index =
            Self { path: path.into(), weights: Vec::new(), total_size: None, findings: Vec::new(), readable: false };
        if let Err(error) = index.take_apart(bytes, limits) {
            let first = u64::try_from(error.byte_offset).unwrap_or(u64::MAX);
            let finding = Finding::new(Code::IndexMalformed).in_file(path).in_bytes(first, 1);
            index.findings.push(finding.with("reason", error.to_string()));
        }
        index
    }

    fn take_apart(&mut self, bytes: &[u8], limits: &Limits) -> Result<(), JsonError> {
        let most = usize::try_from(limits.metadata_bytes).unwrap_or(usize::MAX);
        let object = Value::document(bytes, most)?.object()?;
        let map = object.required("weight_map")?.object()?;
        for again in map.repeated() {
            let first = u64::try_from(again.byte_offset).unwrap_or(u64::MAX);
            let finding = Finding::new(Code::IndexDuplicateKey).of_tensor(&again.key).in_file(&self.path);
            self.findings.push(finding.in_bytes(first, 1));
        }
        for member in map.members() {
            self.weights.push((member.key.as_ref().into(), member.value.string()?.into()));
        }
        if let Some(total) = object.value("metadata").and_then(|metadata| metadata.object().ok()?.value("total_size")) {
            // Some writers state a float. A total that is no whole number is no reason to refuse the rest.
            self.total_size = total.integer().ok();
        }
        self.readable = true;
        Ok(())
    }

    /// The paths of the files that it names, in their plain form; those that leave the checkpoint left out.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        let mut seen = Set::default();
        let plain = self.weights.iter().filter_map(|(_, file)| within(file));
        plain.filter(|path| seen.insert(path.clone())).map(Into::into).collect()
    }

    /// Hold the index against what the files are and hold.
    #[must_use]
    pub fn compare(&self, headers: &[&Header], inventory: &Inventory) -> Vec<Finding> {
        let mut findings = self.findings.clone();
        let names: Vec<_> =
            self.weights.iter().map(|(fqn, file)| (fqn.as_ref(), file.as_ref(), within(file))).collect();
        let mut mapped: Map<&str, &str> = Map::default();
        let by_path: Map<&str, &Header> = headers.iter().map(|header| (header.path.as_ref(), *header)).collect();
        let held: Set<(&str, &str)> = headers
            .iter()
            .flat_map(|header| header.entries.iter().map(|entry| (header.path.as_ref(), entry.fqn.as_ref())))
            .collect();
        // A tensor whose entry is faulty is there all the same.
        let faulty: Set<(&str, &str)> =
            headers.iter().flat_map(|header| &header.findings).filter_map(place_and_name).collect();
        let mut missing: Missing<'_> = Missing::default();
        for (fqn, recorded, plain) in &names {
            let about = |code| Finding::new(code).of_tensor(fqn).in_file(recorded);
            let Some(file) = plain.as_deref() else {
                findings.push(about(Code::PathEscape));
                continue;
            };
            mapped.insert(fqn, file);
            match (inventory.place(file), by_path.get(file)) {
                (Place::File(_), Some(header)) => {
                    let present = held.contains(&(file, *fqn)) || faulty.contains(&(file, *fqn));
                    if header.readable && !present {
                        findings.push(about(Code::IndexMissingTensor));
                    }
                }
                (Place::File(_), None) => {
                    let reason = "the index names a file that is no safetensors file";
                    findings.push(about(Code::Unsupported).with("reason", reason));
                }
                _ => missing.push(file, fqn),
            }
        }
        findings.extend(missing.findings());
        let files: Set<&str> =
            mapped.values().copied().chain(names.iter().filter_map(|name| name.2.as_deref())).collect();
        for header in headers {
            let listed = files.contains(header.path.as_ref());
            if !listed && header.size > 0 {
                findings.push(Finding::new(Code::FileUnreferenced).in_file(&header.path).with("size", header.size));
            }
            for entry in &header.entries {
                let belongs = mapped.get(entry.fqn.as_ref()).copied();
                let about = |code| Finding::new(code).of_tensor(&entry.fqn).in_file(&header.path);
                if listed && belongs != Some(header.path.as_ref()) {
                    findings.push(about(Code::IndexExtraTensor));
                }
                if let Some(other) = belongs.filter(|&other| other != &*header.path)
                    && held.contains(&(other, entry.fqn.as_ref()))
                {
                    findings.push(about(Code::TensorDuplicate).with("other", other));
                }
            }
        }
        findings.extend(self.compare_total(headers, &files, missing.is_empty()));
        findings
    }

    /// Hold the stated total against the bytes of all tensors, if all of them are known.
    fn compare_total(&self, headers: &[&Header], files: &Set<&str>, complete: bool) -> Option<Finding> {
        let stated = self.total_size?;
        let listed = headers.iter().filter(|header| files.contains(header.path.as_ref()));
        if !complete || !listed.clone().all(|header| header.findings.is_empty()) {
            return None;
        }
        let mut lengths = listed.flat_map(|header| &header.entries).map(|entry| i128::from(entry.byte_length));
        let total = lengths.try_fold(0_i128, i128::checked_add)?;
        let finding = Finding::new(Code::IndexTotalSize).in_file(&self.path);
        (total != stated).then(|| finding.with("stated", stated).with("total", total))
    }
}

fn place_and_name(finding: &Finding) -> Option<(&str, &str)> {
    Some((finding.file.as_deref()?, finding.fqn.as_deref()?))
}

/// Files that are named and not there, with the tensors that need them.
#[derive(Default)]
struct Missing<'a> {
    numbers: Map<&'a str, usize>,
    files: Vec<(&'a str, &'a str, u64)>,
}

impl<'a> Missing<'a> {
    fn push(&mut self, file: &'a str, fqn: &'a str) {
        let number = *self.numbers.entry(file).or_insert(self.files.len());
        match self.files.get_mut(number) {
            Some((_, _, records)) => *records = records.saturating_add(1),
            None => self.files.push((file, fqn, 1)),
        }
    }

    const fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    fn findings(&self) -> Vec<Finding> {
        let finding = |&(file, fqn, records): &(&str, &str, u64)| {
            let finding = Finding::new(Code::FileMissing).in_file(file).with("records", records).with("first", fqn);
            if records == 1 { finding.of_tensor(fqn) } else { finding }
        };
        self.files.iter().map(finding).collect()
    }
}

#[cfg(test)]
mod tests;
