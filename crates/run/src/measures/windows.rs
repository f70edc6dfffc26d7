//! Counts what each class gets, window after window.

use hdrhistogram::Histogram;
use penstock_core::{Request, Span, Time};

use crate::measures::measure::Finished;

/// Significant digits of the histograms: two are finer than a chart.
pub(crate) const DIGITS: u8 = 2;

/// Windows of a run that ends when planned; twice as many are kept at most.
const WINDOWS: u64 = 200;
/// Number of classes above which there are fewer windows, so that memory stays below half a
/// gigabyte.
const CLASSES: u64 = 64;

/// How a run is divided into windows.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// How long a window lasts.
    pub(crate) length: Span,
    /// Largest number of windows before neighbours are joined, an even number.
    pub(crate) most: usize,
}

impl Plan {
    /// Plans the windows of a run with `classes` classes, planned for `duration`.
    pub(crate) fn new(classes: usize, duration: Span) -> Self {
        let count = (WINDOWS * CLASSES / CLASSES.max(classes as u64)).max(1);
        let length = Span::from_ns(duration.ns().div_ceil(count).max(1));
        Self { length, most: 2 * count as usize }
    }
}

/// Figures of one class in one window.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    /// Requests that completed in it.
    pub(crate) requests: u64,
    /// Bytes of these requests.
    pub(crate) bytes: u64,
    /// Requests that failed in it.
    pub(crate) errors: u64,
    /// Outstanding requests times nanoseconds.
    pub(crate) area: u128,
    /// Device time of all requests that finished in it.
    pub(crate) device_time: Span,
    /// Latencies. Counts are `u32` to halve the memory; a window has fewer than 2^32 requests.
    latency: Histogram<u32>,
}

impl Counts {
    fn new() -> Self {
        let latency = Histogram::new(DIGITS).expect("valid digits");
        Self { requests: 0, bytes: 0, errors: 0, area: 0, device_time: Span::ZERO, latency }
    }

    /// Returns a percentile of the latencies in nanoseconds; `None` without requests.
    pub(crate) fn percentile(&self, quantile: f64) -> Option<u64> {
        (self.requests > 0).then(|| self.latency.value_at_quantile(quantile))
    }

    /// Adds the counts of `other`.
    pub(crate) fn join(&mut self, other: &Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.area += other.area;
        self.device_time += other.device_time;
        self.latency.add(&other.latency).expect("both grow as they must");
    }
}

/// The current window. The caller must close windows that have ended before it reports anything
/// new.
pub(crate) struct Windows {
    length: Span,
    ends: Time,
    classes: Vec<OpenCounts>,
}

struct OpenCounts {
    counts: Counts,
    outstanding: u64,
    changed: Time,
}

impl OpenCounts {
    /// Books the requests outstanding up to `until`.
    fn pass(&mut self, until: Time) {
        let lasted = u128::from(until.since(self.changed).ns());
        self.counts.area += u128::from(self.outstanding) * lasted;
        self.changed = self.changed.max(until);
    }
}

impl Windows {
    /// Creates the first window of `length`, for `classes` classes.
    pub(crate) fn new(classes: usize, length: Span) -> Self {
        let class = || OpenCounts { counts: Counts::new(), outstanding: 0, changed: Time::ZERO };
        let classes = (0..classes).map(|_| class()).collect();
        Self { length, ends: Time::ZERO + length, classes }
    }

    /// How long a window lasts.
    pub(crate) fn length(&self) -> Span {
        self.length
    }

    /// Counts a request of `class` that was handed to the device.
    pub(crate) fn arrived(&mut self, now: Time, class: usize) {
        let class = &mut self.classes[class];
        class.pass(now);
        class.outstanding += 1;
    }

    /// Counts `req`, which has finished.
    pub(crate) fn finished(&mut self, now: Time, req: &Request, how: &Finished) {
        let class = &mut self.classes[req.class.index()];
        class.pass(now);
        class.outstanding -= 1;
        let counts = &mut class.counts;
        counts.device_time += how.charged;
        if how.error.is_some() {
            counts.errors += 1;
            return;
        }
        counts.requests += 1;
        counts.bytes += req.moved();
        counts.latency.record(how.latency.ns()).expect("a histogram that grows");
    }

    /// Adds device time that was spent on `class`, but on none of its requests.
    pub(crate) fn spent(&mut self, class: usize, service: Span) {
        self.classes[class].counts.device_time += service;
    }

    /// Requests of `class` that are outstanding now.
    pub(crate) fn outstanding(&self, class: usize) -> u64 {
        self.classes[class].outstanding
    }

    /// Closes the window if it has ended at `now`; the caller then takes the counts of each class.
    pub(crate) fn close(&mut self, now: Time) -> bool {
        if now < self.ends {
            return false;
        }
        self.pass(self.ends);
        self.ends += self.length;
        true
    }

    /// Books what is outstanding up to `until`.
    pub(crate) fn pass(&mut self, until: Time) {
        self.classes.iter_mut().for_each(|class| class.pass(until));
    }

    /// Returns the counts of `class` and resets them.
    pub(crate) fn take(&mut self, class: usize) -> Counts {
        std::mem::replace(&mut self.classes[class].counts, Counts::new())
    }

    /// Makes windows twice as long; `closed` windows of the new length have ended.
    pub(crate) fn widen(&mut self, closed: u64) {
        self.length = self.length + self.length;
        self.ends = Time::ZERO + Span::from_ns(self.length.ns() * (closed + 1));
    }
}
