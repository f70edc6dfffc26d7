//! What each request of a trace waited for: found from when requests of the same issuer arrived and
//! completed.
//!
//! An issuer is a process of the trace, or, in a trace without process numbers, a class. A trace
//! does not record why a program issued a request at a moment; it records which requests had
//! completed by then, and no program can have waited for one that had not. So a request depends on
//! a number of completions: it is issued a think time after its issuer has had so many, whichever
//! requests they are of. On another device requests complete in another order, and a program that
//! keeps a depth then goes on with the first answer, not with that of a certain request. How many
//! completions is read off the trace for each issuer, which is one of two kinds.
//!
//! - A [`Thread`](IssuerKind::Thread) of control: a request waits for all completions of its issuer
//!   that came before it, and thinks from the last of them on. What was outstanding together stays
//!   so; a program that waits for a whole batch waits for it again. Every issuer that never has more
//!   than one request outstanding is of this kind.
//! - Several [`Loops`](IssuerKind::Loops), each with one request outstanding and a think time of its
//!   own, as the threads of a program under one number. As many as were outstanding at once at most,
//!   `n`: request `k` waits for completion `k - n`, so that each completion is followed by one
//!   request. Which loop a request belongs to is unknown; in this order the sum of all think times
//!   is right.
//!
//! Either of two observations makes an issuer loops. Loops do not know of one another, so a request
//! that joins others in flight comes at any moment of their flight; a thread submits its batch at
//! once. And loops that always think as long show it: think times counted for loops are then much
//! more alike than those counted for a thread. Without either an issuer is a thread.
//!
//! To keep think times and not service times is an old idea: `TBBT` (Zhu et al., FAST 2005), `//TRACE`
//! (Mesnier et al., FAST 2007), `ARTC` (Weiss et al., SOSP 2013) and `hfplayer` (Haghdoost et al.,
//! FAST 2017) replay by dependencies. The first three have more to go by: file operations, nodes
//! that were slowed on purpose, system calls. The model here is our own.
//!
//! Limits: that one process waits for another is not seen; the think time of a request whose issuer
//! waited for a timer is kept as if it had computed.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use penstock_core::{Span, Time};

/// Fewer requests than these show nothing.
const ENOUGH: u64 = 16;
/// A request joins others late if it comes after the first tenth of the time from the issuer's last
/// request to its next completion. A thread submits its batch before; loops come at any moment.
const EARLY_PART: u64 = 10;
/// If fewer than one request in so many joins others late, the two kinds hardly differ.
const LATE_ONE_IN: u64 = 32;
/// Of those that join others at least one in so many is late if they are of loops. Where loops know
/// nothing of one another nine of eleven are, but some go in step for a while. In batches of real
/// threads less than a tenth are late.
const LATE_OF_JOINED: u64 = 3;
/// Think times of loops that are alike differ from one to the next by less than this part of what
/// they would differ by if they were a thread's.
const ALIKE: u128 = 4;

/// A request as far as dependencies go.
#[derive(Clone, Copy)]
pub(super) struct Observed {
    pub(super) issuer: usize,
    pub(super) at: Time,
    pub(super) end: Time,
}

/// What a request waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Dependency {
    /// So many completions of its issuer; none: it is issued at its own time.
    pub(super) completions: u32,
    /// How long after the last of them it is issued; without any, after the start.
    pub(super) think: Span,
}

/// How an issuer's requests depend on its completions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum IssuerKind {
    /// On all that came before, in order.
    #[default]
    Thread,
    /// Each on one of them.
    Loops,
}

/// An issuer of the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct IssuerFacts {
    pub(super) kind: IssuerKind,
    /// Requests outstanding at once, at most.
    pub(super) most: u32,
}

/// The issuers of `requests`, which are in order of arrival, and what each request depends on. The
/// requests are passed over three times, the last time while dependencies are taken.
pub(super) fn dependencies<R: Iterator<Item = Observed> + Clone>(
    requests: R,
    issuers: usize,
) -> (Vec<IssuerFacts>, impl Iterator<Item = Dependency>) {
    let mut surveys = vec![Survey::NEW; issuers];
    for request in requests.clone() {
        surveys[request.issuer].add(&request);
    }
    let mut flights: Vec<Flight> = surveys.iter().map(|survey| Flight::of(survey.most)).collect();
    let mut thinks = vec![Thinks::default(); issuers];
    for request in requests.clone() {
        let flight = &mut flights[request.issuer];
        flight.settle(request.at);
        thinks[request.issuer].add(&request, flight);
        flight.ask(request.end);
    }
    let facts: Vec<IssuerFacts> = (surveys.iter().zip(&thinks))
        .map(|(survey, thinks)| {
            let loops = survey.joins_like_loops() || thinks.are_of_loops();
            let kind = if loops { IssuerKind::Loops } else { IssuerKind::Thread };
            IssuerFacts { kind, most: survey.most }
        })
        .collect();
    let mut flights: Vec<Flight> = facts.iter().map(|facts| Flight::of(facts.most)).collect();
    let kinds: Vec<IssuerKind> = facts.iter().map(|facts| facts.kind).collect();
    let depends = move |request: Observed| {
        let flight = &mut flights[request.issuer];
        flight.settle(request.at);
        let completions = match kinds[request.issuer] {
            IssuerKind::Thread => flight.completed,
            IssuerKind::Loops => flight.freed(),
        };
        flight.ask(request.end);
        let since = flight.end(completions).unwrap_or(Time::ZERO);
        Dependency { completions, think: request.at.since(since) }
    };
    (facts, requests.map(depends))
}

/// What an issuer has in flight at a moment of the trace, and its last completions.
#[derive(Clone)]
struct Flight {
    /// Ends of the requests that are outstanding.
    pending: BinaryHeap<Reverse<Time>>,
    /// The last completions, in order: `most` of them, as many as loops look back.
    ended: VecDeque<Time>,
    most: u32,
    asked: u32,
    completed: u32,
}

impl Flight {
    /// Of an issuer that has up to `most` requests outstanding.
    const fn of(most: u32) -> Self {
        Self { pending: BinaryHeap::new(), ended: VecDeque::new(), most, asked: 0, completed: 0 }
    }

    /// Books the completions until `now`; a request that completes at an instant at which another
    /// arrives completes first.
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

    fn ask(&mut self, end: Time) {
        self.asked += 1;
        self.pending.push(Reverse(end));
    }

    /// How many completions the next request waits for if each of `most` loops has one outstanding.
    fn freed(&self) -> u32 {
        (self.asked + 1).saturating_sub(self.most)
    }

    /// When the completion of this number was, counted from 1.
    fn end(&self, number: u32) -> Option<Time> {
        let back = self.completed.checked_sub(number)? as usize;
        let index = self.ended.len().checked_sub(back + 1)?;
        (number > 0).then(|| self.ended[index])
    }
}

/// A first look at an issuer: how much it has outstanding, and when requests join others in flight.
#[derive(Clone)]
struct Survey {
    flight: Flight,
    most: u32,
    last: Time,
    /// Requests that joined others, and how many of them did so late.
    joined: u64,
    late: u64,
}

impl Survey {
    const NEW: Self = Self { flight: Flight::of(1), most: 0, last: Time::ZERO, joined: 0, late: 0 };

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
        self.flight.ask(request.end);
        self.most = self.most.max(self.flight.asked - self.flight.completed);
    }

    fn joins_like_loops(&self) -> bool {
        self.late >= ENOUGH
            && self.late * LATE_ONE_IN >= u64::from(self.flight.asked)
            && self.late * LATE_OF_JOINED >= self.joined
    }
}

/// Think times of an issuer by either kind, and how much they differ from one to the next.
#[derive(Clone, Copy, Default)]
struct Thinks {
    counted: u64,
    last: Option<[Span; 2]>,
    changes: [u128; 2],
}

impl Thinks {
    fn add(&mut self, request: &Observed, flight: &Flight) {
        let think = |completions| Some(request.at.since(flight.end(completions)?));
        let (Some(thread), Some(loops)) = (think(flight.completed), think(flight.freed())) else {
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

    fn found(times: &[[u64; 2]]) -> (IssuerFacts, Vec<(u32, u64)>) {
        let (facts, dependencies) = dependencies(observed(times).into_iter(), 1);
        let plain = |one: Dependency| (one.completions, one.think.ns() / 1_000_000);
        (facts[0], dependencies.map(plain).collect())
    }

    #[test]
    fn one_at_a_time_each_waits_for_the_one_before() {
        let (facts, waits) = found(&[[5, 8], [10, 20], [20, 21], [24, 30]]);
        assert_eq!(facts, IssuerFacts { kind: IssuerKind::Thread, most: 1 });
        assert_eq!(waits, [(0, 5), (1, 2), (2, 0), (3, 3)]);
    }

    /// The second batch waits for all of the first, however long before its last the others ended.
    #[test]
    fn a_batch_waits_for_the_whole_batch_before() {
        let times = [[0, 9], [0, 5], [1, 7], [20, 22], [20, 21], [21, 30]];
        let (facts, waits) = found(&times);
        assert_eq!(facts, IssuerFacts { kind: IssuerKind::Thread, most: 3 });
        assert_eq!(waits, [(0, 0), (0, 0), (0, 1), (3, 11), (3, 11), (4, 0)]);
    }

    /// Two loops that think for 15 ms, on a disk that serves for 10 ms.
    #[test]
    fn loops_are_known_by_think_times_that_are_alike() {
        let later = (0..20).map(|n| [25 * n + 25, 25 * n + 35]);
        let other = (0..20).map(|n| [25 * n + 35, 25 * n + 45]);
        let mut times: Vec<[u64; 2]> =
            [[0, 10], [0, 20]].into_iter().chain(later).chain(other).collect();
        times.sort_unstable();
        let (facts, waits) = found(&times);
        assert_eq!(facts, IssuerFacts { kind: IssuerKind::Loops, most: 2 });
        assert_eq!(waits[..2], [(0, 0), (0, 0)]);
        let expected: Vec<(u32, u64)> = (1..=40).map(|completion| (completion, 15)).collect();
        assert_eq!(waits[2..], expected);
        // Of a few requests nothing is known.
        assert_eq!(found(&times[..8]).0.kind, IssuerKind::Thread);
    }

    #[test]
    fn loops_are_known_by_joining_others_at_any_moment() {
        // Two loops of periods that have nothing to do with each other, and a thread that sends
        // batches of two at the same rates.
        let every = |period: u64, took: u64| (0..40).map(move |n| [n * period, n * period + took]);
        let mut loops: Vec<[u64; 2]> = every(41, 20).chain(every(67, 30)).collect();
        let mut thread: Vec<[u64; 2]> = every(41, 20).chain(every(41, 30)).collect();
        for (times, kind) in [(&mut loops, IssuerKind::Loops), (&mut thread, IssuerKind::Thread)] {
            times.sort_unstable();
            assert_eq!(found(times).0, IssuerFacts { kind, most: 2 });
        }
    }

    /// What was never completed is outstanding for good.
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
