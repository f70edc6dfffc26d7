//! The early form of `cfq`: a few requests per turn.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use penstock_core::{Go, Out, Part, Policy, Request, Span, Time};

use crate::params::Params;
use crate::queue::{Added, Chains, Links, List, max_sectors};

/// A queue for each stream, and the order of turns.
#[derive(Debug)]
pub(super) struct Requests {
    quantum: u32,
    expire_sync: Span,
    expire_async: Span,
    /// Sorted queues: a lane for each stream.
    chains: Chains,
    links: Links,
    streams: Vec<StreamQueue>,
    /// Streams that have requests queued, in the order of their turns; the first is served.
    turns: VecDeque<u32>,
    /// Commands that the first stream may still send; 0 before its turn begins.
    left: u32,
    /// Time at which a chain expires, by founder's slot.
    expires: Vec<Time>,
}

#[derive(Debug, Default)]
struct StreamQueue {
    /// Its requests in order of arrival.
    fifo: List,
    /// Position at which its last command ended.
    position: u64,
}

impl Requests {
    /// Takes the kernel's tunables.
    pub(super) fn new(params: &Params) -> Self {
        Self {
            quantum: params.count("quantum"),
            expire_sync: params.duration("fifo_expire_sync"),
            expire_async: params.duration("fifo_expire_async"),
            chains: Chains::new(max_sectors(params).unwrap_or(0), true),
            links: Links::default(),
            streams: Vec::new(),
            turns: VecDeque::new(),
            left: 0,
            expires: Vec::new(),
        }
    }

    /// The stream's next command: at the beginning of a turn the oldest request, if that has
    /// expired; otherwise the next by position, and after the highest the lowest.
    fn next(&self, now: Time, stream: u32, turn_begins: bool) -> Option<u32> {
        let StreamQueue { fifo, position } = &self.streams[stream as usize];
        let oldest = fifo.front()?;
        if turn_begins && self.expires[oldest as usize] <= now {
            return Some(oldest);
        }
        self.chains.at_or_after(stream, *position).or_else(|| self.chains.at_or_after(stream, 0))
    }
}

impl Policy for Requests {
    fn enqueue(&mut self, now: Time, req: &Request) {
        let stream = req.stream.0;
        if stream as usize >= self.streams.len() {
            self.streams.resize_with(stream as usize + 1, StreamQueue::default);
        }
        let Added::Founded(founder) = self.chains.add(stream, req) else { return };
        let slot = founder as usize;
        if slot >= self.expires.len() {
            self.expires.resize(slot + 1, Time::NEVER);
        }
        self.expires[slot] = now + if req.is_sync() { self.expire_sync } else { self.expire_async };
        let fifo = &mut self.streams[stream as usize].fifo;
        if fifo.is_empty() {
            self.turns.push_back(stream);
        }
        self.links.push_back(fifo, founder);
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        let stream = *self.turns.front()?;
        let turn_begins = self.left == 0;
        if turn_begins {
            self.left = self.quantum;
        }
        let founder = self.next(now, stream, turn_begins)?;
        let StreamQueue { fifo, position } = &mut self.streams[stream as usize];
        *position = self.chains.end(founder);
        self.links.remove(fifo, founder);
        self.left -= 1;
        if fifo.is_empty() {
            self.turns.pop_front();
            self.left = 0;
        } else if self.left == 0 {
            self.turns.rotate_left(1);
        }
        Some(self.chains.take(founder, out))
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
}
