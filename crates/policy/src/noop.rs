//! The order of arrival, with neighbours merged.
//!
//! Requests go in order of arrival. A request that begins where a queued one ends, or ends where a
//! queued one begins, is merged with it; both go as one command, at the place of the earlier one.
//! One queue of chains; O(log n) per request, to find the neighbour.
//!
//! Use it where position costs nothing: on flash, or above a device that orders by itself.
//!
//! `nomerges` limits the search for a neighbour. 0: any queued request. 1: only the last request
//! and those merged with it, which needs no search. 2: none.
//!
//! Promise: no request overtakes another, but a merged request travels with its earlier neighbour.
//!
//! What it leaves out: the kernel gathers the requests of a process for a moment before the
//! scheduler sees them (plugging), and merges some of them there.
//!
//! Source: the noop scheduler as lectures and the kernel's documentation describe it: a FIFO that
//! only merges; `nomerges` as in the kernel's documentation of a block device's queue in sysfs.

use alloc::boxed::Box;

use penstock_core::{Counter, Follower, Go, Out, Part, Policy, Request, Time};

use crate::entry::{Bound, Entry, Facts};
use crate::params::{Kind, Param, Params, Value};
use crate::queue::{Added, Chains, Links, List, MAX_SECTORS, max_sectors};

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "noop",
    summary: "a FIFO that merges neighbours, front and back",
    params: &[
        Param {
            name: "nomerges",
            kind: Kind::CountIn(0, 2),
            default: Value::Count(0),
            doc: "0: merge with any queued neighbour; 1: with what came last alone; 2: merge nothing",
            source: "the kernel's nomerges of a block device's queue",
        },
        MAX_SECTORS,
    ],
    build: |params, _| Box::new(Noop::new(params)),
    bound: |_, _| Some(Bound::FIFO),
    facts: Facts {
        merges: longest,
        linux: Some("2.6 to 4.20"),
        follower: Some(|params, _| Box::new(Noop::new(params))),
        ..Facts::NONE
    },
};

/// Returns the longest command that merging makes; `None` if nothing is merged.
fn longest(params: &Params) -> Option<u32> {
    if params.count("nomerges") < 2 { max_sectors(params) } else { None }
}

/// A FIFO of chains.
#[derive(Clone, Debug)]
pub struct Noop {
    chains: Chains,
    links: Links,
    fifo: List,
    /// Whether requests merge only with the chain of the request that came last.
    last_only: bool,
    /// The founder of that chain, while it waits.
    last: Option<u32>,
}

impl Noop {
    /// Takes `nomerges` and `max_sectors`.
    pub fn new(params: &Params) -> Self {
        Self {
            chains: Chains::new(longest(params).unwrap_or(0), true).unordered(),
            links: Links::default(),
            fifo: List::default(),
            last_only: params.count("nomerges") == 1,
            last: None,
        }
    }
}

impl Policy for Noop {
    fn enqueue(&mut self, _: Time, req: &Request) {
        let may_join = |founder: u32| !self.last_only || self.last == Some(founder);
        let added = self.chains.add_where(0, req, may_join);
        if let Added::Founded(founder) = added {
            self.links.push_back(&mut self.fifo, founder);
        }
        let (Added::Founded(founder) | Added::Joined(founder)) = added;
        self.last = Some(founder);
    }

    fn dispatch(&mut self, _: Time, out: &mut Out<'_>) -> Option<Go> {
        let founder = self.links.pop_front(&mut self.fifo)?;
        self.last = self.last.filter(|&last| last != founder);
        Some(self.chains.take(founder, out))
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}

    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        self.chains.counters(report);
    }
}

impl Follower for Noop {
    fn copy(&self) -> Box<dyn Follower> {
        Box::new(self.clone())
    }

    fn follow(&mut self, _: Time, req: &Request) {
        let founder = req.id.slot();
        self.last = self.last.filter(|&last| last != founder);
        self.links.remove(&mut self.fifo, founder);
        self.chains.close(founder);
    }
}
