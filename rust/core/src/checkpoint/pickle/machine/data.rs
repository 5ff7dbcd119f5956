//! Numbers, texts and bytes.

use super::Machine;
use crate::checkpoint::pickle::node::{Full, Handle, Kind};
use crate::checkpoint::pickle::refusal::Refusal;
use crate::checkpoint::pickle::{escape, number, opcode};

impl<R: Copy> Machine<'_, '_, R> {
    /// Opcodes that hold a text or bytes.
    pub(super) fn text_opcode(&mut self, code: u8) -> Result<(), Box<Refusal>> {
        match code {
            opcode::BINUNICODE8 => {
                let length = u64::from_le_bytes(self.cursor.array()?);
                self.text(length)?;
            }
            opcode::UNICODE => {
                let line = self.cursor.line()?;
                let decoded =
                    escape::raw_unicode(line).ok_or_else(|| self.cursor.malformed("an escape is cut short"))?;
                let text = self.arena.add_decoded(&decoded);
                self.made(text)?;
            }
            opcode::STRING => {
                let line = self.cursor.line()?;
                let decoded = escape::quoted(line);
                self.ascii(decoded.as_deref())?;
            }
            opcode::BINSTRING => {
                let length = i32::from_le_bytes(self.cursor.array()?);
                let length = u64::try_from(length).map_err(|_| self.cursor.malformed("a length below zero"))?;
                let text = self.cursor.take_declared(length)?;
                self.ascii(Some(text))?;
            }
            opcode::SHORT_BINSTRING => {
                let [length] = self.cursor.array()?;
                let text = self.cursor.take_declared(length.into())?;
                self.ascii(Some(text))?;
            }
            opcode::SHORT_BINBYTES => {
                let [length] = self.cursor.array()?;
                self.bytes(Kind::Bytes, length.into())?;
            }
            opcode::BINBYTES => {
                let length = u32::from_le_bytes(self.cursor.array()?);
                self.bytes(Kind::Bytes, length.into())?;
            }
            opcode::BINBYTES8 | opcode::BYTEARRAY8 => {
                let length = u64::from_le_bytes(self.cursor.array()?);
                self.bytes(Kind::Bytes, length)?;
            }
            other => self.number_opcode(other)?,
        }
        Ok(())
    }

    /// Opcodes that hold a number.
    pub(super) fn number_opcode(&mut self, code: u8) -> Result<(), Box<Refusal>> {
        match code {
            opcode::LONG1 => {
                let [length] = self.cursor.array()?;
                self.long(length.into())?;
            }
            opcode::LONG4 => {
                let length = i32::from_le_bytes(self.cursor.array()?);
                let length = u64::try_from(length).map_err(|_| self.cursor.malformed("a length below zero"))?;
                self.long(length)?;
            }
            opcode::INT | opcode::LONG => self.decimal(code)?,
            opcode::FLOAT => {
                let line = self.cursor.line()?;
                let number = str::from_utf8(line).ok().and_then(|line| line.trim().parse().ok());
                let number = number.ok_or_else(|| self.cursor.malformed("FLOAT without a number"))?;
                let number = self.arena.add_float(number);
                self.made(number)?;
            }
            opcode::BINFLOAT => {
                let number = f64::from_be_bytes(self.cursor.array()?);
                let number = self.arena.add_float(number);
                self.made(number)?;
            }
            other => self.call_opcode(other)?,
        }
        Ok(())
    }

    #[inline]
    pub(super) fn int(&mut self, number: i64) -> Result<(), Box<Refusal>> {
        let handle = self.arena.add_int(number);
        self.made(handle)
    }

    pub(super) fn long(&mut self, length: u64) -> Result<(), Box<Refusal>> {
        let bytes = self.cursor.take_declared(length)?;
        if let Some(number) = number::small(bytes) {
            return self.int(number);
        }
        let handle = self.arena.add_range(Kind::Big, &self.taken(bytes.len()));
        self.made(handle)
    }

    /// INT or LONG: decimal digits, or one of the two truth values.
    pub(super) fn decimal(&mut self, code: u8) -> Result<(), Box<Refusal>> {
        let line = self.cursor.line()?;
        let end = self.cursor.at().saturating_sub(1);
        let digits = match line {
            b"00" if code == opcode::INT => return self.push(Handle::FALSE),
            b"01" if code == opcode::INT => return self.push(Handle::TRUE),
            [digits @ .., b'L'] if code == opcode::LONG => digits,
            digits => digits,
        };
        // Behind a leading zero, some of Python's readers take digits for octal.
        let bare = digits.strip_prefix(b"-").unwrap_or(digits);
        let decimal = bare.iter().all(u8::is_ascii_digit) && !matches!(bare, [] | [b'0', _, ..]);
        if !decimal {
            return Err(self.cursor.malformed("a number that is not decimal"));
        }
        if let Some(number) = str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()) {
            return self.int(number);
        }
        let start = end.saturating_sub(line.len());
        let handle = self.arena.add_range(Kind::Digits, &(start..start.saturating_add(digits.len())));
        self.made(handle)
    }

    /// The last bytes that were taken.
    #[inline]
    pub(super) fn taken(&self, length: usize) -> std::ops::Range<usize> {
        let end = self.cursor.at();
        end.saturating_sub(length)..end
    }

    pub(super) fn bytes(&mut self, kind: Kind, length: u64) -> Result<(), Box<Refusal>> {
        let bytes = self.cursor.take_declared(length)?;
        let handle = self.arena.add_range(kind, &self.taken(bytes.len()));
        self.made(handle)
    }

    #[inline]
    pub(super) fn text(&mut self, length: u64) -> Result<(), Box<Refusal>> {
        let text = self.cursor.take_declared(length)?;
        if !escape::is_text(text) {
            return Err(self.cursor.malformed("a text that is not UTF-8"));
        }
        let handle = self.arena.add_text(&self.taken(text.len()));
        self.made(handle)
    }

    /// Text of protocols 0 to 2, which Python takes for ASCII.
    pub(super) fn ascii(&mut self, text: Option<&[u8]>) -> Result<(), Box<Refusal>> {
        let text = text.ok_or_else(|| self.cursor.malformed("a text without quotes"))?;
        if !text.is_ascii() {
            return Err(self.cursor.malformed("a text that is not ASCII"));
        }
        let handle = self.arena.add_decoded(text);
        self.made(handle)
    }

    /// A line as text that is not on the stack.
    pub(super) fn line_text(&mut self) -> Result<Handle, Box<Refusal>> {
        let line = self.cursor.line()?;
        if !escape::is_text(line) {
            return Err(self.cursor.malformed("a name that is not UTF-8"));
        }
        let end = self.cursor.at().saturating_sub(1);
        self.arena.add_text(&(end.saturating_sub(line.len())..end)).map_err(|Full| self.too_many())
    }
}
