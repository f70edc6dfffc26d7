//! Queued requests, merged with their neighbours into chains that go as one command.
//!
//! A request that begins where a chain ends is merged behind it (back merge); one that ends where a
//! chain begins is merged before it (front merge). In every queue a chain keeps the place of the
//! request that founded it. Only requests of one lane and operation merge, up to the limit;
//! discards and requests with forced unit access do not. Flushes are not queued here and need not
//! divide chains: a flush covers only finished requests, and queued ones have not finished.

use alloc::vec::Vec;

use penstock_core::{Counter, Flags, Go, Op, Out, ReqId, Request};

use super::exact::Exact;
use super::slots::{NIL, put};
use super::sorted::Sorted;

/// Chains by position, in lanes that do not mix: directions, streams, or all in lane 0.
#[derive(Clone, Debug)]
pub struct Chains {
    limit: u32,
    front_merges: bool,
    arrivals: u64,
    /// Numbers of requests merged behind a chain and before one.
    merged: (u64, u64),
    nodes: Vec<ChainMember>,
    by_start: Starts,
    /// Founders by lane and end (the byte after the last).
    by_end: Exact,
}

/// Founders by lane and first byte: sorted, or only for look-ups of an exact position.
#[derive(Clone, Debug)]
enum Starts {
    Ordered(Sorted<Key>),
    Unordered(Exact),
}

impl Starts {
    fn key(&self, founder: u32) -> Key {
        match self {
            Self::Ordered(sorted) => sorted.key(founder),
            Self::Unordered(exact) => exact.key(founder),
        }
    }

    fn insert(&mut self, founder: u32, key: Key) {
        match self {
            Self::Ordered(sorted) => sorted.insert(founder, key),
            Self::Unordered(exact) => exact.insert(founder, key),
        }
    }

    fn remove(&mut self, founder: u32) {
        match self {
            Self::Ordered(sorted) => sorted.remove(founder),
            Self::Unordered(exact) => exact.remove(founder),
        }
    }

    /// The oldest founder that begins at `position`. If there is none, a sorted index returns a
    /// later one, or one of another lane.
    fn candidate(&self, lane: u32, position: u64) -> Option<u32> {
        match self {
            Self::Ordered(sorted) => sorted.at_or_after((lane, position, 0)),
            Self::Unordered(exact) => exact.find(lane, position),
        }
    }
}

/// Lane, position, arrival number: at equal positions the oldest goes first.
type Key = (u32, u64, u64);

/// The result of queueing a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Added {
    /// It founded a chain.
    Founded(u32),
    /// It joined the chain of this founder.
    Joined(u32),
}

#[derive(Clone, Debug)]
struct ChainMember {
    id: ReqId,
    len: u32,
    /// The neighbour behind it in its chain.
    next: u32,
    /// The chain that it founded, if it is a founder.
    chain: Chain,
}

#[derive(Clone, Copy, Debug)]
struct Chain {
    op: Op,
    mergeable: bool,
    lane: u32,
    start: u64,
    len: u32,
    head: u32,
    tail: u32,
    arrival: u64,
}

impl Chains {
    /// Creates chains of at most `limit` bytes; a request that is longer by itself does not merge.
    pub fn new(limit: u32, front_merges: bool) -> Self {
        Self {
            limit,
            front_merges,
            arrivals: 0,
            merged: (0, 0),
            nodes: Vec::new(),
            by_start: Starts::Ordered(Sorted::default()),
            by_end: Exact::default(),
        }
    }

    /// Uses a faster index for a policy that keeps its own order and never asks for a position.
    #[must_use]
    pub fn unordered(self) -> Self {
        Self { by_start: Starts::Unordered(Exact::default()), ..self }
    }

    /// Queues `req` in `lane`.
    pub fn add(&mut self, lane: u32, req: &Request) -> Added {
        self.add_where(lane, req, |_| true)
    }

    /// Queues `req` in `lane`, but merges it only into a chain whose founder `allows` accepts.
    pub fn add_where(&mut self, lane: u32, req: &Request, allows: impl Fn(u32) -> bool) -> Added {
        let slot = req.id.slot();
        let chain = Chain {
            op: req.op,
            mergeable: !req.flags.has(Flags::FUA) && req.op != Op::Discard,
            lane,
            start: req.start,
            len: req.len,
            head: slot,
            tail: slot,
            arrival: self.arrivals,
        };
        self.arrivals += 1;
        let Chain { start, len, arrival, .. } = chain;
        put(&mut self.nodes, slot, ChainMember { id: req.id, len, next: NIL, chain });
        if !self.by_end.is_empty()
            && let Some(founder) =
                self.merge_back(slot, &allows).or_else(|| self.merge_front(slot, &allows))
        {
            return Added::Joined(founder);
        }
        self.by_start.insert(slot, (lane, start, arrival));
        self.by_end.insert(slot, (lane, start + u64::from(len), arrival));
        Added::Founded(slot)
    }

    /// The first chain of `lane` that begins at `position` or later.
    pub fn at_or_after(&self, lane: u32, position: u64) -> Option<u32> {
        let Starts::Ordered(by_start) = &self.by_start else {
            unreachable!("chains that are not in order")
        };
        let founder = by_start.at_or_after((lane, position, 0))?;
        (by_start.key(founder).0 == lane).then_some(founder)
    }

    /// The last chain of `lane` that begins before `position`.
    pub fn before(&self, lane: u32, position: u64) -> Option<u32> {
        let Starts::Ordered(by_start) = &self.by_start else {
            unreachable!("chains that are not in order")
        };
        let founder = by_start.before((lane, position, 0))?;
        (by_start.key(founder).0 == lane).then_some(founder)
    }

    /// First byte of the chain of `founder`.
    pub fn start(&self, founder: u32) -> u64 {
        self.nodes[founder as usize].chain.start
    }

    /// The byte after the chain of `founder`.
    pub fn end(&self, founder: u32) -> u64 {
        let Chain { start, len, .. } = self.nodes[founder as usize].chain;
        start + u64::from(len)
    }

    /// The arrival number of `founder`.
    pub fn arrival(&self, founder: u32) -> u64 {
        self.nodes[founder as usize].chain.arrival
    }

    /// Reports the numbers of merged requests.
    pub fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        report(Counter::total("back_merges"), self.merged.0);
        report(Counter::total("front_merges"), self.merged.1);
    }

    /// Takes the chain of `founder` out and sends it as one command.
    pub fn take(&mut self, founder: u32, out: &mut Out<'_>) -> Go {
        self.close(founder);
        let head = self.nodes[founder as usize].chain.head;
        let (go, ..) = self.run(head, u32::MAX, out);
        go
    }

    /// Ends a chain, so that nothing merges with it from now on. Returns its head.
    pub fn close(&mut self, founder: u32) -> u32 {
        self.by_start.remove(founder);
        self.by_end.remove(founder);
        self.nodes[founder as usize].chain.head
    }

    /// Sends members of a closed chain as one command, from `head` on: at least one, and as many as
    /// fit in `most` bytes. Returns the command, its length, and the next member.
    pub fn run(&self, head: u32, most: u32, out: &mut Out<'_>) -> (Go, u32, Option<u32>) {
        let (id, mut sum, mut next) = self.member(head);
        while let Some(slot) = next {
            let (id, len, behind) = self.member(slot);
            let Some(longer) = sum.checked_add(len).filter(|&sum| sum <= most) else { break };
            out.chain.push(id);
            (sum, next) = (longer, behind);
        }
        (Go::all(id), sum, next)
    }

    /// The ticket and length of a member, and the next member.
    pub fn member(&self, slot: u32) -> (ReqId, u32, Option<u32>) {
        let ChainMember { id, len, next, .. } = self.nodes[slot as usize];
        (id, len, (next != NIL).then_some(next))
    }

    /// Merges the request in `slot` behind the chain that ends where it begins.
    fn merge_back(&mut self, slot: u32, allows: impl Fn(u32) -> bool) -> Option<u32> {
        let new = self.nodes[slot as usize].chain;
        let founder = self.by_end.find(new.lane, new.start)?;
        let (lane, end, arrival) = self.by_end.key(founder);
        if !self.may_merge(founder, &new) || !allows(founder) {
            return None;
        }
        let old = self.nodes[founder as usize].chain.tail;
        self.nodes[old as usize].next = slot;
        let chain = &mut self.nodes[founder as usize].chain;
        chain.tail = slot;
        chain.len += new.len;
        self.merged.0 += 1;
        self.by_end.remove(founder);
        self.by_end.insert(founder, (lane, end + u64::from(new.len), arrival));
        Some(founder)
    }

    /// Merges the request in `slot` before the chain that begins where it ends.
    fn merge_front(&mut self, slot: u32, allows: impl Fn(u32) -> bool) -> Option<u32> {
        let new = self.nodes[slot as usize].chain;
        let end = new.start + u64::from(new.len);
        let founder = self.by_start.candidate(new.lane, end)?;
        let (lane, start, arrival) = self.by_start.key(founder);
        let neighbours = self.front_merges && (lane, start) == (new.lane, end);
        if !neighbours || !self.may_merge(founder, &new) || !allows(founder) {
            return None;
        }
        let chain = &mut self.nodes[founder as usize].chain;
        let old = chain.head;
        chain.head = slot;
        chain.start = new.start;
        chain.len += new.len;
        self.merged.1 += 1;
        self.nodes[slot as usize].next = old;
        self.by_start.remove(founder);
        self.by_start.insert(founder, (lane, new.start, arrival));
        Some(founder)
    }

    fn may_merge(&self, founder: u32, new: &Chain) -> bool {
        let chain = &self.nodes[founder as usize].chain;
        let fits = chain.len.checked_add(new.len).is_some_and(|len| len <= self.limit);
        fits && chain.op == new.op && chain.mergeable && new.mergeable
    }
}
