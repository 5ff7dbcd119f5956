//! DCP checkpoints as safetensors: every file holds pieces of tensors, and a note says where they belong.
//!
//! Global shapes are stored nowhere. As torch does, they are taken to be as large as the pieces reach, unless a copy of
//! the tensors in one piece each says otherwise: what is missing at the end cannot be seen from the pieces alone.

use hashbrown::HashMap;

use super::json::{JsonError, Value};
use super::part::{Encoding, Part, TooMany};
use super::safetensors::{Entry, Header};
use crate::findings::{Code, Finding};

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// A piece of a tensor: where it is stored, and where it belongs.
struct Piece<'a> {
    header: &'a Header,
    file: u32,
    entry: &'a Entry,
    offsets: Box<[i64]>,
}

/// The pieces of one tensor, if the places of all of them are known.
struct Pieces<'a> {
    fqn: &'a str,
    all: Vec<Piece<'a>>,
    placed: bool,
}

/// Enter the pieces that a set of files holds; `whole` has the same tensors in one piece each, or is absent.
///
/// # Errors
///
/// [`TooMany`] when the part cannot have so many chunks or files.
pub fn assemble(part: &mut Part, headers: &[&Header], whole: Option<&Part>) -> Result<(), TooMany> {
    let mut tensors: Vec<Pieces<'_>> = Vec::new();
    let mut numbers: Map<&str, usize> = Map::default();
    for header in headers {
        let file = header.enter(part)?;
        // A file that cannot be read may have held any piece.
        part.incomplete |= !header.readable;
        let places = match header.sharding.as_deref().map(places) {
            Some(Ok(places)) => Some(places),
            Some(Err(error)) => {
                let reason = format!("DCP_SHARDING_INFO: {error}");
                part.findings.push(Finding::new(Code::HeaderMalformed).in_file(&header.path).with("reason", reason));
                None
            }
            None => Some(Map::default()),
        };
        for entry in &header.entries {
            let number = *numbers.entry(&entry.fqn).or_insert(tensors.len());
            if number == tensors.len() {
                tensors.push(Pieces { fqn: &entry.fqn, all: Vec::new(), placed: true });
            }
            let Some(pieces) = tensors.get_mut(number) else { continue };
            match places.as_ref().map(|places| places.get(entry.fqn.as_ref())) {
                Some(Some(offsets)) => {
                    pieces.all.push(Piece { header, file, entry, offsets: offsets.as_slice().into() });
                }
                unknown => {
                    pieces.placed = false;
                    part.reserved.push(entry.record(file));
                    if unknown.is_some() {
                        let finding = Finding::new(Code::ShardingInfoMissing).of_tensor(&entry.fqn);
                        part.findings.push(finding.in_file(&header.path));
                    }
                }
            }
        }
        for fqn in extra(places.as_ref(), header) {
            part.findings.push(Finding::new(Code::ShardingInfoExtra).of_tensor(&fqn).in_file(&header.path));
        }
    }
    let declared: Map<&str, &[i64]> =
        whole.into_iter().flat_map(Part::tensors).map(|tensor| (tensor.fqn(), tensor.shape())).collect();
    let mut inferred = 0_u64;
    for pieces in tensors {
        inferred = inferred.saturating_add(u64::from(enter(part, &pieces, declared.get(pieces.fqn).copied())?));
    }
    if inferred > 0 {
        part.findings.push(Finding::new(Code::SizeInferred).with("tensors", inferred));
    }
    Ok(())
}

/// Enter the pieces of one tensor; whether its global shape had to be inferred.
fn enter(part: &mut Part, pieces: &Pieces<'_>, declared: Option<&[i64]>) -> Result<bool, TooMany> {
    let Some(first) = pieces.all.first().filter(|_| pieces.placed) else {
        let known = pieces.all.iter().map(|piece| piece.entry.record(piece.file));
        part.reserved.extend(known);
        return Ok(false);
    };
    let rank = first.entry.shape.len();
    let mut shape = vec![0_i64; rank];
    for piece in &pieces.all {
        for ((dim, &offset), &size) in shape.iter_mut().zip(&piece.offsets).zip(&piece.entry.shape) {
            *dim = (*dim).max(offset.saturating_add(size));
        }
    }
    let declared = declared.filter(|declared| {
        let fits = declared.len() == rank && declared.iter().zip(&shape).all(|(declared, reached)| declared >= reached);
        if !fits {
            let finding = Finding::new(Code::ShapeMismatch).of_tensor(pieces.fqn);
            let text = |shape: &[i64]| format!("{shape:?}");
            part.findings.push(finding.with("shape", text(&shape)).with("expected", text(declared)));
        }
        fits
    });
    part.push_tensor(pieces.fqn, first.entry.dtype.clone(), declared.unwrap_or(&shape));
    for (position, piece) in pieces.all.iter().enumerate() {
        let mut record = piece.entry.record(piece.file);
        let about = |code| Finding::new(code).of_tensor(pieces.fqn).in_file(&piece.header.path);
        let at = |finding: Finding| finding.at(u64::try_from(position).unwrap_or(u64::MAX));
        if piece.entry.dtype != first.entry.dtype {
            let dtypes = [("dtype", piece.entry.dtype.name()), ("expected", first.entry.dtype.name())];
            let finding = at(about(Code::DtypeMismatch));
            part.findings.push(dtypes.into_iter().fold(finding, |finding, (name, dtype)| finding.with(name, dtype)));
            // Its length is that of its own elements, not of the tensor's.
            record.encoding = Encoding::Unplaced;
            part.reserved.push(piece.entry.record(piece.file));
        }
        if !part.push_chunk(position, &piece.offsets, &piece.entry.shape, Some(record))? {
            let finding = at(about(Code::ChunkRankMismatch)).with("field", "chunk").with("rank", piece.offsets.len());
            part.findings.push(finding.with("expected", rank));
            part.reserved.push(piece.entry.record(piece.file));
        }
    }
    Ok(declared.is_none())
}

/// Names that the note has and the file has not.
fn extra(places: Option<&Map<String, Vec<i64>>>, header: &Header) -> Vec<String> {
    let Some(places) = places else { return Vec::new() };
    let held: hashbrown::HashSet<&str, foldhash::fast::RandomState> =
        header.entries.iter().map(|entry| entry.fqn.as_ref()).collect();
    let mut extra: Vec<String> = places.keys().filter(|fqn| !held.contains(fqn.as_str())).cloned().collect();
    extra.sort_unstable();
    extra
}

/// Where each tensor's piece of one file belongs.
fn places(note: &str) -> Result<Map<String, Vec<i64>>, JsonError> {
    let mut places = Map::default();
    for member in Value::document(note.as_bytes(), note.len())?.object()?.unique()?.members() {
        let offsets = member.value.object()?.unique()?.required("saved_offsets")?;
        let numbers = offsets.array()?.into_iter().map(|number| {
            let whole = number.integer()?;
            i64::try_from(whole).map_err(|_| number.wrong(super::json::Problem::IntegerOverflow))
        });
        places.insert(member.key.clone().into_owned(), numbers.collect::<Result<_, JsonError>>()?);
    }
    Ok(places)
}

#[cfg(test)]
mod tests;
