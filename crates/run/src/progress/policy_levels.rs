//! Requests that policies hold and requests in flight below them, for a person who watches.
//!
//! Below a page cache, or in front of the disks of an array, these are the requests that the policies
//! get, not those of the job. No policy gets a flush.

use std::cell::RefCell;
use std::rc::Rc;

use penstock_core::{ClassId, Go, Part, Policy, PolicyObserver, ReqId, Request, Time, Witness};
use serde::Serialize;

/// Requests of a class at the policies.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct PolicyLevel {
    /// Requests of which no piece is dispatched.
    pub queued: u64,
    /// Requests of which a piece is dispatched, and which have not finished.
    pub in_flight: u64,
}

impl PolicyLevel {
    /// Adds the requests of `other`.
    pub(super) fn join(&mut self, other: Self) {
        self.queued += other.queued;
        self.in_flight += other.in_flight;
    }
}

/// The levels of each class, over all policies of a run. Clones share them.
#[derive(Clone)]
pub(crate) struct PolicyLevels(Rc<RefCell<Vec<PolicyLevel>>>);

/// Follows the requests of one policy.
struct LevelCounter {
    levels: PolicyLevels,
    /// Classes of queued requests, by slot; `None` for requests that are not queued.
    queued: Vec<Option<ClassId>>,
}

impl PolicyLevels {
    /// Creates the levels of `classes` classes, which are empty.
    pub(crate) fn new(classes: usize) -> Self {
        Self(Rc::new(RefCell::new(vec![PolicyLevel::default(); classes])))
    }

    /// Wraps `policy` so that its requests are counted.
    pub(crate) fn counting<P: Policy>(&self, policy: P) -> impl Policy + use<P> {
        Witness::with(policy, LevelCounter { levels: self.clone(), queued: Vec::new() })
    }

    /// Returns the level of `class`.
    pub(super) fn of(&self, class: usize) -> PolicyLevel {
        self.0.borrow()[class]
    }
}

impl LevelCounter {
    fn at(&self, class: ClassId, change: impl FnOnce(&mut PolicyLevel)) {
        change(&mut self.levels.0.borrow_mut()[class.index()]);
    }

    fn dispatched(&mut self, id: ReqId) {
        if let Some(class) = self.queued.get_mut(id.index()).and_then(Option::take) {
            self.at(class, |level| {
                level.queued -= 1;
                level.in_flight += 1;
            });
        }
    }
}

impl PolicyObserver for LevelCounter {
    fn enqueued(&mut self, _: Time, req: &Request) {
        if req.id.index() >= self.queued.len() {
            self.queued.resize(req.id.index() + 1, None);
        }
        self.queued[req.id.index()] = Some(req.class);
        self.at(req.class, |level| level.queued += 1);
    }

    fn decided(&mut self, _: Time, go: Go, chain: &[ReqId]) {
        self.dispatched(go.id);
        for &id in chain {
            self.dispatched(id);
        }
    }

    fn completed(&mut self, _: Time, req: &Request, part: &Part) {
        if part.last {
            self.at(req.class, |level| level.in_flight -= 1);
        }
    }
}
