//! A closed replay: each request is issued a think time after completions of its issuer, so that a
//! slower device gets fewer requests per second, as it would from the programs themselves.
//!
//! `dependencies.rs` finds the completions that a request waits for. The requests of each issuer
//! are read one after another, so that only those in memory may be issued now: at most as many as
//! the issuer ever had outstanding in the trace.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;

use penstock_core::{ClassId, Io, Span, Time};

use super::dependencies::{Dependency, IssuerFacts, IssuerKind, Observed, dependencies};
use super::error::ReplayError;
use super::recording::Trace;
use super::spool::{Cursor, Packed, PackedReader, PackedWriter, Spool};

/// Bytes of the buffer of an issuer.
const ISSUER_BYTES: usize = 4 << 10;

/// The meaning of an issuer.
#[derive(Clone, Copy, Debug)]
enum IssuedBy {
    /// A process, which is a stream.
    Stream,
    /// A class, in a trace without process numbers.
    Class,
}

/// The requests that may be issued, and those that wait for completions.
#[derive(Debug)]
pub(super) struct ClosedLoops {
    by: IssuedBy,
    /// All requests, sorted by issuer, then in the order of the trace.
    planned: Arc<Spool<PlannedIo>>,
    issuers: Vec<Issuer>,
    /// Requests that wait only for their time.
    ready: BinaryHeap<Reverse<ReadyIo>>,
}

impl Clone for ClosedLoops {
    /// Keeps the capacity of the heap: the clone of a heap has only room for its items.
    fn clone(&self) -> Self {
        let mut ready = BinaryHeap::with_capacity(self.ready.capacity());
        ready.extend(&self.ready);
        let (planned, issuers) = (Arc::clone(&self.planned), self.issuers.clone());
        Self { by: self.by, planned, issuers, ready }
    }
}

/// The progress of an issuer.
#[derive(Clone, Debug)]
struct Issuer {
    kind: IssuerKind,
    /// Its first request that waits for completions, and the place of those after it.
    next: Option<PlannedIo>,
    cursor: Cursor,
    completed: u32,
    /// Due time of its last released request: a thread of control issues its requests in order.
    latest: Time,
}

/// A request and the completions that it waits for.
#[derive(Clone, Copy, Debug)]
struct PlannedIo {
    /// The number of its issuer, and its own number in the trace.
    issuer: u32,
    number: u64,
    waits: Dependency,
    io: Io,
}

/// A request and its due time. Requests of equal times are ordered as in the trace.
#[derive(Clone, Copy, Debug)]
struct ReadyIo {
    due: Time,
    number: u64,
    io: Io,
}

/// A request and its recorded latency.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedIo {
    pub(super) io: Io,
    pub(super) took: Span,
}

/// Returns the latency of requests of `trace` without a completion: `assumed`, otherwise the median
/// of the known latencies.
///
/// # Errors
/// If there is no `assumed` latency and less than half of the requests have a completion, or if
/// latencies cannot be kept.
pub(super) fn latency_of_others(trace: &Trace, assumed: Option<Span>) -> Result<Span, ReplayError> {
    if let Some(assumed) = assumed {
        return Ok(assumed);
    }
    let mut latencies = Spool::new();
    for latency in trace.records.iter().filter_map(|record| record.latency()) {
        latencies.push(latency.ns())?;
    }
    let (known, requests) = (latencies.len(), trace.records.len());
    if known == 0 || 2 * known < requests {
        return Err(ReplayError::Completions { known, requests });
    }
    let median = latencies.sorted_by_key(|&ns| ns)?.get(known / 2)?;
    Ok(Span::from_ns(median))
}

impl ClosedLoops {
    /// Creates the loops of the requests `ios`. With `only`, just those of that class: the time
    /// that the other requests took counts as think time. `processes` says whether process numbers
    /// were recorded.
    pub(super) fn new(
        ios: &Spool<TimedIo>,
        processes: bool,
        only: Option<ClassId>,
    ) -> io::Result<Self> {
        let by = if processes { IssuedBy::Stream } else { IssuedBy::Class };
        let selected =
            || ios.iter().filter(move |timed| only.is_none_or(|only| timed.io.class == only));
        let issuers = selected().map(|timed| by.issuer(&timed.io) + 1).max().unwrap_or(0);
        let observed = selected().map(move |TimedIo { io, took }| Observed {
            issuer: by.issuer(&io),
            at: io.due,
            end: io.due + took,
        });
        let (facts, dependencies) = dependencies(observed, issuers);
        let mut planned = Spool::new();
        let mut counts = vec![0; issuers];
        for (number, (TimedIo { io, .. }, waits)) in (0..).zip(selected().zip(dependencies)) {
            let issuer = by.issuer(&io);
            counts[issuer] += 1;
            planned.push(PlannedIo { issuer: issuer as u32, number, waits, io })?;
        }
        ios.check()?;
        let planned = Arc::new(planned.sorted_by_key(|planned| planned.issuer)?);
        let room = facts.iter().map(|facts| facts.most as usize).sum();
        let mut begin = 0;
        let issuer = |(&IssuerFacts { kind, .. }, count): (_, usize)| {
            let mut cursor = planned.cursor(begin, begin + count, ISSUER_BYTES);
            begin += count;
            let next = cursor.next(&planned);
            Issuer { kind, next, cursor, completed: 0, latest: Time::ZERO }
        };
        let mut closed = Self {
            by,
            issuers: facts.iter().zip(counts).map(issuer).collect(),
            planned,
            ready: BinaryHeap::with_capacity(room),
        };
        (0..issuers).for_each(|issuer| closed.release(issuer, Time::ZERO));
        Ok(closed)
    }

    /// Checks that every request could be read.
    pub(super) fn check(&self) -> io::Result<()> {
        self.planned.check()
    }

    /// Time at which the next request is due.
    pub(super) fn next_due(&self) -> Time {
        self.ready.peek().map_or(Time::NEVER, |Reverse(ready)| ready.due)
    }

    /// Takes the next request to issue it.
    pub(super) fn take(&mut self) -> Option<Io> {
        self.ready.pop().map(|Reverse(ReadyIo { due, io, .. })| Io { due, ..io })
    }

    /// A request of the issuer of `io` has completed.
    pub(super) fn finished(&mut self, now: Time, io: &Io) {
        let issuer = self.by.issuer(io);
        self.issuers[issuer].completed += 1;
        self.release(issuer, now);
    }

    /// Moves the requests of `issuer` that waited for its completion at `now` to the ready ones.
    fn release(&mut self, issuer: usize, now: Time) {
        let Issuer { kind, next, cursor, completed, latest } = &mut self.issuers[issuer];
        while let Some(PlannedIo { number, waits, io, .. }) = *next {
            if waits.completions > *completed {
                return;
            }
            let due = now + waits.think;
            *latest = if *kind == IssuerKind::Thread { due.max(*latest) } else { due };
            self.ready.push(Reverse(ReadyIo { due: *latest, number, io }));
            *next = cursor.next(&self.planned);
        }
    }
}

impl IssuedBy {
    /// The number of the issuer of a request.
    fn issuer(self, io: &Io) -> usize {
        match self {
            Self::Stream => io.stream.0 as usize,
            Self::Class => io.class.index(),
        }
    }
}

impl Ord for ReadyIo {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due, self.number).cmp(&(other.due, other.number))
    }
}

impl PartialOrd for ReadyIo {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ReadyIo {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ReadyIo {}

impl Packed for TimedIo {
    const BYTES: usize = Io::BYTES + 8;

    fn pack(&self, to: &mut PackedWriter<'_>) {
        self.io.pack(to);
        to.u64(self.took.ns());
    }

    fn unpack(from: &mut PackedReader<'_>) -> Self {
        Self { io: Io::unpack(from), took: Span::from_ns(from.u64()) }
    }
}

impl Packed for PlannedIo {
    const BYTES: usize = Io::BYTES + 24;

    fn pack(&self, to: &mut PackedWriter<'_>) {
        self.io.pack(to);
        to.u32(self.issuer);
        to.u64(self.number);
        to.u32(self.waits.completions);
        to.u64(self.waits.think.ns());
    }

    fn unpack(from: &mut PackedReader<'_>) -> Self {
        Self {
            io: Io::unpack(from),
            issuer: from.u32(),
            number: from.u64(),
            waits: Dependency { completions: from.u32(), think: Span::from_ns(from.u64()) },
        }
    }
}
