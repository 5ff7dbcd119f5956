//! Element types by one name each, whatever a format calls them.

/// The type of a tensor's elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dtype {
    name: Box<str>,
    bits: Option<u32>,
}

/// Names as torch spells them, with bits per element as stored.
const KNOWN: &[(&str, u32)] = &[
    ("bool", 8),
    ("int4", 4),
    ("uint4", 4),
    ("int8", 8),
    ("uint8", 8),
    ("int16", 16),
    ("uint16", 16),
    ("int32", 32),
    ("uint32", 32),
    ("int64", 64),
    ("uint64", 64),
    ("float4_e2m1fn", 4),
    // Two values in a byte: the shape counts bytes.
    ("float4_e2m1fn_x2", 8),
    ("float6_e2m3fn", 6),
    ("float6_e3m2fn", 6),
    ("float8_e3m4", 8),
    ("float8_e4m3", 8),
    ("float8_e4m3b11fnuz", 8),
    ("float8_e4m3fn", 8),
    ("float8_e4m3fnuz", 8),
    ("float8_e5m2", 8),
    ("float8_e5m2fnuz", 8),
    ("float8_e8m0fnu", 8),
    ("bfloat16", 16),
    ("float16", 16),
    ("float32", 32),
    ("float64", 64),
    ("bcomplex32", 32),
    ("complex32", 32),
    ("complex64", 64),
    ("complex128", 128),
    ("qint8", 8),
    ("quint8", 8),
    ("qint32", 32),
];

impl Dtype {
    /// Look up a dtype by the name torch has for it; an unknown name has no size.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let bits = KNOWN.iter().find(|(known, _)| *known == name).map(|&(_, bits)| bits);
        Self { name: name.into(), bits }
    }

    /// A dtype that its format does not have: no size is known, whatever the name looks like.
    #[must_use]
    pub fn unknown(name: &str) -> Self {
        Self { name: name.into(), bits: None }
    }

    /// The name, as torch spells it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bits of one stored element, where the dtype is known.
    #[must_use]
    pub const fn bits(&self) -> Option<u32> {
        self.bits
    }

    /// Bytes that `elements` take, rounded up to a whole byte; `None` for an unknown dtype or beyond 128 bits.
    #[must_use]
    pub fn byte_length(&self, elements: u128) -> Option<u128> {
        Some(elements.checked_mul(u128::from(self.bits?))?.div_ceil(8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_elements_round_up_to_whole_bytes() {
        assert_eq!(Dtype::named("int4").byte_length(3), Some(2));
        assert_eq!(Dtype::named("float32").byte_length(3), Some(12));
        assert_eq!(Dtype::named("complex128").byte_length(u128::MAX), None);
        assert_eq!(Dtype::named("mystery").byte_length(1), None);
    }
}
