//! The zip archives that `torch.save` writes: DCP stores one for each chunk, DeepSpeed one for each process.
//!
//! Their directory is read, their pickles are read as opcodes, their checksums are computed; nothing is unpickled.
//! Bytes are asked for by range, so that large archives are never held whole.

mod directory;
mod examine;
mod piece;
mod window;

pub use self::directory::{Archive, Member};
pub use self::examine::{examine, whole};
pub use self::piece::{Content, Role, names};
pub use self::window::{Read, Window};

use crate::findings::{Code, Finding};

/// What is wrong with an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Bytes of it could not be read.
    Unread {
        /// The first of them.
        byte_offset: u64,
        /// How many.
        byte_length: u64,
    },
    /// It is no archive, or a damaged one.
    Corrupt(String),
    /// The content of a member does not have the checksum that the directory states.
    Checksum {
        /// The member.
        member: String,
        /// What the directory states.
        stated: u32,
        /// What the content has.
        computed: u32,
    },
}

impl Fault {
    fn corrupt(reason: impl Into<String>) -> Self {
        Self::Corrupt(reason.into())
    }

    /// The fault as a finding about a file.
    #[must_use]
    pub fn finding(&self, file: &str) -> Finding {
        let (code, reason) = match self {
            Self::Unread { byte_offset, byte_length } => {
                (Code::FileUnreadable, format!("{byte_length} bytes from byte {byte_offset} on cannot be read"))
            }
            Self::Corrupt(reason) => (Code::ArchiveCorrupt, reason.clone()),
            Self::Checksum { member, stated, computed } => {
                let reason = format!("{member} has the CRC-32 {computed:#010x}, the archive states {stated:#010x}");
                (Code::ChecksumMismatch, reason)
            }
        };
        Finding::new(code).in_file(file).with("reason", reason)
    }
}
