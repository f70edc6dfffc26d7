//! Statistics of a gate.

use std::io;

use indexmap::IndexMap;
use penstock_core::{ClassInfo, Done, Op, Request, Span, Time};
use serde::Serialize;

use super::levels::Levels;
use crate::measures::values::Values;
use crate::result::Distribution;
use crate::result::buckets::LatencyBuckets;

/// The kind of a request to a gate, by its length: its class, and the counters in which it is booked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    Short,
    Long,
    /// A flush, which has no length.
    Flush,
}

impl Class {
    /// All classes, as policies see them.
    pub(super) fn all() -> [ClassInfo; 3] {
        ["short", "long", "flush"].map(ClassInfo::new)
    }

    /// The class of a request of `len` bytes, of which those of up to `threshold` bytes are short.
    pub(super) fn new(op: Op, len: u32, threshold: u32) -> Self {
        match op {
            Op::Flush => Self::Flush,
            _ if len <= threshold => Self::Short,
            _ => Self::Long,
        }
    }
}

/// Statistics of a gate so far. Times are nanoseconds unless they say otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct GateStats {
    /// Time since the gate was opened, in seconds.
    pub open_s: f64,
    /// Share of that time for which the device was busy.
    pub busy: f64,
    /// The longest short request, in bytes.
    pub threshold: u32,
    /// Requests up to that length.
    pub short: LengthStats,
    /// Longer ones.
    pub long: LengthStats,
    /// Flushes.
    pub flush: LengthStats,
    /// Pieces of long requests that were sent while a short one waited: allowed by the guard
    /// against starvation, or by a policy without priority.
    pub long_first: u64,
    /// Requests of each class that the opener has declared, in that order.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub classes: IndexMap<String, LengthStats>,
}

/// Statistics of requests of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct LengthStats {
    /// Number of answered requests.
    pub requests: u64,
    /// Requests of which no piece is sent yet.
    pub queued: u64,
    /// Requests of which a piece is sent, and which are not answered.
    pub in_flight: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Number of pieces in which they were sent.
    pub pieces: u64,
    /// Number of failed requests.
    pub errors: u64,
    /// Time from the request until its first piece was sent.
    pub wait_ns: Distribution,
    /// Device time.
    pub service_ns: Distribution,
    /// Time from the request until all was done.
    pub latency_ns: Distribution,
    /// These times in buckets.
    pub latency_buckets: LatencyBuckets,
}

impl GateStats {
    /// Reads `counters`, whose books are those of the kinds, and whose classes have `names`, at `now`.
    pub(super) fn new(
        counters: &Counters,
        names: impl Iterator<Item = String>,
        threshold: u32,
        now: Time,
    ) -> Self {
        let open = now.ns().max(1) as f64;
        let of = |class: Class| counters.stats(class as usize);
        Self {
            open_s: open / 1e9,
            busy: counters.busy.ns() as f64 / open,
            threshold,
            short: of(Class::Short),
            long: of(Class::Long),
            flush: of(Class::Flush),
            long_first: counters.long_first,
            classes: names.zip(counters.class_stats()).collect(),
        }
    }
}

/// Counts the requests of a gate, in a book for each kind that its opener tells apart.
pub(super) struct Counters {
    books: Vec<LengthCounters>,
    /// A further book for each class that the opener has declared.
    classes: Vec<LengthCounters>,
    levels: Levels,
    /// Latencies of each book since they were taken last; none if they are not taken.
    window: Vec<Values>,
    pub(super) busy: Span,
    pub(super) long_first: u64,
    /// The reason why the record is useless, if it is.
    pub(super) record_error: Option<io::Error>,
}

struct LengthCounters {
    bytes: u64,
    pieces: u64,
    errors: u64,
    wait: Values,
    service: Values,
    latency: Values,
    buckets: LatencyBuckets,
}

impl Counters {
    /// Creates counters with `books` books, and one more for each of `classes` classes; `levels` counts
    /// their requests on their way. `windows`: whether latencies are taken window by window too.
    pub(super) fn new(books: usize, classes: usize, levels: Levels, windows: bool) -> Self {
        let book = |_| {
            let values = Values::new;
            let (wait, service, latency) = (values(), values(), values());
            let buckets = LatencyBuckets::new();
            LengthCounters { bytes: 0, pieces: 0, errors: 0, wait, service, latency, buckets }
        };
        let window = (0..if windows { books } else { 0 }).map(|_| Values::new()).collect();
        let classes = (0..classes).map(book).collect();
        let books = (0..books).map(book).collect();
        Self { books, classes, levels, window, busy: Span::ZERO, long_first: 0, record_error: None }
    }

    /// Counts a finished request of `pieces` pieces in `book`; `long_first` is the number of pieces
    /// of long requests sent before short ones so far.
    pub(super) fn finished(
        &mut self,
        book: usize,
        req: &Request,
        done: &Done,
        (pieces, long_first): (u64, u64),
    ) {
        if let Some(window) = self.window.get_mut(book) {
            window.add(done.at.since(req.due));
        }
        self.books[book].finished(req, done, pieces);
        if let Some(class) = self.classes.get_mut(usize::from(req.class.0)) {
            class.finished(req, done, pieces);
        }
        self.busy += done.service;
        self.long_first = long_first;
    }

    /// Returns the latencies of `book` since the last call, and begins anew with `next`, which is empty.
    pub(super) fn next_window(&mut self, book: usize, next: Values) -> Values {
        std::mem::replace(&mut self.window[book], next)
    }

    /// The statistics of `book`.
    pub(super) fn stats(&self, book: usize) -> LengthStats {
        self.books[book].stats(|answered| self.levels.of(book, answered))
    }

    /// Yields the statistics of each declared class.
    fn class_stats(&self) -> impl Iterator<Item = LengthStats> {
        let numbered = self.classes.iter().enumerate();
        numbered.map(|(class, book)| book.stats(|answered| self.levels.of_class(class, answered)))
    }
}

impl LengthCounters {
    fn finished(&mut self, req: &Request, done: &Done, pieces: u64) {
        self.bytes += u64::from(req.len);
        self.pieces += pieces;
        self.errors += u64::from(done.error.is_some());
        self.wait.add(done.begun.since(req.due));
        self.service.add(done.service);
        self.latency.add(done.at.since(req.due));
        self.buckets.add(done.at.since(req.due));
    }

    /// Returns the statistics; `levels` has the requests on their way when so many are answered.
    fn stats(&self, levels: impl Fn(u64) -> (u64, u64)) -> LengthStats {
        let requests = self.latency.count();
        let (queued, in_flight) = levels(requests);
        LengthStats {
            requests,
            queued,
            in_flight,
            bytes: self.bytes,
            pieces: self.pieces,
            errors: self.errors,
            wait_ns: self.wait.distribution(),
            service_ns: self.service.distribution(),
            latency_ns: self.latency.distribution(),
            latency_buckets: self.buckets.clone(),
        }
    }
}
