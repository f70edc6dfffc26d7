//! A policy for requests whose streams are the slots of their data: it sees their classes as streams.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use penstock_core::{Counter, Go, Out, Part, Policy, Request, StreamId, Time};

use super::locks::lock;

/// The counters of a policy, for other threads than its own.
#[derive(Clone, Default)]
pub(super) struct SharedCounters(Arc<SharedState>);

#[derive(Default)]
struct SharedState {
    wanted: AtomicBool,
    values: Mutex<BTreeMap<String, u64>>,
}

impl SharedCounters {
    /// Returns the counters as they were at the first completion after the last call, or at the policy's end.
    pub(super) fn read(&self) -> BTreeMap<String, u64> {
        let values = lock(&self.0.values).clone();
        self.0.wanted.store(true, Ordering::Relaxed);
        values
    }

    fn write(&self, policy: &impl Policy) {
        let mut values = lock(&self.0.values);
        policy.counters(&mut |counter, value| {
            values.insert(counter.to_string(), value);
        });
    }
}

/// Passes every call on to a policy, with the class of each request as its stream.
pub(super) struct ByClass<P: Policy> {
    policy: P,
    shared: SharedCounters,
}

impl<P: Policy> ByClass<P> {
    /// Wraps `policy`, whose counters go to `shared`.
    pub(super) fn new(policy: P, shared: SharedCounters) -> Self {
        Self { policy, shared }
    }
}

/// Returns `req` with its class as its stream.
pub(super) fn by_class(req: &Request) -> Request {
    let mut seen = *req;
    seen.io.stream = StreamId(req.class.0.into());
    seen
}

#[deny(clippy::missing_trait_methods, reason = "a method left out would hide the policy's own")]
impl<P: Policy> Policy for ByClass<P> {
    fn enqueue(&mut self, now: Time, req: &Request) {
        self.policy.enqueue(now, &by_class(req));
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        self.policy.dispatch(now, out)
    }

    fn complete(&mut self, now: Time, req: &Request, part: &Part) {
        self.policy.complete(now, &by_class(req), part);
        if self.shared.0.wanted.load(Ordering::Relaxed) {
            self.shared.0.wanted.store(false, Ordering::Relaxed);
            self.shared.write(&self.policy);
        }
    }

    fn wakeup(&self) -> Time {
        self.policy.wakeup()
    }

    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        self.policy.counters(report);
    }
}

impl<P: Policy> Drop for ByClass<P> {
    fn drop(&mut self) {
        self.shared.write(&self.policy);
    }
}
