//! Points and lengths of time in whole nanoseconds.
//!
//! A [`Time`] counts from the start of the run, so virtual and real runs look alike. Adding two
//! points does not compile; sums saturate, so that [`Time::NEVER`] stays never.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A point in time: nanoseconds since the run began. Only a clock creates one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than everything: nothing is planned.
    pub const NEVER: Self = Self(u64::MAX);
    /// The latest time of a run: a hundred years. A model adds less than four hundred years to it
    /// at one instant, so sums of nanoseconds stay below [`NEVER`](Self::NEVER).
    pub const LAST: Self = Self(Span::from_secs(100 * 365 * 86_400).0);

    /// The point `ns` nanoseconds after the start of the run.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the start of the run.
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// Time from `earlier` to this point; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// A span of `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }

    /// A span of `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// A span of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// The length in nanoseconds.
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// `self · part / whole`, rounded down; [`MAX`](Self::MAX) if that is longer.
    #[must_use]
    pub const fn share(self, part: u64, whole: u64) -> Self {
        // A 128-bit division takes several times as long.
        if let Some(product) = self.0.checked_mul(part) {
            return Self(product / whole);
        }
        let share = self.0 as u128 * part as u128 / whole as u128;
        if share > u64::MAX as u128 { Self::MAX } else { Self(share as u64) }
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Time {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NEVER { f.write_str("never") } else { Span(self.0).fmt(f) }
    }
}

/// Milliseconds, without trailing zeros: `1.5ms`.
impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, mut rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        write!(f, "{whole}")?;
        if rest > 0 {
            let mut digits = 6;
            while rest % 10 == 0 {
                rest /= 10;
                digits -= 1;
            }
            write!(f, ".{rest:0digits$}")?;
        }
        f.write_str("ms")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn never_stays_never() {
        assert_eq!(Time::NEVER + Span::from_secs(1), Time::NEVER);
    }

    #[test]
    fn shares_do_not_overflow() {
        let day = Span::from_secs(86_400);
        assert_eq!(day.share(1 << 40, 1 << 41), Span::from_secs(43_200));
        assert_eq!(day.share(1 << 40, 1), Span::MAX, "longer than a time can be");
    }

    #[test]
    fn prints_in_milliseconds() {
        assert_eq!(format!("{:?}", Span::from_us(1_050)), "1.05ms");
        assert_eq!(format!("{:?}", Time::from_ns(7)), "0.000007ms");
        assert_eq!(format!("{:?}", Time::NEVER), "never");
    }
}
