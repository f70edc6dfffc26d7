//! What each class gets in one window of time after another.

use hdrhistogram::Histogram;
use penstock_core::{Request, Span, Time};

use crate::measures::measure::Finished;

/// Two significant digits are finer than a picture.
pub(crate) const DIGITS: u8 = 2;

/// Windows of a run that ends when planned; twice as many are kept at most.
const WINDOWS: u64 = 200;
/// With more classes than this there are fewer windows, so that memory stays below half a gigabyte.
const CLASSES: u64 = 64;

/// How a run is divided into windows.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// How long a window lasts.
    pub(crate) length: Span,
    /// How many are kept before neighbours are joined, an even number.
    pub(crate) most: usize,
}

impl Plan {
    /// Of a run with so many `classes`, planned for `duration`.
    pub(crate) fn new(classes: usize, duration: Span) -> Self {
        let count = (WINDOWS * CLASSES / CLASSES.max(classes as u64)).max(1);
        let length = Span::from_ns(duration.ns().div_ceil(count).max(1));
        Self { length, most: 2 * count as usize }
    }
}

/// What one class got in one window.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    /// Requests that completed in it.
    pub(crate) requests: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// Requests that failed in it.
    pub(crate) errors: u64,
    /// Outstanding requests times nanoseconds.
    pub(crate) area: u128,
    /// Of all that finished in it.
    pub(crate) device_time: Span,
    /// So many are kept that half of the memory counts; no window has billions of requests.
    latency: Histogram<u32>,
}

impl Counts {
    fn new() -> Self {
        let latency = Histogram::new(DIGITS).expect("valid digits");
        Self { requests: 0, bytes: 0, errors: 0, area: 0, device_time: Span::ZERO, latency }
    }

    /// A percentile of the latencies in nanoseconds; none of nothing.
    pub(crate) fn percentile(&self, quantile: f64) -> Option<u64> {
        (self.requests > 0).then(|| self.latency.value_at_quantile(quantile))
    }

    /// Takes in what `other` has.
    pub(crate) fn join(&mut self, other: &Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.area += other.area;
        self.device_time += other.device_time;
        self.latency.add(&other.latency).expect("both grow as they must");
    }
}

/// The window that is open. The caller closes what has ended before it reports anything new.
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
    /// For `classes` classes, each window of `length`.
    pub(crate) fn new(classes: usize, length: Span) -> Self {
        let class = || OpenCounts { counts: Counts::new(), outstanding: 0, changed: Time::ZERO };
        let classes = (0..classes).map(|_| class()).collect();
        Self { length, ends: Time::ZERO + length, classes }
    }

    /// How long a window lasts.
    pub(crate) fn length(&self) -> Span {
        self.length
    }

    /// A request of `class` was handed to the device.
    pub(crate) fn arrived(&mut self, now: Time, class: usize) {
        let class = &mut self.classes[class];
        class.pass(now);
        class.outstanding += 1;
    }

    /// `req` has finished.
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

    /// `service` of the device was spent on `class`, and on no request of it.
    pub(crate) fn spent(&mut self, class: usize, service: Span) {
        self.classes[class].counts.device_time += service;
    }

    /// Requests of `class` that are outstanding now.
    pub(crate) fn outstanding(&self, class: usize) -> u64 {
        self.classes[class].outstanding
    }

    /// Closes the window if it has ended at `now`; then each class's counts are to be taken.
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

    /// What `class` got, and counts it anew.
    pub(crate) fn take(&mut self, class: usize) -> Counts {
        std::mem::replace(&mut self.classes[class].counts, Counts::new())
    }

    /// Makes windows twice as long, now that `closed` of that length are behind.
    pub(crate) fn widen(&mut self, closed: u64) {
        self.length = self.length + self.length;
        self.ends = Time::ZERO + Span::from_ns(self.length.ns() * (closed + 1));
    }
}
