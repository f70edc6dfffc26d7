//! What pictures are drawn from: whole distributions, and how a run went over time.
//!
//! Kept only when somebody asks for it. The windows divide the run's planned length; a run that
//! takes longer, because its queue drains, goes on in windows of the same length, and when there
//! are too many, neighbours are joined, so that any run fits.

use hdrhistogram::Histogram;
use penstock_core::{Span, Time};
use schemars::JsonSchema;
use serde::Serialize;

use crate::windows::{Counts, DIGITS, Finished, Windows};

/// Windows of a run that ends when planned; twice as many are kept at most.
const WINDOWS: u64 = 200;
/// With more classes than this there are fewer windows, so that memory stays below half a gigabyte.
const CLASSES: u64 = 64;

/// One run in detail.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Detail {
    /// Seconds that a window lasts.
    pub window_s: f64,
    /// One for each class, in the order of the job.
    pub classes: Vec<ClassDetail>,
}

impl Detail {
    /// The classes of both, if their windows are equally long.
    pub(crate) fn join(mut self, other: Self) -> Option<Self> {
        self.classes.extend(other.classes);
        (self.window_s.to_bits() == other.window_s.to_bits()).then_some(self)
    }
}

/// One class of a run in detail. What is due before the warm-up's end is in the series only.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ClassDetail {
    /// Name of the class.
    pub name: String,
    /// Latencies: upper bounds in nanoseconds, ascending, and how many lie at or below each and
    /// above the one before.
    pub lat_ns: Vec<(u64, u64)>,
    /// The same of waits.
    pub wait_ns: Vec<(u64, u64)>,
    /// Over time, a row for each window.
    pub series: Vec<Row>,
}

/// One class in one window.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Row {
    /// Where the window begins, in seconds from the beginning of the run.
    pub at_s: f64,
    /// Requests that completed in it.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Median of their latencies in nanoseconds; null if there were none.
    pub p50_ns: Option<u64>,
    /// 99th percentile of their latencies; null if there were none.
    pub p99_ns: Option<u64>,
    /// Requests outstanding, in the mean over the window.
    pub outstanding: f64,
    /// Device time in seconds of what completed in it.
    pub device_time_s: f64,
}

/// Collects the detail of a run while it goes on.
pub(crate) struct Details {
    windows: Windows,
    /// How many windows of a class are kept before neighbours are joined.
    most: usize,
    classes: Vec<Class>,
}

struct Class {
    latency: Histogram<u64>,
    wait: Histogram<u64>,
    rows: Vec<Counts>,
}

fn histogram() -> Histogram<u64> {
    Histogram::new(DIGITS).expect("valid digits")
}

impl Details {
    /// For `classes` classes and a run of `duration`.
    pub(crate) fn new(classes: usize, duration: Span) -> Self {
        let count = (WINDOWS * CLASSES / CLASSES.max(classes as u64)).max(1);
        let window = Span::from_ns(duration.ns().div_ceil(count).max(1));
        let class = || Class { latency: histogram(), wait: histogram(), rows: Vec::new() };
        let windows = Windows::new(classes, window);
        let classes = (0..classes).map(|_| class()).collect();
        Self { windows, most: 2 * count as usize, classes }
    }

    pub(crate) fn arrived(&mut self, now: Time, class: usize) {
        self.roll(now);
        self.windows.arrived(now, class);
    }

    /// A request of `class` has finished.
    pub(crate) fn finished(&mut self, now: Time, class: usize, what: &Finished) {
        self.roll(now);
        self.windows.finished(now, class, what);
    }

    /// `service` of the device was spent on `class`, and on no request of it.
    pub(crate) fn spent(&mut self, now: Time, class: usize, service: Span) {
        self.roll(now);
        self.windows.spent(class, service);
    }

    /// A measured request: it counts in the distributions of the run.
    pub(crate) fn measured(&mut self, class: usize, latency: Span, wait: Span) {
        let class = &mut self.classes[class];
        for (histogram, value) in [(&mut class.latency, latency), (&mut class.wait, wait)] {
            histogram.record(value.ns()).expect("a histogram that grows");
        }
    }

    /// Closes every window that has ended at `now`.
    fn roll(&mut self, now: Time) {
        while self.windows.close(now) {
            for (number, class) in self.classes.iter_mut().enumerate() {
                class.rows.push(self.windows.take(number));
            }
            if self.classes[0].rows.len() >= self.most {
                self.widen();
            }
        }
    }

    /// Joins neighbours: half as many windows, twice as long.
    fn widen(&mut self) {
        for class in &mut self.classes {
            let pairs = class.rows.chunks(2).map(|pair| {
                let mut joined = pair[0].clone();
                pair[1..].iter().for_each(|other| joined.join(other));
                joined
            });
            class.rows = pairs.collect();
        }
        self.windows.widen(self.classes[0].rows.len() as u64);
    }

    /// What there is at `end`.
    pub(crate) fn told(mut self, names: &[&str], end: Time) -> Detail {
        self.roll(end);
        self.windows.pass(end);
        let window_s = self.windows.length().ns() as f64 / 1e9;
        let classes = self.classes.into_iter().zip(names).enumerate();
        let classes = classes.map(|(number, (mut class, name))| {
            let whole = class.rows.len();
            class.rows.push(self.windows.take(number));
            let rows = class.rows.iter().enumerate().map(|(number, counts)| {
                let begins = number as f64 * window_s;
                let lasts = if number < whole { window_s } else { end.ns() as f64 / 1e9 - begins };
                row(counts, begins, lasts)
            });
            ClassDetail {
                name: (*name).to_owned(),
                lat_ns: buckets(&class.latency),
                wait_ns: buckets(&class.wait),
                series: rows.collect(),
            }
        });
        let classes = classes.collect();
        Detail { window_s, classes }
    }
}

fn row(counts: &Counts, at_s: f64, lasts_s: f64) -> Row {
    Row {
        at_s,
        requests: counts.requests,
        bytes: counts.bytes,
        p50_ns: counts.percentile(0.5),
        p99_ns: counts.percentile(0.99),
        outstanding: if lasts_s > 0.0 { counts.area as f64 / 1e9 / lasts_s } else { 0.0 },
        device_time_s: counts.device_time.ns() as f64 / 1e9,
    }
}

fn buckets(histogram: &Histogram<u64>) -> Vec<(u64, u64)> {
    let bucket = |value: hdrhistogram::iterators::IterationValue<u64>| {
        (value.value_iterated_to(), value.count_since_last_iteration())
    };
    histogram.iter_recorded().map(bucket).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// A request every 10 ms, each outstanding for 5 ms, for `ms` of a run planned for a second.
    fn run(ms: u64) -> Detail {
        let mut details = Details::new(1, Span::from_secs(1));
        for begin in (0..ms).step_by(10) {
            details.arrived(at(begin), 0);
            let latency = Span::from_ms(5);
            let what = Finished { bytes: 1000, latency, service: Span::from_ms(2), ok: true };
            details.finished(at(begin + 5), 0, &what);
            details.measured(0, latency, Span::from_ms(3));
        }
        details.told(&["all"], at(ms))
    }

    #[test]
    fn nothing_is_lost_between_windows() {
        for ms in [1000, 1003, 9990, 60_000] {
            let Detail { window_s, classes } = run(ms);
            let rows = &classes[0].series;
            assert!(rows.len() <= 401, "{} windows", rows.len());
            assert!((window_s * rows.len() as f64 - ms as f64 / 1e3).abs() <= 2.0 * window_s);
            let requests = ms.div_ceil(10);
            assert_eq!(rows.iter().map(|row| row.requests).sum::<u64>(), requests);
            assert_eq!(rows.iter().map(|row| row.bytes).sum::<u64>(), 1000 * requests);
            for row in rows.iter().filter(|row| row.requests > 0) {
                let (p50, p99) = (row.p50_ns.unwrap(), row.p99_ns.unwrap());
                assert!((4_950_000..=5_050_000).contains(&p50) && p50 == p99, "{row:?}");
            }
            let busy: f64 = rows.iter().map(|row| row.device_time_s).sum();
            assert!((busy - 0.002 * requests as f64).abs() < 1e-9);
            assert_eq!(classes[0].lat_ns.iter().map(|(_, count)| count).sum::<u64>(), requests);
        }
    }

    #[test]
    fn what_is_outstanding_is_a_mean_over_time() {
        let rows = &run(60_000).classes[0].series;
        for row in &rows[..rows.len() - 1] {
            assert!((row.outstanding - 0.5).abs() < 0.05, "{row:?}");
        }
    }
}
