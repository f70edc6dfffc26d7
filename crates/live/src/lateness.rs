//! The lateness of events.

use hdrhistogram::Histogram;

/// The longest recorded lateness in nanoseconds; a longer one counts as this.
const LONGEST_NS: u64 = 60_000_000_000;

/// The lateness of events with a deadline. Times are nanoseconds, percentiles to three digits.
#[derive(Clone, Debug)]
pub struct Lateness {
    histogram: Histogram<u64>,
}

impl Lateness {
    pub(crate) fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, 3);
        Self { histogram: histogram.expect("bounds that the format allows") }
    }

    pub(crate) fn record(&mut self, ns: u64) {
        self.histogram.saturating_record(ns);
    }

    /// Adds the events of `other`.
    pub fn add(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("all have the same bounds");
    }

    /// Returns the number of events.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns the mean lateness in nanoseconds; 0 without events.
    pub fn mean_ns(&self) -> f64 {
        self.histogram.mean()
    }

    /// Returns the median in nanoseconds.
    pub fn p50_ns(&self) -> u64 {
        self.histogram.value_at_quantile(0.5)
    }

    /// Returns the 99th percentile in nanoseconds.
    pub fn p99_ns(&self) -> u64 {
        self.histogram.value_at_quantile(0.99)
    }

    /// Returns the maximum in nanoseconds.
    pub fn max_ns(&self) -> u64 {
        self.histogram.max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_the_tail() {
        let mut lateness = Lateness::new();
        assert_eq!((lateness.count(), lateness.max_ns()), (0, 0));
        (0..99).for_each(|_| lateness.record(100));
        lateness.record(u64::MAX);
        assert_eq!((lateness.count(), lateness.p50_ns(), lateness.p99_ns()), (100, 100, 100));
        assert!(lateness.max_ns() >= LONGEST_NS, "a minute or more is a minute or more");
    }
}
