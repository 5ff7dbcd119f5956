//! Metadata of torch's distributed checkpoints (DCP): `.metadata`, or one `__R.metadata` from each process.
//!
//! Megatron and TensorPlay write the same objects, with additions and under other names. Nothing is unpickled: what the
//! classes mean is a table, and what is not in the table is listed and otherwise left alone.

use crate::findings::{Code, Finding};
use crate::interrupt::{Interrupt, Interrupted};

use super::limits::Limits;
use super::megatron;
use super::part::{EqualBoxes, Filling, Part, Rules};
use super::pickle::{self, Options};

mod document;
mod fault;
mod reader;
mod role;
mod union;

use self::document::Document;
use self::reader::{Ended, Reader};

/// Whose metadata it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flavour {
    /// torch's own, or Megatron's.
    #[default]
    Torch,
    /// TensorPlay's.
    TensorPlay,
    /// That of an early TensorPlay, which says nothing but a version.
    VersionOnly,
}

/// Who wrote metadata, as far as it can be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Whose classes it consists of.
    pub flavour: Flavour,
    /// Whether it holds the plans of all processes, as Megatron's does.
    pub has_plans: bool,
    /// Whether records name files of TensorPlay's mega store, and no bytes in them.
    pub has_mega_store: bool,
    /// Attributes that the classes of the format do not have: nothing was made of them.
    pub foreign: Vec<String>,
}

/// What metadata says.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Tensors, chunks and records, with what is wrong with the metadata itself.
    pub part: Part,
    /// Who wrote it.
    pub origin: Origin,
}

/// Read the metadata of a checkpoint: its one file, or those of all processes.
///
/// Files come as relative path and content. Of several the union is what counts: each knows the chunks of its own
/// process, and equal boxes are replicas. `megatron` says that files beside them are those of Megatron.
///
/// # Errors
///
/// [`Interrupted`] when the caller wants no answer any more.
pub fn read(
    files: &[(&str, &[u8])],
    megatron: bool,
    limits: &Limits,
    interrupt: Interrupt<'_>,
) -> Result<Reading, Interrupted> {
    let mut reading = if let [(path, content)] = files {
        read_file(path, content, limits, interrupt)?
    } else {
        union::unite(files.iter().map(|(path, content)| read_file(path, content, limits, interrupt)), interrupt)?
    };
    let equal_boxes = if files.len() > 1 { EqualBoxes::Replicas } else { EqualBoxes::Duplicates };
    reading.part.rules = if reading.part.incomplete {
        Rules { equal_boxes, ..Rules::NONE }
    } else if reading.origin.has_mega_store {
        Rules { filling: Filling::Free, equal_boxes, data_suffix: Some(".mega") }
    } else {
        Rules { filling: Filling::Tiled, equal_boxes, data_suffix: Some(".distcp") }
    };
    if megatron || reading.origin.has_plans {
        megatron::judge_objects(&mut reading.part);
    }
    Ok(reading)
}

fn read_file(path: &str, content: &[u8], limits: &Limits, interrupt: Interrupt<'_>) -> Result<Reading, Interrupted> {
    let (arena, refusal) = pickle::read(content, role::names, Options::default(), limits, interrupt)?;
    let mut deeds = arena.deeds(path);
    // Whoever wrote a pickle that runs code may have written anything into the rest of it.
    let hostile = deeds.iter().any(|deed| deed.code == Code::MetadataForbiddenGlobal);
    if hostile || refusal.is_some() {
        deeds.extend(refusal.filter(|_| !hostile).map(|refusal| refusal.finding(path)));
        return Ok(Reading { part: Part::refused(deeds), origin: Origin::default() });
    }
    let end = arena.length();
    let document = Document { arena };
    let mut reader = Reader::new(&document, content.len(), limits, interrupt);
    let ended = reader.read();
    let (mut part, mut faults, origin) = (reader.part, reader.faults, reader.origin);
    match ended {
        Ok(()) => part.findings.extend(fault::findings(path, content, limits, faults)),
        Err(Ended::Interrupted) => return Err(Interrupted),
        Err(Ended::Fault(last)) => {
            faults.push(last);
            part = Part::refused(fault::findings(path, content, limits, faults));
        }
    }
    part.findings.extend(deeds);
    let trailing = content.len().saturating_sub(end);
    if trailing > 0 {
        let byte = |at: usize| u64::try_from(at).unwrap_or(u64::MAX);
        let finding = Finding::new(Code::MetadataTrailingBytes).in_file(path).in_bytes(byte(end), byte(trailing));
        let reason =
            format!("{trailing} bytes follow the end of the pickle at byte {end}; whoever reads it ignores them");
        part.findings.push(finding.with("reason", reason));
    }
    Ok(Reading { part, origin })
}
