//! When dirty pages are written, and in which order.
//!
//! Reasons are those of the `vm.dirty_*` sysctls: more is dirty than `dirty_background`, or a page
//! is dirty for `dirty_expire`, which is checked every `dirty_writeback`; and a flush. Pages are
//! written in passes: a pass takes all dirty pages (or all old ones, if that is the reason) and
//! goes through them in the order of addresses. Dirty neighbours of one class go in one command. A
//! pass ends before the next begins, so no page waits for ever.

use penstock_core::{Device, Flags, Io, Op, ReqId, Span, Time};

use super::cache::PageCache;
use super::commands::Kind;
use super::options::LONGEST;

/// The limit on commands of write-back that are below at once without a waiting request: the usual
/// `nr_requests` of a disk's queue.
const AT_ONCE: u32 = 128;

impl<D: Device> PageCache<D> {
    /// Writes back pages that are due, as far as the limit on commands allows.
    pub(super) fn write_back(&mut self, now: Time) {
        let flush = self.flushes.back().copied();
        let covered = flush.map(|id| self.entry(id).covers_until());
        while self.back.below < AT_ONCE
            && let Some(slot) = self.back.next(&self.pages, covered)
        {
            self.back.below += 1;
            self.write_run(now, slot, u64::MAX, Flags::NONE, None);
        }
        let back = &mut self.back;
        if back.tick == Time::NEVER && back.interval > Span::ZERO && self.pages.dirty() > 0 {
            back.tick = now + back.interval;
        }
    }

    /// Sends one command that writes the dirty pages of one class from `slot` on, up to the page
    /// `upto`. `payer` waits for it, or it is of the background. Returns how many pages they are.
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
        let command = self.commands.begin(kind, first.number, payer);
        self.pages.send(slot, command);
        let mut count = 1;
        while count < LONGEST && first.number + u64::from(count) < upto {
            let Some(slot) = self.pages.find(first.number + u64::from(count)) else { break };
            let page = self.pages.page(slot);
            let alike = page.writer.class == first.writer.class;
            if !alike || !page.dirty() || page.writing() {
                break;
            }
            self.pages.send(slot, command);
            count += 1;
        }
        let writer = first.writer;
        let (stream, class, prio) = (writer.stream, writer.class, writer.prio);
        let io = Io { due: now, start: 0, len: 0, stream, class, op: Op::Write, prio, flags };
        self.commands.queue(command, count, self.range(first.number, count, io));
        if let Some(payer) = payer {
            self.wait(command, payer);
        }
        count
    }

    /// Continues a flush when all pages that it covers are under way. It then waits for them, and
    /// flushes below.
    pub(super) fn release_flushes(&mut self, now: Time) {
        while let Some(&id) = self.flushes.front() {
            let covered = self.entry(id).covers_until();
            let left = self.pages.oldest().next();
            if left.is_some_and(|slot| self.pages.page(slot).stamp <= covered) {
                return;
            }
            self.flushes.pop_front();
            for at in 0..self.commands.writes().len() {
                let command = self.commands.writes()[at];
                self.wait(command, id);
            }
            self.step(now, id);
        }
    }
}
