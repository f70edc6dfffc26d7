//! When dirty pages are written, and in which order.
//!
//! Reasons are those of the `vm.dirty_*` sysctls: more is dirty than `dirty_background`, or a page
//! is dirty for `dirty_expire`, which is looked at every `dirty_writeback`; and a flush. Pages are
//! written in passes: a pass takes all that is dirty (or old, if that is the reason) and goes
//! through it in the order of addresses. Neighbours of one class that are dirty go in one command.
//! A pass that was begun is gone on with before the next begins, so no page waits for ever.

use std::cmp::Reverse;

use penstock_core::{Device, Flags, Io, Op, ReqId, Span, Time};

use super::commands::Kind;
use super::pages::Pages;
use super::{LONGEST, PageCache};

/// Commands that write-back has below at once, of what nobody waits for: the usual `nr_requests` of
/// a disk's queue.
const AT_ONCE: u32 = 128;

/// What decides on write-back.
#[derive(Debug)]
pub(super) struct WriteBack {
    /// Dirty pages from which on it begins.
    background: u32,
    expire: Span,
    interval: Span,
    /// When it looks for old pages.
    tick: Time,
    /// Pages that became dirty until then are old.
    old: Option<Time>,
    /// Numbers and slots of the pages of this pass that are left, the last of them first.
    pass: Vec<(u64, u32)>,
    /// Commands below.
    below: u32,
}

impl WriteBack {
    pub(super) fn new(background: u32, expire: Span, interval: Span) -> Self {
        let (tick, old, pass, below) = (Time::NEVER, None, Vec::new(), 0);
        Self { background, expire, interval, tick, old, pass, below }
    }

    /// When it looks for old pages.
    pub(super) fn tick(&self) -> Time {
        self.tick
    }

    /// Looks for old pages, if it is time.
    pub(super) fn look(&mut self, now: Time) {
        if self.tick <= now {
            self.tick = Time::NEVER;
            self.old = (now.since(Time::ZERO) >= self.expire).then(|| now - self.expire);
        }
    }

    /// A command of it came back.
    pub(super) fn ended(&mut self) {
        self.below -= 1;
    }

    /// The page that is written next, if one is to be; `covered` is the newest stamp that a flush
    /// waits for.
    fn next(&mut self, pages: &Pages, covered: Option<u64>) -> Option<u32> {
        let (many, old) = (pages.dirty() > self.background, self.old);
        let wanted = |&slot: &u32| {
            let page = pages.page(slot);
            let is_old = old.is_some_and(|old| page.dirtied <= old);
            many || is_old || covered.is_some_and(|last| page.stamp <= last)
        };
        pages.oldest().next().filter(wanted)?;
        loop {
            while let Some((number, slot)) = self.pass.pop() {
                let page = pages.page(slot);
                if page.number == number && page.dirty() && !page.writing() {
                    return Some(slot);
                }
            }
            let found = pages.oldest().take_while(wanted);
            let idle = found.filter(|&slot| !pages.page(slot).writing());
            self.pass.extend(idle.map(|slot| (pages.page(slot).number, slot)));
            self.pass.sort_unstable_by_key(|&(number, _)| Reverse(number));
            if self.pass.is_empty() {
                return None;
            }
        }
    }
}

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
