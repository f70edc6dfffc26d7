//! The way to the host: one direction or both, in order.

use std::collections::VecDeque;

use penstock_core::ReqId;

use super::facts::{Link, ns_at};

/// A direction of the link.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    ToHost,
    FromHost,
}

/// A transfer over the link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passing {
    /// When it may begin, and then when it has ended.
    pub(super) at: u64,
    pub(super) id: ReqId,
    pub(super) bytes: u32,
    /// Whether it is the last of its command.
    pub(super) last: bool,
}

#[derive(Debug)]
pub(super) struct Lanes {
    link: Link,
    /// Towards the host and from it; the first alone if one direction goes at a time.
    lanes: [Lane; 2],
}

#[derive(Debug, Default)]
struct Lane {
    free: u64,
    passing: VecDeque<Passing>,
}

impl Lanes {
    pub(super) fn new(link: Link) -> Self {
        Self { link, lanes: [Lane::default(), Lane::default()] }
    }

    /// Books a transfer behind all earlier ones, with the overhead of a `command` in addition to
    /// its data.
    pub(super) fn book(&mut self, way: Way, command: bool, passing: Passing) {
        let Link { rate, full_duplex, overhead } = self.link;
        let lane = &mut self.lanes[usize::from(full_duplex && matches!(way, Way::FromHost))];
        let overhead = if command { overhead.ns() } else { 0 };
        lane.free = passing.at.max(lane.free) + ns_at(rate, passing.bytes) + overhead;
        lane.passing.push_back(Passing { at: lane.free, ..passing });
    }

    /// When the next transfer has ended.
    pub(super) fn next(&self) -> u64 {
        self.lanes[0].next().min(self.lanes[1].next())
    }

    /// Takes the next off.
    pub(super) fn pop(&mut self) -> Option<Passing> {
        let second = self.lanes[1].next() < self.lanes[0].next();
        self.lanes[usize::from(second)].passing.pop_front()
    }
}

impl Lane {
    fn next(&self) -> u64 {
        self.passing.front().map_or(u64::MAX, |passing| passing.at)
    }
}
