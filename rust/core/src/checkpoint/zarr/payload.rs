//! What the first bytes of a stored chunk say about the rest.

use super::codec::{Codecs, Layer};
use crate::findings::Code;

/// Bytes at the start of a Zstandard frame that say how much it holds.
const ZSTD_HEADER: u64 = 18;
/// Bytes of the header of a Blosc container.
const BLOSC_HEADER: u64 = 16;

impl Codecs {
    /// How many bytes of a chunk of `length` bytes are needed to judge it; `None` when none of them says anything.
    #[must_use]
    pub fn telling_bytes(&self, length: u64) -> Option<u64> {
        match self.outermost()?.0 {
            Layer::Zstd => Some(length.min(ZSTD_HEADER)),
            Layer::Blosc => Some(length.min(BLOSC_HEADER)),
            // Nothing less than all of it.
            Layer::Crc32c => Some(length),
            Layer::Other => None,
        }
    }

    /// Judge a chunk of `length` bytes by those of them that [`Codecs::telling_bytes`] asks for.
    #[must_use]
    pub fn judge(&self, head: &[u8], length: u64) -> Option<(Code, String)> {
        let (layer, expected) = self.outermost()?;
        match layer {
            Layer::Zstd => match zstd_content(head) {
                None => Some((Code::PayloadMismatch, "it does not begin as a Zstandard frame does".to_owned())),
                Some(inside) => differs(inside, expected),
            },
            Layer::Blosc => blosc(head, length, expected),
            Layer::Crc32c => {
                let Some((rest, stated)) = head.split_last_chunk::<4>() else {
                    return Some((Code::ChecksumMismatch, "it is shorter than its checksum".to_owned()));
                };
                let (computed, stated) = (crc32c::crc32c(rest), u32::from_le_bytes(*stated));
                (computed != stated).then(|| {
                    let reason = format!("its CRC-32C is {computed:#010x}, it states {stated:#010x}");
                    (Code::ChecksumMismatch, reason)
                })
            }
            Layer::Other => None,
        }
    }
}

fn differs(inside: Option<u64>, expected: Option<u128>) -> Option<(Code, String)> {
    let (inside, expected) = (inside?, expected?);
    (u128::from(inside) != expected)
        .then(|| (Code::PayloadMismatch, format!("it holds {inside} bytes, the chunk takes {expected}")))
}

fn blosc(head: &[u8], length: u64, expected: Option<u128>) -> Option<(Code, String)> {
    let (words, _) = head.as_chunks::<4>();
    let [_, inside, _, stored] = words else {
        return Some((Code::PayloadMismatch, "it is shorter than a Blosc header".to_owned()));
    };
    let (inside, stored) = (u64::from(u32::from_le_bytes(*inside)), u64::from(u32::from_le_bytes(*stored)));
    if stored != length {
        let reason = format!("its Blosc header states {stored} bytes, {length} are stored");
        return Some((Code::PayloadMismatch, reason));
    }
    differs(Some(inside), expected)
}

/// How many bytes a Zstandard frame holds; `Some(None)` where it does not say, `None` where it is no frame.
#[expect(clippy::option_option, reason = "no frame and a frame that is silent are two different answers")]
fn zstd_content(head: &[u8]) -> Option<Option<u64>> {
    let (magic, rest) = head.split_first_chunk::<4>()?;
    if u32::from_le_bytes(*magic) != 0xfd2f_b528 {
        return None;
    }
    let (&descriptor, rest) = rest.split_first()?;
    let single_segment = descriptor & 0x20 != 0;
    let dictionary = match descriptor & 3 {
        0 => 0,
        1 => 1,
        2 => 2,
        _ => 4,
    };
    let rest = rest.get(dictionary..)?;
    let rest = if single_segment { rest } else { rest.get(1..)? };
    Some(match (descriptor >> 6, single_segment) {
        (0, false) => None,
        (0, true) => Some(u64::from(*rest.first()?)),
        (1, _) => Some(u64::from(u16::from_le_bytes(*rest.first_chunk()?)).saturating_add(256)),
        (2, _) => Some(u64::from(u32::from_le_bytes(*rest.first_chunk()?))),
        _ => Some(u64::from_le_bytes(*rest.first_chunk()?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_says_how_much_it_holds() {
        let magic = [0x28, 0xb5, 0x2f, 0xfd];
        let inside = |rest: &[u8]| zstd_content(&[&magic[..], rest].concat());
        assert_eq!(inside(&[0x20, 77]), Some(Some(77)));
        assert_eq!(inside(&[0x00, 0x58]), Some(None));
        assert_eq!(inside(&[0x60, 1, 0]), Some(Some(257)));
        assert_eq!(inside(&[0xa0, 0, 0, 1, 0]), Some(Some(65536)));
        assert_eq!(inside(&[0xc3, 0x58, 9, 9, 9, 9, 1, 0, 0, 0, 0, 0, 0, 1]), Some(Some((1 << 56) + 1)));
        assert_eq!(inside(&[0x20]), None);
        assert_eq!(zstd_content(b"nothing like it"), None);
        assert_eq!(zstd_content(&[]), None);
    }
}
