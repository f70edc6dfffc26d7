//! The state of a queue, and of its class of work.

use penstock_core::{ClassInfo, IoClass, IoPrio, Time};

use super::raising::Raising;
use super::virtual_time::Stamps;
use crate::think_time::{Locality, ThinkTime};

/// The largest weight, as in the kernel.
pub(super) const WEIGHT_MOST: u32 = 1_000;

/// The properties that a queue takes from its class of work.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkClass {
    pub(super) order: usize,
    pub(super) weight: u32,
}

/// A stream's queue, or one that streams share.
#[derive(Clone, Debug)]
pub(super) struct BudgetQueue {
    pub(super) class: WorkClass,
    /// Whether it has requests queued, or is in service.
    pub(super) is_member: bool,
    pub(super) stamps: Stamps,
    /// Time at which its service ended for another reason than an empty queue, while it was empty.
    pub(super) cut_off: Option<Time>,
    /// Bytes of its next service; `None` before the first.
    pub(super) budget: Option<u64>,
    pub(super) in_flight: u32,
    pub(super) think: ThinkTime,
    pub(super) locality: Locality,
    pub(super) raising: Raising,
}

impl WorkClass {
    pub(super) fn new(ioprio: IoPrio, weight: u32) -> Self {
        let order = match ioprio.class() {
            IoClass::RealTime => 0,
            IoClass::BestEffort => 1,
            IoClass::Idle => 2,
        };
        Self { order, weight: weight.min(WEIGHT_MOST) }
    }

    /// The class of requests whose class is not listed.
    pub(super) fn unlisted() -> Self {
        Self::new(IoPrio::DEFAULT, ClassInfo::WEIGHT.get())
    }
}

impl BudgetQueue {
    pub(super) fn new() -> Self {
        Self {
            class: WorkClass::unlisted(),
            is_member: false,
            stamps: Stamps::default(),
            cut_off: None,
            budget: None,
            in_flight: 0,
            think: ThinkTime::default(),
            locality: Locality::default(),
            raising: Raising::default(),
        }
    }

    pub(super) fn weight(&self) -> u64 {
        u64::from(self.class.weight) * self.raising.factor()
    }
}
