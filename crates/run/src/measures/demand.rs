//! Measures what each open loop asks for, and how far the device is behind it.

use penstock_core::{ClassId, Request, Span, Time};

use crate::measures::measure::{Finished, Measure};
use crate::measures::subject::Subject;
use crate::measures::values::ratio;
use crate::result::parts::{ThreadPart, unpack};
use crate::result::{DemandResult, RunResult};

/// Demand of one open loop after the warm-up.
struct Wanted {
    requests: u64,
    /// Requests that have neither completed nor failed.
    outstanding: u64,
    last_due: Time,
    last_done: Time,
    /// Latencies of the requests that were due in the first half and in the second.
    halves: [Latencies; 2],
}

/// Number of latencies, and their sum in nanoseconds.
#[derive(Clone, Copy, Default)]
struct Latencies {
    count: u64,
    sum: u128,
}

/// Demand of every class; `None` for a class whose requests wait for answers.
struct Demand {
    warmup: Time,
    /// Middle of the time in which the load asks.
    middle: Time,
    classes: Vec<Option<Wanted>>,
}

/// Returns the measure of the open loops of `subject`.
pub(crate) fn measure<'a>(subject: &Subject<'a>) -> Box<dyn Measure + 'a> {
    let warmup = subject.warmup;
    let until = subject.load.asks_until.unwrap_or(Time::ZERO + subject.load.duration);
    let middle = warmup + Span::from_ns(until.since(warmup).ns() / 2);
    let open = |index| subject.load.workload.is_open(ClassId(index as u16));
    let classes = 0..subject.load.classes.len();
    let classes = classes.map(|index| open(index).then(|| Wanted::new(warmup))).collect();
    Box::new(Demand { warmup, middle, classes })
}

impl Wanted {
    fn new(warmup: Time) -> Self {
        let halves = <[Latencies; 2]>::default();
        Self { requests: 0, outstanding: 0, last_due: warmup, last_done: warmup, halves }
    }

    fn join(&mut self, other: &Self) {
        self.requests += other.requests;
        self.outstanding += other.outstanding;
        self.last_due = self.last_due.max(other.last_due);
        self.last_done = self.last_done.max(other.last_done);
        for (half, others) in self.halves.iter_mut().zip(other.halves) {
            half.count += others.count;
            half.sum += others.sum;
        }
    }

    fn growth(&self) -> Option<f64> {
        let [first, second] = self.halves.map(|half| ratio(half.sum as f64, half.count as f64));
        (first > 0.0 && second > 0.0).then(|| second / first)
    }
}

impl Measure for Demand {
    fn arrived(&mut self, _: Time, req: &Request) {
        let Some(wanted) = &mut self.classes[req.class.index()] else { return };
        if req.due >= self.warmup {
            wanted.requests += 1;
            wanted.outstanding += 1;
            wanted.last_due = wanted.last_due.max(req.due);
        }
    }

    fn finished(&mut self, _: Time, req: &Request, how: &Finished) {
        let Some(wanted) = &mut self.classes[req.class.index()] else { return };
        if how.counted {
            wanted.outstanding -= 1;
            wanted.last_done = wanted.last_done.max(how.at);
            if how.error.is_none() {
                let half = &mut wanted.halves[usize::from(req.due >= self.middle)];
                half.count += 1;
                half.sum += u128::from(how.latency.ns());
            }
        }
    }

    fn part(&mut self, _: Time) -> Option<ThreadPart> {
        Some(Box::new(std::mem::take(&mut self.classes)))
    }

    fn join(&mut self, part: ThreadPart) {
        let others: Vec<Option<Wanted>> = unpack(part);
        let pairs = self.classes.iter_mut().flatten().zip(others.iter().flatten());
        pairs.for_each(|(class, other)| class.join(other));
    }

    fn write(&mut self, end: Time, result: &mut RunResult) {
        let seconds = |from: Time, to: Time| to.since(from).ns() as f64 / 1e9;
        for (class, wanted) in result.classes.iter_mut().zip(&self.classes) {
            let Some(wanted) = wanted.as_ref().filter(|wanted| wanted.requests > 0) else {
                continue;
            };
            let served = if wanted.outstanding > 0 { end } else { wanted.last_done };
            let lasted_s = seconds(self.warmup, wanted.last_due);
            class.demand = Some(DemandResult {
                iops: ratio(wanted.requests as f64, lasted_s),
                lasted_s,
                behind_s: seconds(wanted.last_due, served.max(wanted.last_due)),
                growth: wanted.growth(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::measures::measure::samples;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// The demand of a class that asks every 10 ms for 15 ms of a device's time, in a run that ends
    /// at `end`.
    fn wanted(requests: u64, end: u64) -> DemandResult {
        let classes = vec![Some(Wanted::new(at(0)))];
        let mut demand = Demand { warmup: at(0), middle: at(10 * requests / 2), classes };
        let reqs: Vec<_> = (0..requests).map(|n| samples::request(0, at(10 * n))).collect();
        for req in &reqs {
            demand.arrived(req.due, req);
        }
        for (n, req) in (0..).zip(&reqs) {
            let done = at(15 * (n + 1));
            if done <= at(end) {
                let service = Span::from_ms(15);
                let wait = done.since(req.due) - service;
                demand.finished(done, req, &samples::finished(req, wait, service, None));
            }
        }
        let mut result = RunResult::new("any", Value::Null);
        result.classes = vec![crate::result::ClassResult::default()];
        demand.write(at(end), &mut result);
        result.classes.remove(0).demand.expect("it is an open loop")
    }

    #[test]
    fn what_was_asked_for_and_how_far_the_device_was_behind() {
        let drained = wanted(101, 10_000);
        assert!((drained.iops - 101.0).abs() < 1e-9 && (drained.lasted_s - 1.0).abs() < 1e-9);
        assert!((drained.behind_s - 0.515).abs() < 1e-9, "{drained:?}");
        // Each waits 5 ms longer than the one before it, the first only for its own service.
        let growth = drained.growth.expect("both halves completed");
        assert!((growth - 392.5 / 140.0).abs() < 0.02, "{growth}");
    }

    #[test]
    fn what_is_left_when_the_run_ends_is_behind_until_then() {
        assert!((wanted(101, 1_200).behind_s - 0.2).abs() < 1e-9);
    }

    #[test]
    fn one_request_has_no_rate() {
        let DemandResult { iops, behind_s, growth, .. } = wanted(1, 10_000);
        assert!(iops.abs() < 1e-9 && (behind_s - 0.015).abs() < 1e-9);
        assert_eq!(growth, None);
    }
}
