//! Statistics of a gate.

use penstock_core::{ClassInfo, Done, Request, Span, Time};
use serde::Serialize;

use crate::measures::values::Values;
use crate::result::Distribution;

/// The kind of a request, by its length.
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
}

/// Statistics of requests of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct LengthStats {
    /// Number of answered requests.
    pub requests: u64,
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
}

/// Counts the requests of a gate.
pub(super) struct Counters {
    threshold: u32,
    kinds: [LengthCounters; 3],
    busy: Span,
    long_first: u64,
}

struct LengthCounters {
    bytes: u64,
    pieces: u64,
    errors: u64,
    wait: Values,
    service: Values,
    latency: Values,
}

impl Counters {
    /// Creates counters that count requests of up to `threshold` bytes as short.
    pub(super) fn new(threshold: u32) -> Self {
        let kind = |_| {
            let values = Values::new;
            let (wait, service, latency) = (values(), values(), values());
            LengthCounters { bytes: 0, pieces: 0, errors: 0, wait, service, latency }
        };
        Self { threshold, kinds: [0; 3].map(kind), busy: Span::ZERO, long_first: 0 }
    }

    /// The class of a request of `len` bytes.
    pub(super) fn class(&self, len: u32) -> Class {
        if len <= self.threshold { Class::Short } else { Class::Long }
    }

    /// Counts a finished request of `pieces` pieces; `long_first` is the number of pieces of long
    /// requests sent before short ones so far.
    pub(super) fn finished(
        &mut self,
        class: Class,
        req: &Request,
        done: &Done,
        (pieces, long_first): (u64, u64),
    ) {
        let kind = &mut self.kinds[class as usize];
        kind.bytes += u64::from(req.len);
        kind.pieces += pieces;
        kind.errors += u64::from(done.error.is_some());
        kind.wait.add(done.begun.since(req.due));
        kind.service.add(done.service);
        kind.latency.add(done.at.since(req.due));
        self.busy += done.service;
        self.long_first = long_first;
    }

    /// The counters at `now`.
    pub(super) fn stats(&self, now: Time) -> GateStats {
        let open = now.ns().max(1) as f64;
        let [short, long, flush] = &self.kinds;
        GateStats {
            open_s: open / 1e9,
            busy: self.busy.ns() as f64 / open,
            threshold: self.threshold,
            short: short.stats(),
            long: long.stats(),
            flush: flush.stats(),
            long_first: self.long_first,
        }
    }
}

impl LengthCounters {
    fn stats(&self) -> LengthStats {
        LengthStats {
            requests: self.latency.count(),
            bytes: self.bytes,
            pieces: self.pieces,
            errors: self.errors,
            wait_ns: self.wait.distribution(),
            service_ns: self.service.distribution(),
            latency_ns: self.latency.distribution(),
        }
    }
}
