//! The current state of a run, for a person who watches.
//!
//! Kept only when a person watches. Figures are those of the last window that has ended, of about a
//! second of the run's time; requests outstanding, errors and totals are those of the moment.

use penstock_core::{Request, Span, Time};
use penstock_live::Pace;
use serde::Serialize;

use crate::failure::Failure;
use crate::measures::ledger::Spent;
use crate::measures::measure::Finished;
use crate::measures::windows::{Counts, Windows};
use crate::progress::policy_levels::{PolicyLevel, PolicyLevels};
use crate::result::buckets::LatencyBuckets;

/// A run at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct Snapshot {
    /// Seconds that have passed in the run.
    pub at_s: f64,
    /// Seconds that it is planned to last; it may take longer, until all is served.
    pub planned_s: f64,
    /// Seconds that a window lasts.
    pub window_s: f64,
    /// Windows that have ended: a new one has new figures.
    pub windows: u64,
    /// State of each class, in the order of the job.
    pub classes: Vec<ClassSnapshot>,
    /// Counts of each class in the window of the figures; empty if no window has ended.
    #[serde(skip)]
    pub(crate) counts: Vec<Counts>,
}

impl Snapshot {
    /// Joins the snapshots of loops that run at the same time, each at its own moment: figures of a
    /// class are over all of them. `None` without loops.
    pub(crate) fn joined<'a>(each: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut each = each.into_iter();
        let mut joined = each.next()?.clone();
        for other in each {
            joined.at_s = joined.at_s.max(other.at_s);
            joined.windows = joined.windows.max(other.windows);
            for (class, other) in joined.classes.iter_mut().zip(&other.classes) {
                class.join(other);
            }
            if joined.counts.is_empty() {
                joined.counts.clone_from(&other.counts);
            } else {
                let pairs = joined.counts.iter_mut().zip(&other.counts);
                pairs.for_each(|(counts, other)| counts.join(other));
            }
        }
        joined.show();
        Some(joined)
    }

    /// Turns this into the snapshot of a loop that has ended: its errors and totals stay.
    pub(crate) fn ended(mut self) -> Self {
        self.counts.clear();
        for class in &mut self.classes {
            class.outstanding = 0;
            class.level = class.level.map(|_| PolicyLevel::default());
        }
        self
    }

    /// Computes the figures from the counts of the last window.
    fn show(&mut self) {
        let all: Span = self.counts.iter().fold(Span::ZERO, |sum, class| sum + class.device_time);
        for (class, counts) in self.classes.iter_mut().zip(&self.counts) {
            class.iops = counts.requests as f64 / self.window_s;
            class.bw_bytes = counts.bytes as f64 / self.window_s;
            class.p50_ns = counts.percentile(0.5);
            class.p99_ns = counts.percentile(0.99);
            class.share = counts.device_time.ns() as f64 / all.ns().max(1) as f64;
        }
    }
}

/// State of one class at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct ClassSnapshot {
    /// Name of the class.
    pub name: String,
    /// Requests completed a second.
    pub iops: f64,
    /// Bytes a second of these requests.
    pub bw_bytes: f64,
    /// Median of their latencies in nanoseconds; null if there were none.
    pub p50_ns: Option<u64>,
    /// 99th percentile of their latencies; null if there were none.
    pub p99_ns: Option<u64>,
    /// Its part of the time in which the device was busy, 0 to 1.
    pub share: f64,
    /// Requests outstanding now.
    pub outstanding: u64,
    /// Requests that have failed since the run began.
    pub errors: u64,
    /// Requests that have completed since the run began.
    pub requests: u64,
    /// Bytes of these requests.
    pub bytes: u64,
    /// Their latencies.
    pub latency_buckets: LatencyBuckets,
    /// Requests at the policies now; `None` if there is no policy.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub level: Option<PolicyLevel>,
}

impl ClassSnapshot {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            iops: 0.0,
            bw_bytes: 0.0,
            p50_ns: None,
            p99_ns: None,
            share: 0.0,
            outstanding: 0,
            errors: 0,
            requests: 0,
            bytes: 0,
            latency_buckets: LatencyBuckets::new(),
            level: None,
        }
    }

    /// Adds what was counted so far in another loop, or is there now.
    fn join(&mut self, other: &Self) {
        self.outstanding += other.outstanding;
        self.errors += other.errors;
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.latency_buckets.join(&other.latency_buckets);
        if let (Some(level), Some(other)) = (&mut self.level, other.level) {
            level.join(other);
        }
    }
}

/// Default length of a window, in time of the run: short enough for a person to follow.
const WINDOW: Span = Span::from_secs(1);

/// Largest number of new figures a second: a person reads no faster.
const FIGURES_A_SECOND: f64 = 4.0;

/// Smallest number of windows in a run; ten times as many in a run that does not keep step with
/// real time.
const AT_LEAST: u64 = 10;

/// How a run is watched.
#[derive(Clone, Copy)]
pub(crate) struct Watch<'a> {
    pace: &'a Pace,
    /// Speed of a model as a multiple of real time; `None`: as fast as it can.
    speed: Option<f64>,
}

impl<'a> Watch<'a> {
    /// Creates the watch of the holder of `pace`, if there is one; `speed` is the text of
    /// `--speed`.
    pub(crate) fn new(
        pace: Option<&'a Pace>,
        speed: Option<&str>,
    ) -> Result<Option<Self>, Failure> {
        let speed = match speed {
            None => Some(1.0),
            Some("max") => None,
            Some(text) => {
                let number = text.parse().ok();
                let speed = number.filter(|speed: &f64| *speed > 0.0 && speed.is_finite());
                let wrong = || {
                    let message = format_args!("--speed {text}: expected a number above 0, or max");
                    Failure::wrong(message, "--speed 10 is ten times as fast as real time")
                };
                Some(speed.ok_or_else(wrong)?)
            }
        };
        Ok(pace.map(|pace| Self { pace, speed }))
    }

    /// Returns the speed of a model that keeps step with real time, and its pace.
    pub(crate) fn paced(self) -> Option<(f64, &'a Pace)> {
        self.speed.map(|speed| (speed, self.pace))
    }

    /// Returns the length of a window in a run of `duration`.
    pub(crate) fn window(self, duration: Span, live: bool) -> Span {
        window(duration, if live { Some(1.0) } else { self.speed })
    }
}

/// Returns the length of a window in a run of `duration` that goes at `speed` times real time;
/// `None`: as fast as it can.
fn window(duration: Span, speed: Option<f64>) -> Span {
    let (length, most) = match speed {
        Some(speed) => {
            let readable = (1e9 * speed / FIGURES_A_SECOND) as u64;
            (WINDOW.max(Span::from_ns(readable)), duration.share(1, AT_LEAST))
        }
        None => (WINDOW, duration.share(1, 10 * AT_LEAST)),
    };
    length.min(most).max(Span::from_ns(1))
}

/// Keeps the snapshot of a run while it goes on.
pub(crate) struct Watched {
    windows: Windows,
    /// Counts of each class in the window that ended last.
    last: Vec<Counts>,
    levels: Option<PolicyLevels>,
    shown: Snapshot,
}

impl Watched {
    /// Creates the snapshot of the classes `names` in a run of `duration`, in windows of `window`; the
    /// requests at the policies are `levels`.
    pub(crate) fn new(
        names: &[&str],
        duration: Span,
        window: Span,
        levels: Option<PolicyLevels>,
    ) -> Self {
        let shown = Snapshot {
            at_s: 0.0,
            planned_s: seconds(duration),
            window_s: seconds(window),
            windows: 0,
            classes: names.iter().copied().map(ClassSnapshot::new).collect(),
            counts: Vec::new(),
        };
        Self { windows: Windows::new(names.len(), window), last: Vec::new(), levels, shown }
    }

    pub(crate) fn arrived(&mut self, now: Time, req: &Request) {
        self.roll(now);
        self.windows.arrived(now, req.class.index());
    }

    pub(crate) fn finished(&mut self, now: Time, req: &Request, how: &Finished) {
        self.roll(now);
        self.windows.finished(now, req, how);
        let class = &mut self.shown.classes[req.class.index()];
        if how.error.is_some() {
            class.errors += 1;
            return;
        }
        class.requests += 1;
        class.bytes += req.moved();
        class.latency_buckets.add(how.latency);
    }

    /// Counts device time that was spent below a page cache.
    pub(crate) fn spent(&mut self, spent: &Spent) {
        self.roll(spent.at);
        self.windows.spent(spent.class.index(), spent.service);
    }

    /// Returns the state of the run at `now`.
    pub(crate) fn look(&mut self, now: Time) -> &Snapshot {
        self.roll(now);
        if !self.last.is_empty() {
            // Windows before it were never shown.
            self.shown.counts = std::mem::take(&mut self.last);
            self.shown.show();
        }
        self.shown.at_s = seconds(now.since(Time::ZERO));
        for (number, class) in self.shown.classes.iter_mut().enumerate() {
            class.outstanding = self.windows.outstanding(number);
            class.level = self.levels.as_ref().map(|levels| levels.of(number));
        }
        &self.shown
    }

    fn roll(&mut self, now: Time) {
        while self.windows.close(now) {
            self.last.clear();
            self.last.extend((0..self.shown.classes.len()).map(|class| self.windows.take(class)));
            self.shown.windows += 1;
        }
    }
}

fn seconds(span: Span) -> f64 {
    span.ns() as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use penstock_core::Errno;

    use super::*;
    use crate::measures::measure::samples;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn request(class: u16) -> Request {
        samples::request(class, Time::ZERO)
    }

    fn finished(error: Option<Errno>) -> Finished {
        samples::finished(&request(0), Span::from_ms(3), Span::from_ms(2), error)
    }

    #[test]
    fn figures_are_of_the_last_window_and_the_queue_of_now() {
        let mut watched = Watched::new(&["a", "b"], Span::from_secs(10), Span::from_secs(1), None);
        for begin in (0..1000).step_by(10) {
            watched.arrived(at(begin), &request(0));
            watched.finished(at(begin + 5), &request(0), &finished(None));
        }
        watched.arrived(at(990), &request(1));
        let early = watched.look(at(995));
        assert_eq!((early.windows, early.classes[0].iops), (0, 0.0), "no window has ended");
        watched.finished(at(999), &request(1), &finished(Errno::new(5)));
        watched.arrived(at(1001), &request(1));
        let shown = watched.look(at(1500)).clone();
        assert_eq!(
            (shown.at_s, shown.planned_s, shown.window_s, shown.windows),
            (1.5, 10.0, 1.0, 1)
        );
        let [a, b] = &shown.classes[..] else { panic!("two classes") };
        assert_eq!((a.iops, a.bw_bytes, a.outstanding, a.errors), (100.0, 100_000.0, 0, 0));
        assert!(a.p50_ns.is_some_and(|ns| ns.abs_diff(5_000_000) < 50_000));
        assert!((a.share - 200.0 / 202.0).abs() < 1e-9, "errors take device time too");
        assert_eq!((b.iops, b.p99_ns, b.outstanding, b.errors), (0.0, None, 1, 1));
        let idle = watched.look(at(3500)).clone();
        assert_eq!((idle.windows, idle.classes[0].iops, idle.classes[0].p50_ns), (3, 0.0, None));
    }

    #[test]
    fn what_classes_get_of_several_loops_is_the_sum() {
        let look = |requests: u64, ms: u64, at_ms: u64| {
            let mut watched =
                Watched::new(&["a", "b"], Span::from_secs(10), Span::from_secs(1), None);
            let how = samples::finished(&request(0), Span::ZERO, Span::from_ms(ms), None);
            for begin in (0..1000).step_by(1000 / requests as usize) {
                watched.arrived(at(begin), &request(0));
                watched.finished(at(begin + ms), &request(0), &how);
            }
            watched.arrived(at(at_ms), &request(1));
            watched.look(at(at_ms)).clone()
        };
        let (one, other) = (look(100, 2, 1100), look(50, 10, 1200));
        let both = Snapshot::joined([&one, &other]).unwrap();
        assert_eq!((both.at_s, both.windows), (1.2, 1));
        let [a, b] = &both.classes[..] else { panic!("two classes") };
        assert_eq!((a.iops, a.bw_bytes, b.outstanding), (150.0, 150_000.0, 2));
        assert!(a.p50_ns.is_some_and(|ns| ns.abs_diff(2_000_000) < 50_000), "of all requests");
        assert!(a.p99_ns.is_some_and(|ns| ns.abs_diff(10_000_000) < 100_000));
        let rest = Snapshot::joined([&one.ended(), &other]).unwrap();
        assert_eq!((rest.classes[0].iops, rest.classes[1].outstanding), (50.0, 1));
        assert!(Snapshot::joined([]).is_none());
    }

    #[test]
    fn a_window_is_a_second_unless_that_is_too_fast_to_follow() {
        let hour = Span::from_secs(3600);
        assert_eq!(window(hour, Some(1.0)), Span::from_secs(1));
        assert_eq!(window(hour, Some(40.0)), Span::from_secs(10));
        assert_eq!(window(hour, None), Span::from_secs(1));
        assert_eq!(window(Span::from_secs(5), Some(1.0)), Span::from_ms(500));
        assert_eq!(window(Span::from_secs(5), None), Span::from_ms(50));
        assert_eq!(window(Span::from_ns(5), Some(1e300)), Span::from_ns(1));
    }
}
