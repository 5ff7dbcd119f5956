//! What is around a manifest and around every node: magic, length, compression, checksum.

use std::io::Read;

use ruzstd::decoding::StreamingDecoder;

use super::wire::{Fault, Wire};
use crate::checkpoint::limits::Limits;

/// First bytes of a manifest.
pub const MANIFEST: u32 = 0x0cdb_3a2a;
/// First bytes of a node of a B+tree.
pub const TREE_NODE: u32 = 0x0cdb_20de;
/// First bytes of a node of the tree of versions.
pub const VERSION_NODE: u32 = 0x0cdb_1234;

/// Bytes that Orbax lets a node expand to; what tensorstore itself suggests is less.
const NODE_BYTES: u64 = 100_000_000;

/// Bytes that any node may expand to, however few it has.
const SMALL_BYTES: u64 = 1 << 20;

/// Open an envelope: check everything about it and expand what is in it.
///
/// # Errors
///
/// [`Fault`] when it is of another kind, damaged, compressed in an unknown way or expands beyond all measure.
pub fn open(bytes: &[u8], magic: u32, limits: &Limits) -> Result<Vec<u8>, Fault> {
    let (rest, stated) = bytes.split_last_chunk::<4>().ok_or(Fault::Truncated("its checksum"))?;
    let mut wire = Wire::new(rest);
    let first = wire.bytes(4, "its first bytes")?.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
    if first != magic {
        return Err(Fault::Magic(first, magic));
    }
    let (length, present) = (wire.fixed("its length")?, u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    if length != present {
        return Err(Fault::Length(length, present));
    }
    let (stated, computed) = (u32::from_le_bytes(*stated), crc32c::crc32c(rest));
    if stated != computed {
        return Err(Fault::Checksum(computed, stated));
    }
    match wire.varint("its format version")? {
        0 => {}
        version => return Err(Fault::Unknown("format version", version)),
    }
    let method = wire.varint("its compression")?;
    let body = wire.bytes(wire.remaining(), "its body")?;
    match method {
        0 => Ok(body.to_vec()),
        1 => expand(body, limits),
        method => Err(Fault::Unknown("compression", method)),
    }
}

/// Expand Zstandard frames, to no more than a node may be and no more times than a reader allows.
fn expand(body: &[u8], limits: &Limits) -> Result<Vec<u8>, Fault> {
    let length = u64::try_from(body.len()).unwrap_or(u64::MAX);
    let limit = length.saturating_mul(limits.expansion).clamp(SMALL_BYTES, NODE_BYTES);
    let damaged = |error: &dyn std::fmt::Display| Fault::Compressed(error.to_string().into());
    let mut source = body;
    let mut expanded = Vec::new();
    while !source.is_empty() {
        let frame = StreamingDecoder::new(&mut source).map_err(|error| damaged(&error))?;
        let room = limit.saturating_sub(u64::try_from(expanded.len()).unwrap_or(u64::MAX));
        let mut frame = frame.take(room.saturating_add(1));
        frame.read_to_end(&mut expanded).map_err(|error| damaged(&error))?;
        if u64::try_from(expanded.len()).unwrap_or(u64::MAX) > limit {
            return Err(Fault::Expansion(limit));
        }
    }
    Ok(expanded)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Put `body` in an envelope.
    pub(in crate::checkpoint::ocdbt) fn seal(magic: u32, compression: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = magic.to_be_bytes().to_vec();
        bytes.extend(u64::try_from(body.len()).unwrap().saturating_add(18).to_le_bytes());
        bytes.extend([0, compression]);
        bytes.extend(body);
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    /// Put `body` in an envelope, as it is.
    pub(in crate::checkpoint::ocdbt) fn plain(magic: u32, body: &[u8]) -> Vec<u8> {
        seal(magic, 0, body)
    }

    fn compressed(body: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(body, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn what_is_sealed_opens_again() {
        let body: Vec<u8> = (0..5000_u32).flat_map(u32::to_le_bytes).collect();
        assert_eq!(open(&plain(TREE_NODE, &body), TREE_NODE, &Limits::DEFAULT), Ok(body.clone()));
        assert_eq!(open(&seal(TREE_NODE, 1, &compressed(&body)), TREE_NODE, &Limits::DEFAULT), Ok(body));
        assert_eq!(open(&seal(MANIFEST, 1, &[]), MANIFEST, &Limits::DEFAULT), Ok(vec![]));
    }

    #[test]
    fn every_bit_of_an_envelope_counts() {
        let sealed = plain(TREE_NODE, b"some node");
        let mut tried = 0;
        for bit in 0..sealed.len() * 8 {
            let mut flipped = sealed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&flipped, TREE_NODE, &Limits::DEFAULT).is_err(), "bit {bit}");
            tried += 1;
        }
        assert_eq!(tried, 27 * 8);
        for length in 0..sealed.len() {
            assert!(open(&sealed[..length], TREE_NODE, &Limits::DEFAULT).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn faults_carry_the_numbers_that_clash() {
        let sealed = plain(MANIFEST, b"m");
        let fault = |bytes: &[u8]| open(bytes, MANIFEST, &Limits::DEFAULT).unwrap_err().to_string();
        assert_eq!(fault(&plain(TREE_NODE, b"m")), "it begins with 0x0cdb20de, not 0x0cdb3a2a");
        assert_eq!(fault(&[&sealed[..], &[0]].concat()), "it states a length of 19 bytes and has 20");
        assert_eq!(fault(&seal(MANIFEST, 7, b"m")), "unknown compression 7");
        assert!(open(&seal(MANIFEST, 1, b"not zstd"), MANIFEST, &Limits::DEFAULT).is_err());
    }

    #[test]
    fn expansion_is_bounded() {
        let bomb = seal(TREE_NODE, 1, &compressed(&vec![0; (1 << 20) + 1]));
        let limits = Limits { expansion: 16, ..Limits::DEFAULT };
        assert_eq!(open(&bomb, TREE_NODE, &limits), Err(Fault::Expansion(1 << 20)));
        let small = seal(TREE_NODE, 1, &compressed(&vec![0; 1 << 20]));
        assert_eq!(open(&small, TREE_NODE, &limits).map(|body| body.len()), Ok(1 << 20));
    }
}
