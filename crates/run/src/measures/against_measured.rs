//! Response times of a run against those that were measured on the drive that a trace is from.

use penstock_core::{Request, Time};

use crate::measures::measure::{Finished, Measure};
use crate::measures::subject::Subject;
use crate::result::{AgainstMeasured, RunResult};

/// Every response time of a run, and those that were measured.
struct Responses<'a> {
    known: &'a [u64],
    found: Vec<u64>,
}

/// The measure of a run of a trace whose response times were measured.
pub(crate) fn measure<'a>(subject: &Subject<'a>) -> Option<Box<dyn Measure + 'a>> {
    let known = subject.load.measured_ns.as_ref()?;
    Some(Box::new(Responses { known, found: Vec::with_capacity(known.len()) }))
}

impl Measure for Responses<'_> {
    fn finished(&mut self, _: Time, _: &Request, how: &Finished) {
        if how.counted && how.error.is_none() {
            self.found.push(how.latency.ns());
        }
    }

    fn write(&mut self, _: Time, result: &mut RunResult) {
        result.against_measured = against(self.known, std::mem::take(&mut self.found));
    }
}

/// How far `found` is from `known`; none if there is nothing to compare. Of as many requests the
/// times are compared in their order; else quantiles, as many as the larger sample has.
fn against(known: &[u64], mut found: Vec<u64>) -> Option<AgainstMeasured> {
    found.sort_unstable();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(values: &[u64]) -> Vec<u64> {
        values.iter().map(|ms| ms * 1_000_000).collect()
    }

    #[test]
    fn the_distance_is_between_times_of_the_same_rank() {
        let found = against(&ms(&[1, 2, 3, 6]), ms(&[6, 4, 2, 1])).unwrap();
        assert!((found.rms_ms - (0.0_f64 + 0.0 + 1.0 + 0.0).sqrt() / 2.0).abs() < 1e-12);
        assert!((found.rms_relative - 0.5 / 3.0).abs() < 1e-12);
        assert!(
            (found.mean_ms - 3.25).abs() < 1e-12 && (found.measured_mean_ms - 3.0).abs() < 1e-12
        );
    }

    #[test]
    fn of_unequal_counts_quantiles_are_compared() {
        let known = ms(&[1, 1, 2, 2]);
        assert!(against(&known, ms(&[1, 2])).unwrap().rms_ms.abs() < 1e-12);
        assert!((against(&known, ms(&[2, 3])).unwrap().rms_ms - 1.0).abs() < 1e-12);
        assert_eq!(against(&known, Vec::new()), None);
    }
}
