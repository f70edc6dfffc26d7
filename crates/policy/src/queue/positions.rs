//! Queued requests in the order of their position.

use alloc::vec::Vec;

use penstock_core::{Go, Out, Request};

use super::chains::Added;
use super::merges::Merges;
use super::slots::put;
use super::sorted::Sorted;
use crate::params::Params;

/// Queued requests by first byte, merged with their neighbours: what every policy that sorts queues
/// in. A chain has the place of its first byte.
#[derive(Debug)]
pub struct Positions {
    /// First byte, arrival number.
    sorted: Sorted<(u64, u64)>,
    arrivals: u64,
    /// By slot: the byte after the last.
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

    /// The oldest of the chains at the lowest first byte that is at least `position`.
    pub fn at_or_after(&self, position: u64) -> Option<u32> {
        self.sorted.at_or_after((position, 0))
    }

    /// The oldest of the chains at the highest first byte below `position`.
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
        self.ends[slot as usize]
    }

    /// Takes a chain out and returns the decision to send it.
    pub fn take(&mut self, slot: u32, out: &mut Out<'_>) -> Go {
        self.sorted.remove(slot);
        self.merges.take(slot, out)
    }
}
