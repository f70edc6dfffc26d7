//! Selects the next dirty page to write, and the times at which old pages are looked for.

use std::cmp::Reverse;
use std::ops::Range;

use penstock_core::{Span, Time};

use super::pages::Pages;

/// The state of write-back to one device.
#[derive(Clone, Debug)]
pub(super) struct WriteBack {
    expire: Span,
    pub(super) interval: Span,
    /// Time of the next search for old pages.
    pub(super) tick: Time,
    /// Pages that became dirty before this time are old.
    old: Option<Time>,
    /// Numbers and slots of the pages that remain in this pass, the last one first.
    pass: Vec<(u64, u32)>,
    /// Number of commands on the device.
    pub(super) below: u32,
}

impl WriteBack {
    pub(super) fn new(expire: Span, interval: Span) -> Self {
        let (tick, old, pass, below) = (Time::NEVER, None, Vec::new(), 0);
        Self { expire, interval, tick, old, pass, below }
    }

    /// Returns the time of the next search for old pages.
    pub(super) fn tick(&self) -> Time {
        self.tick
    }

    /// Marks pages as old, if it is time.
    pub(super) fn mark_old(&mut self, now: Time) {
        if self.tick <= now {
            self.tick = Time::NEVER;
            self.old = (now.since(Time::ZERO) >= self.expire).then(|| now - self.expire);
        }
    }

    /// Counts a completed command of write-back.
    pub(super) fn ended(&mut self) {
        self.below -= 1;
    }

    /// Returns the next page of `extents` to write, if there is one; some pages of `extents` are
    /// dirty. Pages of any age are written if there are `many`. `covered` has the newest stamp of
    /// each extent that a flush covers.
    pub(super) fn next(
        &mut self,
        pages: &Pages,
        many: bool,
        extents: &Range<usize>,
        covered: &[u64],
    ) -> Option<u32> {
        let old = self.old;
        let wanted = |&slot: &u32| {
            let page = pages.page(slot);
            let is_old = old.is_some_and(|old| page.dirtied <= old);
            many || is_old || page.stamp <= covered[page.extent as usize]
        };
        let oldest = |extent| pages.oldest(extent).next();
        if !many && !extents.clone().filter_map(oldest).any(|slot| wanted(&slot)) {
            return None;
        }
        loop {
            while let Some((number, slot)) = self.pass.pop() {
                let page = pages.page(slot);
                if page.number == number && page.dirty() && !page.writing() {
                    return Some(slot);
                }
            }
            for extent in extents.clone() {
                let candidates = pages.oldest(extent).take_while(wanted);
                let idle = candidates.filter(|&slot| !pages.page(slot).writing());
                self.pass.extend(idle.map(|slot| (pages.page(slot).number, slot)));
            }
            self.pass.sort_unstable_by_key(|&(number, _)| Reverse(number));
            if self.pass.is_empty() {
                return None;
            }
        }
    }
}
