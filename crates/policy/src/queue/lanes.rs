//! Merged chains in lanes, each lane both sorted by position and in order of arrival.
//!
//! For policies with deadlines: the next chain by position while none is urgent, otherwise the
//! oldest. A lane is a direction, a direction of a class, or a stream; requests of different lanes
//! do not merge. O(log n) a request.

use alloc::vec::Vec;

use penstock_core::{Go, Out, Request, Span, Time};

use super::chains::{Added, Chains};
use super::list::{Links, List};
use super::slots::put;

/// Chains, with a sorted queue and a FIFO for each lane.
#[derive(Clone, Debug)]
pub struct Lanes {
    chains: Chains,
    links: Links,
    queues: Vec<Lane>,
    /// Arrival times, by founder's slot.
    arrived: Vec<Time>,
}

#[derive(Clone, Debug, Default)]
struct Lane {
    /// Its chains in order of arrival.
    fifo: List,
    /// End of its last command: the next chain by position is the first one from here on.
    position: u64,
}

impl Lanes {
    /// Creates `lanes` lanes for `chains`; further lanes are added with their first request.
    pub fn new(chains: Chains, lanes: u32) -> Self {
        Self {
            chains,
            links: Links::default(),
            queues: alloc::vec![Lane::default(); lanes as usize],
            arrived: Vec::new(),
        }
    }

    /// Queues `req` in `lane`, or merges it with a neighbour there.
    pub fn add(&mut self, now: Time, lane: u32, req: &Request) -> Added {
        if lane as usize >= self.queues.len() {
            self.queues.resize(lane as usize + 1, Lane::default());
        }
        let added = self.chains.add(lane, req);
        if let Added::Founded(founder) = added {
            put(&mut self.arrived, founder, now);
            self.links.push_back(&mut self.queues[lane as usize].fifo, founder);
        }
        added
    }

    /// Whether `lane` is empty.
    pub fn is_empty(&self, lane: u32) -> bool {
        self.queues.get(lane as usize).is_none_or(|queue| queue.fifo.is_empty())
    }

    /// The oldest chain of `lane`.
    pub fn oldest(&self, lane: u32) -> Option<u32> {
        self.queues[lane as usize].fifo.front()
    }

    /// The oldest chain of `lane`, if it has waited for `expire`.
    pub fn expired(&self, now: Time, lane: u32, expire: Span) -> Option<u32> {
        self.oldest(lane).filter(|&oldest| self.arrived(oldest) + expire <= now)
    }

    /// Arrival time of the founder of a chain.
    pub fn arrived(&self, founder: u32) -> Time {
        self.arrived[founder as usize]
    }

    /// The first chain of `lane` from the end of its last command on.
    pub fn ahead(&self, lane: u32) -> Option<u32> {
        self.chains.at_or_after(lane, self.queues[lane as usize].position)
    }

    /// The chain of `lane` at the lowest position.
    pub fn lowest(&self, lane: u32) -> Option<u32> {
        self.chains.at_or_after(lane, 0)
    }

    /// The chains of all lanes.
    pub fn chains(&self) -> &Chains {
        &self.chains
    }

    /// Takes the chain of `founder` out of `lane` and sends it as one command.
    pub fn take(&mut self, lane: u32, founder: u32, out: &mut Out<'_>) -> Go {
        self.leave(lane, founder);
        self.chains.take(founder, out)
    }

    /// Takes the chain of `founder` out of `lane`, as sent by another scheduler.
    pub fn follow(&mut self, lane: u32, founder: u32) {
        self.leave(lane, founder);
        self.chains.close(founder);
    }

    fn leave(&mut self, lane: u32, founder: u32) {
        let Lane { fifo, position } = &mut self.queues[lane as usize];
        *position = self.chains.end(founder);
        self.links.remove(fifo, founder);
    }
}
