//! Complete distributions and figures over time: the data of charts.
//!
//! Kept only on demand. The windows divide the run's planned length; a run that takes longer,
//! because its queue drains, goes on in windows of the same length, and when there are too many,
//! neighbours are joined, so that any run fits.

use hdrhistogram::Histogram;
use penstock_core::{Request, Span, Time};

use crate::measures::ledger::Spent;
use crate::measures::measure::{Finished, Measure};
use crate::measures::subject::Subject;
use crate::measures::windows::{Counts, DIGITS, Plan, Windows};
use crate::result::parts::{ThreadPart, unpack};
use crate::result::{ClassDetail, Detail, Row, RunResult};

/// Collects the detail of a run.
struct Details<'a> {
    names: Vec<&'a str>,
    windows: Windows,
    /// Largest number of windows of a class before neighbours are joined.
    most: usize,
    classes: Vec<ClassHistory>,
    /// History joined so far from several threads, in a run that has them.
    joined: Option<History>,
}

/// Figures of the classes in windows of one length.
struct History {
    length: Span,
    classes: Vec<ClassHistory>,
}

impl History {
    /// Removes the windows that begin after `end`, in which a thread only waited.
    fn until(mut self, end: Time) -> Self {
        let windows = end.ns() / self.length.ns().max(1) + 1;
        for class in &mut self.classes {
            class.rows.truncate(usize::try_from(windows).unwrap_or(usize::MAX));
        }
        self
    }

    /// Adds the figures of `other`, in windows of the longer of both lengths.
    fn join(&mut self, other: &mut Self) {
        let length = self.length.max(other.length);
        for history in [&mut *self, &mut *other] {
            while history.length < length {
                history.classes.iter_mut().for_each(ClassHistory::widen);
                history.length = history.length + history.length;
            }
        }
        for (class, other) in self.classes.iter_mut().zip(&mut other.classes) {
            class.join(other);
        }
    }
}

struct ClassHistory {
    latency: Histogram<u64>,
    wait: Histogram<u64>,
    rows: Vec<Counts>,
}

impl ClassHistory {
    /// Joins neighbouring windows: half as many, twice as long.
    fn widen(&mut self) {
        let pairs = self.rows.chunks(2).map(|pair| {
            let mut joined = pair[0].clone();
            pair[1..].iter().for_each(|other| joined.join(other));
            joined
        });
        self.rows = pairs.collect();
    }

    /// Adds the figures of `other`, which has windows of the same length.
    fn join(&mut self, other: &mut Self) {
        self.latency.add(&other.latency).expect("both grow as they must");
        self.wait.add(&other.wait).expect("both grow as they must");
        let more = other.rows.split_off(other.rows.len().min(self.rows.len()));
        self.rows.iter_mut().zip(&other.rows).for_each(|(row, other)| row.join(other));
        self.rows.extend(more);
    }
}

/// Returns the measure for a run whose detail is asked for.
pub(crate) fn measure<'a>(subject: &Subject<'a>) -> Option<Box<dyn Measure + 'a>> {
    let duration = subject.load.duration;
    subject.detail.then(|| Box::new(Details::new(subject.class_names(), duration)) as _)
}

fn histogram() -> Histogram<u64> {
    Histogram::new(DIGITS).expect("valid digits")
}

impl<'a> Details<'a> {
    /// Creates the details of the classes `names` in a run of `duration`.
    fn new(names: Vec<&'a str>, duration: Span) -> Self {
        let plan = Plan::new(names.len(), duration);
        let class = |_| ClassHistory { latency: histogram(), wait: histogram(), rows: Vec::new() };
        let windows = Windows::new(names.len(), plan.length);
        let classes = names.iter().map(class).collect();
        Self { names, windows, most: plan.most, classes, joined: None }
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

    /// Joins neighbouring windows: half as many, twice as long.
    fn widen(&mut self) {
        self.classes.iter_mut().for_each(ClassHistory::widen);
        self.windows.widen(self.classes[0].rows.len() as u64);
    }

    /// Returns the history of a run that ended at `end`; the last window is shorter than the
    /// others.
    fn history(&mut self, end: Time) -> History {
        self.roll(end);
        self.windows.pass(end);
        for (number, class) in self.classes.iter_mut().enumerate() {
            class.rows.push(self.windows.take(number));
        }
        History { length: self.windows.length(), classes: std::mem::take(&mut self.classes) }
    }
}

impl Measure for Details<'_> {
    fn arrived(&mut self, now: Time, req: &Request) {
        self.roll(now);
        self.windows.arrived(now, req.class.index());
    }

    fn finished(&mut self, now: Time, req: &Request, how: &Finished) {
        self.roll(now);
        self.windows.finished(now, req, how);
        if how.counted && how.error.is_none() {
            let class = &mut self.classes[req.class.index()];
            for (histogram, value) in
                [(&mut class.latency, how.latency), (&mut class.wait, how.wait)]
            {
                histogram.record(value.ns()).expect("a histogram that grows");
            }
        }
    }

    fn spent(&mut self, spent: &Spent) {
        self.roll(spent.at);
        self.windows.spent(spent.class.index(), spent.service);
    }

    fn part(&mut self, end: Time) -> Option<ThreadPart> {
        Some(Box::new(self.history(end)))
    }

    fn join(&mut self, part: ThreadPart) {
        let mut other: History = unpack(part);
        let history = self.joined.get_or_insert_with(|| History {
            length: self.windows.length(),
            classes: std::mem::take(&mut self.classes),
        });
        history.join(&mut other);
    }

    fn write(&mut self, end: Time, result: &mut RunResult) {
        let joined = self.joined.take().map(|history| history.until(end));
        let history = joined.unwrap_or_else(|| self.history(end));
        let window_s = history.length.ns() as f64 / 1e9;
        let classes = history.classes.iter().zip(&self.names).map(|(class, name)| {
            let rows = class.rows.iter().enumerate().map(|(number, counts)| {
                let (begins, whole) = (number as f64 * window_s, number + 1 < class.rows.len());
                let lasts = if whole { window_s } else { end.ns() as f64 / 1e9 - begins };
                row(counts, begins, lasts)
            });
            ClassDetail {
                name: (*name).to_owned(),
                lat_ns: buckets(&class.latency),
                wait_ns: buckets(&class.wait),
                series: rows.collect(),
            }
        });
        let (classes, agents, policy) = (classes.collect(), Vec::new(), Vec::new());
        result.detail = Some(Detail { window_s, classes, agents, policy, arm: None });
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
    use serde_json::Value;

    use super::*;
    use crate::measures::measure::samples;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// A request every 10 ms, each outstanding for 5 ms, for `ms` of a run planned for a second.
    fn run(ms: u64) -> Detail {
        let mut details = Details::new(vec!["all"], Span::from_secs(1));
        for begin in (0..ms).step_by(10) {
            let req = samples::request(0, at(begin));
            details.arrived(at(begin), &req);
            let how = samples::finished(&req, Span::from_ms(3), Span::from_ms(2), None);
            details.finished(at(begin + 5), &req, &how);
        }
        let mut result = RunResult::new("any", Value::Null);
        details.write(at(ms), &mut result);
        result.detail.expect("it was measured")
    }

    #[test]
    fn nothing_is_lost_between_windows() {
        for ms in [1000, 1003, 9990, 60_000] {
            let Detail { window_s, classes, .. } = run(ms);
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
