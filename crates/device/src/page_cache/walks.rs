//! Walks through the pages of a request one by one: finding, reading, writing, writing back.

use std::ops::Range;

use penstock_core::{Device, Flags, Io, Op, ReqId, Time};

use super::cache::PageCache;
use super::commands::Kind;
use super::entry::CacheRequest;
use super::options::LONGEST;
use super::pages::Writer;

/// The result of a walk.
pub(super) enum Walk {
    /// All pages are done.
    Through,
    /// The next page needs a command to complete first.
    Wait,
    /// The request waits for a free page.
    Starved,
    /// The request waits until fewer pages are dirty.
    Throttled,
}

impl<D: Device> PageCache<D> {
    pub(super) fn read_pages(&mut self, now: Time, id: ReqId) -> Walk {
        let CacheRequest { req, extent, first: start, end, at: mut number, again, .. } =
            *self.entry(id);
        while number < end {
            let Some(slot) = self.pages.find(number) else {
                let upto = self.upto(id);
                let read = self.read_run(now, &req.io, extent, Some(id), number..end, upto);
                if read == 0 {
                    return Walk::Starved;
                }
                number = (number + u64::from(read)).min(end);
                self.entry(id).at = number;
                continue;
            };
            let page = *self.pages.page(slot);
            if page.reading() {
                self.wait(page.command, id);
                if page.stale() {
                    return Walk::Wait;
                }
            } else {
                let entry = self.entry(id);
                entry.begun = entry.begun.min(now);
            }
            if !(again && number == start) {
                self.pages.touch(slot);
            }
            number += 1;
            self.entry(id).at = number;
        }
        Walk::Through
    }

    /// Returns the end of the read for `id`, which has just missed a page.
    fn upto(&mut self, id: ReqId) -> u64 {
        let entry = *self.entry(id);
        let (end, pages) = (self.extents.get(entry.extent).pages_end(), entry.pages());
        let missed = || self.streams.missed((entry.req.stream, entry.extent), &pages);
        let upto = entry.upto.unwrap_or_else(missed).min(end);
        self.entry(id).upto = Some(upto);
        upto
    }

    /// Reads the pages of `window` of `extent` that are not in memory, as far as there is room.
    pub(super) fn read_ahead(&mut self, now: Time, io: &Io, extent: usize, window: Range<u64>) {
        let end = window.end.min(self.extents.get(extent).pages_end());
        let mut number = window.start;
        while number < end {
            if self.pages.find(number).is_some() {
                number += 1;
                continue;
            }
            match self.read_run(now, io, extent, None, number..number, end) {
                0 => return,
                read => number += u64::from(read),
            }
        }
    }

    /// Sends one command that reads the missing pages of `extent` from the first of `requested` on,
    /// up to `upto`; `payer` waits for it. Returns their number; zero if there is no memory.
    fn read_run(
        &mut self,
        now: Time,
        io: &Io,
        extent: usize,
        payer: Option<ReqId>,
        requested: Range<u64>,
        upto: u64,
    ) -> u32 {
        let command = self.commands.begin(Kind::Read, extent, requested.start, payer);
        let mut count = 0;
        while count < LONGEST && requested.start + u64::from(count) < upto {
            let number = requested.start + u64::from(count);
            if self.pages.find(number).is_some() {
                break;
            }
            let Some(slot) = self.pages.take(number, extent) else { break };
            self.pages.read(slot, command);
            if number < requested.end {
                self.pages.touch(slot);
            }
            count += 1;
        }
        if count == 0 {
            self.commands.forget(command);
            return 0;
        }
        let io = Io { due: now, op: Op::Read, flags: Flags::NONE, ..*io };
        self.queue(extent, command, requested.start, count, io);
        if let Some(payer) = payer {
            self.wait(command, payer);
        }
        count
    }

    pub(super) fn write_pages(&mut self, now: Time, id: ReqId) -> Walk {
        let CacheRequest { req, extent, first: start, end, at: mut number, again, .. } =
            *self.entry(id);
        let writer = Writer::of(&req.io);
        let device = self.extents.get(extent).device;
        while number < end {
            let cached = self.pages.find(number);
            let page = cached.map(|slot| *self.pages.page(slot));
            if let Some(page) = page
                && page.stale()
            {
                self.wait(page.command, id);
                return Walk::Wait;
            }
            if !page.is_some_and(|page| page.unclean())
                && !self.limits.allows(device, self.pages.unclean())
            {
                return Walk::Throttled;
            }
            let Some(slot) = cached.or_else(|| self.pages.take(number, extent)) else {
                return Walk::Starved;
            };
            if cached.is_none() && !self.covers(&req.io, extent, number) {
                let command = self.commands.begin(Kind::Read, extent, number, Some(id));
                self.pages.read(slot, command);
                let io = Io { due: now, op: Op::Read, flags: Flags::NONE, ..req.io };
                self.queue(extent, command, number, 1, io);
            }
            if self.pages.page(slot).reading() {
                self.wait(self.pages.page(slot).command, id);
            } else if !req.flags.has(Flags::FUA) {
                let entry = self.entry(id);
                entry.begun = entry.begun.min(now);
            }
            self.pages.write(slot, now, writer);
            if !(again && number == start) {
                self.pages.touch(slot);
            }
            number += 1;
            self.entry(id).at = number;
        }
        Walk::Through
    }

    /// Whether `io` covers the whole page `number`, as far as `extent` goes.
    fn covers(&self, io: &Io, extent: usize, number: u64) -> bool {
        let (start, len) = self.extents.get(extent).bytes(number, 1);
        io.start <= start && start + u64::from(len) <= io.end()
    }

    /// Writes back the dirty pages in the range of `id`.
    pub(super) fn write_back_pages(&mut self, now: Time, id: ReqId) -> Walk {
        let entry = *self.entry(id);
        let (mut number, end) = (entry.at, entry.end);
        let forced = entry.buffered() && entry.forced();
        let device = self.extents.get(entry.extent).device;
        if self.pages.unclean().unclean_on(device) == 0 {
            self.entry(id).unforced = true;
            return Walk::Through;
        }
        while number < end {
            let slot = self.pages.find(number);
            let page = slot.map(|slot| *self.pages.page(slot));
            let (dirty, writing) =
                page.map_or((false, false), |page| (page.dirty(), page.writing()));
            if let Some(page) = page
                && writing
            {
                self.wait(page.command, id);
            }
            if dirty && writing {
                // Two writes of a page are never on the device at once.
                self.entry(id).at = number;
                return Walk::Wait;
            }
            if let Some(slot) = slot
                && dirty
            {
                let flags = Flags::SYNC.with(if forced { Flags::FUA } else { Flags::NONE });
                number += u64::from(self.write_run(now, slot, end, flags, Some(id)));
            } else {
                self.entry(id).unforced = true;
                number += 1;
            }
        }
        self.entry(id).at = number;
        Walk::Through
    }
}
