//! What requests take here beside what they took on the drive that they were measured on.

use penstock_core::Span;
use penstock_workload::trace::{Record, Trace};
use schemars::JsonSchema;
use serde::Serialize;

/// Response times that were measured, in ascending order.
pub(crate) struct Measured(Vec<u64>);

/// How far a run of a trace of measured response times is from them.
#[derive(Clone, Copy, PartialEq, Debug, JsonSchema, Serialize)]
pub struct AgainstMeasured {
    /// Of a trace of measured response times: root mean square of the horizontal distance between
    /// their distribution function and that of the run.
    pub rms_ms: f64,
    /// `rms_ms` as a share of the mean that was measured.
    pub rms_relative: f64,
    /// Mean response time of the run, against `measured_mean_ms`.
    pub mean_ms: f64,
    /// Mean of the response times that were measured.
    pub measured_mean_ms: f64,
}

impl Measured {
    /// What the requests of `trace` took.
    pub(crate) fn new(trace: &Trace) -> Self {
        let mut took: Vec<u64> =
            trace.records.iter().filter_map(Record::latency).map(Span::ns).collect();
        took.sort_unstable();
        Self(took)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// How far `found` is from it; none if there is nothing to compare. Of as many requests the
    /// times are compared in their order; else quantiles, as many as the larger sample has.
    pub(crate) fn against(&self, mut found: Vec<u64>) -> Option<AgainstMeasured> {
        found.sort_unstable();
        let known = &self.0;
        if found.is_empty() || known.is_empty() {
            return None;
        }
        let steps = found.len().max(known.len());
        let at = |sorted: &[u64], step: usize| sorted[(2 * step + 1) * sorted.len() / (2 * steps)];
        let distance = |step| (at(&found, step) as f64 - at(known, step) as f64).powi(2);
        let rms = ((0..steps).map(distance).sum::<f64>() / steps as f64).sqrt();
        let mean = |values: &[u64]| values.iter().sum::<u64>() as f64 / values.len() as f64;
        let measured = mean(known);
        Some(AgainstMeasured {
            rms_ms: rms / 1e6,
            rms_relative: if measured > 0.0 { rms / measured } else { 0.0 },
            mean_ms: mean(&found) / 1e6,
            measured_mean_ms: measured / 1e6,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(values: &[u64]) -> Vec<u64> {
        values.iter().map(|ms| ms * 1_000_000).collect()
    }

    #[test]
    fn the_distance_is_between_times_of_the_same_rank() {
        let known = Measured(ms(&[1, 2, 3, 6]));
        let found = known.against(ms(&[6, 4, 2, 1])).unwrap();
        assert!((found.rms_ms - (0.0_f64 + 0.0 + 1.0 + 0.0).sqrt() / 2.0).abs() < 1e-12);
        assert!((found.rms_relative - 0.5 / 3.0).abs() < 1e-12);
        assert!(
            (found.mean_ms - 3.25).abs() < 1e-12 && (found.measured_mean_ms - 3.0).abs() < 1e-12
        );
    }

    #[test]
    fn of_unequal_counts_quantiles_are_compared() {
        let known = Measured(ms(&[1, 1, 2, 2]));
        assert!(known.against(ms(&[1, 2])).unwrap().rms_ms.abs() < 1e-12);
        assert!((known.against(ms(&[2, 3])).unwrap().rms_ms - 1.0).abs() < 1e-12);
        assert_eq!(known.against(Vec::new()), None);
    }
}
