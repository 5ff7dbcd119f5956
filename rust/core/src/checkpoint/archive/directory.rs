//! The directory of a zip archive whose members are stored as they are.

use std::collections::HashSet;

use super::{Fault, Window};

/// Bytes at the end of an archive in which the end record is looked for: it may be followed by a comment.
const TAIL: u64 = 22 + 0xffff;

/// A member of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name, without the directory that all members lie in.
    pub name: String,
    /// First byte of its content in the file.
    pub byte_offset: u64,
    /// Bytes of its content.
    pub byte_length: u64,
    /// The CRC-32 of its content, as stated.
    pub checksum: u32,
}

/// The directory of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    members: Vec<Member>,
}

impl Archive {
    /// Read the directory of the archive that is a range of a file.
    ///
    /// # Errors
    ///
    /// [`Fault`] when there is none, when it does not fit the range, or when members are compressed.
    pub fn open(window: &mut Window<'_>, start: u64, length: u64) -> Result<Self, Fault> {
        window.look_at(start, length)?;
        let tail = length.min(TAIL);
        let tail_at = length.saturating_sub(tail);
        let end = EndRecord::find(window.get_only(start.saturating_add(tail_at), tail)?, tail_at)?;
        let end = end.wide(window, start)?;
        let fits = end.offset.checked_add(end.size).is_some_and(|behind| behind <= end.at);
        if !fits {
            let EndRecord { offset, size, at, .. } = end;
            let reason = format!("its directory of {size} bytes at byte {offset} does not end before byte {at}");
            return Err(Fault::corrupt(reason));
        }
        let directory = window.get_only(start.saturating_add(end.offset), end.size)?.to_vec();
        let (mut members, mut names) = (Vec::new(), HashSet::new());
        let mut rest = directory.as_slice();
        while !rest.is_empty() {
            let (listed, behind) = Listed::read(rest)
                .ok_or_else(|| Fault::corrupt(format!("entry {} of its directory is damaged", members.len())))?;
            rest = behind;
            let member = listed.member(window, start, end.offset)?;
            if !names.insert(member.name.clone()) {
                return Err(Fault::corrupt(format!("its directory lists {} twice", member.name)));
            }
            members.push(member);
        }
        if u64::try_from(members.len()) != Ok(end.count) {
            let reason = format!("its directory lists {} members, its end states {}", members.len(), end.count);
            return Err(Fault::corrupt(reason));
        }
        Ok(Self { members })
    }

    /// The members.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// A member by its name.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// Whether a member with content has no checksum.
    #[must_use]
    pub fn has_unchecked(&self) -> bool {
        self.members.iter().any(|member| member.checksum == 0 && member.byte_length > 0)
    }

    /// The content of a member.
    ///
    /// # Errors
    ///
    /// [`Fault`] when it cannot be read or is not what its checksum says.
    pub fn content<'w>(&self, window: &'w mut Window<'_>, member: &Member) -> Result<&'w [u8], Fault> {
        let content = window.get(member.byte_offset, member.byte_length)?;
        compare(member, crc32fast::hash(content))?;
        Ok(content)
    }

    /// Check the content of a member against its checksum.
    ///
    /// # Errors
    ///
    /// [`Fault`] when it cannot be read or is not what its checksum says.
    pub fn check(&self, window: &mut Window<'_>, member: &Member) -> Result<(), Fault> {
        // Writers that do not compute checksums leave zero.
        if member.checksum == 0 {
            return Ok(());
        }
        let computed = window.checksum(member.byte_offset, member.byte_length)?;
        compare(member, computed)
    }
}

fn compare(member: &Member, computed: u32) -> Result<(), Fault> {
    if member.checksum == 0 || member.checksum == computed {
        return Ok(());
    }
    Err(Fault::Checksum { member: member.name.clone(), stated: member.checksum, computed })
}

/// Where the directory is.
#[derive(Clone, Copy, Debug)]
struct EndRecord {
    /// Where this record begins, from the start of the archive.
    at: u64,
    count: u64,
    size: u64,
    offset: u64,
}

impl EndRecord {
    fn find(tail: &[u8], tail_at: u64) -> Result<Self, Fault> {
        let mut end = tail.len();
        while let Some(at) =
            tail.get(..end).and_then(|before| before.windows(4).rposition(|four| four == b"PK\x05\x06"))
        {
            let record = tail.get(at..).unwrap_or_default();
            if let Some((fields, comment)) = record.split_first_chunk::<22>()
                && Some(comment.len()) == u16_at(fields, 20).map(usize::from)
                && let (Some(count), Some(size), Some(offset)) =
                    (u16_at(fields, 10), u32_at(fields, 12), u32_at(fields, 16))
            {
                let at = tail_at.saturating_add(u64::try_from(at).unwrap_or(u64::MAX));
                return Ok(Self { at, count: count.into(), size: size.into(), offset: offset.into() });
            }
            end = at.saturating_add(3);
        }
        Err(Fault::corrupt("it has no end-of-central-directory record"))
    }

    /// The numbers of 64 bits, where there are any: some readers take these, some the others, so both have to agree.
    fn wide(self, window: &mut Window<'_>, start: u64) -> Result<Self, Fault> {
        let damaged = || Fault::corrupt("its zip64 end record is damaged");
        let Some(locator_at) = self.at.checked_sub(20) else { return Ok(self) };
        let locator = window.get_only(start.saturating_add(locator_at), 20)?;
        if !locator.starts_with(b"PK\x06\x07") {
            return Ok(self);
        }
        let at = u64_at(locator, 8).filter(|at| at.checked_add(56).is_some_and(|end| end <= locator_at));
        let at = at.ok_or_else(damaged)?;
        let record = window.get_only(start.saturating_add(at), 56)?;
        let numbers = (u64_at(record, 32), u64_at(record, 40), u64_at(record, 48));
        let (Some(count), Some(size), Some(offset)) = numbers else { return Err(damaged()) };
        if !record.starts_with(b"PK\x06\x06") {
            return Err(damaged());
        }
        let narrow = u64::from(u32::MAX);
        let fields = [
            ("members", self.count, count, u64::from(u16::MAX)),
            ("bytes of directory", self.size, size, narrow),
            ("bytes before it", self.offset, offset, narrow),
        ];
        if let Some((what, here, there, _)) = fields.iter().find(|(_, here, there, most)| here != there && here != most)
        {
            return Err(Fault::corrupt(format!("its end states {here} {what}, its zip64 end {there}")));
        }
        Ok(Self { at, count, size, offset })
    }
}

/// An entry of the directory.
struct Listed {
    name: String,
    compressed: bool,
    checksum: u32,
    stored: u64,
    length: u64,
    offset: u64,
}

impl Listed {
    /// Read an entry; what is behind it.
    fn read(from: &[u8]) -> Option<(Self, &[u8])> {
        let (fields, rest) = from.split_first_chunk::<46>()?;
        if !fields.starts_with(b"PK\x01\x02") {
            return None;
        }
        let lengths = [u16_at(fields, 28)?, u16_at(fields, 30)?, u16_at(fields, 32)?].map(usize::from);
        let [name, extra, comment] = lengths;
        let (name, rest) = rest.split_at_checked(name)?;
        let (extra, rest) = rest.split_at_checked(extra)?;
        let (_, rest) = rest.split_at_checked(comment)?;
        let mut listed = Self {
            name: String::from_utf8_lossy(name).into_owned(),
            compressed: u16_at(fields, 10)? != 0,
            checksum: u32_at(fields, 16)?,
            stored: u32_at(fields, 20)?.into(),
            length: u32_at(fields, 24)?.into(),
            offset: u32_at(fields, 42)?.into(),
        };
        listed.widen(extra)?;
        Some((listed, rest))
    }

    /// Take the numbers that do not fit 32 bits from the zip64 field.
    fn widen(&mut self, mut extra: &[u8]) -> Option<()> {
        let narrow = u64::from(u32::MAX);
        if self.length != narrow && self.stored != narrow && self.offset != narrow {
            return Some(());
        }
        while let Some((head, rest)) = extra.split_first_chunk::<4>() {
            let (mut field, behind) = rest.split_at_checked(usize::from(u16_at(head, 2)?))?;
            if u16_at(head, 0)? == 1 {
                for number in [&mut self.length, &mut self.stored, &mut self.offset] {
                    if *number == narrow {
                        let (wide, more) = field.split_first_chunk::<8>()?;
                        *number = u64::from_le_bytes(*wide);
                        field = more;
                    }
                }
                return Some(());
            }
            extra = behind;
        }
        None
    }

    /// Find the content; nothing of it may lie in or behind the directory.
    fn member(self, window: &mut Window<'_>, start: u64, directory: u64) -> Result<Member, Fault> {
        let Self { name, compressed, checksum, stored, length, offset } = self;
        if compressed || stored != length {
            return Err(Fault::corrupt(format!("its member {name} is compressed, which no writer does")));
        }
        let outside = || Fault::corrupt(format!("its member {name} of {length} bytes is not in it"));
        let inside = offset.checked_add(30).is_some_and(|end| end <= directory);
        if !inside {
            return Err(outside());
        }
        // Of a small archive all is in memory; of a large one the content behind this is better left alone.
        let header = window.get_only(start.saturating_add(offset), 30)?;
        let lengths = u16_at(header, 26).zip(u16_at(header, 28)).filter(|_| header.starts_with(b"PK\x03\x04"));
        let (name_length, extra_length) =
            lengths.ok_or_else(|| Fault::corrupt(format!("its member {name} does not begin where it should")))?;
        let begin = offset.saturating_add(30).saturating_add(name_length.into()).saturating_add(extra_length.into());
        if begin.checked_add(length).is_none_or(|end| end > directory) {
            return Err(outside());
        }
        let name = name.split_once('/').map_or(name.clone(), |(_, inner)| inner.to_owned());
        Ok(Member { name, byte_offset: start.saturating_add(begin), byte_length: length, checksum })
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|two| u16::from_le_bytes(*two))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|four| u32::from_le_bytes(*four))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|eight| u64::from_le_bytes(*eight))
}
