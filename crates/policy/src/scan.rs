//! The elevator that goes to the very end of the device before it turns.
//!
//! Use it to see what textbooks mean by SCAN, and why disks got `look` instead: with a few requests
//! waiting its throughput may be lower than that of `fcfs`. O(log n) per request. Neighbours are
//! merged.
//!
//! It sends requests in the order of `look`, except on the way to the end. A policy cannot move the
//! arm, so that way is a time in which no request is sent. It lasts as long as the device says that
//! reaching its last block (its first, on the way down) would take. The arm is assumed to move
//! evenly meanwhile. So the order differs from that of `look` in two cases:
//!
//! - a request that arrives during the way, ahead of the arm, goes before those behind it, for
//!   which `look` would have turned at once;
//! - the way is also made when no request is queued, and the arm then rests at that end: later
//!   requests are served from there inwards.
//!
//! If position costs nothing the way takes no time, and only the second difference remains. In a
//! modelled disk the arm really stays at the last request, so a seek after the way starts from
//! there. The way to the end costs its time; the way back costs only as much as in `look`.
//!
//! Promise: as `look`, with two more ways; the registry states no number.
//!
//! Source: P. J. Denning, "Effects of scheduling on file memory operations", AFIPS Spring Joint
//! Computer Conference 1967; E. G. Coffman, L. A. Klimko, B. Ryan, "Analysis of scanning policies
//! for reducing disk seek times", SIAM Journal on Computing 1(3), 1972. The rest at an end is ours:
//! an arm that kept sweeping without requests would never let a run end.

use alloc::boxed::Box;

use penstock_core::{Device, Go, Op, Out, Part, Policy, Request, Span, Time};

use crate::entry::{Entry, Facts};
use crate::look::{Heading, Sweep};
use crate::params::Params;
use crate::queue::{MAX_SECTORS, Positions, max_sectors};

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "scan",
    summary: "the elevator that goes to the end of the device before it turns",
    params: &[MAX_SECTORS],
    build: |params, _| Box::new(Scan::new(params)),
    bound: |_, _| None,
    facts: Facts { merges: max_sectors, ..Facts::NONE },
};

/// The queue and the arm.
#[derive(Debug)]
pub struct Scan {
    queue: Positions,
    sweep: Sweep,
    /// The way to the end of the device, while the arm is on it.
    way: Option<Way>,
}

#[derive(Debug)]
struct Way {
    /// Position of the end.
    to: u64,
    begun: Time,
    takes: Span,
}

impl Way {
    /// Begins the way from the position of `sweep` to the end that it moves towards.
    fn new(now: Time, sweep: Sweep, below: &dyn Device) -> Self {
        let (to, block) = match sweep.heading {
            Heading::Up => (below.capacity(), u64::from(below.block())),
            Heading::Down => (0, 0),
        };
        let takes = below.position(now, Op::Read, to.saturating_sub(block));
        Self { to, begun: now, takes }
    }

    fn ends(&self) -> Time {
        self.begun + self.takes
    }

    /// Position of the arm at `now`, before the end of the way, after it left `from`.
    fn place(&self, from: u64, now: Time) -> u64 {
        let bytes = u128::from(from.abs_diff(self.to));
        let elapsed = u128::from(now.since(self.begun).ns());
        let moved = (bytes * elapsed / u128::from(self.takes.ns())) as u64;
        if from <= self.to { from + moved } else { from - moved }
    }
}

impl Scan {
    /// Takes `max_sectors`.
    pub fn new(params: &Params) -> Self {
        Self { queue: Positions::new(params), sweep: Sweep::default(), way: None }
    }

    /// Position and direction of the arm at `now`. At the end of its way it has turned, and all
    /// requests lie ahead.
    fn arm(&mut self, now: Time) -> Sweep {
        match &self.way {
            Some(way) if way.ends() <= now => {
                self.way = None;
                self.sweep = Self::at_end(self.sweep.turned().heading);
                self.sweep
            }
            Some(way) => Sweep { at: way.place(self.sweep.at, now), ..self.sweep },
            None => self.sweep,
        }
    }

    /// A sweep from an end of the device in direction `heading`. All requests lie ahead, even those
    /// beyond the end of the device.
    fn at_end(heading: Heading) -> Sweep {
        Sweep { heading, at: if heading == Heading::Up { 0 } else { u64::MAX } }
    }
}

impl Policy for Scan {
    fn enqueue(&mut self, _: Time, req: &Request) {
        self.queue.add(req);
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        let mut arm = self.arm(now);
        let mut next = arm.ahead(&self.queue);
        let rests = arm == Self::at_end(arm.heading);
        if next.is_none() && self.way.is_none() && !rests {
            self.way = Some(Way::new(now, arm, out.below));
            // If position costs nothing the arm is at the end at once.
            arm = self.arm(now);
            next = arm.ahead(&self.queue);
        }
        let slot = next?;
        self.way = None;
        self.sweep = arm.past(slot, &self.queue);
        Some(self.queue.take(slot, out))
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}

    fn wakeup(&self) -> Time {
        match &self.way {
            Some(way) if !self.queue.is_empty() => way.ends(),
            _ => Time::NEVER,
        }
    }
}
