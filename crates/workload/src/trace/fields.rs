//! Fields of a line, parsed byte by byte: no text is copied and no pattern is compiled.

use super::error::{ParseError, Parsed};

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

    /// The next field between white space, as a whole number.
    #[inline]
    pub(super) fn number(&mut self, expected: &str) -> Parsed<u64> {
        let text = self.rest.trim_ascii_start();
        let (value, digits) = few_digits(text);
        if digits > 0 && ends_at(text, digits) {
            self.rest = &text[digits..];
            return Ok(value);
        }
        number(self.word(), expected)
    }

    /// The next field between white space, as [`decimal`] reads it.
    #[inline]
    pub(super) fn decimal(&mut self, digits: usize, expected: &str) -> Parsed<u64> {
        let text = self.rest.trim_ascii_start();
        let (integer, before) = few_digits(text);
        if before > 0 && text.get(before) == Some(&b'.') {
            let behind = &text[before + 1..];
            let (fraction, after) = few_digits(behind);
            let value = integer.checked_mul(POWERS[digits]).and_then(|w| w.checked_add(fraction));
            if after == digits
                && ends_at(behind, after)
                && let Some(value) = value
            {
                self.rest = &behind[after..];
                return Ok(value);
            }
        }
        decimal(self.word(), digits, expected)
    }

    /// Checks that nothing remains.
    pub(super) fn end(&self) -> Parsed<()> {
        match self.rest() {
            [] => Ok(()),
            more => Err(ParseError::new(more, "the end of the line")),
        }
    }
}

/// Number of decimal digits that always fit in a `u64`.
const SAFE_DIGITS: usize = 19;

/// Powers of ten that fit in a `u64`.
const POWERS: [u64; SAFE_DIGITS + 1] = {
    let mut powers = [1; SAFE_DIGITS + 1];
    let mut power = 1;
    while power < powers.len() {
        powers[power] = 10 * powers[power - 1];
        power += 1;
    }
    powers
};

/// Whether a field of `text` ends before the byte numbered `end`.
#[inline]
fn ends_at(text: &[u8], end: usize) -> bool {
    text.get(end).is_none_or(u8::is_ascii_whitespace)
}

/// Returns the number that `text` begins with, and the number of its digits: at most
/// [`SAFE_DIGITS`], so more may follow. Most numbers in traces have fewer than eight digits.
#[inline]
fn few_digits(text: &[u8]) -> (u64, usize) {
    match text.first_chunk().copied().map(eight_digits) {
        Some((value, digits)) if digits < 8 => (value, digits),
        Some((value, digits)) => more_digits(text, value, digits),
        None => more_digits(text, 0, 0),
    }
}

/// Continues [`few_digits`] behind the first `digits` digits of `text`, whose number is `value`.
fn more_digits(text: &[u8], mut value: u64, mut digits: usize) -> (u64, usize) {
    for byte in &text[digits..text.len().min(SAFE_DIGITS)] {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value * 10 + u64::from(digit);
        digits += 1;
    }
    (value, digits)
}

/// Returns the number that `text` begins with, and the number of its digits, at most eight.
/// Computes all digits at once, each in a byte of a word.
#[inline]
const fn eight_digits(text: [u8; 8]) -> (u64, usize) {
    const fn repeated(byte: u8) -> u64 {
        u64::from_le_bytes([byte; 8])
    }
    let bytes = u64::from_le_bytes(text) ^ repeated(b'0');
    // A byte above 9 has a bit in its high half, or gets one when 6 is added. A carry only affects
    // bytes behind such a byte.
    let others = (bytes | bytes.wrapping_add(repeated(6))) & repeated(0xf0);
    let digits = others.trailing_zeros() / 8;
    // The shift moves the last digit to the highest byte; zeros below the first are leading zeros.
    let ones = bytes.unbounded_shl(64 - 8 * digits);
    // Neighbours are combined to numbers of two, four and eight digits.
    let pairs = (ones.wrapping_mul(10) + (ones >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    let eight = (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff;
    (eight, digits as usize)
}

/// Parses a whole number; `None` if `text` is not one, or it is too large for 64 bits.
fn whole(text: &[u8]) -> Option<u64> {
    let (value, digits) = few_digits(text);
    let more = |value: u64, byte: &u8| {
        let digit = byte.wrapping_sub(b'0');
        value.checked_mul(10)?.checked_add(u64::from(digit)).filter(|_| digit <= 9)
    };
    if digits == 0 { None } else { text[digits..].iter().try_fold(value, more) }
}

/// Parses a whole number.
pub(super) fn number(text: &[u8], expected: &str) -> Parsed<u64> {
    whole(text).ok_or_else(|| ParseError::new(text, expected))
}

/// Parses a whole number of at most 32 bits.
pub(super) fn number32(text: &[u8], expected: &str) -> Parsed<u32> {
    let value = whole(text).and_then(|value| u32::try_from(value).ok());
    value.ok_or_else(|| ParseError::new(text, expected))
}

/// Parses a whole number and multiplies it by `scale`.
pub(super) fn scaled(text: &[u8], scale: u64, expected: &str) -> Parsed<u64> {
    let value = whole(text).and_then(|value| value.checked_mul(scale));
    value.ok_or_else(|| ParseError::new(text, expected))
}

/// Parses a number with or without a decimal point or comma, in units of 10^-`digits`. Further
/// digits are cut off.
pub(super) fn decimal(text: &[u8], digits: usize, expected: &str) -> Parsed<u64> {
    fixed(text, digits).ok_or_else(|| ParseError::new(text, expected))
}

fn fixed(text: &[u8], digits: usize) -> Option<u64> {
    let unit = POWERS[digits];
    let Some(point) = memchr::memchr2(b'.', b',', text) else {
        return whole(text)?.checked_mul(unit);
    };
    let (before, after) = (&text[..point], &text[point + 1..]);
    let digits_used = after.len().min(digits);
    if !after[digits_used..].iter().all(u8::is_ascii_digit) {
        return None;
    }
    let fraction = if digits_used == 0 { 0 } else { whole(&after[..digits_used])? };
    let fraction = fraction * POWERS[digits - digits_used];
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
    fn a_number_ends_with_its_digits_wherever_the_text_does() {
        for digits in 0..=SAFE_DIGITS + 2 {
            let number = &"987654321098765432109"[..digits];
            let kept = &number[..digits.min(SAFE_DIGITS)];
            for behind in ["", " ", " 12345678901", ".5", "/", ":", "\u{ff}", "\0\0\0\0\0\0\0\0"] {
                let text = format!("{number}{behind}");
                let parsed = few_digits(text.as_bytes());
                assert_eq!(parsed, (kept.parse().unwrap_or(0), kept.len()), "{text:?}");
            }
        }
        for byte in (0..=u8::MAX).filter(|byte| !byte.is_ascii_digit()) {
            assert_eq!(few_digits(&[b'4', b'2', byte, b'7', byte, 0xff, byte, b'0']), (42, 2));
        }
    }

    #[test]
    fn whole_numbers_end_at_64_bits() {
        assert_eq!(whole(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(whole(b"18446744073709551616"), None);
        assert_eq!(whole(b"00000000000000000000000007"), Some(7));
    }
}
