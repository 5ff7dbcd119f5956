//! The header of a safetensors file, read so that every fault has a name and a place.
//!
//! The reference library refuses a faulty file with one text for a hole, an overlap and an alias alike. Here the header
//! is taken apart as far as it can be; what the ranges make of the file is for [`super::storage`] to judge.

use super::dtype::Dtype;
use super::json::{JsonError, Object, Value};
use super::limits::Limits;
use super::part::{Encoding, Part, Record, TooMany};
use crate::findings::{Code, Finding};

mod plain;
pub mod set;

/// Bytes of the length field in front of the header.
const LENGTH_BYTES: u64 = 8;

/// The name of each element type, and torch's name for it.
const DTYPES: &[(&str, &str)] = &[
    ("BF16", "bfloat16"),
    ("BOOL", "bool"),
    ("C64", "complex64"),
    ("F16", "float16"),
    ("F32", "float32"),
    ("F4", "float4_e2m1fn"),
    ("F64", "float64"),
    ("F6_E2M3", "float6_e2m3fn"),
    ("F6_E3M2", "float6_e3m2fn"),
    ("F8_E4M3", "float8_e4m3fn"),
    ("F8_E4M3FNUZ", "float8_e4m3fnuz"),
    ("F8_E5M2", "float8_e5m2"),
    ("F8_E5M2FNUZ", "float8_e5m2fnuz"),
    ("F8_E8M0", "float8_e8m0fnu"),
    ("I16", "int16"),
    ("I32", "int32"),
    ("I64", "int64"),
    ("I8", "int8"),
    ("U16", "uint16"),
    ("U32", "uint32"),
    ("U64", "uint64"),
    ("U8", "uint8"),
];

/// One tensor of a file, or one piece of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub fqn: Box<str>,
    /// The element type; one that safetensors does not have keeps its name and has no size.
    pub dtype: Dtype,
    /// The shape; no dimension is negative.
    pub shape: Box<[i64]>,
    /// First byte in the file.
    pub byte_offset: i64,
    /// Number of bytes; negative where the offsets are the wrong way round.
    pub byte_length: i64,
}

/// What the header of a file says, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Path of the file.
    pub path: Box<str>,
    /// Size of the file.
    pub size: u64,
    /// Tensors in the order of the header.
    pub entries: Vec<Entry>,
    /// Text that DCP leaves about the places of the pieces.
    pub sharding: Option<Box<str>>,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// Whether the header could be taken apart.
    pub readable: bool,
    /// First byte and number of bytes of header, and of data whose entry cannot be used.
    reserved: Vec<(i64, i64)>,
}

/// How many bytes from the start of a file its header takes, from the first eight; `None` if that cannot be.
#[must_use]
pub fn extent(start: &[u8], size: u64, limits: &Limits) -> Option<u64> {
    let length = u64::from_le_bytes(*start.first_chunk()?);
    let end = length.checked_add(LENGTH_BYTES)?;
    (length <= limits.header_bytes && end <= size).then_some(end)
}

impl Header {
    /// Read a header from the first bytes of a file of `size` bytes; they must reach as far as [`extent`] says.
    #[must_use]
    pub fn read(path: &str, bytes: &[u8], size: u64, limits: &Limits) -> Self {
        let mut header = Self {
            path: path.into(),
            size,
            entries: Vec::new(),
            sharding: None,
            findings: Vec::new(),
            readable: false,
            reserved: Vec::new(),
        };
        if let Err(finding) = header.take_apart(bytes, limits) {
            header.findings.push((*finding).in_file(path));
        }
        header
    }

    fn take_apart(&mut self, bytes: &[u8], limits: &Limits) -> Result<(), Box<Finding>> {
        let refused = |reason: &str| Finding::new(Code::HeaderMalformed).with("reason", reason);
        if self.size == 0 {
            return Err(Finding::new(Code::FileEmpty)
                .with("reason", "the file has no bytes, not even a header")
                .into());
        }
        let Some(length) = bytes.first_chunk().map(|field| u64::from_le_bytes(*field)) else {
            return Err(refused("the file ends within the length of its header").in_bytes(0, self.size).into());
        };
        if length == 0 {
            return Err(refused("the length of the header is 0").in_bytes(0, LENGTH_BYTES).into());
        }
        let Some(end) = extent(bytes, self.size, limits) else {
            let finding = Finding::new(Code::HeaderTooLarge).in_bytes(0, LENGTH_BYTES).with("length", length);
            let limit = limits.header_bytes.min(self.size.saturating_sub(LENGTH_BYTES));
            return Err(finding.with("limit", limit).into());
        };
        let text = usize::try_from(end).ok().and_then(|end| bytes.get(8..end));
        let text = text.ok_or_else(|| Box::new(refused("the file ends within its header")))?;
        let text = self.without_padding(text);
        let at = |error: &JsonError| u64::try_from(error.byte_offset).unwrap_or(u64::MAX).saturating_add(LENGTH_BYTES);
        let malformed = |error: JsonError| Box::new(refused(&error.problem.to_string()).in_bytes(at(&error), 1));
        let object = Object::document(text, text.len()).map_err(malformed)?;
        let data_start = i64::try_from(end).map_err(|_| Box::new(refused("the header ends beyond 63 bits")))?;
        self.reserved.push((0, data_start));
        self.readable = true;
        self.members(&object, data_start, limits);
        Ok(())
    }

    /// The header without the spaces behind it; NUL bytes there are reported and dropped, other bytes are left.
    fn without_padding<'a>(&mut self, text: &'a [u8]) -> &'a [u8] {
        let kept = text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last.saturating_add(1));
        let (kept, padding) = text.split_at_checked(kept).unwrap_or((text, &[]));
        if !padding.is_empty() {
            let first = LENGTH_BYTES.saturating_add(u64::try_from(kept.len()).unwrap_or(u64::MAX));
            let count = u64::try_from(padding.len()).unwrap_or(u64::MAX);
            let reason = format!("padding must be spaces; {count} NUL bytes at byte {first}");
            self.findings.push(
                Finding::new(Code::HeaderMalformed).in_file(&self.path).in_bytes(first, count).with("reason", reason),
            );
        }
        kept.trim_ascii_end()
    }

    fn members(&mut self, object: &Object<'_>, data_start: i64, limits: &Limits) {
        let repeated: Vec<usize> = object.repeated().iter().map(|member| member.byte_offset).collect();
        for member in object.members() {
            let first = u64::try_from(member.byte_offset).unwrap_or(u64::MAX).saturating_add(LENGTH_BYTES);
            let again = repeated.binary_search(&member.byte_offset).is_ok();
            if again {
                let finding = Finding::new(Code::HeaderDuplicateKey).of_tensor(&member.key).in_file(&self.path);
                self.findings.push(finding.in_bytes(first, 1));
            }
            if member.key == "__metadata__" {
                if let Err(error) = self.metadata(member.value) {
                    self.malformed(None, &error);
                }
                continue;
            }
            match self.entry(&member.key, member.value, data_start, limits) {
                Err(error) => {
                    self.malformed(Some(&member.key), &error);
                    // Nobody knows where its bytes are: any others may be its own.
                    self.reserve(data_start, i64::MAX.saturating_sub(data_start));
                }
                // The first of two entries with one name is the tensor; the bytes of the second are accounted for.
                Ok(Some(entry)) if again => self.reserve(entry.byte_offset, entry.byte_length),
                Ok(Some(entry)) => self.entries.push(entry),
                Ok(None) => {}
            }
        }
    }

    fn metadata(&mut self, value: Value<'_>) -> Result<(), JsonError> {
        for member in value.object()?.unique()?.members() {
            let text = member.value.string()?;
            if member.key == "DCP_SHARDING_INFO" {
                self.sharding = Some(text.into());
            }
        }
        Ok(())
    }

    /// Read one entry; `None` if what it says can be no tensor, which is then reported.
    fn entry(
        &mut self,
        fqn: &str,
        value: Value<'_>,
        data_start: i64,
        limits: &Limits,
    ) -> Result<Option<Entry>, JsonError> {
        if let Some(plain) = plain::entry(value.text()) {
            let place = Place::new(plain.begin.into(), plain.end.into(), data_start);
            return Ok(self.tensor(fqn, plain.dtype, plain.shape, place, limits));
        }
        let object = value.object()?.unique()?;
        let dtype = object.required("dtype")?.string()?;
        let shape = object.required("shape")?.array()?;
        let offsets = object.required("data_offsets")?;
        let [begin, end] = offsets.array()?[..] else {
            let problem = super::json::Problem::Syntax("data_offsets are not two numbers".into());
            return Err(offsets.wrong(problem));
        };
        let (begin, end) = (begin.integer()?, end.integer()?);
        let place = Place::new(begin, end, data_start);
        let about = |code| Finding::new(code).of_tensor(fqn);
        if begin < 0 || end < 0 {
            let finding = about(Code::RangeNegative).in_file(&self.path);
            self.findings.push(finding.with("byte_offset", begin).with("byte_length", place.byte_length));
            self.reserve(data_start, i64::MAX.saturating_sub(data_start));
            return Ok(None);
        }
        let mut dims = Vec::with_capacity(shape.len());
        for (dimension, dim) in shape.iter().enumerate() {
            let dim = dim.integer()?;
            let fault = if dim < 0 { Code::ShapeNegative } else { Code::ShapeOverflow };
            if let (Ok(dim), false) = (i64::try_from(dim), dim < 0) {
                dims.push(dim);
                continue;
            }
            let reason = format!("dimension {dimension} of the shape is {dim}");
            let finding = about(fault).in_file(&self.path).in_dimension(dimension);
            self.findings.push(finding.with("reason", reason));
            self.reserve(place.byte_offset, place.byte_length);
            return Ok(None);
        }
        Ok(self.tensor(fqn, &dtype, dims, place, limits))
    }

    /// Make an entry of what a header says, none of it negative.
    fn tensor(&mut self, fqn: &str, dtype: &str, shape: Vec<i64>, place: Place, limits: &Limits) -> Option<Entry> {
        let about = |code| Finding::new(code).of_tensor(fqn);
        let Place { byte_offset, byte_length } = place;
        if shape.len() > limits.rank {
            let reason = format!("{} dimensions, more than {}", shape.len(), limits.rank);
            self.findings.push(about(Code::MetadataTooLarge).in_file(&self.path).with("reason", reason));
            self.reserve(byte_offset, byte_length);
            return None;
        }
        let product = |product: u64, &dim: &i64| product.checked_mul(u64::try_from(dim).ok()?);
        if shape.contains(&0) && shape.iter().try_fold(1, product).is_none() {
            // No elements, and yet the library, which multiplies from the left, refuses the file.
            let reason = format!("the product of the dimensions of {shape:?} in front of the zero is beyond 64 bits");
            self.findings.push(about(Code::ShapeOverflow).in_file(&self.path).with("reason", reason));
        }
        let torch = DTYPES.iter().find(|&&(name, _)| name == dtype).map(|&(_, torch)| torch);
        let before = self.entries.last().map(|entry| &entry.dtype);
        let dtype = match (torch, before) {
            // Nearly all tensors of a file have the dtype of the one before.
            (Some(torch), Some(before)) if before.name() == torch && before.bits().is_some() => before.clone(),
            (Some(torch), _) => Dtype::named(torch),
            (None, _) => {
                self.findings.push(about(Code::HeaderUnknownDtype).in_file(&self.path).with("dtype", dtype));
                Dtype::unknown(dtype)
            }
        };
        Some(Entry { fqn: fqn.into(), dtype, shape: shape.into(), byte_offset, byte_length })
    }

    fn malformed(&mut self, fqn: Option<&str>, error: &JsonError) {
        let first = u64::try_from(error.byte_offset).unwrap_or(u64::MAX).saturating_add(LENGTH_BYTES);
        let mut finding = Finding::new(Code::HeaderMalformed).in_file(&self.path).in_bytes(first, 1);
        if let Some(fqn) = fqn {
            finding = finding.of_tensor(fqn);
        }
        self.findings.push(finding.with("reason", error.to_string()));
    }

    fn reserve(&mut self, byte_offset: i64, byte_length: i64) {
        self.reserved.push((byte_offset, byte_length));
    }

    /// Add to a part the bytes of this file that are no tensor's, and give the file's number.
    ///
    /// # Errors
    ///
    /// [`TooMany`] when the part has too many files.
    pub fn enter(&self, part: &mut Part) -> Result<u32, TooMany> {
        let file = part.file_number(&self.path)?;
        part.findings.extend(self.findings.iter().cloned());
        let own = self.reserved.iter().map(|&(byte_offset, byte_length)| Record {
            file,
            byte_offset,
            byte_length,
            encoding: Encoding::Raw,
        });
        part.reserved.extend(own);
        Ok(file)
    }
}

impl Entry {
    /// Where the bytes are, in a part that has given the file a number.
    #[must_use]
    pub const fn record(&self, file: u32) -> Record {
        Record { file, byte_offset: self.byte_offset, byte_length: self.byte_length, encoding: Encoding::Raw }
    }
}

/// Where the bytes of an entry are in its file.
#[derive(Clone, Copy)]
struct Place {
    byte_offset: i64,
    byte_length: i64,
}

impl Place {
    fn new(begin: i128, end: i128, data_start: i64) -> Self {
        Self {
            byte_offset: clipped(begin.saturating_add(data_start.into())),
            byte_length: clipped(end.saturating_sub(begin)),
        }
    }
}

/// A number of bytes in 64 bits: one beyond them keeps its sign and is beyond any file.
fn clipped(number: i128) -> i64 {
    i64::try_from(number).unwrap_or(if number < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests;
