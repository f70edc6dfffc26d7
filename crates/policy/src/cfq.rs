//! Round robin over streams, a few requests at a turn.
//!
//! Each stream (an agent, a process) has a queue of its own, sorted by position. Streams take turns;
//! a turn ends after `quantum` commands or when the stream's queue is empty. Within a stream
//! requests go in ascending position and then round again, but a turn begins with the stream's
//! oldest request if that has expired. O(log n) a request.
//!
//! Promise: of `n` streams that always have something queued, each sends the same number of
//! commands, at most `quantum` at a turn; an expired request waits for its older ones, a turn each.
//!
//! Source: complete fair queueing as lectures describe its early form ("a queue a process, in sector
//! order, round robin, four requests a turn"); the expiry is the kernel's.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use penstock_core::{Go, Out, Part, Policy, Request, Span, Time};

use crate::entry::{Bound, Entry, Facts};
use crate::params::{Kind, Param, Params, Value};
use crate::queue::{Added, Chains, Links, List, MAX_SECTORS, max_sectors};

const KERNEL: &str = "the kernel's cfq-iosched";

/// Its entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "cfq",
    summary: "round robin over streams, each in order of position, a few requests a turn",
    params: &[
        Param {
            name: "quantum",
            kind: Kind::Count(1),
            default: Value::Count(4),
            doc: "commands that a stream may send in one turn",
            source: KERNEL,
        },
        Param {
            name: "fifo_expire_sync",
            kind: Kind::Duration,
            default: Value::Duration(Span::from_ms(125)),
            doc: "a synchronous request that has waited this long begins its stream's next turn",
            source: KERNEL,
        },
        Param {
            name: "fifo_expire_async",
            kind: Kind::Duration,
            default: Value::Duration(Span::from_ms(250)),
            doc: "the same for a request that no caller waits for",
            source: KERNEL,
        },
        MAX_SECTORS,
    ],
    build: |params, _| Box::new(Cfq::new(params)),
    bound: |params, streams| {
        let after = params.duration("fifo_expire_sync").max(params.duration("fifo_expire_async"));
        Some(Bound { after, overtakes: params.count("quantum").saturating_mul(streams + 1) })
    },
    facts: Facts { merges: max_sectors, linux: Some("2.6 to 4.20"), ..Facts::NONE },
};

/// A queue for each stream, and the order of turns.
#[derive(Debug)]
pub struct Cfq {
    quantum: u32,
    expire_sync: Span,
    expire_async: Span,
    /// One lane for each stream: its sorted queue.
    chains: Chains,
    links: Links,
    streams: Vec<Stream>,
    /// Streams that have something queued, in the order of their turns; the first is served.
    turns: VecDeque<u32>,
    /// Commands that the first stream may still send; 0 before its turn begins.
    left: u32,
    /// By founder's slot: when it expires.
    expires: Vec<Time>,
}

#[derive(Debug, Default)]
struct Stream {
    /// In order of arrival.
    fifo: List,
    /// Where its last command ended.
    position: u64,
}

impl Cfq {
    /// Takes the kernel's tunables.
    pub fn new(params: &Params) -> Self {
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

    /// The stream's next command. At the beginning of a turn it is the oldest request, if that has
    /// expired; otherwise the next by position, beginning again at the lowest.
    fn next(&self, now: Time, stream: u32, turn_begins: bool) -> Option<u32> {
        let Stream { fifo, position } = &self.streams[stream as usize];
        let oldest = fifo.front()?;
        if turn_begins && self.expires[oldest as usize] <= now {
            return Some(oldest);
        }
        self.chains.at_or_after(stream, *position).or_else(|| self.chains.at_or_after(stream, 0))
    }
}

impl Policy for Cfq {
    fn enqueue(&mut self, now: Time, req: &Request) {
        let stream = req.stream.0;
        if stream as usize >= self.streams.len() {
            self.streams.resize_with(stream as usize + 1, Stream::default);
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
        let Stream { fifo, position } = &mut self.streams[stream as usize];
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
