//! Latencies in a few buckets, counted from the beginning on.
//!
//! For programs that collect figures over time: the difference of two moments is the histogram of the
//! time between them, and the sum over classes or machines is theirs. A bound is at most two thirds above
//! the one below it, which bounds the error of a percentile that is estimated from them. Results have
//! their percentiles from finer buckets.

use penstock_core::Span;
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// Bounds of each power of ten, in tenths of it: round numbers, so that limits people set are bounds.
const STEPS: [u64; 6] = [10, 15, 20, 30, 50, 70];

/// Powers of ten: from 10 µs, before which hardly any disk answers, to 100 s, when commands have failed.
const POWERS: usize = 7;

/// Number of bounds.
const BOUNDS: usize = STEPS.len() * POWERS + 1;

/// Bounds of the buckets in nanoseconds, from 10 µs to 100 s.
const BOUNDS_NS: [u64; BOUNDS] = {
    let mut bounds = [0; BOUNDS];
    let (mut at, mut tenth) = (0, 1_000);
    while at < BOUNDS {
        bounds[at] = STEPS[at % STEPS.len()] * tenth;
        at += 1;
        if at.is_multiple_of(STEPS.len()) {
            tenth *= 10;
        }
    }
    bounds
};

/// Counts of latencies up to each of fixed bounds.
#[derive(Clone, Debug)]
pub struct LatencyBuckets {
    /// Latencies in each bucket; the last has those above every bound.
    counts: [u64; BOUNDS + 1],
    sum_ns: u64,
}

impl LatencyBuckets {
    pub(crate) fn new() -> Self {
        Self { counts: [0; BOUNDS + 1], sum_ns: 0 }
    }

    /// Counts `latency`.
    pub(crate) fn add(&mut self, latency: Span) {
        let ns = latency.ns();
        self.counts[BOUNDS_NS.partition_point(|&bound| bound < ns)] += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
    }

    /// Adds the latencies of `other`.
    pub(crate) fn join(&mut self, other: &Self) {
        std::iter::zip(&mut self.counts, &other.counts).for_each(|(ours, theirs)| *ours += theirs);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
    }

    /// Each bound with the number of latencies up to it, and the number of all.
    fn cumulative(&self) -> (Vec<(u64, u64)>, u64) {
        let mut count = 0;
        let mut upto = |bucket: &u64| {
            count += bucket;
            count
        };
        let counts: Vec<u64> = self.counts.iter().map(&mut upto).collect();
        (std::iter::zip(BOUNDS_NS, counts).collect(), count)
    }
}

/// An object of the number of latencies, their sum in nanoseconds, and pairs of a bound in nanoseconds
/// and the number of latencies up to it.
impl Serialize for LatencyBuckets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (upto_ns, count) = self.cumulative();
        let mut object = serializer.serialize_struct("LatencyBuckets", 3)?;
        object.serialize_field("count", &count)?;
        object.serialize_field("sum_ns", &self.sum_ns)?;
        object.serialize_field("upto_ns", &upto_ns)?;
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn bounds_are_round_and_close() {
        assert_eq!(BOUNDS_NS[..8], [10, 15, 20, 30, 50, 70, 100, 150].map(|us| us * 1_000));
        assert_eq!(BOUNDS_NS[BOUNDS - 1], Span::from_secs(100).ns());
        for pair in BOUNDS_NS.windows(2) {
            assert!(pair[0] < pair[1] && 3 * pair[1] <= 5 * pair[0], "{pair:?}");
        }
    }

    #[test]
    fn counts_are_cumulative_and_a_bound_is_in_its_bucket() {
        let (mut buckets, mut more) = (LatencyBuckets::new(), LatencyBuckets::new());
        for us in [0, 10, 15, 16] {
            buckets.add(Span::from_us(us));
        }
        more.add(Span::from_secs(1_000));
        buckets.join(&more);
        let Value::Object(object) = serde_json::to_value(&buckets).unwrap() else { panic!() };
        assert_eq!(
            (&object["count"], &object["sum_ns"]),
            (&json!(5), &json!(1_000_000_041_000_u64))
        );
        let upto = object["upto_ns"].as_array().unwrap();
        assert_eq!(upto[..3], [json!([10_000, 2]), json!([15_000, 3]), json!([20_000, 4])]);
        assert_eq!(upto.last().unwrap()[1], 4, "one is above every bound");
    }
}
