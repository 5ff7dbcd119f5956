//! Why a pickle is not read to its end.

use std::fmt;

use crate::findings::{Code, Finding};

/// What a pickle does that ends its reading.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// It has no bytes.
    Empty,
    /// It ends before it is complete.
    Truncated(String),
    /// It is no pickle.
    Malformed(String),
    /// It asks its reader for something that is not in it.
    Forbidden(&'static str),
    /// Containers lie in one another beyond any sensible depth.
    TooDeep(usize),
    /// Reading it would take too much.
    TooLarge(String),
}

/// A pickle was not read to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {byte_offset}: {problem}")]
pub struct Refusal {
    /// Where the opcode stands that could not be followed.
    pub byte_offset: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => out.write_str("the file is empty"),
            Self::Truncated(reason) | Self::Malformed(reason) | Self::TooLarge(reason) => out.write_str(reason),
            Self::Forbidden(opcode) => write!(out, "{opcode} asks for an object that is not in the file"),
            Self::TooDeep(most) => write!(out, "more than {most} containers lie in one another"),
        }
    }
}

impl Refusal {
    /// The refusal as a finding about a file.
    #[must_use]
    pub fn finding(&self, file: &str) -> Finding {
        let code = match self.problem {
            Problem::Empty => Code::MetadataEmpty,
            Problem::Truncated(_) => Code::MetadataTruncated,
            Problem::Malformed(_) => Code::MetadataMalformed,
            Problem::Forbidden(_) => Code::MetadataForbiddenOpcode,
            Problem::TooDeep(_) => Code::MetadataTooDeep,
            Problem::TooLarge(_) => Code::MetadataTooLarge,
        };
        let at = u64::try_from(self.byte_offset).unwrap_or(u64::MAX);
        Finding::new(code).in_file(file).in_bytes(at, 1).with("reason", self.to_string())
    }
}
