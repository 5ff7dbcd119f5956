//! Ranges of a file, read ahead so that small archives one after another cost one reading.

use super::Fault;

/// How ranges of a file are read: first byte and number of bytes; `None` where that fails.
pub type Read<'r> = dyn FnMut(u64, u64) -> Option<Vec<u8>> + 'r;

/// Bytes that are read at once.
const AHEAD: u64 = 1 << 22;
/// Bytes that are held at once: beyond any directory or pickle that is looked into.
const MOST: u64 = 1 << 28;

/// A file of which a range is in memory.
pub struct Window<'r> {
    read: &'r mut Read<'r>,
    size: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl<'r> Window<'r> {
    /// Look at a file of `size` bytes.
    pub fn new(size: u64, read: &'r mut Read<'r>) -> Self {
        Self { read, size, start: 0, bytes: Vec::new() }
    }

    /// How many bytes the file has.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Read a range that will be looked at again and again, unless it is large.
    pub(super) fn look_at(&mut self, start: u64, length: u64) -> Result<(), Fault> {
        if length <= AHEAD {
            self.get(start, length)?;
        }
        Ok(())
    }

    /// Bytes of the file, and some that follow for the next question.
    pub(super) fn get(&mut self, start: u64, length: u64) -> Result<&[u8], Fault> {
        self.bytes_from(start, length, AHEAD)
    }

    /// Bytes of the file, and no more.
    pub(super) fn get_only(&mut self, start: u64, length: u64) -> Result<&[u8], Fault> {
        self.bytes_from(start, length, 0)
    }

    fn bytes_from(&mut self, start: u64, length: u64, ahead: u64) -> Result<&[u8], Fault> {
        let left = self.size.checked_sub(start).filter(|&left| length <= left && length <= MOST);
        let left = left.ok_or_else(|| Fault::corrupt(format!("{length} bytes at byte {start} are not in it")))?;
        if self.held(start, length).is_none() {
            let wanted = length.max(ahead).min(left);
            let unread = Fault::Unread { byte_offset: start, byte_length: wanted };
            self.bytes = (self.read)(start, wanted).ok_or_else(|| unread.clone())?;
            self.start = start;
            return self.held(start, length).ok_or(unread);
        }
        Ok(self.held(start, length).unwrap_or_default())
    }

    fn held(&self, start: u64, length: u64) -> Option<&[u8]> {
        let from = usize::try_from(start.checked_sub(self.start)?).ok()?;
        self.bytes.get(from..from.checked_add(usize::try_from(length).ok()?)?)
    }

    /// The CRC-32 of a range, however long.
    pub(super) fn checksum(&mut self, mut start: u64, mut length: u64) -> Result<u32, Fault> {
        let mut hasher = crc32fast::Hasher::new();
        while length > 0 {
            let piece = length.min(AHEAD);
            hasher.update(self.get(start, piece)?);
            start = start.saturating_add(piece);
            length = length.saturating_sub(piece);
        }
        Ok(hasher.finalize())
    }
}
