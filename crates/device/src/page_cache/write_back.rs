//! When dirty pages are written, and in which order.
//!
//! Reasons are those of the `vm.dirty_*` sysctls: more is dirty than `dirty_background`, or a page
//! is dirty for `dirty_expire`, which is looked at every `dirty_writeback`; and a flush. Pages are
//! written in passes: a pass takes all that is dirty (or old, if that is the reason) and goes
//! through it in the order of addresses. Neighbours of one class that are dirty go in one command.
//! A pass that was begun is gone on with before the next begins, so no page waits for ever.

use penstock_core::{Device, Flags, Io, Op, ReqId, Span, Time};

use super::cache::PageCache;
use super::commands::Kind;
use super::options::LONGEST;

/// Commands that write-back has below at once, of what nobody waits for: the usual `nr_requests` of
/// a disk's queue.
const AT_ONCE: u32 = 128;

impl<D: Device> PageCache<D> {
    /// Writes back what is to be, as far as there may be commands below.
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

    /// One command that writes the dirty pages of one class from `slot` on, up to the page `upto`;
    /// `payer` waits for it, or it is of the background. How many they are.
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

    /// A flush goes on when all that it covers is on its way; then it waits for that, and flushes
    /// below.
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
