//! The bytes of a pickle, taken one argument at a time, never past a frame or the end.
#![expect(
    clippy::unnecessary_box_returns,
    reason = "results that fit a register make following opcodes a third faster"
)]

use super::refusal::{Problem, Refusal};
use crate::checkpoint::limits::Limits;

/// A place in a pickle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    input: &'a [u8],
    at: usize,
    /// Where the bytes end that may be taken: at the end of the frame, or of the input.
    end: usize,
    /// First byte of the opcode at hand.
    opcode: usize,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(input: &'a [u8]) -> Self {
        Self { input, at: 0, end: input.len(), opcode: 0 }
    }

    /// First byte of the opcode at hand.
    pub(super) const fn opcode_at(&self) -> usize {
        self.opcode
    }

    /// First byte that was not taken yet.
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    #[cold]
    pub(super) fn refuse(&self, problem: Problem) -> Box<Refusal> {
        Box::new(Refusal { byte_offset: self.opcode, problem })
    }

    pub(super) fn malformed(&self, reason: impl Into<String>) -> Box<Refusal> {
        self.refuse(Problem::Malformed(reason.into()))
    }

    /// Take the next opcode.
    #[inline]
    pub(super) fn opcode(&mut self) -> Result<u8, Box<Refusal>> {
        if self.at == self.end {
            self.end = self.input.len();
        }
        self.opcode = self.at;
        match self.input.get(self.at) {
            Some(&opcode) => {
                self.at = self.at.saturating_add(1);
                Ok(opcode)
            }
            None if self.input.is_empty() => Err(self.refuse(Problem::Empty)),
            None => Err(self.refuse(Problem::Truncated("the pickle ends without STOP".to_owned()))),
        }
    }

    /// Take the next opcode if it is this one.
    #[inline]
    pub(super) fn follows(&mut self, opcode: u8) -> bool {
        let follows = self.at < self.end && self.input.get(self.at) == Some(&opcode);
        self.at = self.at.saturating_add(usize::from(follows));
        follows
    }

    /// Take as many bytes.
    #[inline]
    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], Box<Refusal>> {
        match self.at.checked_add(length) {
            Some(stop) if stop <= self.end => {
                let taken = self.input.get(self.at..stop).unwrap_or_default();
                self.at = stop;
                Ok(taken)
            }
            _ => Err(self.short(length)),
        }
    }

    /// Take a number of bytes that is known beforehand.
    #[inline]
    pub(super) fn array<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], Box<Refusal>> {
        let bytes = self.take(LENGTH)?;
        bytes.try_into().map_err(|_| self.short(LENGTH))
    }

    /// Take as many bytes as a length of up to 64 bits says.
    pub(super) fn take_declared(&mut self, length: u64) -> Result<&'a [u8], Box<Refusal>> {
        if length > Limits::DEFAULT.metadata_bytes {
            let total = self.input.len();
            return Err(self.malformed(format!("a length of {length} bytes in a file of {total}")));
        }
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// Take a line, and leave out the newline that ends it.
    pub(super) fn line(&mut self) -> Result<&'a [u8], Box<Refusal>> {
        let rest = self.input.get(self.at..self.end).unwrap_or_default();
        let Some(length) = rest.iter().position(|&byte| byte == b'\n') else {
            return Err(self.short(rest.len().saturating_add(1)));
        };
        let line = self.take(length)?;
        self.take(1)?;
        Ok(line)
    }

    /// Begin a frame: arguments must not reach past its end.
    pub(super) fn frame(&mut self, length: u64) -> Result<(), Box<Refusal>> {
        if self.end < self.input.len() {
            return Err(self.malformed("a frame begins inside a frame"));
        }
        let left = self.input.len().saturating_sub(self.at);
        let Some(length) = usize::try_from(length).ok().filter(|&length| length <= left) else {
            return Err(if length > Limits::DEFAULT.metadata_bytes {
                self.malformed(format!("a frame of {length} bytes in a file of {}", self.input.len()))
            } else {
                self.refuse(Problem::Truncated(format!("a frame of {length} bytes, {left} bytes are left")))
            });
        };
        self.end = self.at.saturating_add(length);
        Ok(())
    }

    #[cold]
    fn short(&self, length: usize) -> Box<Refusal> {
        let left = self.end.saturating_sub(self.at);
        if self.end < self.input.len() {
            return self.malformed(format!("an argument of {length} bytes, the frame ends after {left}"));
        }
        self.refuse(Problem::Truncated(format!("an argument of {length} bytes, the file ends after {left}")))
    }
}
