//! Fields of a line, byte by byte: no text is copied and no pattern is compiled.

use super::error::{Parsed, Wrong};

/// Walks over the fields of a line from left to right.
#[derive(Clone)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { rest: line }
    }

    /// The next field between white space; empty at the end of the line.
    pub(super) fn word(&mut self) -> &'a [u8] {
        let text = self.rest.trim_ascii_start();
        let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.rest = rest;
        word
    }

    /// The next field between commas, without white space around it; empty at the end.
    pub(super) fn cell(&mut self) -> &'a [u8] {
        let end = memchr::memchr(b',', self.rest);
        let cell = &self.rest[..end.unwrap_or(self.rest.len())];
        self.rest = end.map_or(&[], |end| &self.rest[end + 1..]);
        cell.trim_ascii()
    }

    /// The rest of the line, without white space around it.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest.trim_ascii()
    }

    /// The next field between white space, which is a whole number. A number of a few digits is read
    /// as the field is looked for: most of what a trace has is that.
    pub(super) fn number(&mut self, expected: &str) -> Parsed<u64> {
        let text = self.rest.trim_ascii_start();
        let (value, digits) = few_digits(text);
        if digits > 0 && text.get(digits).is_none_or(u8::is_ascii_whitespace) {
            self.rest = &text[digits..];
            return Ok(value);
        }
        number(self.word(), expected)
    }

    /// The next field between white space, as [`decimal`] reads it.
    pub(super) fn decimal(&mut self, digits: usize, expected: &str) -> Parsed<u64> {
        let text = self.rest.trim_ascii_start();
        let (whole, before) = few_digits(text);
        if before > 0 && matches!(text.get(before), Some(b'.')) {
            let (fraction, after) = few_digits(&text[before + 1..]);
            let end = before + 1 + after;
            if after == digits && text.get(end).is_none_or(u8::is_ascii_whitespace) {
                let unit = 10_u64.pow(digits as u32);
                if let Some(value) = whole.checked_mul(unit).and_then(|w| w.checked_add(fraction)) {
                    self.rest = &text[end..];
                    return Ok(value);
                }
            }
        }
        decimal(self.word(), digits, expected)
    }

    /// Checks that nothing remains.
    pub(super) fn end(&self) -> Parsed<()> {
        match self.rest() {
            [] => Ok(()),
            more => Err(Wrong::new(more, "the end of the line")),
        }
    }
}

/// Digits that fit a `u64` whatever they are.
const SAFE_DIGITS: usize = 19;

/// The number that `text` begins with, and its digits: at most as many as are safe, so that there may
/// be more.
fn few_digits(text: &[u8]) -> (u64, usize) {
    let (mut value, mut digits) = (0_u64, 0);
    for byte in &text[..text.len().min(SAFE_DIGITS)] {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value * 10 + u64::from(digit);
        digits += 1;
    }
    (value, digits)
}

/// A whole number; `None` if it is none, or too large for 64 bits.
fn whole(text: &[u8]) -> Option<u64> {
    let (value, digits) = few_digits(text);
    let more = |value: u64, byte: &u8| {
        let digit = byte.wrapping_sub(b'0');
        value.checked_mul(10)?.checked_add(u64::from(digit)).filter(|_| digit <= 9)
    };
    if digits == 0 { None } else { text[digits..].iter().try_fold(value, more) }
}

/// A whole number.
pub(super) fn number(text: &[u8], expected: &str) -> Parsed<u64> {
    whole(text).ok_or_else(|| Wrong::new(text, expected))
}

/// A whole number of 32 bits.
pub(super) fn number32(text: &[u8], expected: &str) -> Parsed<u32> {
    let value = whole(text).and_then(|value| u32::try_from(value).ok());
    value.ok_or_else(|| Wrong::new(text, expected))
}

/// A whole number of a unit that is `scale` of another, in that.
pub(super) fn scaled(text: &[u8], scale: u64, expected: &str) -> Parsed<u64> {
    let value = whole(text).and_then(|value| value.checked_mul(scale));
    value.ok_or_else(|| Wrong::new(text, expected))
}

/// A number with or without a decimal point or comma, in units of 10^-`digits`; further digits are
/// cut off.
pub(super) fn decimal(text: &[u8], digits: usize, expected: &str) -> Parsed<u64> {
    fixed(text, digits).ok_or_else(|| Wrong::new(text, expected))
}

fn fixed(text: &[u8], digits: usize) -> Option<u64> {
    let unit = 10_u64.pow(digits as u32);
    let Some(point) = memchr::memchr2(b'.', b',', text) else {
        return whole(text)?.checked_mul(unit);
    };
    let (before, after) = (&text[..point], &text[point + 1..]);
    let kept = after.len().min(digits);
    if !after[kept..].iter().all(u8::is_ascii_digit) {
        return None;
    }
    let fraction = if kept == 0 { 0 } else { whole(&after[..kept])? };
    let fraction = fraction * 10_u64.pow((digits - kept) as u32);
    whole(before)?.checked_mul(unit)?.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_and_cut() {
        assert_eq!(fixed(b"0.000019000", 9), Some(19_000));
        assert_eq!(fixed(b"12.5", 6), Some(12_500_000));
        assert_eq!(fixed(b"12", 6), Some(12_000_000));
        assert_eq!(fixed(b"12.", 6), Some(12_000_000));
        assert_eq!(fixed(b"1.2345678", 6), Some(1_234_567));
        assert_eq!(fixed(b"0,000019", 9), Some(19_000));
        for bad in [
            &b""[..],
            b".",
            b".5",
            b"-1",
            b"1.-5",
            b"1.5x",
            b"1.1234567x",
            b"1e3",
            b"1.2.3",
            b"1,234.5",
        ] {
            assert_eq!(fixed(bad, 6), None, "{}", bad.escape_ascii());
        }
        assert_eq!(fixed(b"18446744073709551615", 6), None);
    }

    #[test]
    fn whole_numbers_end_at_64_bits() {
        assert_eq!(whole(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(whole(b"18446744073709551616"), None);
        assert_eq!(whole(b"00000000000000000000000007"), Some(7));
    }
}
