//! Which class is next.
//!
//! One order serves both questions: who may send comes before who only waits. So if the first may
//! not send, nobody may, and it is the one that fills an under-loaded disk.

use alloc::vec::Vec;

use crate::queue::Tournament;

use super::class::Class;
use super::settings::Fill;

/// The classes that wait in their order, kept current with every change of one.
#[derive(Debug)]
pub(super) struct Ranking {
    fill: Option<Fill>,
    /// Those that may send: 0, then by arrival of their first requests. Behind them the others, in
    /// the order in which they fill: 1 and more.
    order: Tournament<(u128, u64)>,
    /// By class: it has something queued; it has something queued or in flight, and some of its share
    /// left.
    flags: Vec<[bool; 2]>,
    /// How many classes have each of them.
    counts: [u32; 2],
}

impl Ranking {
    pub(super) fn new(fill: Option<Fill>) -> Self {
        Self { fill, order: Tournament::default(), flags: Vec::new(), counts: [0; 2] }
    }

    /// All classes may have changed; `first` is the arrival number of the first request that a class
    /// has queued.
    pub(super) fn refresh(&mut self, classes: &[Class], first: impl Fn(u32) -> Option<u64>) {
        for (n, class) in classes.iter().enumerate() {
            self.update(n as u32, class, first(n as u32));
        }
    }

    /// `class` has changed.
    pub(super) fn update(&mut self, number: u32, class: &Class, first: Option<u64>) {
        let at = number as usize;
        if at >= self.flags.len() {
            self.flags.resize(at + 1, [false; 2]);
        }
        let left = class.left() > 0;
        let key = first.map(|first| match self.fill {
            _ if left && !class.held => (0, first),
            Some(Fill::Weighted) => (class.normalized() + 1, first),
            _ => (1, first),
        });
        if self.order.key(number) != key {
            self.order.set(number, key);
        }
        let flags = [first.is_some(), class.busy() && left];
        let before = core::mem::replace(&mut self.flags[at], flags);
        if before != flags {
            for ((count, old), new) in self.counts.iter_mut().zip(before).zip(flags) {
                *count = *count + u32::from(new) - u32::from(old);
            }
        }
    }

    /// The class whose first request is the oldest of those that have some of their share left.
    pub(super) fn eligible(&self) -> Option<u32> {
        self.order.first().filter(|&class| self.order.key(class).is_some_and(|key| key.0 == 0))
    }

    /// The class that fills an under-loaded disk, if none is eligible.
    pub(super) fn to_fill(&self) -> Option<u32> {
        self.order.first()
    }

    /// Classes with something queued.
    pub(super) fn waiting(&self) -> u32 {
        self.counts[0]
    }

    /// Classes with something queued or in flight, and some of their share left.
    pub(super) fn open(&self) -> u32 {
        self.counts[1]
    }
}
