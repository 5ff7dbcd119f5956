//! What happens to files: bits flip, ends are lost, pieces of other files get in, and somebody edits the numbers.

use proptest::prelude::*;
use proptest::sample::Index;

/// One piece of damage.
#[derive(Clone, Debug)]
pub(crate) enum Damage {
    Flip {
        at: Index,
        bit: u8,
    },
    Truncate {
        at: Index,
    },
    Remove {
        at: Index,
        length: usize,
    },
    Repeat {
        at: Index,
        length: usize,
    },
    /// A range of another file is put in.
    Splice {
        at: Index,
        file: Index,
        from: Index,
        length: usize,
    },
    /// A number of 1, 2, 4 or 8 bytes, as length fields are.
    Number {
        at: Index,
        bytes: usize,
        number: u64,
        big_endian: bool,
    },
    /// The decimal number at or behind a place, as JSON has them.
    Decimal {
        at: Index,
        number: &'static str,
    },
}

const NUMBERS: [u64; 12] =
    [0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 32, (1 << 63) - 1, 1 << 63, u64::MAX];

const DECIMALS: [&str; 12] = [
    "0",
    "-1",
    "1",
    "-0",
    "1e3",
    "0.5",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "-9223372036854775809",
    "true",
];

pub(crate) fn damages() -> impl Strategy<Value = Damage> {
    let at = any::<Index>;
    prop_oneof![
        (at(), 0..8_u8).prop_map(|(at, bit)| Damage::Flip { at, bit }),
        at().prop_map(|at| Damage::Truncate { at }),
        (at(), 1..64_usize).prop_map(|(at, length)| Damage::Remove { at, length }),
        (at(), 1..256_usize).prop_map(|(at, length)| Damage::Repeat { at, length }),
        (at(), at(), at(), 1..256_usize).prop_map(|(at, file, from, length)| Damage::Splice { at, file, from, length }),
        (
            at(),
            prop_oneof![Just(1_usize), Just(2), Just(4), Just(8)],
            proptest::sample::select(&NUMBERS),
            any::<bool>()
        )
            .prop_map(|(at, bytes, number, big_endian)| Damage::Number { at, bytes, number, big_endian }),
        (at(), proptest::sample::select(&DECIMALS)).prop_map(|(at, number)| Damage::Decimal { at, number }),
    ]
}

impl Damage {
    /// Do it to a file; `files` are those that pieces are taken from.
    pub(crate) fn to(&self, bytes: &mut Vec<u8>, files: &[Vec<u8>]) {
        if bytes.is_empty() {
            return;
        }
        let end = bytes.len();
        let range = |at: &Index, length: usize| at.index(end)..at.index(end).saturating_add(length).min(end);
        match self {
            Self::Flip { at, bit } => bytes[at.index(end)] ^= 1 << bit,
            Self::Truncate { at } => bytes.truncate(at.index(end)),
            Self::Remove { at, length } => drop(bytes.drain(range(at, *length))),
            Self::Repeat { at, length } => {
                let piece = bytes[range(at, *length)].to_vec();
                bytes.splice(at.index(end)..at.index(end), piece);
            }
            Self::Splice { at, file, from, length } => {
                let other = &files[file.index(files.len())];
                let piece = other.iter().skip(from.index(other.len().max(1))).take(*length).copied();
                bytes.splice(at.index(end)..at.index(end), piece);
            }
            Self::Number { at, bytes: width, number, big_endian } => {
                let (little, big) = (number.to_le_bytes(), number.to_be_bytes());
                let digits = if *big_endian { &big[8 - width..] } else { &little[..*width] };
                for (byte, digit) in bytes[range(at, *width)].iter_mut().zip(digits) {
                    *byte = *digit;
                }
            }
            Self::Decimal { at, number } => {
                let is_part = |byte: &u8| byte.is_ascii_digit() || *byte == b'-';
                if let Some(start) = bytes.iter().skip(at.index(end)).position(is_part) {
                    let start = start + at.index(end);
                    let length = bytes[start..].iter().take_while(|byte| is_part(byte)).count();
                    bytes.splice(start..start + length, number.bytes());
                }
            }
        }
    }
}
