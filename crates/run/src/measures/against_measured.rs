//! Compares the response times of a run with those measured on the drive that its trace is from.

use penstock_core::{Request, Time};

use crate::measures::measure::{Finished, Measure};
use crate::measures::subject::Subject;
use crate::result::{AgainstMeasured, RunResult};

/// Response times of a run, and the measured ones.
struct Responses<'a> {
    measured: &'a [u64],
    run: Vec<u64>,
}

/// Returns the measure for a run of a trace with measured response times.
pub(crate) fn measure<'a>(subject: &Subject<'a>) -> Option<Box<dyn Measure + 'a>> {
    let measured = subject.load.measured_ns.as_ref()?;
    Some(Box::new(Responses { measured, run: Vec::with_capacity(measured.len()) }))
}

impl Measure for Responses<'_> {
    fn finished(&mut self, _: Time, _: &Request, how: &Finished) {
        if how.counted && how.error.is_none() {
            self.run.push(how.latency.ns());
        }
    }

    fn write(&mut self, _: Time, result: &mut RunResult) {
        result.against_measured = distance(self.measured, std::mem::take(&mut self.run));
    }
}

/// Compares the response times of a run with the measured ones; `None` if either list is empty.
/// Equally many times are compared rank by rank; otherwise quantiles, as many as the larger list
/// has.
fn distance(measured: &[u64], mut run: Vec<u64>) -> Option<AgainstMeasured> {
    run.sort_unstable();
    if run.is_empty() || measured.is_empty() {
        return None;
    }
    let steps = run.len().max(measured.len());
    let at = |sorted: &[u64], step: usize| sorted[(2 * step + 1) * sorted.len() / (2 * steps)];
    let difference = |step| (at(&run, step) as f64 - at(measured, step) as f64).powi(2);
    let rms = ((0..steps).map(difference).sum::<f64>() / steps as f64).sqrt();
    let mean = |values: &[u64]| values.iter().sum::<u64>() as f64 / values.len() as f64;
    let measured_mean = mean(measured);
    Some(AgainstMeasured {
        rms_ms: rms / 1e6,
        rms_relative: if measured_mean > 0.0 { rms / measured_mean } else { 0.0 },
        mean_ms: mean(&run) / 1e6,
        measured_mean_ms: measured_mean / 1e6,
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
        let difference = distance(&ms(&[1, 2, 3, 6]), ms(&[6, 4, 2, 1])).unwrap();
        assert!((difference.rms_ms - (0.0_f64 + 0.0 + 1.0 + 0.0).sqrt() / 2.0).abs() < 1e-12);
        assert!((difference.rms_relative - 0.5 / 3.0).abs() < 1e-12);
        assert!(
            (difference.mean_ms - 3.25).abs() < 1e-12
                && (difference.measured_mean_ms - 3.0).abs() < 1e-12
        );
    }

    #[test]
    fn of_unequal_counts_quantiles_are_compared() {
        let known = ms(&[1, 1, 2, 2]);
        assert!(distance(&known, ms(&[1, 2])).unwrap().rms_ms.abs() < 1e-12);
        assert!((distance(&known, ms(&[2, 3])).unwrap().rms_ms - 1.0).abs() < 1e-12);
        assert_eq!(distance(&known, Vec::new()), None);
    }
}
