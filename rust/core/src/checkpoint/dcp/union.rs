//! The metadata files of several processes as one.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry as Slot;

use super::{Flavour, Reading};
use crate::checkpoint::part::{Part, Record, Tensor, TooMany};
use crate::findings::{Code, Finding};
use crate::interrupt::{Interrupt, Interrupted};

/// Put together what each process says of the tensors.
pub(super) fn unite(
    readings: impl Iterator<Item = Result<Reading, Interrupted>>,
    interrupt: Interrupt<'_>,
) -> Result<Reading, Interrupted> {
    let all = readings.collect::<Result<Vec<_>, _>>()?;
    let mut united = Reading::default();
    // Tensors by name in the order in which they are met, each as part and tensor number.
    let mut order: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut numbers: HashMap<&str, usize, foldhash::fast::RandomState> = HashMap::default();
    for (number, reading) in all.iter().enumerate() {
        for (tensor, entry) in reading.part.tensors().iter().enumerate() {
            match numbers.entry(entry.fqn()) {
                Slot::Occupied(place) => {
                    if let Some(pieces) = order.get_mut(*place.get()) {
                        pieces.push((number, tensor));
                    }
                }
                Slot::Vacant(place) => {
                    place.insert(order.len());
                    order.push(vec![(number, tensor)]);
                }
            }
        }
    }
    let mut files = Vec::with_capacity(all.len());
    for reading in &all {
        files.push(enter_rest(&mut united, reading));
    }
    for pieces in &order {
        interrupt.check()?;
        let of = |&(part, tensor): &(usize, usize)| {
            let part = &all.get(part)?.part;
            Some((part, part.tensors().get(tensor)?))
        };
        let Some((_, first)) = pieces.first().and_then(of) else { continue };
        united.part.push_tensor(first.fqn(), first.dtype().clone(), first.shape());
        let mut position = 0;
        for piece in pieces {
            let Some((part, tensor)) = of(piece) else { continue };
            let of_file = files.get(piece.0).map(Vec::as_slice).unwrap_or_default();
            let entered = enter(&mut united.part, first, part, tensor, of_file, &mut position);
            if let Err(too_many) = entered {
                united.part.findings.push(
                    Finding::new(Code::MetadataTooLarge).of_tensor(first.fqn()).with("reason", too_many.to_string()),
                );
            }
        }
    }
    Ok(united)
}

/// Take over everything of one process but its tensors; its files by their new numbers.
fn enter_rest(united: &mut Reading, reading: &Reading) -> Vec<u32> {
    let part = &mut united.part;
    let numbers: Vec<u32> = reading.part.files().iter().filter_map(|path| part.file_number(path).ok()).collect();
    let renumbered = |record: Record| renumbered(record, &numbers);
    for (from, into) in [(&reading.part.blobs, &mut part.blobs), (&reading.part.orphans, &mut part.orphans)] {
        into.extend(from.iter().cloned().map(|mut entry| {
            entry.record = entry.record.and_then(renumbered);
            entry
        }));
    }
    part.reserved.extend(reading.part.reserved.iter().copied().filter_map(renumbered));
    part.findings.extend(reading.part.findings.iter().cloned());
    part.incomplete |= reading.part.incomplete;
    let origin = &mut united.origin;
    origin.has_plans |= reading.origin.has_plans;
    origin.has_mega_store |= reading.origin.has_mega_store;
    if reading.origin.flavour != Flavour::Torch {
        origin.flavour = reading.origin.flavour;
    }
    for attribute in &reading.origin.foreign {
        if !origin.foreign.contains(attribute) {
            origin.foreign.push(attribute.clone());
        }
    }
    numbers
}

fn renumbered(record: Record, numbers: &[u32]) -> Option<Record> {
    let file = *numbers.get(usize::try_from(record.file).ok()?)?;
    Some(Record { file, ..record })
}

/// Take over the chunks that one process has of a tensor.
fn enter(
    united: &mut Part,
    first: &Tensor,
    part: &Part,
    tensor: &Tensor,
    files: &[u32],
    position: &mut usize,
) -> Result<(), TooMany> {
    let text = |shape: &[i64]| format!("{shape:?}");
    let about = |code| Finding::new(code).of_tensor(first.fqn());
    if tensor.dtype() != first.dtype() {
        let finding = about(Code::DtypeMismatch).with("dtype", tensor.dtype().name());
        united.findings.push(finding.with("expected", first.dtype().name()));
    }
    if tensor.shape() != first.shape() {
        let finding = about(Code::ShapeMismatch).with("shape", text(tensor.shape()));
        united.findings.push(finding.with("expected", text(first.shape())));
    }
    let Some(chunks) = part.chunks(tensor) else { return Ok(()) };
    for ((offsets, sizes), record) in chunks.iter().zip(part.records(tensor)) {
        let record = record.and_then(|record| renumbered(record, files));
        if !united.push_chunk(*position, offsets, sizes, record)? {
            united.reserved.extend(record);
        }
        *position = position.saturating_add(1);
    }
    Ok(())
}
