//! Which dirty page is written next, and when dirty pages are looked at.

use std::cmp::Reverse;
use std::ops::Range;

use penstock_core::{Span, Time};

use super::pages::Pages;

/// What decides on write-back to one device.
#[derive(Clone, Debug)]
pub(super) struct WriteBack {
    expire: Span,
    pub(super) interval: Span,
    /// When it looks for old pages.
    pub(super) tick: Time,
    /// Pages that became dirty before this time are old.
    old: Option<Time>,
    /// Numbers and slots of the pages that remain in this pass, the last of them first.
    pass: Vec<(u64, u32)>,
    /// Commands below.
    pub(super) below: u32,
}

impl WriteBack {
    pub(super) fn new(expire: Span, interval: Span) -> Self {
        let (tick, old, pass, below) = (Time::NEVER, None, Vec::new(), 0);
        Self { expire, interval, tick, old, pass, below }
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

    /// A command of write-back completed.
    pub(super) fn ended(&mut self) {
        self.below -= 1;
    }

    /// The next page of `extents`, of which some are dirty, to write, if there is one: of any age where
    /// there are `many`.
    /// `covered` has the newest stamp of each extent that a flush covers.
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
                let found = pages.oldest(extent).take_while(wanted);
                let idle = found.filter(|&slot| !pages.page(slot).writing());
                self.pass.extend(idle.map(|slot| (pages.page(slot).number, slot)));
            }
            self.pass.sort_unstable_by_key(|&(number, _)| Reverse(number));
            if self.pass.is_empty() {
                return None;
            }
        }
    }
}
