//! Shortest positioning time first: the device itself states the cost of reaching each request.
//!
//! Use it as a disk's own queue, or above a modelled disk, to find the effect of rotation that
//! policies with addresses alone cannot see. Seek and rotational wait count, the transfer does not.
//! Among equal costs the oldest request goes. So if position costs nothing (flash, and real
//! devices, which do not report it) it is `fcfs` among the candidates. Neighbours are merged.
//!
//! The device is asked about `candidates` requests: those nearest to the end of the last command,
//! from both sides in order of address. With at most that many queued the choice is exact. Asking
//! about all of 100,000 would take milliseconds for each dispatch and gain nothing: the more
//! requests are queued, the closer together the nearest lie, and one of them soon passes under the
//! head. O(log n + candidates) per request.
//!
//! Promise: none. The shortest time starves requests as the shortest distance does, though less at
//! the edges.
//!
//! Source: M. Seltzer, P. Chen, J. Ousterhout, "Disk scheduling revisited", USENIX Winter 1990; D.
//! M. Jacobson, J. Wilkes, "Disk scheduling algorithms based on rotational position", HPL-CSL-91-7,
//! 1991. The limit on candidates is ours.

use alloc::boxed::Box;
use alloc::vec::Vec;

use penstock_core::{Go, Op, Out, Part, Policy, Request, Time};

use crate::entry::{Entry, Facts};
use crate::params::{Kind, Param, Params, Value};
use crate::queue::{Added, MAX_SECTORS, Merges, Sorted, max_sectors};

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "sptf",
    summary: "shortest positioning time first: the device says what each request would cost",
    params: &[
        Param {
            name: "candidates",
            kind: Kind::Count(1),
            default: Value::Count(64),
            doc: "how many requests the device is asked about, the nearest first; exact if no more \
                  are queued",
            source: "ours: more than a disk's own queue has held; on a longer one the nearest 64 are \
                 a few tracks",
        },
        MAX_SECTORS,
    ],
    build: |params, _| Box::new(Sptf::new(params)),
    bound: |_, _| None,
    facts: Facts {
        merges: max_sectors,
        without_positions: Some("sends the oldest request first"),
        ..Facts::NONE
    },
};

/// The queue, in order of address.
#[derive(Debug)]
pub struct Sptf {
    candidates: u32,
    /// Chains by first byte and arrival number.
    sorted: Sorted<(u64, u64)>,
    arrivals: u64,
    /// Chains by slot.
    nodes: Vec<LinkedRequest>,
    /// Position at which the last command ended.
    position: u64,
    merges: Merges,
}

/// A chain with links to its neighbours, so that a step to the next needs no search.
#[derive(Clone, Debug)]
struct LinkedRequest {
    op: Op,
    start: u64,
    end: u64,
    arrival: u64,
    below: Option<u32>,
    above: Option<u32>,
}

impl Sptf {
    /// Takes `candidates` and `max_sectors`.
    pub fn new(params: &Params) -> Self {
        Self {
            candidates: params.count("candidates"),
            sorted: Sorted::default(),
            arrivals: 0,
            nodes: Vec::new(),
            position: 0,
            merges: Merges::new(params),
        }
    }

    fn node(&self, slot: u32) -> &LinkedRequest {
        &self.nodes[slot as usize]
    }

    /// The candidate that costs least; the oldest if several do.
    fn cheapest(&self, now: Time, out: &Out<'_>) -> Option<u32> {
        let mut above = self.sorted.at_or_after((self.position, 0));
        let mut below = self.sorted.before((self.position, 0));
        let distance = |slot: u32| self.node(slot).start.abs_diff(self.position);
        let mut best = None;
        for _ in 0..self.candidates {
            let slot = match (above, below) {
                (Some(up), Some(down)) if distance(down) < distance(up) => down,
                (Some(up), _) => up,
                (None, Some(down)) => down,
                (None, None) => break,
            };
            if above == Some(slot) {
                above = self.node(slot).above;
            } else {
                below = self.node(slot).below;
            }
            let LinkedRequest { op, start, arrival, .. } = *self.node(slot);
            let candidate = (out.below.position(now, op, start), arrival, slot);
            best = Some(best.map_or(candidate, |best| candidate.min(best)));
        }
        best.map(|(.., slot)| slot)
    }

    fn insert(&mut self, slot: u32, op: Op, key: (u64, u64), end: u64) {
        let (below, above) = (self.sorted.before(key), self.sorted.at_or_after(key));
        self.sorted.insert(slot, key);
        let (start, arrival) = key;
        let node = LinkedRequest { op, start, end, arrival, below, above };
        if slot as usize >= self.nodes.len() {
            self.nodes.resize(slot as usize + 1, node.clone());
        }
        self.nodes[slot as usize] = node;
        self.join(below, Some(slot));
        self.join(Some(slot), above);
    }

    fn remove(&mut self, slot: u32) {
        self.sorted.remove(slot);
        let LinkedRequest { below, above, .. } = *self.node(slot);
        self.join(below, above);
    }

    /// Links `below` and `above` as neighbours.
    fn join(&mut self, below: Option<u32>, above: Option<u32>) {
        if let Some(slot) = below {
            self.nodes[slot as usize].above = above;
        }
        if let Some(slot) = above {
            self.nodes[slot as usize].below = below;
        }
    }
}

impl Policy for Sptf {
    fn enqueue(&mut self, _: Time, req: &Request) {
        match self.merges.add(req, false) {
            Added::Founded(slot) => {
                self.insert(slot, req.op, (req.start, self.arrivals), req.end());
                self.arrivals += 1;
            }
            Added::Joined(slot) => {
                let (start, end) = (self.merges.start(slot), self.merges.end(slot));
                let LinkedRequest { op, arrival, .. } = *self.node(slot);
                self.remove(slot);
                self.insert(slot, op, (start, arrival), end);
            }
        }
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        let slot = self.cheapest(now, out)?;
        self.remove(slot);
        self.position = self.node(slot).end;
        Some(self.merges.take(slot, out))
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
}
