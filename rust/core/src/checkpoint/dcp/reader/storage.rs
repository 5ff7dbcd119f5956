//! The storage map: which bytes of which file each chunk and each entry has.

use hashbrown::HashMap;

use super::{BLOCK, Ended, Map, Named, Reader};
use crate::checkpoint::dcp::document::{NotNumbers, Number};
use crate::checkpoint::dcp::fault::Fault;
use crate::checkpoint::dcp::role::Role;
use crate::checkpoint::part::{Encoding, Entry, Record, Tensor};
use crate::checkpoint::pickle::{Handle, View};
use crate::findings::{Code, Finding};

/// A record whose hint did not lead to its chunk.
pub(super) struct Unplaced {
    tensor: usize,
    offsets: Box<[i64]>,
    record: Record,
}

impl Reader<'_, '_> {
    /// Take an entry of the storage map.
    pub(super) fn record(&mut self, key: Handle, value: Handle, unplaced: &mut Vec<Unplaced>) -> Result<(), Ended> {
        let Some((Role::Index, state)) = self.document.state_of(key) else {
            let noun = self.document.noun(key);
            return Err(Fault::malformed(key, format!("a key of storage_data is {noun}, not a MetadataIndex")).into());
        };
        let mut foreign = None;
        let names = [self.names.fqn, self.names.offset, self.names.index];
        let [fqn, offset, index] = self.document.attributes(state, names, &mut |key| foreign = Some(key))?;
        if let Some(key) = foreign {
            self.foreign(Role::Index, key);
        }
        let fqn = fqn.filter(|&fqn| self.document.arena.text(fqn).is_some());
        let fqn = fqn.ok_or_else(|| Fault::malformed(key, "a key of storage_data has no fqn"))?;
        let offset = offset.filter(|&offset| !matches!(self.document.arena.view(offset), View::None));
        let record = self.place(fqn, value)?;
        match (self.named.get(&fqn).copied(), offset) {
            (Some(Named::Tensor { number, row, partial }), Some(offset)) => {
                let mut offsets = std::mem::take(&mut self.offsets);
                match self.document.numbers(offset, &mut offsets) {
                    Ok(()) => {
                        if !self.at_hint(number, row, index, &offsets, record, key) {
                            self.spend(offset, offsets.len())?;
                            unplaced.push(Unplaced { tensor: number, offsets: offsets.as_slice().into(), record });
                        }
                    }
                    Err(NotNumbers::Wrong(fault)) => return Err(fault.into()),
                    // The chunk itself was refused for this number.
                    Err(NotNumbers::Beyond { .. }) if partial => self.part.reserved.push(record),
                    Err(NotNumbers::Beyond { .. }) => self.orphan(fqn, None, record)?,
                }
                self.offsets = offsets;
            }
            (Some(Named::Blob(number)), None) => {
                let twice = self.part.blobs.get_mut(number).and_then(|blob| blob.record.replace(record));
                if twice.is_some() {
                    self.twice(key, fqn)?;
                }
            }
            (Some(Named::Refused), _) => self.part.reserved.push(record),
            (_, offset) => {
                let mut offsets = Vec::new();
                let known = offset.is_some_and(|offset| self.document.numbers(offset, &mut offsets).is_ok());
                self.orphan(fqn, known.then_some(offsets.as_slice()), record)?;
            }
        }
        Ok(())
    }

    /// Give a record to the chunk that its key's hint names, if the offsets agree.
    #[inline]
    fn at_hint(
        &mut self,
        number: usize,
        row: usize,
        hint: Option<Handle>,
        offsets: &[i64],
        record: Record,
        key: Handle,
    ) -> bool {
        let hint = hint.and_then(|hint| match self.document.number(hint) {
            Some(Number::Small(hint)) => usize::try_from(hint).ok(),
            _ => None,
        });
        let Some(hint) = hint else { return false };
        let Some(tensor) = self.part.tensors().get(number) else { return false };
        let agrees = self.part.offsets_of(tensor, hint) == Some(offsets);
        if agrees && self.part.place(row.saturating_add(hint), record).is_some() {
            let fqn = self.part.tensors().get(number).map(Tensor::fqn).unwrap_or_default();
            self.faults.push(Fault::malformed(key, "storage_data has two records for one chunk").of_tensor(fqn));
        }
        agrees
    }

    fn twice(&mut self, key: Handle, fqn: Handle) -> Result<(), Fault> {
        let fqn = self.name(fqn)?;
        self.faults.push(Fault::malformed(key, "storage_data has two records for one entry").of_tensor(&fqn));
        Ok(())
    }

    fn orphan(&mut self, fqn: Handle, offsets: Option<&[i64]>, record: Record) -> Result<(), Fault> {
        let fqn = self.name(fqn)?;
        self.part.orphans.push(Entry { fqn, offsets: offsets.map(Into::into), record: Some(record) });
        Ok(())
    }

    /// Where a record says that bytes are.
    #[inline]
    fn place(&mut self, fqn: Handle, value: Handle) -> Result<Record, Ended> {
        let (file_only, state) = match self.document.state_of(value) {
            Some((Role::Record, state)) => (false, state),
            Some((Role::FileOnly, state)) => (true, state),
            _ => {
                let noun = self.document.noun(value);
                return Err(Fault::malformed(value, format!("a value of storage_data is {noun}, not a record")).into());
            }
        };
        let mut foreign = None;
        let names = [self.names.relative_path, self.names.offset, self.names.length, self.names.transforms];
        let found = self.document.attributes(state, names, &mut |key| foreign = Some(key))?;
        if let Some(key) = foreign {
            self.foreign(Role::Record, key);
        }
        let [Some(path), offset, length, transforms] = found else {
            return Err(Fault::malformed(value, "a record has no attribute 'relative_path'").into());
        };
        let file = self.file(value, path)?;
        if file_only {
            self.origin.has_mega_store = true;
            return Ok(Record { file, byte_offset: 0, byte_length: 0, encoding: Encoding::Unplaced });
        }
        let number = |name: &str, handle: Option<Handle>| {
            let number = handle.and_then(|handle| self.document.number(handle));
            number.ok_or_else(|| Fault::malformed(value, format!("a record has no number '{name}'")))
        };
        let (offset, length) = (number("offset", offset)?, number("length", length)?);
        let encoding = match transforms.map(|transforms| self.document.arena.view(transforms)) {
            None | Some(View::None) => Encoding::Archived,
            Some(View::List(mut items) | View::Tuple(mut items)) => match items.next() {
                None => Encoding::Archived,
                Some(_) => Encoding::Transformed,
            },
            Some(other) => {
                let reason = format!("transform_descriptors are {}", other.noun());
                return Err(Fault::malformed(value, reason).into());
            }
        };
        match (offset, length) {
            (Number::Small(byte_offset), Number::Small(byte_length)) => {
                Ok(Record { file, byte_offset, byte_length, encoding })
            }
            (offset, length) => {
                let below = |number: &Number| matches!(number, Number::Beyond(_, true) | Number::Small(..0));
                let code = if below(&offset) || below(&length) { Code::RangeNegative } else { Code::RangeOverflow };
                let value = |number| match number {
                    Number::Small(number) => number.into(),
                    Number::Beyond(value, _) => value,
                };
                let name = self.name(fqn)?;
                let path = self.shown(path);
                let finding = Finding::new(code).of_tensor(&name).in_file(&path).with("byte_offset", value(offset));
                self.part.findings.push(finding.with("byte_length", value(length)));
                // The file is looked for all the same.
                Ok(Record { file, byte_offset: 0, byte_length: 0, encoding: Encoding::Unplaced })
            }
        }
    }

    /// The number of a file by the handle of its path.
    #[inline]
    fn file(&mut self, at: Handle, path: Handle) -> Result<u32, Ended> {
        if let Some(&number) = self.files.get(&path) {
            return Ok(number);
        }
        if self.document.arena.text(path).is_none() {
            return Err(Fault::malformed(at, format!("a path that is {}", self.document.noun(path))).into());
        }
        let name = self.name(path)?;
        let number = self.part.file_number(&name).map_err(|error| Fault::too_large(at, error.to_string()))?;
        self.files.insert(path, number);
        Ok(number)
    }

    /// Find the chunks of records whose hint did not help, and give every chunk at one offset the record for it.
    pub(super) fn find_chunks(&mut self, mut unplaced: Vec<Unplaced>) -> Result<(), Ended> {
        unplaced.sort_by_key(|record| record.tensor);
        let partial: Map<usize, bool> = self
            .named
            .values()
            .filter_map(|named| match *named {
                Named::Tensor { number, partial, .. } => Some((number, partial)),
                _ => None,
            })
            .collect();
        let mut waiting = unplaced.chunk_by(|left, right| left.tensor == right.tensor).peekable();
        let mut placed: Vec<(usize, Record)> = Vec::new();
        let mut orphans: Vec<Entry> = Vec::new();
        let mut reserved: Vec<Record> = Vec::new();
        for (number, tensor) in self.part.tensors().iter().enumerate() {
            if number.is_multiple_of(BLOCK) {
                self.interrupt.check()?;
            }
            let here = waiting.next_if(|records| records.first().is_some_and(|record| record.tensor == number));
            let records = self.part.records(tensor);
            if here.is_none() && records.iter().all(Option::is_some) {
                continue;
            }
            let Some(chunks) = self.part.chunks(tensor) else { continue };
            let mut by_offset: Map<&[i64], Record> = HashMap::default();
            for (offsets, record) in chunks.offsets().iter().zip(records) {
                if let Some(record) = record {
                    by_offset.insert(offsets, *record);
                }
            }
            let mut wanted: Map<&[i64], (Record, bool)> = HashMap::default();
            for record in here.unwrap_or_default() {
                let twice = by_offset.contains_key(record.offsets.as_ref())
                    || wanted.insert(&record.offsets, (record.record, false)).is_some();
                if twice {
                    let fault = Fault::malformed(
                        self.document.arena.root(),
                        format!("storage_data has two records for the chunk at {:?}", record.offsets),
                    );
                    self.faults.push(fault.of_tensor(tensor.fqn()));
                }
            }
            for ((row, offsets), record) in tensor.rows().zip(chunks.offsets().iter()).zip(records) {
                if record.is_some() {
                    continue;
                }
                if let Some((record, used)) = wanted.get_mut(offsets) {
                    *used = true;
                    placed.push((row, *record));
                } else if let Some(&record) = by_offset.get(offsets) {
                    placed.push((row, record));
                }
            }
            for record in here.unwrap_or_default() {
                if wanted.get(record.offsets.as_ref()).is_none_or(|(_, used)| *used) {
                    continue;
                }
                let fqn = tensor.fqn().into();
                if partial.get(&number) == Some(&true) {
                    reserved.push(record.record);
                } else {
                    orphans.push(Entry { fqn, offsets: Some(record.offsets.clone()), record: Some(record.record) });
                }
            }
        }
        let names = orphans.iter().map(|orphan| orphan.fqn.len()).fold(0, usize::saturating_add);
        self.spend(self.document.arena.root(), names)?;
        self.part.orphans.extend(orphans);
        self.part.reserved.extend(reserved);
        for (row, record) in placed {
            self.part.place(row, record);
        }
        Ok(())
    }
}
