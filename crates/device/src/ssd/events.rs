//! Future events of dies and channels, in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use penstock_core::ReqId;

/// The part of a read that lies in one page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Page {
    pub(super) id: ReqId,
    pub(super) die: u32,
    pub(super) bytes: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Event {
    /// A die has fetched the `nth` page of a read, if pages before it have not held it up for longer
    /// than `held_up` since the die was made.
    Fetched { id: ReqId, nth: u32, held_up: u64 },
    /// Bytes of a read have passed a channel.
    Out { id: ReqId, bytes: u32 },
    /// A die may have ended an operation for writes.
    Worked { die: u32 },
    /// A die of a chip of several has fetched a page.
    Read(Page),
    /// This page has passed its channel.
    Passed(Page),
    /// Data to be programmed have passed the channel of a die.
    Sent { die: u32 },
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct PlannedEvent {
    at: u64,
    order: u32,
    event: Event,
}

#[derive(Debug, Default)]
pub(super) struct Events {
    dies: Heap,
    /// Channel events are few at a time, so a heap of their own is faster.
    channels: Heap,
    /// Number of planned events, modulo 2^32: events of one instant happen in the order in which
    /// they were planned.
    planned: u32,
}

#[derive(Debug, Default)]
struct Heap(BinaryHeap<Reverse<PlannedEvent>>);

impl Heap {
    fn next(&self) -> u64 {
        self.0.peek().map_or(u64::MAX, |Reverse(event)| event.at)
    }
}

impl Events {
    pub(super) fn plan(&mut self, at: u64, event: Event) {
        let channel = matches!(event, Event::Out { .. } | Event::Passed(_));
        let heap = if channel { &mut self.channels } else { &mut self.dies };
        heap.0.push(Reverse(PlannedEvent { at, order: self.planned, event }));
        self.planned = self.planned.wrapping_add(1);
    }

    /// Returns when the next event is due.
    pub(super) fn next(&self) -> u64 {
        self.dies.next().min(self.channels.next())
    }

    /// Removes the next event; at one instant, events of a channel come before those of a die.
    pub(super) fn pop(&mut self) -> Option<Event> {
        let die = self.dies.next() < self.channels.next();
        let heap = if die { &mut self.dies } else { &mut self.channels };
        heap.0.pop().map(|Reverse(event)| event.event)
    }
}
