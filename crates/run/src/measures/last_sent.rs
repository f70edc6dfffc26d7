//! Tells when the last request of a class was dispatched, for a run that ends then.

use std::cell::Cell;
use std::rc::Rc;

use penstock_core::{ClassId, Go, Policy, PolicyObserver, ReqId, Request, Time, Witness};

/// Counts the requests of one class that a policy dispatches. Clones share their count.
#[derive(Clone)]
pub(crate) struct LastSent {
    class: ClassId,
    /// Requests of the class that are not yet dispatched completely.
    left: Rc<Cell<u64>>,
    over: Rc<Cell<Option<Time>>>,
}

/// Counts the dispatches of a policy.
struct SentCounter {
    sent: LastSent,
    /// Bytes of a request of the class that are not yet dispatched, by slot.
    bytes: Vec<u32>,
}

impl LastSent {
    /// Counts down from `requests`, the number of requests of `class`.
    pub(crate) fn new(class: ClassId, requests: u64) -> Self {
        Self { class, left: Rc::new(Cell::new(requests)), over: Rc::default() }
    }

    /// When the last one was dispatched.
    pub(crate) fn over(&self) -> Option<Time> {
        self.over.get()
    }

    /// Wraps `policy` so that the requests that it dispatches are counted.
    pub(crate) fn counting<P: Policy>(&self, policy: P) -> impl Policy + use<P> {
        Witness::with(policy, SentCounter { sent: self.clone(), bytes: Vec::new() })
    }

    /// Counts a request of the class that was dispatched completely.
    fn count(&self, now: Time) {
        let left = self.left.get().saturating_sub(1);
        self.left.set(left);
        if left == 0 && self.over.get().is_none() {
            self.over.set(Some(now));
        }
    }
}

impl SentCounter {
    /// Records that `len` bytes of a request were dispatched; 0 stands for all that was left.
    fn dispatched(&mut self, now: Time, id: ReqId, len: u32) {
        let bytes = &mut self.bytes[id.index()];
        if *bytes > 0 {
            *bytes = if len == 0 { 0 } else { bytes.saturating_sub(len) };
            if *bytes == 0 {
                self.sent.count(now);
            }
        }
    }
}

impl PolicyObserver for SentCounter {
    fn enqueued(&mut self, _: Time, req: &Request) {
        if req.id.index() >= self.bytes.len() {
            self.bytes.resize(req.id.index() + 1, 0);
        }
        self.bytes[req.id.index()] = if req.class == self.sent.class { req.len } else { 0 };
    }

    fn decided(&mut self, now: Time, go: Go, chain: &[ReqId]) {
        self.dispatched(now, go.id, go.len);
        for &id in chain {
            self.dispatched(now, id, 0);
        }
    }
}
