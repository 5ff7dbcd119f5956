//! The index of a shard: which inner chunks it holds and where.

use super::codec::Sharding;
use super::grid::{Region, volume};
use crate::findings::{Code, Finding};

/// Where an inner chunk is within the shard: first byte and number of bytes; `None` when it is not stored.
pub type Slot = Option<(u64, u64)>;

/// An index that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Not as many bytes as the inner chunks need.
    #[error("the shard index has {found} bytes, {expected} are needed")]
    Length {
        /// Bytes that are there.
        found: usize,
        /// Bytes that are needed.
        expected: u64,
    },
    /// The checksum does not match.
    #[error("the CRC-32C of the shard index is {computed:#010x}, it states {stated:#010x}")]
    Checksum {
        /// What the bytes give.
        computed: u32,
        /// What they state.
        stated: u32,
    },
}

impl Sharding {
    /// Bytes of the index; `None` beyond 64 bits.
    #[must_use]
    pub fn index_length(&self) -> Option<u64> {
        let slots = u64::try_from(self.grid.cell_count()?).ok()?;
        slots.checked_mul(16)?.checked_add(if self.index_checksum { 4 } else { 0 })
    }

    /// First byte of the index in a shard of so many bytes; `None` when the shard is shorter than its index.
    #[must_use]
    pub fn index_offset(&self, shard_length: u64) -> Option<u64> {
        let last = shard_length.checked_sub(self.index_length()?)?;
        Some(if self.index_at_start { 0 } else { last })
    }

    /// Read the index.
    ///
    /// # Errors
    ///
    /// [`Fault`] when it has not the length that it should, or not the checksum.
    pub fn read_index(&self, bytes: &[u8]) -> Result<Vec<Slot>, Fault> {
        let expected = self.index_length().unwrap_or(u64::MAX);
        if u64::try_from(bytes.len()) != Ok(expected) {
            return Err(Fault::Length { found: bytes.len(), expected });
        }
        let mut table = bytes;
        if self.index_checksum
            && let Some((rest, stated)) = bytes.split_last_chunk::<4>()
        {
            let (computed, stated) = (crc32c::crc32c(rest), u32::from_le_bytes(*stated));
            if computed != stated {
                return Err(Fault::Checksum { computed, stated });
            }
            table = rest;
        }
        let (numbers, _) = table.as_chunks::<8>();
        let (pairs, _) = numbers.as_chunks::<2>();
        let slot = |[offset, length]: &[[u8; 8]; 2]| {
            let slot = (u64::from_le_bytes(*offset), u64::from_le_bytes(*length));
            (slot != (u64::MAX, u64::MAX)).then_some(slot)
        };
        Ok(pairs.iter().map(slot).collect())
    }
}

/// What an index is judged against.
#[derive(Clone, Copy, Debug)]
pub struct Whole<'a> {
    /// Shape of the array.
    pub shape: &'a [i64],
    /// Where the shard begins in the array.
    pub corner: &'a [i64],
    /// Bytes of the shard.
    pub length: u64,
    /// What absent elements read as, where they may be absent.
    pub fill: Option<&'a str>,
}

impl Sharding {
    /// Judge where the index says that inner chunks are; each finding names the first one of its kind and how many.
    #[must_use]
    pub fn judge(&self, slots: &[Slot], whole: Whole<'_>) -> Vec<Finding> {
        let index_length = self.index_length().unwrap_or(u64::MAX);
        let first = if self.index_at_start { index_length } else { 0 };
        let last = if self.index_at_start { whole.length } else { whole.length.saturating_sub(index_length) };
        let exact = self.codecs.exact_length();

        let mut outside = Repeated::new(Code::RangeBeyondFile);
        let mut unequal = Repeated::new(Code::RangeSizeMismatch);
        let mut stored = Vec::new();
        for (number, slot) in slots.iter().enumerate() {
            let Some((offset, length)) = *slot else { continue };
            match offset.checked_add(length) {
                Some(end) if offset >= first && end <= last => {
                    stored.push((offset, end, number));
                    if length == 0 || exact.is_some_and(|exact| u128::from(length) != exact) {
                        unequal.push(number, (offset, length));
                    }
                }
                _ => outside.push(number, (offset, length)),
            }
        }
        stored.sort_unstable();
        let mut overlapping = Repeated::new(Code::RangeOverlap);
        let mut reached = 0;
        for (offset, end, number) in stored {
            if offset < reached {
                overlapping.push(number, (offset, end.saturating_sub(offset)));
            }
            reached = reached.max(end);
        }
        let kinds = [
            outside.finding(&format!("ends behind the {last} bytes that come before the index, or in front of them")),
            unequal.finding(&match exact {
                Some(exact) => format!("takes {exact} bytes and has another number"),
                None => "has no bytes".to_owned(),
            }),
            overlapping.finding("has bytes that another one has too"),
        ];
        kinds.into_iter().flatten().chain(self.absent(slots, whole)).collect()
    }

    /// Inner chunks that are not stored although they have elements of the array.
    fn absent(&self, slots: &[Slot], whole: Whole<'_>) -> Option<Finding> {
        let mut absent = 0_u64;
        let mut elements = 0_u128;
        let mut first = None;
        for (number, _) in slots.iter().enumerate().filter(|(_, slot)| slot.is_none()) {
            let Some(region) = self.inner_region(number, whole) else { continue };
            elements = elements.saturating_add(volume(&region.1).unwrap_or(u128::MAX));
            absent = absent.saturating_add(1);
            first.get_or_insert((number, region));
        }
        let (number, (offsets, sizes)) = first?;
        let code = if whole.fill.is_some() { Code::ChunkMissingFill } else { Code::ChunkGap };
        let finding = Finding::new(code).in_region(&offsets, &sizes).with("elements", elements);
        let finding = finding.with("inner", number).with("inner_count", absent);
        Some(match whole.fill {
            Some(fill) => finding.with("fill", fill),
            None => finding,
        })
    }

    /// The elements of the array that an inner chunk has; `None` for one that is wholly outside.
    fn inner_region(&self, number: usize, whole: Whole<'_>) -> Option<Region> {
        let cell = self.grid.cell(u128::try_from(number).ok()?)?;
        let (within, sizes) = self.grid.region(&cell)?;
        let spans = within.iter().zip(&sizes).zip(whole.corner).zip(whole.shape);
        let clipped = spans.map(|(((&within, &size), &corner), &extent)| {
            // Where the axes are turned around only a shard that sticks out nowhere says which elements it has.
            let offset = if self.in_place { corner.checked_add(within)? } else { corner };
            let size = size.min(extent.checked_sub(offset)?);
            (size > 0).then_some((offset, size))
        });
        clipped.collect::<Option<Vec<_>>>().map(|spans| spans.into_iter().unzip())
    }
}

/// A fault that many inner chunks may have.
struct Repeated {
    code: Code,
    count: u64,
    first: Option<(usize, (u64, u64))>,
}

impl Repeated {
    const fn new(code: Code) -> Self {
        Self { code, count: 0, first: None }
    }

    fn push(&mut self, number: usize, range: (u64, u64)) {
        self.count = self.count.saturating_add(1);
        if self.first.is_none_or(|(first, _)| number < first) {
            self.first = Some((number, range));
        }
    }

    fn finding(self, what: &str) -> Option<Finding> {
        let (number, (offset, length)) = self.first?;
        let reason = format!("inner chunk {number} of the shard, at {offset} + {length} bytes, {what}");
        let finding = Finding::new(self.code).in_bytes(offset, length).with("reason", reason);
        Some(finding.with("inner", number).with("inner_count", self.count))
    }
}
