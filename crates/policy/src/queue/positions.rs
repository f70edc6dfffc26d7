//! Queued requests in the order of their position, none merged.

use alloc::vec::Vec;

use penstock_core::{Go, ReqId, Request};

use super::sorted::Sorted;

/// Queued requests by first byte, unmerged: what every policy that sorts whole requests queues in.
#[derive(Debug, Default)]
pub struct Positions {
    /// First byte, arrival number.
    sorted: Sorted<(u64, u64)>,
    arrivals: u64,
    /// By slot: the ticket, and the byte after the last.
    requests: Vec<(ReqId, u64)>,
}

impl Positions {
    /// Queues `req`.
    pub fn add(&mut self, req: &Request) {
        let slot = req.id.index();
        if slot >= self.requests.len() {
            self.requests.resize(slot + 1, (req.id, 0));
        }
        self.requests[slot] = (req.id, req.end());
        self.sorted.insert(req.id.slot, (req.start, self.arrivals));
        self.arrivals += 1;
    }

    /// Whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The oldest of the requests at the lowest first byte that is at least `position`.
    pub fn at_or_after(&self, position: u64) -> Option<u32> {
        self.sorted.at_or_after((position, 0))
    }

    /// The oldest of the requests at the highest first byte below `position`.
    pub fn before(&self, position: u64) -> Option<u32> {
        let youngest = self.sorted.before((position, 0))?;
        self.at_or_after(self.start(youngest))
    }

    /// The first byte.
    pub fn start(&self, slot: u32) -> u64 {
        self.sorted.key(slot).0
    }

    /// The byte after the last.
    pub fn end(&self, slot: u32) -> u64 {
        self.requests[slot as usize].1
    }

    /// Takes a request out and returns the decision to send it.
    pub fn take(&mut self, slot: u32) -> Go {
        self.sorted.remove(slot);
        Go::all(self.requests[slot as usize].0)
    }
}
