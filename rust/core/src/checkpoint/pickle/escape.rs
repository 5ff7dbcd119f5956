//! Text as protocols 0 to 2 write it, and what counts as text at all.

/// Whether bytes are text as Python pickles it: UTF-8, in which lone surrogates may occur.
#[inline]
pub(super) fn is_text(bytes: &[u8]) -> bool {
    str::from_utf8(bytes).is_ok() || is_text_with_surrogates(bytes)
}

#[cold]
fn is_text_with_surrogates(mut bytes: &[u8]) -> bool {
    while let Err(error) = str::from_utf8(bytes) {
        match bytes.get(error.valid_up_to()..) {
            Some([0xed, 0xa0..=0xbf, 0x80..=0xbf, rest @ ..]) => bytes = rest,
            _ => return false,
        }
    }
    true
}

/// Decode the argument of UNICODE: Latin-1 with `\uXXXX` and `\UXXXXXXXX`.
pub(super) fn raw_unicode(line: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(line.len());
    let mut rest = line;
    let mut backslashes = 0_usize;
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        // A backslash behind an odd number of others does not begin an escape.
        let digits = match byte {
            b'u' if !backslashes.is_multiple_of(2) => 4,
            b'U' if !backslashes.is_multiple_of(2) => 8,
            _ => 0,
        };
        backslashes = if byte == b'\\' { backslashes.saturating_add(1) } else { 0 };
        if digits == 0 {
            push(&mut text, byte.into());
            continue;
        }
        let (code, behind) = rest.split_at_checked(digits)?;
        rest = behind;
        text.pop();
        push(&mut text, hexadecimal(code)?);
    }
    Some(text)
}

/// Decode the argument of STRING: quotes around ASCII with the escapes of Python 2.
pub(super) fn quoted(line: &[u8]) -> Option<Vec<u8>> {
    let (&quote, rest) = line.split_first().filter(|(quote, _)| matches!(quote, b'\'' | b'"'))?;
    let (&last, mut rest) = rest.split_last()?;
    if last != quote {
        return None;
    }
    let mut text = Vec::with_capacity(rest.len());
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'\\' {
            text.push(byte);
            continue;
        }
        let (&escape, behind) = rest.split_first()?;
        rest = behind;
        match escape {
            b'\\' | b'\'' | b'"' => text.push(escape),
            b'\n' => {}
            b'a' => text.push(7),
            b'b' => text.push(8),
            b't' => text.push(b'\t'),
            b'n' => text.push(b'\n'),
            b'v' => text.push(11),
            b'f' => text.push(12),
            b'r' => text.push(b'\r'),
            b'x' => {
                let (code, behind) = rest.split_at_checked(2)?;
                rest = behind;
                text.push(u8::try_from(hexadecimal(code)?).ok()?);
            }
            b'0'..=b'7' => {
                let more = rest.iter().take(2).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
                let (digits, behind) = rest.split_at_checked(more)?;
                rest = behind;
                let value = |digit: u8| u32::from(digit.wrapping_sub(b'0'));
                let code =
                    digits.iter().fold(value(escape), |code, &digit| code.wrapping_mul(8).wrapping_add(value(digit)));
                text.push(u8::try_from(code & 0xff).ok()?);
            }
            other => text.extend([b'\\', other]),
        }
    }
    Some(text)
}

fn hexadecimal(digits: &[u8]) -> Option<u32> {
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok().filter(|&code| code <= 0x10_ffff)
}

/// Put a code point behind a text, a lone surrogate in three bytes as Python does.
fn push(text: &mut Vec<u8>, code: u32) {
    if let Some(character) = char::from_u32(code) {
        text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        return;
    }
    let low = |shift: u32| u8::try_from((code >> shift) & 0x3f).unwrap_or_default();
    text.extend([0xed, 0x80 | low(6), 0x80 | low(0)]);
}
