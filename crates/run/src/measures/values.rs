//! Values in nanoseconds: their moments, extremes and percentiles.

use std::iter::zip;

use penstock_core::Span;

use crate::measures::histogram::Histogram;
use crate::result::Distribution;

/// Values in nanoseconds: exact moments and extremes, and percentiles to three digits.
pub(crate) struct Values {
    histogram: Histogram,
    count: u64,
    sum: u128,
    squares: Squares,
    min: u64,
    max: u64,
}

impl Values {
    pub(crate) fn new() -> Self {
        Self {
            histogram: Histogram::new(),
            count: 0,
            sum: 0,
            squares: Squares::default(),
            min: u64::MAX,
            max: 0,
        }
    }

    pub(crate) fn add(&mut self, value: Span) {
        let ns = value.ns();
        self.histogram.add(ns);
        self.count += 1;
        self.sum += u128::from(ns);
        self.squares.add(u128::from(ns) * u128::from(ns));
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    /// Number of values.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Adds the values of `other`.
    pub(crate) fn join(&mut self, other: &Self) {
        self.histogram.join(&other.histogram);
        self.count += other.count;
        self.sum += other.sum;
        self.squares.join(&other.squares);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    pub(crate) fn distribution(&self) -> Distribution {
        if self.count == 0 {
            return Distribution::default();
        }
        let count = self.count as f64;
        let mean = self.sum as f64 / count;
        // The variance as an exact integer where that fits: two large squares nearly cancel. Where it
        // does not, values are so large that floating point has digits to spare.
        let n = u128::from(self.count);
        let squares = self.squares.exact().and_then(|squares| squares.checked_mul(n));
        let spread = match squares.zip(self.sum.checked_mul(self.sum)) {
            Some((squares, square)) => squares.saturating_sub(square) as f64,
            None => (self.squares.near() * count - (self.sum as f64).powi(2)).max(0.0),
        };
        let rank = |percent: f64| ((percent / 100.0 * count).ceil() as u64).max(1);
        let values = self.histogram.at_ranks(self.min, Distribution::PERCENTS.map(rank));
        Distribution {
            mean,
            stddev: spread.sqrt() / count,
            min: self.min,
            max: self.max,
            percentile: zip(Distribution::PERCENTS, values)
                .map(|(percent, value)| (format!("{percent:.6}"), value.clamp(self.min, self.max)))
                .collect(),
        }
    }
}

/// A sum of squares, exact: those of years in nanoseconds fill 128 bits after some hundreds.
#[derive(Default)]
struct Squares {
    low: u128,
    /// Number of overflows of `low`.
    high: u64,
}

impl Squares {
    fn add(&mut self, square: u128) {
        let (low, full) = self.low.overflowing_add(square);
        self.low = low;
        self.high += u64::from(full);
    }

    fn join(&mut self, other: &Self) {
        self.add(other.low);
        self.high += other.high;
    }

    /// Returns the sum, if it fits 128 bits.
    fn exact(&self) -> Option<u128> {
        (self.high == 0).then_some(self.low)
    }

    /// Returns the sum, rounded to floating point.
    fn near(&self) -> f64 {
        self.high as f64 * 2_f64.powi(128) + self.low as f64
    }
}

/// Returns `part / whole`, or 0 if `whole` is not positive.
pub(crate) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_exact_and_percentiles_are_within_a_thousandth() {
        let mut values = Values::new();
        (1..=1000).for_each(|us| values.add(Span::from_us(us)));
        let found = values.distribution();
        assert!((found.mean - 500_500.0).abs() < 1e-6);
        assert!((found.stddev - 288_674.990_257_210_7).abs() < 1e-3, "{}", found.stddev);
        assert_eq!((found.min, found.max), (1_000, 1_000_000));
        let median = found.percentile["50.000000"] as f64;
        assert!((median / 500_000.0 - 1.0).abs() < 0.001, "{median}");
    }
    /// Squares of years fill 128 bits after some hundreds of them, and were summed modulo that.
    #[test]
    fn deviations_of_waits_of_decades_do_not_wrap() {
        let (mut values, mut half) = (Values::new(), Values::new());
        let decade = Span::from_secs(10 * 365 * 86_400);
        for _ in 0..10_000 {
            values.add(decade + decade);
            half.add(decade + decade + decade + decade);
        }
        values.join(&half);
        let found = values.distribution();
        assert!((found.mean / (3.0 * decade.ns() as f64) - 1.0).abs() < 1e-12, "{}", found.mean);
        let off = found.stddev / decade.ns() as f64 - 1.0;
        assert!(off.abs() < 1e-9, "{}", found.stddev);
        let p50 = found.percentile["50.000000"] as f64 / (2 * decade.ns()) as f64;
        assert!((p50 - 1.0).abs() < 0.001, "no percentile is cut off: {p50}");
    }
}
