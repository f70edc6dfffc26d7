//! Parses values of fio's options: sizes, times, numbers, and lists of them.
//!
//! Source: "Parameter types" and "Units" of fio's manual.

use penstock_core::Span;

use crate::diagnose::JobError;
use crate::from_fio::lines::FioOption;
use crate::units::SPAN_MOST;

/// A direction of I/O. Reads take the first value of a list, writes the second, trims the third.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
    Trim,
}

/// Returns the value of `option` for a direction; `None` if it leaves that at its default.
///
/// A list goes on with its last value, unless it ends with a comma.
pub(super) fn value_for(option: &FioOption, direction: Direction) -> Option<&str> {
    let parts: Vec<&str> = option.value.split(',').map(str::trim).collect();
    let at = (direction as usize).min(parts.len() - 1);
    Some(parts[at]).filter(|part| !part.is_empty())
}

/// Parses a number of bytes. `k` is 1024 unless `decimal`; `ki` is the other base.
pub(super) fn bytes(text: &str, decimal: bool) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok();
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim().strip_suffix('b').unwrap_or(unit.trim());
    let (prefix, is_other_base) = match unit.strip_suffix('i') {
        Some(prefix) => (prefix, true),
        None => (unit, false),
    };
    let power = ["", "k", "m", "g", "t", "p"].iter().position(|known| *known == prefix)?;
    let base: u64 = if decimal == is_other_base { 1024 } else { 1000 };
    number.parse::<u64>().ok()?.checked_mul(base.checked_pow(u32::try_from(power).ok()?)?)
}

/// Parses the size of a request.
pub(super) fn request(text: &str, decimal: bool) -> Option<u32> {
    bytes(text, decimal).and_then(|size| u32::try_from(size).ok()).filter(|size| *size > 0)
}

/// Parses a length of time; a bare number is in units of `usual` nanoseconds.
pub(super) fn time(option: &FioOption, usual: u64) -> Result<Span, JobError> {
    span(&option.value, usual).ok_or_else(|| option.wrong("a time, as `30`, `500ms` or `10m`"))
}

/// Parses a text as a length of time; a bare number is in units of `usual` nanoseconds.
pub(super) fn span(text: &str, usual: u64) -> Option<Span> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = match unit.trim() {
        "" => usual,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    let ns = number.parse::<u64>().ok()?.checked_mul(unit)?;
    Some(Span::from_ns(ns)).filter(|span| *span <= SPAN_MOST)
}

/// Parses a whole number; it may have the unit of a size.
pub(super) fn number(option: &FioOption, most: u64) -> Result<u64, JobError> {
    let number = bytes(&option.value, false).filter(|number| *number <= most);
    number.ok_or_else(|| option.wrong("a whole number"))
}

/// Parses values with percentages, such as `4k/60:64k/40`; values without a percentage share the
/// rest of 100.
pub(super) fn weighted<T>(text: &str, value: impl Fn(&str) -> Option<T>) -> Option<Vec<(T, u32)>> {
    let parts = text.split(':').filter(|part| !part.is_empty());
    let parts: Vec<(T, Option<u32>)> = parts
        .map(|part| {
            let (text, weight) = part.split_once('/').unwrap_or((part, ""));
            let weight = weight.trim().trim_end_matches('%');
            let weight = if weight.is_empty() { None } else { Some(percentage(weight)?) };
            Some((value(text)?, weight))
        })
        .collect::<Option<_>>()?;
    let open = parts.iter().filter(|(_, weight)| weight.is_none()).count() as u32;
    let sum: u32 = parts.iter().filter_map(|(_, weight)| *weight).sum();
    if sum > 100 || (open == 0 && sum < 100) {
        return None;
    }
    let weighs = |weight: Option<u32>| weight.map_or(100 - sum, |weight| weight * open.max(1));
    Some(parts.into_iter().map(|(value, weight)| (value, weighs(weight))).collect())
}

/// Parses a whole percentage.
pub(super) fn percentage(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|percentage| *percentage <= 100)
}
