//! Numbers, columns and paths, one after another.

use std::sync::Arc;

/// Bytes that do not say what they should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The bytes end in the middle of something.
    #[error("it ends in the middle of {0}")]
    Truncated(&'static str),
    /// Bytes are left when everything is read.
    #[error("{0} bytes follow its end")]
    TrailingBytes(usize),
    /// Not the first bytes that this kind of file has.
    #[error("it begins with {0:#010x}, not {1:#010x}")]
    Magic(u32, u32),
    /// The length that the file states is not the one it has.
    #[error("it states a length of {0} bytes and has {1}")]
    Length(u64, u64),
    /// The checksum does not match.
    #[error("its CRC-32C is {0:#010x}, it states {1:#010x}")]
    Checksum(u32, u32),
    /// Not a kind that this reader knows.
    #[error("unknown {0} {1}")]
    Unknown(&'static str, u64),
    /// The compressed part cannot be expanded.
    #[error("its compressed part is damaged: {0}")]
    Compressed(Box<str>),
    /// Expanded, it would be larger than is sensible.
    #[error("it expands to more than {0} bytes")]
    Expansion(u64),
    /// A number that is larger than anything sensible.
    #[error("{0} is {1}, more than {2}")]
    TooLarge(&'static str, u64, u64),
    /// A number that refers to nothing.
    #[error("{0} {1} of {2}")]
    OutOfRange(&'static str, u64, u64),
    /// Keys, or versions, that are not in ascending order.
    #[error("its {0} are not in ascending order")]
    Unordered(&'static str),
    /// A node of another height than its parent states.
    #[error("its height is {0}, its parent says {1}")]
    Height(u8, u8),
    /// A node whose keys are not those that its parent states.
    #[error("its keys are not within those that its parent says")]
    Bounds,
    /// Nothing where there must be something.
    #[error("it has no {0}")]
    Empty(&'static str),
    /// A path that is not UTF-8.
    #[error("a path is not UTF-8")]
    Path,
}

impl Fault {
    /// Whether the bytes may be right, and only this reader does not know them.
    #[must_use]
    pub const fn is_unsupported(&self) -> bool {
        matches!(self, Self::Unknown(..))
    }
}

/// A number in a table of files: which file, and where in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Number of the file in the table of the node that says so.
    pub file: usize,
    /// First byte.
    pub byte_offset: u64,
    /// Number of bytes.
    pub byte_length: u64,
}

impl Place {
    /// Whether it is no place at all: the root of a database without keys.
    #[must_use]
    pub const fn is_missing(self) -> bool {
        self.byte_offset == u64::MAX && self.byte_length == u64::MAX
    }
}

/// A file that a node or manifest refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Path from the directory of the database.
    pub path: Arc<str>,
    base_length: usize,
}

impl DataFile {
    /// The directory that paths within the file are relative to.
    #[must_use]
    pub fn base(&self) -> &str {
        self.path.get(..self.base_length).unwrap_or_default()
    }
}

/// Bytes that are read from front to back.
#[derive(Clone, Copy, Debug)]
pub struct Wire<'a> {
    rest: &'a [u8],
}

/// Longest key and path, as tensorstore has it.
const NAME_BYTES: u64 = 65_535;

/// Bytes of all keys or paths of one node, shared prefixes written out: a byte of a file can stand for 65,535 of them.
const NAMES_BYTES: u64 = 1 << 28;

impl<'a> Wire<'a> {
    /// Read from the start of `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Bytes that are left.
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Take `count` bytes.
    ///
    /// # Errors
    ///
    /// [`Fault::Truncated`] when there are fewer.
    pub fn bytes(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Fault::Truncated(what))?;
        self.rest = rest;
        Ok(taken)
    }

    /// Take one byte.
    ///
    /// # Errors
    ///
    /// [`Fault::Truncated`] when there is none.
    pub fn byte(&mut self, what: &'static str) -> Result<u8, Fault> {
        let (&byte, rest) = self.rest.split_first().ok_or(Fault::Truncated(what))?;
        self.rest = rest;
        Ok(byte)
    }

    /// Take a number of eight bytes, the lowest first.
    ///
    /// # Errors
    ///
    /// [`Fault::Truncated`] when there are fewer bytes.
    pub fn fixed(&mut self, what: &'static str) -> Result<u64, Fault> {
        let bytes = self.bytes(8, what)?;
        Ok(bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)))
    }

    /// Take a number of seven bits to the byte, the lowest first.
    ///
    /// # Errors
    ///
    /// [`Fault::Truncated`] when it does not end, [`Fault::TooLarge`] when it is beyond 64 bits.
    pub fn varint(&mut self, what: &'static str) -> Result<u64, Fault> {
        let mut number = 0_u64;
        for shift in (0_u32..64).step_by(7) {
            let byte = self.byte(what)?;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has room for one bit more.
            if shift == 63 && bits > 1 {
                return Err(Fault::TooLarge(what, u64::MAX, u64::MAX));
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Fault::TooLarge(what, u64::MAX, u64::MAX))
    }

    /// Take a number that counts things, each of which needs at least one more byte.
    ///
    /// What it counts may therefore be allocated: the count is at most the number of bytes left.
    ///
    /// # Errors
    ///
    /// [`Fault`] when there is no number, or more things than bytes.
    pub fn count(&mut self, what: &'static str) -> Result<usize, Fault> {
        let count = self.varint(what)?;
        match usize::try_from(count) {
            Ok(count) if count <= self.remaining() => Ok(count),
            _ => Err(Fault::Truncated(what)),
        }
    }

    /// Take `count` numbers.
    ///
    /// # Errors
    ///
    /// [`Fault`] when there are fewer.
    pub fn varints(&mut self, count: usize, what: &'static str) -> Result<Vec<u64>, Fault> {
        (0..count).map(|_| self.varint(what)).collect()
    }

    /// Take `count` lengths of names.
    ///
    /// # Errors
    ///
    /// [`Fault`] when there are fewer, or one is longer than any name may be.
    pub fn lengths(&mut self, count: usize, what: &'static str) -> Result<Vec<usize>, Fault> {
        let lengths = (0..count).map(|_| {
            let length = self.varint(what)?;
            let sensible = usize::try_from(length).ok().filter(|_| length <= NAME_BYTES);
            sensible.ok_or(Fault::TooLarge(what, length, NAME_BYTES))
        });
        lengths.collect()
    }

    /// Take names that begin as the one before them does: each is a prefix of that and a suffix of its own.
    ///
    /// Every name gets `base` in front.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the bytes end, a prefix is longer than the name that it is taken from, or the names are too long.
    pub fn names(&mut self, base: &[u8], prefixes: &[usize], suffixes: &[usize]) -> Result<Vec<Vec<u8>>, Fault> {
        let mut names: Vec<Vec<u8>> = Vec::with_capacity(suffixes.len());
        let mut room = NAMES_BYTES;
        for (position, &suffix) in suffixes.iter().enumerate() {
            // The first name has nothing to begin as.
            let prefix = position.checked_sub(1).and_then(|before| prefixes.get(before)).copied().unwrap_or_default();
            let before = names.last().map_or(base, Vec::as_slice);
            let shared = before.get(..base.len().saturating_add(prefix)).ok_or(Fault::Truncated("a shared prefix"))?;
            let name = [shared, self.bytes(suffix, "a name")?].concat();
            let length = u64::try_from(name.len()).unwrap_or(u64::MAX);
            if length > NAME_BYTES {
                return Err(Fault::TooLarge("the length of a name", length, NAME_BYTES));
            }
            room = room.checked_sub(length).ok_or(Fault::Expansion(NAMES_BYTES))?;
            names.push(name);
        }
        Ok(names)
    }

    /// Take a table of files, whose paths are relative to `base`.
    ///
    /// # Errors
    ///
    /// [`Fault`] when it is cut short or its numbers do not fit together.
    pub fn files(&mut self, base: &str) -> Result<Vec<DataFile>, Fault> {
        let count = self.count("a table of files")?;
        let prefixes = self.lengths(count.saturating_sub(1), "the length of a path")?;
        let suffixes = self.lengths(count, "the length of a path")?;
        let bases = self.lengths(count, "the length of a path")?;
        let paths = self.names(base.as_bytes(), &prefixes, &suffixes)?;
        let files = paths.into_iter().zip(bases).map(|(path, base_length)| {
            let path = String::from_utf8(path).map_err(|_| Fault::Path)?;
            let base_length = base.len().saturating_add(base_length);
            if !path.is_char_boundary(base_length) {
                return Err(Fault::Truncated("a base path"));
            }
            Ok(DataFile { path: path.into(), base_length })
        });
        files.collect()
    }

    /// Take the columns of `count` places: file, offset, length.
    ///
    /// # Errors
    ///
    /// [`Fault`] when they are cut short or name a file that the table does not have.
    pub fn places(&mut self, count: usize, files: usize) -> Result<Vec<Place>, Fault> {
        let numbers = self.file_numbers(count, files)?;
        let offsets = self.varints(count, "an offset")?;
        let lengths = self.varints(count, "a length")?;
        let places = numbers.into_iter().zip(offsets).zip(lengths);
        Ok(places.map(|((file, byte_offset), byte_length)| Place { file, byte_offset, byte_length }).collect())
    }

    /// Take `count` numbers of files of a table that has `files`.
    ///
    /// # Errors
    ///
    /// [`Fault`] when they are cut short or beyond the table.
    pub fn file_numbers(&mut self, count: usize, files: usize) -> Result<Vec<usize>, Fault> {
        let numbers = (0..count).map(|_| {
            let number = self.varint("the number of a file")?;
            let known = usize::try_from(number).ok().filter(|&number| number < files);
            known.ok_or(Fault::OutOfRange("file", number, u64::try_from(files).unwrap_or(u64::MAX)))
        });
        numbers.collect()
    }

    /// Demand that nothing is left.
    ///
    /// # Errors
    ///
    /// [`Fault::TrailingBytes`] when something is.
    pub const fn end(self) -> Result<(), Fault> {
        if self.rest.is_empty() { Ok(()) } else { Err(Fault::TrailingBytes(self.rest.len())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_seven_bits_to_the_byte_reach_64_bits_and_no_further() {
        let read = |bytes: &[u8]| Wire::new(bytes).varint("n");
        assert_eq!(read(&[0]), Ok(0));
        assert_eq!(read(&[0xac, 0x02]), Ok(300));
        let mut largest = [0xff; 10];
        largest[9] = 1;
        assert_eq!(read(&largest), Ok(u64::MAX));
        largest[9] = 2;
        assert!(matches!(read(&largest), Err(Fault::TooLarge(..))));
        assert!(matches!(read(&[0x80; 11]), Err(Fault::TooLarge(..))));
        assert_eq!(read(&[0x80; 9]), Err(Fault::Truncated("n")));
        assert_eq!(read(&[]), Err(Fault::Truncated("n")));
    }

    #[test]
    fn a_count_beyond_the_bytes_allocates_nothing() {
        assert_eq!(Wire::new(&[0xff, 0xff, 0xff, 0xff, 0x7f, 0]).count("things"), Err(Fault::Truncated("things")));
        assert_eq!(Wire::new(&[1, 0]).count("things"), Ok(1));
    }

    #[test]
    fn paths_share_prefixes_and_hand_on_their_base() {
        // "p/d/ab" with base "p/", then "p/d/ac" with the same.
        let bytes = [&[2, 5, 6, 1, 2, 2][..], b"p/d/ab", b"c", &[9]].concat();
        let mut wire = Wire::new(&bytes);
        let files = wire.files("up/").unwrap();
        let paths: Vec<_> = files.iter().map(|file| (file.path.as_ref(), file.base())).collect();
        assert_eq!(paths, [("up/p/d/ab", "up/p/"), ("up/p/d/ac", "up/p/")]);
        assert_eq!(wire.remaining(), 1);
        assert_eq!(wire.end(), Err(Fault::TrailingBytes(1)));
    }

    #[test]
    fn paths_that_do_not_fit_together_are_refused() {
        let read = |bytes: &[u8]| Wire::new(bytes).files("");
        assert_eq!(read(&[1, 1, 2, b'a']), Err(Fault::Truncated("a base path")));
        assert_eq!(read(&[2, 3, 1, 1, 0, 0, b'a', b'b']), Err(Fault::Truncated("a shared prefix")));
        assert_eq!(read(&[1, 1, 0, 0xff]), Err(Fault::Path));
        assert_eq!(read(&[1, 0xff, 0xff, 0x7f, 0]), Err(Fault::TooLarge("the length of a path", 2_097_151, 65_535)));
        assert_eq!(Wire::new(&[1, 0, 0, 0]).places(1, 1), Err(Fault::OutOfRange("file", 1, 1)));
    }
}
