//! Queued requests in the order of their position.

use alloc::vec::Vec;

use penstock_core::{Go, Out, Request};

use super::chains::Added;
use super::merges::Merges;
use super::slots::put;
use super::sorted::Sorted;
use crate::params::Params;

/// Queued requests by first byte, merged with their neighbours: the queue of every policy that
/// sorts. A chain has the place of its first byte.
#[derive(Debug)]
pub struct Positions {
    /// Chains by first byte and arrival number.
    sorted: Sorted<(u64, u64)>,
    arrivals: u64,
    /// The byte after each chain, by slot.
    ends: Vec<u64>,
    merges: Merges,
}

impl Positions {
    /// Takes `max_sectors`.
    pub fn new(params: &Params) -> Self {
        let merges = Merges::new(params);
        Self { sorted: Sorted::default(), arrivals: 0, ends: Vec::new(), merges }
    }

    /// Queues `req`.
    pub fn add(&mut self, req: &Request) {
        match self.merges.add(req, false) {
            Added::Founded(slot) => {
                put(&mut self.ends, slot, req.end());
                self.sorted.insert(slot, (req.start, self.arrivals));
                self.arrivals += 1;
            }
            Added::Joined(slot) => {
                self.ends[slot as usize] = self.merges.end(slot);
                let ((old, arrival), start) = (self.sorted.key(slot), self.merges.start(slot));
                if start != old {
                    self.sorted.remove(slot);
                    self.sorted.insert(slot, (start, arrival));
                }
            }
        }
    }

    /// Whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The first chain that begins at `position` or later; the oldest if several begin there.
    pub fn at_or_after(&self, position: u64) -> Option<u32> {
        self.sorted.at_or_after((position, 0))
    }

    /// The last chain that begins before `position`; the oldest if several begin there.
    pub fn before(&self, position: u64) -> Option<u32> {
        let youngest = self.sorted.before((position, 0))?;
        self.at_or_after(self.start(youngest))
    }

    /// The first byte of a chain.
    pub fn start(&self, slot: u32) -> u64 {
        self.sorted.key(slot).0
    }

    /// The byte after a chain.
    pub fn end(&self, slot: u32) -> u64 {
        self.ends[slot as usize]
    }

    /// Removes a chain and sends it as one command.
    pub fn take(&mut self, slot: u32, out: &mut Out<'_>) -> Go {
        self.sorted.remove(slot);
        self.merges.take(slot, out)
    }
}
