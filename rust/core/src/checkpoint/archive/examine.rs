//! Whether the archives in a data file hold the chunks that the metadata says they hold.

use super::{Archive, Content, Fault, Window};
use crate::bounds;
use crate::checkpoint::dtype::Dtype;
use crate::checkpoint::limits::Limits;
use crate::checkpoint::part::{Encoding, Part, Record, Tensor};
use crate::findings::{Code, Finding};
use crate::interrupt::{Interrupt, Interrupted};

/// Pickles of tensors have some 200 bytes.
const MOST_PICKLE: u64 = 1 << 24;

/// Look into all archives of one data file of a part, in the order of their bytes.
///
/// Records that leave the file or are too short for their chunk are passed over, and so are those of `(tensor, position)`
/// for which `skip` answers true: they failed before.
///
/// # Errors
///
/// [`Interrupted`] when the caller wants no answer any more.
pub fn examine(
    part: &Part,
    file: u32,
    window: &mut Window<'_>,
    skip: &dyn Fn(&str, u32) -> bool,
    interrupt: Interrupt<'_>,
) -> Result<Vec<Finding>, Interrupted> {
    let (mut findings, mut unchecked) = (Vec::new(), 0_u64);
    let path = usize::try_from(file).ok().and_then(|file| part.files().get(file)).map_or("", AsRef::as_ref);
    for found in of_file(part, file, window.size(), skip) {
        interrupt.check()?;
        let (start, length) = (found.start, found.length);
        let faults = match found.holds {
            Holds::Chunk { tensor, position, offsets, sizes } => {
                let chunk = Chunk { tensor, offsets, sizes };
                let about = |finding: Finding| {
                    finding.of_tensor(tensor.fqn()).at(position.into()).in_file(path).in_bytes(start, length)
                };
                chunk
                    .examine(window, start, length, &mut unchecked, interrupt)?
                    .into_iter()
                    .map(about)
                    .collect::<Vec<_>>()
            }
            Holds::Entry(fqn) => entry(window, start, length)
                .err()
                .map(|fault| fault.finding(path).of_tensor(fqn).in_bytes(start, length))
                .into_iter()
                .collect(),
        };
        findings.extend(faults);
    }
    if unchecked > 0 {
        findings.push(Finding::new(Code::ChecksumAbsent).in_file(path).with("records", unchecked));
    }
    Ok(findings)
}

/// A record, and what it should hold.
struct Found<'a> {
    start: u64,
    length: u64,
    holds: Holds<'a>,
}

enum Holds<'a> {
    Chunk { tensor: &'a Tensor, position: u32, offsets: &'a [i64], sizes: &'a [i64] },
    Entry(&'a str),
}

/// The archives of a file, ordered by their first byte.
fn of_file<'a>(part: &'a Part, file: u32, size: u64, skip: &dyn Fn(&str, u32) -> bool) -> Vec<Found<'a>> {
    let range = |record: &Record| {
        let start = u64::try_from(record.byte_offset).ok()?;
        let length = u64::try_from(record.byte_length).ok()?;
        let inside = start.checked_add(length).is_some_and(|end| end <= size);
        (record.file == file && record.encoding == Encoding::Archived && inside && length > 0)
            .then_some((start, length))
    };
    let mut found = Vec::new();
    for tensor in part.tensors() {
        let Some(chunks) = part.chunks(tensor) else { continue };
        let rows = chunks.iter().zip(part.records(tensor)).zip(part.positions(tensor));
        for (((offsets, sizes), record), &position) in rows {
            let Some((start, length)) = record.as_ref().and_then(range) else { continue };
            let long_enough = bytes_of(tensor, sizes).is_none_or(|needed| needed <= u128::from(length));
            let sized = sizes.iter().all(|&size| size >= 0);
            if long_enough && sized && !skip(tensor.fqn(), position) {
                found.push(Found { start, length, holds: Holds::Chunk { tensor, position, offsets, sizes } });
            }
        }
    }
    for blob in &part.blobs {
        if let Some((start, length)) = blob.record.as_ref().and_then(range) {
            found.push(Found { start, length, holds: Holds::Entry(&blob.fqn) });
        }
    }
    found.sort_by_key(|found| (found.start, found.length));
    found
}

/// Bytes that a chunk's elements take, where that is known.
fn bytes_of(tensor: &Tensor, sizes: &[i64]) -> Option<u128> {
    let elements = sizes.iter().try_fold(1_u128, |elements, &size| elements.checked_mul(u128::try_from(size).ok()?));
    tensor.dtype().byte_length(elements?)
}

/// Check the checksums of an entry that is not a tensor. What it holds is nobody's business, and may be no archive.
fn entry(window: &mut Window<'_>, start: u64, length: u64) -> Result<(), Fault> {
    if length < 4 || !window.get(start, 4)?.starts_with(b"PK") {
        return Ok(());
    }
    whole(window, start, length)
}

/// Check the checksums of all members of an archive.
///
/// # Errors
///
/// [`Fault`] when a range holds no archive, or one of which a member is not what its checksum says.
pub fn whole(window: &mut Window<'_>, start: u64, length: u64) -> Result<(), Fault> {
    let archive = Archive::open(window, start, length)?;
    archive.members().iter().try_for_each(|member| archive.check(window, member))
}

struct Chunk<'a> {
    tensor: &'a Tensor,
    offsets: &'a [i64],
    sizes: &'a [i64],
}

impl Chunk<'_> {
    fn is_inside(&self) -> bool {
        let dimensions = self.offsets.iter().zip(self.sizes).zip(self.tensor.shape());
        dimensions.into_iter().all(|((&offset, &size), &dim)| bounds::fits(offset, size, dim))
    }

    fn examine(
        &self,
        window: &mut Window<'_>,
        start: u64,
        length: u64,
        unchecked: &mut u64,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<Finding>, Interrupted> {
        let mismatch = |reason: String| Finding::new(Code::PayloadMismatch).with("reason", reason);
        let mut findings = Vec::new();
        let archive = match Archive::open(window, start, length) {
            Ok(archive) => archive,
            Err(fault) => return Ok(vec![fault.finding("")]),
        };
        *unchecked = unchecked.saturating_add(archive.has_unchecked().into());
        let stored: Vec<_> = archive.members().iter().filter(|member| member.name.starts_with("data/")).collect();
        let piece = match piece(&archive, window, interrupt)? {
            Ok(piece) => piece,
            Err(fault) => return Ok(vec![fault]),
        };
        let expected = self.tensor.dtype();
        match piece {
            Some((dtype, shape)) if shape != self.sizes || (dtype != *expected && expected.bits().is_some()) => {
                let (held, named) = (dtype.name(), expected.name());
                let sizes = self.sizes;
                let reason = format!("a {held} of shape {shape:?} is stored, the metadata says {named} of {sizes:?}");
                findings.push(mismatch(reason));
            }
            // The size of a chunk that does not fit its tensor is wrong already.
            _ if !self.is_inside() => {}
            _ => {
                let total = stored.iter().map(|member| u128::from(member.byte_length)).sum::<u128>();
                if let Some(needed) = bytes_of(self.tensor, self.sizes).filter(|&needed| needed != total) {
                    findings.push(mismatch(format!("{total} bytes of elements are stored, the chunk takes {needed}")));
                }
            }
        }
        for member in archive.members() {
            interrupt.check()?;
            if let Err(fault) = archive.check(window, member) {
                findings.push(fault.finding(""));
                break;
            }
        }
        Ok(findings)
    }
}

/// Dtype and shape.
type Piece = (Dtype, Vec<i64>);

/// Dtype and shape of the piece, where the archive says them in a way that is known.
fn piece(
    archive: &Archive,
    window: &mut Window<'_>,
    interrupt: Interrupt<'_>,
) -> Result<Result<Option<Piece>, Finding>, Interrupted> {
    let corrupt = |reason: String| Finding::new(Code::ArchiveCorrupt).with("reason", reason);
    let Some(member) = archive.member("data.pkl") else {
        return Ok(Err(corrupt("it has no data.pkl".to_owned())));
    };
    if member.byte_length > MOST_PICKLE {
        return Ok(Err(corrupt(format!("its data.pkl has {} bytes", member.byte_length))));
    }
    let pickle = match archive.content(window, member) {
        Ok(pickle) => pickle,
        Err(fault) => return Ok(Err(fault.finding(""))),
    };
    Ok(match Content::read(pickle, &Limits::DEFAULT, interrupt)? {
        Ok(content) => Ok(content.tensor(content.arena.root())),
        Err(refusal) => Err(corrupt(format!("its data.pkl is no pickle: {refusal}"))),
    })
}
