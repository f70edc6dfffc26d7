//! A closed replay: each request is issued a think time after completions of its issuer, so that a
//! slower device is asked for less, as it would be by the programs themselves.
//!
//! What a request waits for is in `dependencies.rs`. Memory is taken before the first request; an
//! issuer has at most as many requests waiting here as it once had outstanding in the trace.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use penstock_core::{Io, Span, Time};

use super::dependencies::{Dependency, IssuerFacts, IssuerKind, Observed, dependencies};
use super::error::ReplayError;
use super::record::Record;
use super::spool::Spool;

/// Requests of a trace, kept by what makes their issuer.
#[derive(Clone, Copy, Debug)]
enum IssuedBy {
    /// A process: each is a stream.
    Stream,
    /// A class, in a trace without process numbers.
    Class,
}

/// The requests that may be issued, and those that wait for completions.
#[derive(Debug)]
pub(super) struct ClosedLoops {
    by: IssuedBy,
    waits: Arc<Waits>,
    issuers: Vec<Issuer>,
    /// When the requests are due that wait for nothing more than time.
    ready: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Clone for ClosedLoops {
    /// With room for as many as this one: a copy of a heap has room for what is in it only.
    fn clone(&self) -> Self {
        let mut ready = BinaryHeap::with_capacity(self.ready.capacity());
        ready.extend(&self.ready);
        Self { by: self.by, waits: Arc::clone(&self.waits), issuers: self.issuers.clone(), ready }
    }
}

/// What the requests wait for.
#[derive(Debug)]
struct Waits {
    /// How long each took where it was recorded.
    took: Vec<Span>,
    dependencies: Vec<Dependency>,
    /// The next request of the same issuer, [`NONE`] behind the last.
    following: Vec<u32>,
}

/// How far an issuer is.
#[derive(Clone, Debug)]
struct Issuer {
    kind: IssuerKind,
    /// Its first request that waits for completions.
    next: u32,
    completed: u32,
    /// When its last request is due: a thread of control issues its requests in order.
    latest: Time,
}

/// No request.
const NONE: u32 = u32::MAX;

/// How long the requests of a trace took, where some have no completion: those took `assumed`, or
/// else as long as the median of the others. `None` if nothing is assumed and less than half of
/// them have a completion.
pub(super) fn durations(
    records: &Spool<Record>,
    assumed: Option<Span>,
) -> Result<Option<Vec<Span>>, ReplayError> {
    let mut known: Vec<Span> = reserved(records.len())?;
    known.extend(records.iter().filter_map(|record| record.latency()));
    let some = 2 * known.len() >= records.len();
    let middle = known.len() / 2;
    let otherwise = match assumed {
        Some(latency) => latency,
        None if known.is_empty() || !some => return Ok(None),
        None => *known.select_nth_unstable(middle).1,
    };
    known.clear();
    known.extend(records.iter().map(|record| record.latency().unwrap_or(otherwise)));
    Ok(Some(known))
}

/// An empty list with room for `requests` items.
pub(super) fn reserved<T>(requests: usize) -> Result<Vec<T>, ReplayError> {
    let mut list = Vec::new();
    list.try_reserve_exact(requests).map_err(|_| ReplayError::Memory { requests })?;
    Ok(list)
}

impl ClosedLoops {
    /// Of a trace with `records`.
    pub(super) fn new(records: &Spool<Record>, ios: &[Io], took: Vec<Span>) -> Self {
        let processes = records.iter().any(|record| record.pid != 0);
        let by = if processes { IssuedBy::Stream } else { IssuedBy::Class };
        Self::with(by, ios, took)
    }

    /// The same with some of the requests `ios`, for which `kept` holds. The others take as long as
    /// they took when they were recorded: they are think time.
    pub(super) fn only(&self, ios: &[Io], kept: impl Fn(&Io) -> bool) -> (Vec<Io>, Self) {
        let both = ios.iter().zip(&self.waits.took).filter(|(io, _)| kept(io));
        let (ios, took): (Vec<Io>, Vec<Span>) = both.unzip();
        let closed = Self::with(self.by, &ios, took);
        (ios, closed)
    }

    fn with(by: IssuedBy, ios: &[Io], took: Vec<Span>) -> Self {
        assert!(ios.len() < NONE as usize, "a trace in memory has fewer requests");
        let issuers = ios.iter().map(|io| by.issuer(io) + 1).max().unwrap_or(0);
        let observed = ios.iter().zip(&took).map(|(io, &took)| Observed {
            issuer: by.issuer(io),
            at: io.due,
            end: io.due + took,
        });
        let (facts, dependencies) = dependencies(observed, issuers);
        let mut first = vec![NONE; issuers];
        let mut following = vec![NONE; ios.len()];
        for (index, io) in ios.iter().enumerate().rev() {
            following[index] = std::mem::replace(&mut first[by.issuer(io)], index as u32);
        }
        let issuer = |(&IssuerFacts { kind, .. }, next)| Issuer {
            kind,
            next,
            completed: 0,
            latest: Time::ZERO,
        };
        let room = facts.iter().map(|facts| facts.most as usize).sum();
        let mut closed = Self {
            by,
            waits: Arc::new(Waits { took, dependencies, following }),
            issuers: facts.iter().zip(first).map(issuer).collect(),
            ready: BinaryHeap::with_capacity(room),
        };
        (0..issuers).for_each(|issuer| closed.release(issuer, Time::ZERO));
        closed
    }

    /// When the next request is due.
    pub(super) fn next_due(&self) -> Time {
        self.ready.peek().map_or(Time::NEVER, |&Reverse((due, _))| due)
    }

    /// The index of the next request, which is issued.
    pub(super) fn take(&mut self) -> Option<usize> {
        self.ready.pop().map(|Reverse((_, index))| index as usize)
    }

    /// A request like `io` completed.
    pub(super) fn finished(&mut self, now: Time, io: &Io) {
        let issuer = self.by.issuer(io);
        self.issuers[issuer].completed += 1;
        self.release(issuer, now);
    }

    /// Plans the requests that waited for the completion at `now`, the last of their issuer.
    fn release(&mut self, issuer: usize, now: Time) {
        let Issuer { kind, next, completed, latest } = &mut self.issuers[issuer];
        while *next != NONE {
            let Dependency { completions, think } = self.waits.dependencies[*next as usize];
            if completions > *completed {
                return;
            }
            let due = now + think;
            if *kind == IssuerKind::Thread {
                *latest = due.max(*latest);
            } else {
                *latest = due;
            }
            self.ready.push(Reverse((*latest, *next)));
            *next = self.waits.following[*next as usize];
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
