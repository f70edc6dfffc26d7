//! Derives the completions that each request of a trace waited for, from the arrivals and
//! completions of its issuer's requests.
//!
//! An issuer is a process of the trace or, in a trace without process numbers, a class. A trace
//! does not record why a program issued a request at a certain time; it records which requests had
//! completed by then, and a program cannot have waited for any other. So a request depends on a
//! number of completions: it is issued a think time after its issuer has had that many, of
//! whichever requests. On another device requests complete in another order, and a program that
//! keeps a depth then continues after the first completion, not after that of a certain request.
//! The number of completions is derived from the trace for each issuer, which is one of two kinds.
//!
//! - A [`Thread`](IssuerKind::Thread) of control: a request waits for all earlier completions of
//!   its issuer, and its think time counts from the last of them. Requests that were outstanding
//!   together are so again; a program that waited for a whole batch waits for it again. Every issuer
//!   that never has more than one request outstanding is of this kind.
//! - Several [`Loops`](IssuerKind::Loops), each with one request outstanding and a think time of its
//!   own, such as the threads of a program under one process number. Their number `n` is the largest
//!   number of requests outstanding at once: request `k` waits for completion `k - n`, so that each
//!   completion is followed by one request. The loop that a request belongs to is unknown; in this
//!   order the sum of all think times is right.
//!
//! An issuer counts as loops if one of two observations holds. Loops are independent of each other,
//! so a request that joins others in flight arrives at any time of their flight, while a thread
//! submits its batch at once. And if loops have constant think times, think times computed for
//! loops vary much less than those computed for a thread. Otherwise the issuer is a thread.
//!
//! Keeping think times rather than service times is an old idea: `TBBT` (Zhu et al., FAST 2005),
//! `//TRACE` (Mesnier et al., FAST 2007), `ARTC` (Weiss et al., SOSP 2013) and `hfplayer`
//! (Haghdoost et al., FAST 2017) replay by dependencies. The first three use more information: file
//! operations, nodes that were slowed on purpose, system calls. The model here is our own.
//!
//! Limits: waits of a process for another process are not detected; the wait of an issuer for a
//! timer counts as think time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use penstock_core::{Span, Time};

/// Fewest observations for a conclusion.
const ENOUGH: u64 = 16;
/// A request joins others late if it arrives after the first tenth of the time from the issuer's
/// last request to its next completion. A thread submits its batch before that; loops submit at any
/// time.
const EARLY_PART: u64 = 10;
/// If fewer than one request in this many joins others late, the two kinds hardly differ.
const LATE_ONE_IN: u64 = 32;
/// For loops, at least one in this many of the requests that join others must be late. Of
/// independent loops nine in eleven are, but some loops run in step for a while. In batches of real
/// threads less than a tenth are late.
const LATE_OF_JOINED: u64 = 3;
/// Think times are those of loops if the changes from one to the next sum to less than this
/// fraction of the changes of the think times computed for a thread.
const ALIKE: u128 = 4;

/// The times of a request that dependencies are derived from.
#[derive(Clone, Copy)]
pub(super) struct Observed {
    pub(super) issuer: usize,
    pub(super) at: Time,
    pub(super) end: Time,
}

/// The completions that a request waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Dependency {
    /// Number of completions of its issuer; with 0 it is issued at its own time.
    pub(super) completions: u32,
    /// Think time after the last of them; without any, after the start.
    pub(super) think: Span,
}

/// The kind of an issuer: the way in which its requests depend on completions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum IssuerKind {
    /// Each request depends on all earlier completions, and requests keep their order.
    #[default]
    Thread,
    /// Each request depends on one completion.
    Loops,
}

/// An issuer of the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct IssuerFacts {
    pub(super) kind: IssuerKind,
    /// Largest number of requests outstanding at once.
    pub(super) most: u32,
}

/// Returns the issuers of `requests`, which are in order of arrival, and the dependency of each
/// request. Iterates over the requests three times, the last time while dependencies are taken.
pub(super) fn dependencies<R: Iterator<Item = Observed> + Clone>(
    requests: R,
    issuers: usize,
) -> (Vec<IssuerFacts>, impl Iterator<Item = Dependency>) {
    let mut surveys = vec![Survey::NEW; issuers];
    for request in requests.clone() {
        surveys[request.issuer].add(&request);
    }
    let mut flights: Vec<Flight> = surveys.iter().map(|survey| Flight::new(survey.most)).collect();
    let mut thinks = vec![Thinks::default(); issuers];
    for request in requests.clone() {
        let flight = &mut flights[request.issuer];
        flight.settle(request.at);
        thinks[request.issuer].add(&request, flight);
        flight.add(request.end);
    }
    let facts: Vec<IssuerFacts> = (surveys.iter().zip(&thinks))
        .map(|(survey, thinks)| {
            let loops = survey.joins_like_loops() || thinks.are_of_loops();
            let kind = if loops { IssuerKind::Loops } else { IssuerKind::Thread };
            IssuerFacts { kind, most: survey.most }
        })
        .collect();
    let mut flights: Vec<Flight> = facts.iter().map(|facts| Flight::new(facts.most)).collect();
    let kinds: Vec<IssuerKind> = facts.iter().map(|facts| facts.kind).collect();
    let depends = move |request: Observed| {
        let flight = &mut flights[request.issuer];
        flight.settle(request.at);
        let completions = match kinds[request.issuer] {
            IssuerKind::Thread => flight.completed,
            IssuerKind::Loops => flight.loop_completions(),
        };
        flight.add(request.end);
        let since = flight.end_of(completions).unwrap_or(Time::ZERO);
        Dependency { completions, think: request.at.since(since) }
    };
    (facts, requests.map(depends))
}

/// The requests of an issuer in flight at a time of the trace, and its last completions.
#[derive(Clone)]
struct Flight {
    /// Ends of the outstanding requests.
    pending: BinaryHeap<Reverse<Time>>,
    /// Times of the last `most` completions, in order: loops look back that far.
    ended: VecDeque<Time>,
    most: u32,
    requests: u32,
    completed: u32,
}

impl Flight {
    /// Creates the state of an issuer that has up to `most` requests outstanding.
    const fn new(most: u32) -> Self {
        Self { pending: BinaryHeap::new(), ended: VecDeque::new(), most, requests: 0, completed: 0 }
    }

    /// Counts the completions until `now`. At one instant, completions come before arrivals.
    fn settle(&mut self, now: Time) {
        while let Some(&Reverse(end)) = self.pending.peek()
            && end <= now
        {
            self.pending.pop();
            self.completed += 1;
            if self.ended.len() as u64 >= u64::from(self.most) {
                self.ended.pop_front();
            }
            self.ended.push_back(end);
        }
    }

    fn add(&mut self, end: Time) {
        self.requests += 1;
        self.pending.push(Reverse(end));
    }

    /// Number of completions that the next request waits for if each of `most` loops has one
    /// request outstanding.
    fn loop_completions(&self) -> u32 {
        (self.requests + 1).saturating_sub(self.most)
    }

    /// Time of the completion numbered `number` from 1; `None` for 0, and if it is too long ago.
    fn end_of(&self, number: u32) -> Option<Time> {
        let back = self.completed.checked_sub(number)? as usize;
        let index = self.ended.len().checked_sub(back + 1)?;
        (number > 0).then(|| self.ended[index])
    }
}

/// A first pass over an issuer's requests: the most outstanding ones, and the times at which
/// requests join others in flight.
#[derive(Clone)]
struct Survey {
    flight: Flight,
    most: u32,
    last: Time,
    /// Number of requests that joined others, and of those that did so late.
    joined: u64,
    late: u64,
}

impl Survey {
    const NEW: Self =
        Self { flight: Flight::new(1), most: 0, last: Time::ZERO, joined: 0, late: 0 };

    fn add(&mut self, request: &Observed) {
        let completed = self.flight.completed;
        self.flight.settle(request.at);
        if self.flight.completed == completed
            && let Some(&Reverse(end)) = self.flight.pending.peek()
        {
            let (gap, left) = (request.at.since(self.last), end.since(self.last));
            self.joined += 1;
            self.late += u64::from(gap.ns().saturating_mul(EARLY_PART) >= left.ns());
        }
        self.last = request.at;
        self.flight.add(request.end);
        self.most = self.most.max(self.flight.requests - self.flight.completed);
    }

    fn joins_like_loops(&self) -> bool {
        self.late >= ENOUGH
            && self.late * LATE_ONE_IN >= u64::from(self.flight.requests)
            && self.late * LATE_OF_JOINED >= self.joined
    }
}

/// Think times of an issuer computed for both kinds, and the sums of their changes from one to the
/// next.
#[derive(Clone, Copy, Default)]
struct Thinks {
    counted: u64,
    last: Option<[Span; 2]>,
    changes: [u128; 2],
}

impl Thinks {
    fn add(&mut self, request: &Observed, flight: &Flight) {
        let think = |completions| Some(request.at.since(flight.end_of(completions)?));
        let (Some(thread), Some(loops)) =
            (think(flight.completed), think(flight.loop_completions()))
        else {
            return;
        };
        let now = [thread, loops];
        for (change, (now, last)) in
            self.changes.iter_mut().zip(now.iter().zip(self.last.unwrap_or(now)))
        {
            *change += u128::from(now.ns().abs_diff(last.ns()));
        }
        self.last = Some(now);
        self.counted += 1;
    }

    fn are_of_loops(&self) -> bool {
        let [thread, loops] = self.changes;
        self.counted >= ENOUGH && ALIKE * loops < thread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// Requests of one issuer, from `[arrival, completion]` in milliseconds.
    fn observed(times: &[[u64; 2]]) -> Vec<Observed> {
        let request = |&[at, end]: &[u64; 2]| Observed { issuer: 0, at: ms(at), end: ms(end) };
        times.iter().map(request).collect()
    }

    fn analysed(times: &[[u64; 2]]) -> (IssuerFacts, Vec<(u32, u64)>) {
        let (facts, dependencies) = dependencies(observed(times).into_iter(), 1);
        let plain = |waits: Dependency| (waits.completions, waits.think.ns() / 1_000_000);
        (facts[0], dependencies.map(plain).collect())
    }

    #[test]
    fn each_of_single_requests_waits_for_the_previous_one() {
        let (facts, waits) = analysed(&[[5, 8], [10, 20], [20, 21], [24, 30]]);
        assert_eq!(facts, IssuerFacts { kind: IssuerKind::Thread, most: 1 });
        assert_eq!(waits, [(0, 5), (1, 2), (2, 0), (3, 3)]);
    }

    /// The second batch waits for all of the first, even if most of the first ended long before its
    /// last.
    #[test]
    fn a_batch_waits_for_the_whole_batch_before() {
        let times = [[0, 9], [0, 5], [1, 7], [20, 22], [20, 21], [21, 30]];
        let (facts, waits) = analysed(&times);
        assert_eq!(facts, IssuerFacts { kind: IssuerKind::Thread, most: 3 });
        assert_eq!(waits, [(0, 0), (0, 0), (0, 1), (3, 11), (3, 11), (4, 0)]);
    }

    /// Two loops that think for 15 ms, on a disk that serves for 10 ms.
    #[test]
    fn loops_are_known_by_think_times_that_are_alike() {
        let later = (0..20).map(|n| [25 * n + 25, 25 * n + 35]);
        let later_still = (0..20).map(|n| [25 * n + 35, 25 * n + 45]);
        let mut times: Vec<[u64; 2]> =
            [[0, 10], [0, 20]].into_iter().chain(later).chain(later_still).collect();
        times.sort_unstable();
        let (facts, waits) = analysed(&times);
        assert_eq!(facts, IssuerFacts { kind: IssuerKind::Loops, most: 2 });
        assert_eq!(waits[..2], [(0, 0), (0, 0)]);
        let expected: Vec<(u32, u64)> = (1..=40).map(|completion| (completion, 15)).collect();
        assert_eq!(waits[2..], expected);
        // A few requests are not enough.
        assert_eq!(analysed(&times[..8]).0.kind, IssuerKind::Thread);
    }

    #[test]
    fn loops_are_known_by_joining_others_at_any_moment() {
        // Two loops with unrelated periods, and a thread that sends batches of two at the same
        // rates.
        let every = |period: u64, took: u64| (0..40).map(move |n| [n * period, n * period + took]);
        let mut loops: Vec<[u64; 2]> = every(41, 20).chain(every(67, 30)).collect();
        let mut thread: Vec<[u64; 2]> = every(41, 20).chain(every(41, 30)).collect();
        for (times, kind) in [(&mut loops, IssuerKind::Loops), (&mut thread, IssuerKind::Thread)] {
            times.sort_unstable();
            assert_eq!(analysed(times).0, IssuerFacts { kind, most: 2 });
        }
    }

    /// A request that never completes stays outstanding.
    #[test]
    fn issuers_do_not_depend_on_each_other() {
        let never = Time::NEVER;
        let request = |issuer, at, end| Observed { issuer, at: ms(at), end };
        let requests = [
            request(0, 0, never),
            request(1, 0, ms(3)),
            request(0, 4, ms(5)),
            request(1, 4, ms(9)),
        ];
        let (facts, waits) = dependencies(requests.into_iter(), 3);
        let waits: Vec<Dependency> = waits.collect();
        assert_eq!(facts.iter().map(|facts| facts.most).collect::<Vec<_>>(), [2, 1, 0]);
        assert_eq!(waits[2], Dependency { completions: 0, think: Span::from_ms(4) });
        assert_eq!(waits[3], Dependency { completions: 1, think: Span::from_ms(1) });
    }
}
