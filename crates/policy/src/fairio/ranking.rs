//! The order of the classes: which may send next, and which fills an under-loaded disk.
//!
//! One order answers both: classes that may send come before classes that only wait. So if the
//! first may not send, none may, and the first is the one that fills an under-loaded disk.

use alloc::vec::Vec;

use crate::queue::Tournament;

use super::class::Class;
use super::settings::Fill;

/// The waiting classes in order, updated at every change of a class.
#[derive(Debug)]
pub(super) struct Ranking {
    fill: Option<Fill>,
    /// Key 0 for classes that may send, 1 or more for the others in the order in which they fill;
    /// ties go by the arrival of the first requests.
    order: Tournament<(u128, u64)>,
    /// Two flags of each class: it has requests queued; it has requests queued or in flight and
    /// some of its share left.
    flags: Vec<[bool; 2]>,
    /// Number of classes with each flag.
    counts: [u32; 2],
}

impl Ranking {
    pub(super) fn new(fill: Option<Fill>) -> Self {
        Self { fill, order: Tournament::default(), flags: Vec::new(), counts: [0; 2] }
    }

    /// Updates all classes. `first` returns the arrival number of the first queued request of a
    /// class.
    pub(super) fn refresh(&mut self, classes: &[Class], first: impl Fn(u32) -> Option<u64>) {
        for (n, class) in classes.iter().enumerate() {
            self.update(n as u32, class, first(n as u32));
        }
    }

    /// Updates the class numbered `number`, whose first queued request has the arrival number
    /// `first`.
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

    /// Number of classes with requests queued.
    pub(super) fn waiting(&self) -> u32 {
        self.counts[0]
    }

    /// Number of classes with requests queued or in flight and some of their share left.
    pub(super) fn open(&self) -> u32 {
        self.counts[1]
    }
}
