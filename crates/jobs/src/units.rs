//! Reads and writes quantities with units: sizes, lengths of time, rates and shares.
//!
//! A number without a unit is refused: `4096` may be bytes, sectors or KiB, and the reader of a job
//! should not have to guess. Reading is exact: a size is a whole number of bytes, a length of time
//! a whole number of nanoseconds. A quantity that is written reads back as the same value.

use penstock_core::Span;

use crate::diagnose::{JobError, quote};
use crate::nearest::nearest;
use crate::tree::{Node, Value};

/// The word for no limit.
pub(crate) const OFF: &str = "off";

/// Highest rate in arrivals a second: time cannot distinguish more than one a nanosecond.
const RATE_MAX: f64 = 1e9;

/// Largest size of a target in bytes: an array of the most disks of this size has less than 2^60
/// bytes, so that places do not overflow.
const SIZE_MOST: u64 = 1 << 50;

/// Longest time. Three of these are less than the longest run
/// ([`Time::LAST`](penstock_core::Time::LAST)), and the sum of a model's times at one instant does
/// not overflow.
pub(crate) const SPAN_MOST: Span = Span::from_secs(10_000 * 86_400);

/// A share of a whole, in billionths: exact for seven decimals of a percentage.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Share(u32);

impl Share {
    /// No part of the whole.
    pub const NONE: Self = Self(0);
    /// The whole.
    pub const WHOLE: Self = Self(1_000_000_000);

    /// A share of `percent` hundredths.
    pub(crate) const fn percent(percent: u32) -> Self {
        Self(percent * (Self::WHOLE.0 / 100))
    }

    /// A share of `part` billionths; the caller keeps it within the whole.
    pub(crate) const fn billionths(part: u32) -> Self {
        Self(part)
    }

    /// Adds two shares; the sum is at most the whole.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self((self.0 + other.0).min(Self::WHOLE.0))
    }

    /// Returns this share of `total`, rounded down.
    pub const fn of(self, total: u64) -> u64 {
        (total as u128 * self.0 as u128 / Self::WHOLE.0 as u128) as u64
    }

    /// Returns the share as a number from 0 to 1.
    pub fn fraction(self) -> f64 {
        f64::from(self.0) / f64::from(Self::WHOLE.0)
    }
}

/// A kind of quantity: its name, and its units as multiples of the base unit.
pub(crate) struct Quantity {
    pub(crate) name: &'static str,
    units: &'static [(&'static str, u64)],
    /// Name of the base unit, for a number that is not a whole multiple of it.
    base: &'static str,
    /// Largest amount in base units.
    most: u64,
    example: &'static str,
}

pub(crate) const SIZE: Quantity = Quantity {
    name: "a size",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ],
    base: "bytes",
    most: SIZE_MOST,
    example: "64KiB",
};

pub(crate) const DURATION: Quantity = Quantity {
    name: "a length of time",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("μs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
    ],
    base: "nanoseconds",
    most: SPAN_MOST.ns(),
    example: "10ms",
};

pub(crate) const SHARE: Quantity = Quantity {
    name: "a percentage",
    units: &[("%", 10_000_000)],
    base: "billionths",
    most: u64::MAX,
    example: "10%",
};

/// Rates. The multiples are the lengths of the units, by which a rate is divided.
pub(crate) const RATE: Quantity = Quantity {
    name: "a rate",
    units: &[
        ("/us", 1_000),
        ("/ms", 1_000_000),
        ("/s", 1_000_000_000),
        ("/min", 60_000_000_000),
        ("/h", 3_600_000_000_000),
    ],
    base: "",
    most: u64::MAX,
    example: "20/s",
};

pub(crate) const TRANSFER: Quantity = Quantity {
    name: "a transfer rate",
    units: &[
        ("kB/s", 1_000),
        ("MB/s", 1_000_000),
        ("GB/s", 1_000_000_000),
        ("KiB/s", 1 << 10),
        ("MiB/s", 1 << 20),
        ("GiB/s", 1 << 30),
    ],
    base: "bytes a second",
    most: SIZE_MOST,
    example: "550MB/s",
};

const QUANTITIES: [&Quantity; 5] = [&SIZE, &DURATION, &SHARE, &RATE, &TRANSFER];

/// Parses a size in bytes: `4KiB`, `10MB`, `1000B`.
///
/// # Errors
/// The text is no size, its unit is missing or not one of sizes, or the size is not a whole number
/// of bytes or too large.
pub fn parse_size(text: &str) -> Result<u64, JobError> {
    SIZE.exact(text)
}

/// Parses a length of time: `10ms`, `0.9ms`, `10min`.
///
/// # Errors
/// The text is no length of time, its unit is missing or not one of time, or the time is not a
/// whole number of nanoseconds or too large.
pub fn parse_duration(text: &str) -> Result<Span, JobError> {
    DURATION.exact(text).map(Span::from_ns)
}

/// Parses a percentage: `10%`, `12.5%`, at most `100%`.
///
/// # Errors
/// The text is no percentage, has more than seven decimals, or is above 100 %.
pub fn parse_share(text: &str) -> Result<Share, JobError> {
    let whole = u64::from(Share::WHOLE.0);
    match SHARE.exact(text)? {
        part if part <= whole => Ok(Share(part as u32)),
        _ => Err(JobError::new(format!("{} is more than the whole", quote(text)))
            .hint("a share lies between `0%` and `100%`")),
    }
}

/// Parses a rate in events a second: `20/s`, `1200/min`.
///
/// # Errors
/// The text is no rate, its unit is missing or not one of rates, or it is more than one a
/// nanosecond.
pub fn parse_rate(text: &str) -> Result<f64, JobError> {
    let (number, unit) = RATE.split(text)?;
    let per_unit: f64 = number.parse().map_err(|_| RATE.malformed(text))?;
    // A rate a second stays exactly as written; others are scaled once.
    let rate = if unit == 1_000_000_000 { per_unit } else { per_unit * 1e9 / unit as f64 };
    if rate <= RATE_MAX {
        Ok(rate)
    } else {
        let message = format!("{} is more than one a nanosecond", quote(text));
        Err(JobError::new(message).hint("a rate is at most `1000000000/s`"))
    }
}

/// Parses a transfer rate in bytes a second: `550MB/s`, `1.2GB/s`.
///
/// # Errors
/// The text is no transfer rate, its unit is missing or not one of transfer rates, or the rate is
/// not a whole number of bytes a second or too large.
pub fn parse_transfer(text: &str) -> Result<u64, JobError> {
    TRANSFER.exact(text)
}

impl Quantity {
    /// Reads a node with `parse`.
    pub(crate) fn read<T>(
        &self,
        node: &Node,
        parse: fn(&str) -> Result<T, JobError>,
    ) -> Result<T, JobError> {
        match &node.value {
            Value::Text(text) | Value::Word(text) => parse(text).map_err(|e| e.at(&node.origin)),
            Value::Integer(number) => Err(self.bare(&number.to_string()).at(&node.origin)),
            Value::Float(number) => Err(self.bare(&number.to_string()).at(&node.origin)),
            _ => Err(node.expected(self.name).hint(self.for_example())),
        }
    }

    /// Splits a text into its number and the multiple of its unit.
    fn split<'a>(&self, text: &'a str) -> Result<(&'a str, u64), JobError> {
        let text = text.trim();
        if text.starts_with('-') {
            let message = format!("{} is negative; expected {}", quote(text), self.name);
            return Err(JobError::new(message).hint(self.for_example()));
        }
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = (&text[..end], text[end..].trim_start());
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        if whole.is_empty() || decimals.is_empty() || decimals.contains('.') {
            return Err(self.malformed(text));
        }
        if unit.is_empty() {
            return Err(self.bare(number));
        }
        match self.units.iter().find(|(name, _)| *name == unit) {
            Some(&(_, multiple)) => Ok((number, multiple)),
            None => Err(self.unknown_unit(text, number, unit)),
        }
    }

    /// Returns the quantity in base units, if it is a whole number of them.
    fn exact(&self, text: &str) -> Result<u64, JobError> {
        let (number, multiple) = self.split(text)?;
        let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
        let decimals = decimals.trim_end_matches('0');
        let too_large = || self.too_large(text);
        let digits: u128 = format!("{whole}{decimals}").parse().map_err(|_| too_large())?;
        let scale = u32::try_from(decimals.len()).ok().and_then(|n| 10_u128.checked_pow(n));
        let scaled = digits.checked_mul(u128::from(multiple)).ok_or_else(too_large)?;
        match scale {
            Some(scale) if scaled.is_multiple_of(scale) => u64::try_from(scaled / scale)
                .ok()
                .filter(|&amount| amount <= self.most)
                .ok_or_else(too_large),
            _ => {
                let message = format!("{} is not a whole number of {}", quote(text), self.base);
                Err(JobError::new(message).hint("write fewer decimals, or a smaller unit"))
            }
        }
    }

    fn too_large(&self, text: &str) -> JobError {
        let error = JobError::new(format!("{} is too large", quote(text)));
        match largest(self, self.most) {
            Some(most) if self.most < u64::MAX => {
                error.hint(format!("{} is at most `{most}`", self.name))
            }
            _ => error,
        }
    }

    pub(crate) fn for_example(&self) -> String {
        format!("write {} with its unit, as in `{}`", self.name, self.example)
    }

    fn malformed(&self, text: &str) -> JobError {
        let shown = match text {
            "" => "nothing".into(),
            text => quote(text),
        };
        JobError::new(format!("expected {}, found {shown}", self.name)).hint(self.for_example())
    }

    /// Returns the error for a number without a unit; the hint shows the most likely units.
    fn bare(&self, number: &str) -> JobError {
        let meant = match self.units {
            [("B", _), ..] => format!("`{number}B`"),
            [("ns", _), ..] => format!("`{number}s` or `{number}ms`"),
            [("/us", _), ..] => format!("`{number}/s`"),
            [("kB/s", _), ..] => format!("`{number}MB/s`"),
            _ => format!("`{number}%`"),
        };
        let message = format!("{number} has no unit; expected {}", self.name);
        let units = self.names();
        let hint = if units.contains(", ") {
            format!("write {meant}, or take another unit: {units}")
        } else {
            format!("write {meant}")
        };
        JobError::new(message).hint(hint)
    }

    fn unknown_unit(&self, text: &str, number: &str, unit: &str) -> JobError {
        let other_quantity =
            QUANTITIES.iter().find(|q| q.units.iter().any(|(name, _)| *name == unit));
        if let Some(other) = other_quantity {
            let message = format!("expected {}, found {}: {}", self.name, other.name, quote(text));
            return JobError::new(message).hint(self.for_example());
        }
        let message = format!("unknown unit {} in {}", quote(unit), quote(text));
        let fold = unit.to_lowercase();
        // `4k` has two possible units; both are offered.
        let same_letters = |name: &&str| {
            let name = name.to_lowercase();
            name == fold
                || name.strip_suffix("ib") == Some(&fold)
                || name.strip_suffix('b') == Some(&fold)
        };
        let names = || self.units.iter().map(|&(name, _)| name);
        let mut meant: Vec<&str> = names().filter(same_letters).collect();
        if meant.is_empty() {
            // The unit may be the beginning of several others, as in `5m`.
            meant = names().filter(|name| name.is_ascii() && name.starts_with(unit)).collect();
        }
        if meant.is_empty() {
            meant.extend(nearest(unit, names()));
        }
        let forms: Vec<String> = meant.iter().map(|u| format!("`{number}{u}`")).collect();
        let hint = match forms.len() {
            0 => format!("units are {}", self.names()),
            _ => format!("did you mean {}?", forms.join(" or ")),
        };
        JobError::new(message).hint(hint)
    }

    /// Lists the units; a microsecond, which has three spellings, once.
    fn names(&self) -> String {
        let names = self.units.iter().map(|&(name, _)| name).filter(|name| name.is_ascii());
        names.collect::<Vec<_>>().join(", ")
    }
}

/// Returns a size in the unit that takes the smallest whole number: `64KiB`, `10MB`, `1000001B`.
pub fn size_text(bytes: u64) -> String {
    largest(&SIZE, bytes).unwrap_or_else(|| format!("{bytes}B"))
}

/// Returns a transfer rate in the unit that takes the smallest whole number, or in thousands with
/// decimals: `550MB/s`.
pub fn transfer_text(rate: u64) -> String {
    largest(&TRANSFER, rate).unwrap_or_else(|| decimal(rate, 3) + "kB/s")
}

/// Returns a computed size, with an approximation such as `4.00TB` if the exact one has
/// many digits.
pub(crate) fn about(bytes: u64) -> String {
    let exact = size_text(bytes);
    let digits = exact.chars().take_while(char::is_ascii_digit).count();
    match SIZE.units[..5].iter().rev().find(|&&(_, multiple)| bytes >= multiple) {
        Some((name, multiple)) if digits > 5 => {
            format!("{exact}, about {:.2}{name}", bytes as f64 / *multiple as f64)
        }
        _ => exact,
    }
}

fn largest(quantity: &Quantity, amount: u64) -> Option<String> {
    let fits = |&&(_, multiple): &&(&str, u64)| amount > 0 && amount.is_multiple_of(multiple);
    let (name, multiple) = quantity.units.iter().filter(fits).max_by_key(|unit| unit.1)?;
    Some(format!("{}{name}", amount / multiple))
}

/// Returns a length of time: whole minutes, hours and days as such, anything else with decimals:
/// `10min`, `1.5ms`.
pub fn duration_text(span: Span) -> String {
    let ns = span.ns();
    let whole = |&&(_, multiple): &&(&str, u64)| ns > 0 && ns.is_multiple_of(multiple);
    let long = DURATION.units[6..].iter().rev().find(whole);
    if let Some((name, multiple)) = long {
        return format!("{}{name}", ns / multiple);
    }
    match ns {
        0 => "0s".into(),
        1..1_000 => format!("{ns}ns"),
        1_000..1_000_000 => decimal(ns, 3) + "us",
        1_000_000..1_000_000_000 => decimal(ns, 6) + "ms",
        _ => decimal(ns, 9) + "s",
    }
}

/// Returns a rate in events a second: `20/s`.
pub fn rate_text(rate: f64) -> String {
    format!("{rate}/s")
}

/// Returns a percentage: `12.5%`.
pub fn share_text(share: Share) -> String {
    decimal(u64::from(share.0), 7) + "%"
}

/// Returns `amount / 10^digits` with as many decimals as needed.
fn decimal(amount: u64, digits: u32) -> String {
    let scale = 10_u64.pow(digits);
    let (whole, rest) = (amount / scale, amount % scale);
    if rest == 0 {
        return whole.to_string();
    }
    let decimals = format!("{rest:0width$}", width = digits as usize);
    format!("{whole}.{}", decimals.trim_end_matches('0'))
}

pub(crate) mod pattern;
#[cfg(test)]
mod tests;
