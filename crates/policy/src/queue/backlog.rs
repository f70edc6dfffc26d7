//! A queue for each class in order of arrival, with neighbours of one class merged.

use alloc::vec::Vec;

use penstock_core::{Go, Op, Out, Request};

use super::chains::Added;
use super::list::{Links, List};
use super::merges::Merges;
use super::slots::put;
use crate::params::Params;

/// Waiting requests, by class.
#[derive(Debug)]
pub struct Backlog {
    /// Founders of chains, by class.
    queues: Vec<List>,
    links: Links,
    merges: Merges,
    arrivals: u64,
    /// Waiting requests, by slot.
    requests: Vec<Arrived>,
}

#[derive(Clone, Copy, Debug)]
struct Arrived {
    number: u64,
    op: Op,
    start: u64,
    len: u32,
}

/// A command taken out of the queue.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The decision.
    pub go: Go,
    /// Its operation.
    pub op: Op,
    /// Its first byte.
    pub start: u64,
    /// Its length, including the requests merged into it.
    pub bytes: u64,
}

impl Backlog {
    /// Takes `max_sectors`.
    pub fn new(params: &Params) -> Self {
        Self {
            queues: Vec::new(),
            links: Links::default(),
            merges: Merges::new(params),
            arrivals: 0,
            requests: Vec::new(),
        }
    }

    /// Queues `req`. Returns whether the queue of its class was empty before.
    pub fn add(&mut self, req: &Request) -> bool {
        let arrived = Arrived { number: self.arrivals, op: req.op, start: req.start, len: req.len };
        self.arrivals += 1;
        put(&mut self.requests, req.id.slot(), arrived);
        let Added::Founded(founder) = self.merges.add(req, false) else { return false };
        let class = req.class.index();
        if class >= self.queues.len() {
            self.queues.resize_with(class + 1, List::default);
        }
        let first = self.queues[class].is_empty();
        self.links.push_back(&mut self.queues[class], founder);
        first
    }

    /// The arrival number of the first request of `class`; for a chain, that of the request that
    /// founded it.
    pub fn first(&self, class: u32) -> Option<u64> {
        let founder = self.queues.get(class as usize)?.front()?;
        Some(self.requests[founder as usize].number)
    }

    /// Takes out the first command of `class`, whose queue must not be empty.
    pub fn take(&mut self, class: u32, out: &mut Out<'_>) -> Taken {
        let founder = self.links.pop_front(&mut self.queues[class as usize]);
        let go = self.merges.take(founder.expect("something of the class waits"), out);
        let len = |slot: usize| u64::from(self.requests[slot].len);
        let bytes = out.chain.iter().map(|id| len(id.index())).sum::<u64>() + len(go.id.index());
        let Arrived { op, start, .. } = self.requests[go.id.index()];
        Taken { go, op, start, bytes }
    }
}
