//! What passed a gate, in numbers.

use penstock_core::{ClassInfo, Done, Request, Span, Time};
use serde::Serialize;

use crate::measures::values::Values;
use crate::result::Distribution;

/// What length makes of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    Short,
    Long,
    /// It has no length.
    Flush,
}

impl Class {
    /// Each of them as a policy is given it.
    pub(super) fn all() -> [ClassInfo; 3] {
        ["short", "long", "flush"].map(ClassInfo::new)
    }
}

/// What passed so far. Times are nanoseconds unless they say otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct GateStats {
    /// How long the gate was open, in seconds.
    pub open_s: f64,
    /// How much of that the device was busy.
    pub busy: f64,
    /// The longest short request, in bytes.
    pub threshold: u32,
    /// Requests up to that length.
    pub short: LengthStats,
    /// Longer ones.
    pub long: LengthStats,
    /// Flushes.
    pub flush: LengthStats,
    /// Pieces of long requests that went while a short one waited: what the guard against
    /// starvation, or a policy without priority, let pass.
    pub long_first: u64,
}

/// What requests of one kind got.
#[derive(Clone, Debug, Serialize)]
pub struct LengthStats {
    /// How many were answered.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// In how many pieces they went.
    pub pieces: u64,
    /// How many failed.
    pub errors: u64,
    /// From being asked for until the first piece went.
    pub wait_ns: Distribution,
    /// Device time.
    pub service_ns: Distribution,
    /// From being asked for until all was done.
    pub latency_ns: Distribution,
}

/// Counts what passes.
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
    /// Counts with requests of up to `threshold` bytes as short.
    pub(super) fn new(threshold: u32) -> Self {
        let kind = |_| {
            let values = Values::new;
            let (wait, service, latency) = (values(), values(), values());
            LengthCounters { bytes: 0, pieces: 0, errors: 0, wait, service, latency }
        };
        Self { threshold, kinds: [0; 3].map(kind), busy: Span::ZERO, long_first: 0 }
    }

    /// What a request of `len` bytes is.
    pub(super) fn class(&self, len: u32) -> Class {
        if len <= self.threshold { Class::Short } else { Class::Long }
    }

    /// A request has finished, in so many pieces; so many pieces of long ones went before short
    /// ones by now.
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
