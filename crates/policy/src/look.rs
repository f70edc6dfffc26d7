//! The elevator: up to the highest request, down to the lowest, and up again.
//!
//! Use it to compare the cost of turning with `c-look`. The arm saves the long way back. Requests
//! near either end of the busy range are served twice in a row and then not for two sweeps, so the
//! tail is longer. O(log n) per request. Neighbours are merged.
//!
//! On the way up, requests that begin behind the first byte of the last command lie ahead; on the
//! way down, requests that begin before it. So the arm moves on with every command and does not
//! stay at a place where requests keep coming. Of several requests with the same first byte the
//! oldest goes; the others go in later sweeps.
//!
//! Promise: a request waits for the rest of this sweep, for the next one, and for one more sweep
//! for each older request with its first byte. As with `c-look` a sweep ends, but a flood just
//! ahead of the arm can make it as long as the device. That is not a number of commands, so the
//! registry states no bound.
//!
//! Source: A. G. Merten, "Some quantitative techniques for file organization", University of
//! Wisconsin 1970; T. J. Teorey, T. B. Pinkerton, "A comparative analysis of disk scheduling
//! policies", CACM 15(3), 1972.

use alloc::boxed::Box;

use penstock_core::{Go, Out, Part, Policy, Request, Time};

use crate::entry::{Entry, Facts};
use crate::params::Params;
use crate::queue::{MAX_SECTORS, Positions, max_sectors};

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "look",
    summary: "the elevator: up to the highest request, down to the lowest",
    params: &[MAX_SECTORS],
    build: |params, _| Box::new(Look::new(params)),
    bound: |_, _| None,
    facts: Facts { merges: max_sectors, ..Facts::NONE },
};

/// The queue and the sweep.
#[derive(Debug)]
pub struct Look {
    queue: Positions,
    sweep: Sweep,
}

impl Look {
    /// Takes `max_sectors`.
    pub fn new(params: &Params) -> Self {
        Self { queue: Positions::new(params), sweep: Sweep::default() }
    }
}

impl Policy for Look {
    fn enqueue(&mut self, _: Time, req: &Request) {
        self.queue.add(req);
    }

    fn dispatch(&mut self, _: Time, out: &mut Out<'_>) -> Option<Go> {
        let ways = [self.sweep, self.sweep.turned()];
        let next = |sweep: Sweep| Some((sweep, sweep.ahead(&self.queue)?));
        let (sweep, slot) = ways.into_iter().find_map(next)?;
        self.sweep = sweep.past(slot, &self.queue);
        Some(self.queue.take(slot, out))
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
}

/// Position and direction of an elevator. On the way up, requests that begin at `at` or later lie
/// ahead; on the way down, requests that begin before. The others lie ahead after a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sweep {
    pub(crate) heading: Heading,
    pub(crate) at: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Heading {
    Up,
    Down,
}

/// Starts at the lowest byte, upwards.
impl Default for Sweep {
    fn default() -> Self {
        Self { heading: Heading::Up, at: 0 }
    }
}

impl Sweep {
    /// The next request in its direction.
    pub(crate) fn ahead(self, queue: &Positions) -> Option<u32> {
        match self.heading {
            Heading::Up => queue.at_or_after(self.at),
            Heading::Down => queue.before(self.at),
        }
    }

    /// Turns the direction at the same place.
    pub(crate) fn turned(self) -> Self {
        let heading = match self.heading {
            Heading::Up => Heading::Down,
            Heading::Down => Heading::Up,
        };
        Self { heading, ..self }
    }

    /// The sweep after it has served the request in `slot`.
    pub(crate) fn past(self, slot: u32, queue: &Positions) -> Self {
        let at = match self.heading {
            Heading::Up => queue.start(slot) + 1,
            Heading::Down => queue.start(slot),
        };
        Self { at, ..self }
    }
}
