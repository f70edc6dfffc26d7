//! A policy under observation: an observer gets its decisions.

use alloc::vec::Vec;

use crate::counter::Counter;
use crate::policy::{Go, Out, Part, Policy};
use crate::request::{ReqId, Request};
use crate::time::Time;

/// A decision of a policy. Two runs decided alike if their decisions are equal, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Time of the decision.
    pub at: Time,
    /// The request and length to send.
    pub go: Go,
    /// The neighbours merged behind the request.
    pub chain: Vec<ReqId>,
}

/// Observes the calls to a policy. Every method has an empty default.
pub trait PolicyObserver {
    /// `policy` is about to be called; its state is that after the previous call.
    fn before(&mut self, _now: Time, _policy: &dyn Policy) {}

    /// The policy gets a request.
    fn enqueued(&mut self, _now: Time, _req: &Request) {}

    /// The policy has decided to send `go`, with the `chain` behind it.
    fn decided(&mut self, _now: Time, _go: Go, _chain: &[ReqId]) {}

    /// The policy gets a completion of `req` or of a piece of it.
    fn completed(&mut self, _now: Time, _req: &Request, _part: &Part) {}
}

impl<F: FnMut(Time, Go, &[ReqId])> PolicyObserver for F {
    fn decided(&mut self, now: Time, go: Go, chain: &[ReqId]) {
        self(now, go, chain);
    }
}

/// Passes every call on to `policy` and reports it to `observer`. Code that only observes a policy
/// is such an observer, not a policy of its own, so that it need not forward every method.
pub struct Witness<P, O> {
    policy: P,
    observer: O,
}

impl<P: Policy, F: FnMut(Time, Go, &[ReqId])> Witness<P, F> {
    /// Wraps `policy` and calls `observer` for each of its decisions: the time, the request and
    /// length, and the chain behind it.
    pub fn new(policy: P, observer: F) -> Self {
        Self { policy, observer }
    }
}

impl<P: Policy, O: PolicyObserver> Witness<P, O> {
    /// Wraps `policy` with an `observer` of its calls.
    pub fn with(policy: P, observer: O) -> Self {
        Self { policy, observer }
    }
}

#[deny(clippy::missing_trait_methods, reason = "a method left out would hide the policy's own")]
impl<P: Policy, O: PolicyObserver> Policy for Witness<P, O> {
    fn enqueue(&mut self, now: Time, req: &Request) {
        self.observer.before(now, &self.policy);
        self.observer.enqueued(now, req);
        self.policy.enqueue(now, req);
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        self.observer.before(now, &self.policy);
        let go = self.policy.dispatch(now, out)?;
        self.observer.decided(now, go, out.chain);
        Some(go)
    }

    fn complete(&mut self, now: Time, req: &Request, part: &Part) {
        self.observer.before(now, &self.policy);
        self.observer.completed(now, req, part);
        self.policy.complete(now, req, part);
    }

    fn wakeup(&self) -> Time {
        self.policy.wakeup()
    }

    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        self.policy.counters(report);
    }
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;
    use alloc::string::{String, ToString};

    use super::*;

    struct Counts;

    impl Policy for Counts {
        fn enqueue(&mut self, _: Time, _: &Request) {}
        fn dispatch(&mut self, _: Time, _: &mut Out<'_>) -> Option<Go> {
            None
        }
        fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
        fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
            report(Counter::total("picked"), 3);
            report(Counter::level("passed"), 0);
        }
        fn wakeup(&self) -> Time {
            Time::from_ns(7)
        }
    }

    #[test]
    fn counters_and_wakeups_pass_through_wrappers() {
        let policy: Box<dyn Policy> = Box::new(Counts);
        let held = Box::new(Witness::new(policy, |_, _, _: &[ReqId]| {}));
        let mut counted = Vec::new();
        held.counters(&mut |name, value| counted.push((name.to_string(), value)));
        let expected: [(String, u64); 2] = [("picked".into(), 3), ("passed".into(), 0)];
        assert_eq!(counted, expected);
        assert_eq!(held.wakeup(), Time::from_ns(7));
    }
}
