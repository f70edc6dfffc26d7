//! The link to the host: one direction or both, which the commands share in turns.

use std::collections::VecDeque;

use penstock_core::ReqId;

use super::facts::{Link, ns_at};

/// A direction of the link.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    ToHost,
    FromHost,
}

/// The turn of a command on the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Turn {
    pub(super) id: ReqId,
    pub(super) bytes: u32,
    /// Whether the command itself takes time of the link in addition to its data.
    pub(super) command: bool,
}

#[derive(Debug)]
pub(super) struct Lanes {
    link: Link,
    /// Towards the host and from it; the first alone if only one direction works at a time.
    lanes: [Lane; 2],
}

#[derive(Debug)]
struct Lane {
    /// Time at which the turn under way ends; `u64::MAX` if there is none.
    ends: u64,
    turn: Option<Turn>,
    /// Commands that have data for it.
    waiting: VecDeque<ReqId>,
}

impl Lanes {
    pub(super) fn new(link: Link) -> Self {
        let lane = || Lane { ends: u64::MAX, turn: None, waiting: VecDeque::new() };
        Self { link, lanes: [lane(), lane()] }
    }

    /// Queues a command that has data to pass, behind those that wait already.
    pub(super) fn queue(&mut self, way: Way, id: ReqId) {
        let second = self.link.full_duplex && matches!(way, Way::FromHost);
        self.lanes[usize::from(second)].waiting.push_back(id);
    }

    /// Begins a turn on each direction that is idle; `turn` returns what passes.
    pub(super) fn begin(&mut self, at: u64, mut turn: impl FnMut(ReqId) -> Turn) {
        for lane in &mut self.lanes {
            if lane.turn.is_none()
                && let Some(id) = lane.waiting.pop_front()
            {
                let turn = turn(id);
                let command = if turn.command { self.link.overhead.ns() } else { 0 };
                lane.ends = at + ns_at(self.link.rate, turn.bytes) + command;
                lane.turn = Some(turn);
            }
        }
    }

    /// Returns when the next turn ends.
    pub(super) fn next(&self) -> u64 {
        self.lanes[0].ends.min(self.lanes[1].ends)
    }

    /// Ends the next turn.
    pub(super) fn end(&mut self) -> Option<Turn> {
        let second = self.lanes[1].ends < self.lanes[0].ends;
        let lane = &mut self.lanes[usize::from(second)];
        lane.ends = u64::MAX;
        lane.turn.take()
    }
}
