//! The order of arrival, with neighbours merged.
//!
//! Use it where position costs nothing: on flash, or above a device that orders by itself. One
//! queue of chains; O(log n) a request, to find the neighbour. Promise: nothing overtakes anything,
//! but a merged request travels with its earlier neighbour.
//!
//! Source: the noop scheduler as lectures and the kernel's documentation describe it: a FIFO that
//! only merges.

use alloc::boxed::Box;

use penstock_core::{Go, Out, Part, Policy, Request, Time};

use crate::entry::{Bound, Entry, Facts};
use crate::params::Params;
use crate::queue::{Added, Chains, Links, List, MAX_SECTORS, max_sectors};

/// Its entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "noop",
    summary: "a FIFO that merges neighbours, front and back",
    params: &[MAX_SECTORS],
    build: |params, _| Box::new(Noop::new(params)),
    bound: |_, _| Some(Bound::FIFO),
    facts: Facts { merges: max_sectors, linux: Some("2.6 to 4.20"), ..Facts::NONE },
};

/// One FIFO of chains.
#[derive(Debug)]
pub struct Noop {
    chains: Chains,
    links: Links,
    fifo: List,
}

impl Noop {
    /// Takes `max_sectors`.
    pub fn new(params: &Params) -> Self {
        let limit = max_sectors(params).unwrap_or(0);
        let chains = Chains::new(limit, true).unordered();
        Self { chains, links: Links::default(), fifo: List::default() }
    }
}

impl Policy for Noop {
    fn enqueue(&mut self, _: Time, req: &Request) {
        if let Added::Founded(founder) = self.chains.add(0, req) {
            self.links.push_back(&mut self.fifo, founder);
        }
    }

    fn dispatch(&mut self, _: Time, out: &mut Out<'_>) -> Option<Go> {
        let founder = self.links.pop_front(&mut self.fifo)?;
        Some(self.chains.take(founder, out))
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
}
