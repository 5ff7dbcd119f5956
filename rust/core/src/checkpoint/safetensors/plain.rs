//! Entries as the reference library writes them, taken apart without building what they consist of.
//!
//! Headers have up to a million entries and nearly all of them look alike. What looks otherwise, or is wrong, is left to
//! the careful way, which finds out what it is.

/// What an entry says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plain<'a> {
    pub(super) dtype: &'a str,
    pub(super) shape: Vec<i64>,
    pub(super) begin: i64,
    pub(super) end: i64,
}

/// Take apart `{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}`, with or without spaces; `None` for all else.
///
/// `entry` is known to be JSON.
pub(super) fn entry(entry: &str) -> Option<Plain<'_>> {
    let mut rest = Cursor(entry);
    rest.take("{")?;
    rest.take("\"dtype\"")?;
    rest.take(":")?;
    rest.take("\"")?;
    let (dtype, behind) = rest.0.split_once('"')?;
    if dtype.contains('\\') {
        return None;
    }
    rest.0 = behind;
    rest.take(",")?;
    rest.take("\"shape\"")?;
    rest.take(":")?;
    let mut shape = Vec::with_capacity(4);
    rest.numbers(|number| shape.push(number))?;
    rest.take(",")?;
    rest.take("\"data_offsets\"")?;
    rest.take(":")?;
    let mut offsets = Vec::with_capacity(2);
    rest.numbers(|number| offsets.push(number))?;
    rest.take("}")?;
    let [begin, end] = offsets[..] else { return None };
    rest.0.is_empty().then_some(Plain { dtype, shape, begin, end })
}

struct Cursor<'a>(&'a str);

impl Cursor<'_> {
    /// Step over a piece and the spaces in front of it.
    fn take(&mut self, piece: &str) -> Option<()> {
        self.0 = self.0.trim_start_matches(' ').strip_prefix(piece)?;
        Some(())
    }

    /// Step over a list of whole numbers that 64 bits hold.
    fn numbers(&mut self, mut each: impl FnMut(i64)) -> Option<()> {
        self.take("[")?;
        if self.take("]").is_some() {
            return Some(());
        }
        loop {
            self.0 = self.0.trim_start_matches(' ');
            let mut number = 0_i64;
            let mut digits = 0_usize;
            for byte in self.0.bytes().take_while(u8::is_ascii_digit) {
                number = number.checked_mul(10)?.checked_add(i64::from(byte.checked_sub(b'0')?))?;
                digits = digits.checked_add(1)?;
            }
            self.0 = self.0.get(digits..).filter(|_| digits > 0)?;
            each(number);
            if self.take(",").is_none() {
                return self.take("]");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_library_writes_is_taken_and_all_of_it() {
        let plain = |shape: &[i64], begin, end| Some(Plain { dtype: "F32", shape: shape.to_vec(), begin, end });
        for (text, expected) in [
            (r#"{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}"#, plain(&[2, 3], 0, 24)),
            (r#"{ "dtype" : "F32" , "shape" : [ 2 , 3 ] , "data_offsets" : [ 0 , 24 ] }"#, plain(&[2, 3], 0, 24)),
            (r#"{"dtype":"F32","shape":[],"data_offsets":[8,12]}"#, plain(&[], 8, 12)),
            (r#"{"dtype":"F32","shape":[9223372036854775807],"data_offsets":[0,4]}"#, plain(&[i64::MAX], 0, 4)),
            (r#"{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4]}"#, None),
            (r#"{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}"#, None),
            (r#"{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}"#, None),
            (r#"{"dtype":"F32","shape":[1e3],"data_offsets":[0,4]}"#, None),
            (r#"{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}"#, None),
            (r#"{"dtype":"F32","shape":[1],"data_offsets":[0]}"#, None),
            (r#"{"shape":[1],"dtype":"F32","data_offsets":[0,4]}"#, None),
            (r#"{"dtype":"F\u0033","shape":[1],"data_offsets":[0,4]}"#, None),
            (r#"{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}"#, None),
            (r#"{"dtype":"F32","shape":[1],"data_offsets":[0,4]} "#, None),
            ("[]", None),
        ] {
            assert_eq!(entry(text), expected, "{text}");
        }
    }
}
