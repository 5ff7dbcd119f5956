//! Whole numbers beyond 64 bits.

use crate::findings::Value;

/// A whole number as a pickle writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Big<'a> {
    /// Two's complement, little-endian.
    Bytes(&'a [u8]),
    /// Decimal digits, perhaps with a sign.
    Digits(&'a [u8]),
}

impl Big<'_> {
    /// Whether the number is below zero.
    #[must_use]
    pub fn is_negative(self) -> bool {
        match self {
            Self::Bytes(bytes) => bytes.last().is_some_and(|byte| byte & 0x80 != 0),
            Self::Digits(digits) => digits.first() == Some(&b'-'),
        }
    }

    /// The number, or how long it is where 128 bits do not hold it.
    #[must_use]
    pub fn value(self) -> Value {
        let exact = match self {
            Self::Bytes(bytes) => exact(bytes),
            Self::Digits(digits) => str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()),
        };
        let sign = if self.is_negative() { "a negative number" } else { "a number" };
        match (exact, self) {
            (Some(exact), _) => Value::Int(exact),
            (None, Self::Bytes(bytes)) => Value::Text(format!("{sign} of {} bytes", bytes.len())),
            (None, Self::Digits(digits)) => Value::Text(format!("{sign} of {} digits", digits.len())),
        }
    }
}

/// A number of up to 128 bits; longer ones are not in the shortest form or do not fit.
fn exact(bytes: &[u8]) -> Option<i128> {
    let fill = if bytes.last()? & 0x80 == 0 { 0 } else { 0xff };
    let mut all = [fill; 16];
    all.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(i128::from_le_bytes(all))
}

/// The number that little-endian bytes in two's complement are, if it fits 64 bits.
pub(super) fn small(bytes: &[u8]) -> Option<i64> {
    let Some(&last) = bytes.last() else { return Some(0) };
    let fill = if last & 0x80 == 0 { 0 } else { 0xff };
    let (low, high) = bytes.split_at_checked(8).unwrap_or((bytes, &[]));
    let mut all = [fill; 8];
    all.get_mut(..low.len())?.copy_from_slice(low);
    let number = i64::from_le_bytes(all);
    (high.iter().all(|&byte| byte == fill) && (number < 0) == (fill != 0)).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_at_any_length() {
        for number in [0, 1, -1, 127, -128, 128, 255, 256, -256, i128::from(i64::MAX), i128::from(i64::MIN)] {
            let bytes = number.to_le_bytes();
            for length in [9, 10, 16] {
                assert_eq!(small(&bytes[..length]).map(i128::from), Some(number), "{number} in {length} bytes");
            }
        }
        assert_eq!(small(&[]), Some(0));
        assert_eq!(small(&[0xff]), Some(-1));
        assert_eq!(small(&[0xff, 0]), Some(255));
        let beyond = (i128::from(i64::MAX) + 1).to_le_bytes();
        assert_eq!(small(&beyond[..9]), None);
        assert_eq!(Big::Bytes(&beyond[..9]).value(), Value::Int(1 << 63));
        assert!(Big::Bytes(&(-(1_i128 << 64)).to_le_bytes()[..9]).is_negative());
        assert_eq!(Big::Digits(b"-18446744073709551616").value(), Value::Int(-(1 << 64)));
        assert_eq!(Big::Bytes(&[1; 40]).value(), Value::Text("a number of 40 bytes".to_owned()));
    }
}
