//! The path of a request through the cache.
//!
//! A request goes through its pages one by one. It stops where it must wait, and continues from
//! there. A forced write then goes through them a second time to have them written back. A direct
//! request does only the latter before it goes to the device.

use std::cmp::Reverse;
use std::collections::VecDeque;

use penstock_core::{Device, Flags, Io, Op, ReqId, Request, Span, Time};

use super::cache::PageCache;
use super::commands::Kind;
use super::entry::{CacheRequest, Phase};
use super::walks::Walk;

impl<D: Device> PageCache<D> {
    /// Accepts `req`.
    pub(super) fn arrive(&mut self, now: Time, req: &Request) {
        let number = self.extents.of(req.start);
        let extent = self.extents.get(number);
        let pages = extent.pages(req.start, req.end());
        let within = pages.end <= extent.pages_end() || req.op == Op::Flush;
        assert!(within, "{req:?} reaches behind what lies there: {extent:?}");
        let device = extent.device;
        let mut entry = CacheRequest {
            req: *req,
            extent: number,
            first: pages.start,
            end: pages.end,
            arrived: now,
            begun: Time::NEVER,
            service: Span::ZERO,
            error: None,
            pending: 0,
            stalled: false,
            phase: Phase::Pages,
            at: pages.start,
            upto: None,
            again: false,
            unforced: false,
        };
        let reader = (req.stream, number);
        let mut ahead = None;
        if req.op == Op::Flush {
            (entry.phase, entry.at) = (Phase::Flush, self.pages.stamp());
        } else if !entry.buffered() {
            entry.phase = Phase::Back;
        } else {
            entry.again = self.streams.again(reader, pages.start);
            if req.op == Op::Read {
                let arrival = self.streams.read(reader, &pages);
                let known = !arrival.sequential || arrival.ahead.is_some();
                entry.upto = known.then_some(pages.end);
                ahead = arrival.ahead;
            } else {
                self.streams.write(reader, &pages);
            }
        }
        let id = self.requests.insert_with(|_| entry);
        if req.op == Op::Flush {
            self.lanes[device].flushes.push_back(id);
            self.covered[self.extents.flushed(number)].fill(self.pages.stamp());
            return;
        }
        self.step(now, id);
        if let Some(ahead) = ahead {
            self.read_ahead(now, &req.io, number, ahead);
        }
    }

    /// Advances a request as far as possible.
    pub(super) fn step(&mut self, now: Time, id: ReqId) {
        loop {
            let entry = *self.entry(id);
            let walk = match (entry.phase, entry.req.op) {
                (Phase::Pages, Op::Read) => self.read_pages(now, id),
                (Phase::Pages, _) => self.write_pages(now, id),
                (Phase::Back, _) => self.write_back_pages(now, id),
                (Phase::Below | Phase::Flush, _) => Walk::Through,
            };
            let queue = match walk {
                Walk::Wait => return,
                Walk::Through => None,
                Walk::Starved => Some(&mut self.starved),
                Walk::Throttled => {
                    let device = self.extents.get(entry.extent).device;
                    Some(&mut self.lanes[device].throttled)
                }
            };
            if let Some(queue) = queue {
                queue.push_back(id);
                self.entry(id).stalled = true;
                return;
            }
            if self.entry(id).pending > 0 {
                return;
            }
            match entry.phase {
                Phase::Pages if entry.forced() && entry.req.op == Op::Write => {
                    let first = entry.pages().start;
                    let entry = self.entry(id);
                    (entry.phase, entry.at) = (Phase::Back, first);
                }
                Phase::Back if entry.buffered() && !self.entry(id).unforced => {
                    return self.copy(now, id);
                }
                Phase::Pages => return self.copy(now, id),
                Phase::Back | Phase::Flush => return self.send_below(now, id),
                Phase::Below => return self.completed_below(now, id),
            }
        }
    }

    /// Copies the request `id`, whose pages are all in memory, and ends it.
    fn copy(&mut self, now: Time, id: ReqId) {
        let len = self.entry(id).req.len;
        let takes = self.base + self.per_mb.share(len.into(), 1_000_000);
        self.end(now + takes, id);
    }

    /// Ends the request at the time `at`.
    fn end(&mut self, at: Time, id: ReqId) {
        self.copied += 1;
        self.copies.push(Reverse((at, self.copied, id)));
    }

    /// Sends a direct request to the device as it is, or a flush for a flush or for a write that
    /// was not forced.
    fn send_below(&mut self, now: Time, id: ReqId) {
        let entry = *self.entry(id);
        let device = self.extents.get(entry.extent).device;
        let mut io = entry.req.io;
        if entry.buffered() {
            let start = self.extents.device_start(device);
            io = Io { op: Op::Flush, due: now, start, len: 0, flags: Flags::SYNC, ..io };
        } else {
            self.outdate(&entry);
            self.entry(id).begun = Time::NEVER;
        }
        self.entry(id).phase = Phase::Below;
        let command = self.commands.begin(Kind::Whole, entry.extent, 0, Some(id));
        let flags = io.flags.without(Flags::BUFFERED);
        self.commands.queue(device, command, 0, Io { flags, ..io });
        self.wait(command, id);
    }

    /// Continues after the command of [`send_below`](Self::send_below) has completed.
    fn completed_below(&mut self, now: Time, id: ReqId) {
        let entry = *self.entry(id);
        if entry.buffered() {
            return self.copy(now, id);
        }
        self.outdate(&entry);
        if entry.req.op == Op::Flush {
            let flushed = &mut self.failed[self.extents.flushed(entry.extent)];
            let failed = flushed.iter_mut().fold(None, |first, error| first.or(error.take()));
            self.entry(id).error = entry.error.or(failed);
        }
        self.end(now, id);
    }

    /// Marks the pages of a range that is written directly as out of date.
    fn outdate(&mut self, entry: &CacheRequest) {
        if matches!(entry.req.op, Op::Write | Op::Discard) {
            for number in entry.pages() {
                if let Some(slot) = self.pages.find(number) {
                    self.pages.outdate(slot);
                }
            }
        }
    }

    /// Continues requests that wait for memory or for permission to write, as far as possible.
    pub(super) fn resume(&mut self, now: Time) {
        self.resume_queue(now, |cache| &mut cache.starved);
        for device in 0..self.lanes.len() {
            self.resume_queue(now, |cache| &mut cache.lanes[device].throttled);
        }
    }

    fn resume_queue(&mut self, now: Time, queue: impl Fn(&mut Self) -> &mut VecDeque<ReqId>) {
        while let Some(id) = queue(self).pop_front() {
            self.entry(id).stalled = false;
            self.step(now, id);
            // A request that has to wait again stays the first.
            if queue(self).back() == Some(&id) {
                queue(self).rotate_right(1);
                return;
            }
        }
    }
}
