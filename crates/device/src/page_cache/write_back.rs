//! Write-back: when dirty pages are written, and in which order.
//!
//! Each device has write-back of its own, with its own limit on commands; `limits` has the limits
//! on dirty pages.
//!
//! The reasons are those of the `vm.dirty_*` sysctls (more than `dirty_background` is dirty, or a
//! page has been dirty for `dirty_expire`, which is checked every `dirty_writeback`) and flushes.
//! Pages are written in passes: a pass takes all dirty pages (or all old ones, if that is the
//! reason) and goes through them in the order of addresses. Dirty neighbours of one class go in one
//! command. A pass ends before the next begins, so no page waits for ever.

use penstock_core::{Device, Flags, Io, Op, ReqId, Span, Time};

use super::cache::PageCache;
use super::commands::Kind;
use super::options::LONGEST;

/// Most commands of write-back on one device without a waiting request: the default `nr_requests`
/// of a disk's queue.
const AT_ONCE: u32 = 128;

impl<D: Device> PageCache<D> {
    /// Writes back pages that are due, as far as the limit on commands allows.
    pub(super) fn write_back(&mut self, now: Time) {
        for device in 0..self.lanes.len() {
            if self.pages.dirty_on(device) > 0 {
                self.write_back_to(now, device);
            }
        }
    }

    fn write_back_to(&mut self, now: Time, device: usize) {
        let extents = self.extents.on(device);
        while self.lanes[device].back.below < AT_ONCE && self.pages.dirty_on(device) > 0 {
            let many = self.pages.dirty_on(device) > self.limits.background(device);
            let back = &mut self.lanes[device].back;
            let Some(slot) = back.next(&self.pages, many, &extents, &self.covered) else { break };
            back.below += 1;
            self.write_run(now, slot, u64::MAX, Flags::NONE, None);
        }
        let back = &mut self.lanes[device].back;
        let dirty = self.pages.dirty_on(device) > 0;
        if back.tick == Time::NEVER && back.interval > Span::ZERO && dirty {
            back.tick = now + back.interval;
        }
    }

    /// Sends one command that writes the dirty pages of one class from `slot` on, up to the page
    /// `upto`. `payer` waits for it; `None` for background write-back. Returns the number of pages.
    pub(super) fn write_run(
        &mut self,
        now: Time,
        slot: u32,
        upto: u64,
        flags: Flags,
        payer: Option<ReqId>,
    ) -> u32 {
        let first = *self.pages.page(slot);
        let kind = if payer.is_some() { Kind::Write } else { Kind::Background };
        let extent = first.extent as usize;
        let command = self.commands.begin(kind, extent, first.number, payer);
        self.pages.send(slot, command);
        let mut count = 1;
        while count < LONGEST && first.number + u64::from(count) < upto {
            let Some(slot) = self.pages.find(first.number + u64::from(count)) else { break };
            let page = self.pages.page(slot);
            let same_class = page.writer.class == first.writer.class;
            if !same_class || !page.dirty() || page.writing() {
                break;
            }
            self.pages.send(slot, command);
            count += 1;
        }
        let writer = first.writer;
        let (stream, class, prio) = (writer.stream, writer.class, writer.prio);
        let io = Io { due: now, start: 0, len: 0, stream, class, op: Op::Write, prio, flags };
        self.queue(extent, command, first.number, count, io);
        if let Some(payer) = payer {
            self.wait(command, payer);
        }
        count
    }

    /// Continues each flush whose pages are all being written: it waits for these writes, then
    /// flushes the device.
    pub(super) fn release_flushes(&mut self, now: Time) {
        for device in 0..self.lanes.len() {
            let mut at = 0;
            while let Some(&id) = self.lanes[device].flushes.get(at) {
                if self.is_under_way(id) {
                    self.lanes[device].flushes.remove(at);
                    self.wait_for_writes(now, id);
                } else {
                    at += 1;
                }
            }
        }
    }

    /// Whether no page that the flush `id` covers still waits to be written.
    fn is_under_way(&mut self, id: ReqId) -> bool {
        let entry = *self.entry(id);
        let covered = |slot| self.pages.page(slot).stamp <= entry.covers_until();
        let mut extents = self.extents.flushed(entry.extent);
        !extents.any(|extent| self.pages.oldest(extent).next().is_some_and(covered))
    }

    /// Makes the flush `id` wait for all writes of the extents that it covers.
    fn wait_for_writes(&mut self, now: Time, id: ReqId) {
        let extent = self.entry(id).extent;
        let extents = self.extents.flushed(extent);
        for at in 0..self.commands.writes().len() {
            let command = self.commands.writes()[at];
            if extents.contains(&self.commands.extent(command)) {
                self.wait(command, id);
            }
        }
        self.step(now, id);
    }
}
