//! Parameters as tensors: stretches of their flattening become boxes, each with the bytes it lies in.

use hashbrown::HashSet;

use super::document::Stored;
use crate::checkpoint::dtype::Dtype;
use crate::checkpoint::limits::Limits;
use crate::checkpoint::part::{Encoding, Part, Record, TooMany};
use crate::findings::{Code, Finding};
use crate::flat;
use crate::layout::Boxes;

/// Elements of a parameter that lie one after another in a stored tensor.
#[derive(Clone, Copy)]
pub(super) struct Stretch<'s> {
    /// The first element in the flattened parameter.
    pub(super) start: u128,
    /// How many elements.
    pub(super) elements: u128,
    /// Where they are.
    pub(super) stored: &'s Stored,
    /// The first element in what is stored.
    pub(super) at: u128,
    /// Number of the file.
    pub(super) file: u32,
}

/// A part that gets its tensors.
pub(super) struct Entering<'l> {
    pub(super) part: Part,
    names: HashSet<Box<str>, foldhash::fast::RandomState>,
    limits: &'l Limits,
}

/// Elements of a shape, where they can be counted.
pub(super) fn elements(shape: &[i64]) -> Option<u128> {
    shape.iter().try_fold(1_u128, |elements, &dim| elements.checked_mul(u128::try_from(dim).ok()?))
}

impl<'l> Entering<'l> {
    pub(super) fn new(part: Part, limits: &'l Limits) -> Self {
        Self { part, names: HashSet::default(), limits }
    }

    /// Add a parameter, and the stretches that are known of it in order. What is behind its end is left out.
    pub(super) fn parameter<'s>(
        &mut self,
        fqn: &str,
        shape: &[i64],
        stretches: impl IntoIterator<Item = Stretch<'s>>,
    ) -> Result<(), TooMany> {
        if shape.len() > self.limits.rank {
            let reason = format!("{} dimensions, more than {}", shape.len(), self.limits.rank);
            self.report(Finding::new(Code::MetadataTooLarge).of_tensor(fqn).with("reason", reason));
            return Ok(());
        }
        if !self.names.insert(fqn.into()) {
            let finding = Finding::new(Code::MetadataMalformed).of_tensor(fqn);
            self.report(finding.with("reason", "the name is there twice"));
            return Ok(());
        }
        let mut stretches = stretches.into_iter().peekable();
        let dtype = stretches.peek().map_or_else(|| Dtype::unknown("unknown"), |first| first.stored.dtype.clone());
        self.part.push_tensor(fqn, dtype.clone(), shape);
        let mut position = 0;
        let mut other: Option<Dtype> = None;
        let total = elements(shape).unwrap_or_default();
        for stretch in stretches {
            if stretch.stored.dtype != dtype && other.is_none() {
                other = Some(stretch.stored.dtype.clone());
            }
            let stop = stretch.start.saturating_add(stretch.elements).min(total);
            let boxes = flat::boxes(shape, stretch.start.min(stop), stop).unwrap_or_default();
            // How many bytes elements of another type take is part of that fault.
            let encoding = if stretch.stored.dtype == dtype { Encoding::Raw } else { Encoding::Transformed };
            self.boxes(shape, &boxes, stretch, encoding, &mut position)?;
        }
        if let Some(other) = other {
            let finding = Finding::new(Code::DtypeMismatch).of_tensor(fqn);
            self.report(finding.with("dtype", other.name()).with("expected", dtype.name()));
        }
        Ok(())
    }

    /// Add the boxes of a stretch: each is the next stretch of the bytes.
    fn boxes(
        &mut self,
        shape: &[i64],
        boxes: &Boxes,
        stretch: Stretch<'_>,
        encoding: Encoding,
        position: &mut usize,
    ) -> Result<(), TooMany> {
        let Ok(chunks) = boxes.of(shape) else { return Ok(()) };
        let Some(begin) = stretch.stored.byte_offset else {
            // That the storage is not there was reported: a gap follows from it.
            self.part.incomplete |= !boxes.is_empty();
            return Ok(());
        };
        let bytes = |count| stretch.stored.dtype.byte_length(count);
        let mut at = stretch.at;
        for (offsets, sizes) in chunks.iter() {
            let count = elements(sizes).unwrap_or_default();
            let first = bytes(at).and_then(|behind| u128::from(begin).checked_add(behind));
            let place = first.and_then(|first| i64::try_from(first).ok());
            let record = place
                .zip(bytes(count).and_then(|length| i64::try_from(length).ok()))
                .map(|(byte_offset, byte_length)| Record { file: stretch.file, byte_offset, byte_length, encoding });
            self.part.push_chunk(*position, offsets, sizes, record)?;
            *position = position.saturating_add(1);
            at = at.saturating_add(count);
        }
        Ok(())
    }

    pub(super) fn report(&mut self, finding: Finding) {
        self.part.findings.push(finding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_become_boxes_whose_bytes_follow_one_another() {
        let stored = |byte_offset| Stored { dtype: Dtype::named("float32"), elements: 20, byte_offset };
        let (first, second, lost) = (stored(Some(100)), stored(Some(1000)), stored(None));
        let limits = Limits::DEFAULT;
        let mut entering = Entering::new(Part::new(), &limits);
        let stretch = |start, elements, stored, at, file| Stretch { start, elements, stored, at, file };
        let shape = [3, 5];
        entering.parameter("w", &shape, [stretch(0, 7, &first, 2, 0), stretch(7, 9, &second, 0, 1)]).unwrap();
        entering.parameter("scalar", &[], [stretch(0, 1, &first, 0, 0)]).unwrap();
        entering.parameter("none", &[0, 4], []).unwrap();
        assert!(!entering.part.incomplete);
        entering.parameter("lost", &[2], [stretch(0, 2, &lost, 0, 0)]).unwrap();
        let part = entering.part;
        let rows: Vec<_> = part.chunks(&part.tensors()[0]).unwrap().iter().collect();
        let boxes: [(&[i64], &[i64]); 4] =
            [(&[0, 0], &[1, 5]), (&[1, 0], &[1, 2]), (&[1, 2], &[1, 3]), (&[2, 0], &[1, 5])];
        assert_eq!(rows, boxes);
        let record =
            |record: &Option<Record>| record.map(|record| (record.file, record.byte_offset, record.byte_length));
        let records: Vec<_> = part.records(&part.tensors()[0]).iter().map(record).collect();
        // The ninth element of the second stretch is behind the end of the parameter.
        assert_eq!(records, [Some((0, 108, 20)), Some((0, 128, 8)), Some((1, 1000, 12)), Some((1, 1012, 20))]);
        assert_eq!(part.tensors().iter().map(|tensor| tensor.rows().len()).collect::<Vec<_>>(), [4, 1, 0, 0]);
        assert!(part.incomplete && part.findings.is_empty());
    }
}
