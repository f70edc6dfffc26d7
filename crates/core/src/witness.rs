//! A policy under observation: what it decided, told to a listener.

use alloc::vec::Vec;

use crate::policy::{Go, Out, Part, Policy};
use crate::request::{ReqId, Request};
use crate::time::Time;

/// One decision of a policy. Two runs decided alike if these are equal, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// When.
    pub at: Time,
    /// What goes.
    pub go: Go,
    /// The neighbours merged behind it.
    pub chain: Vec<ReqId>,
}

/// Passes every call on to `policy` and tells `listener` of each decision: when, what, and what is
/// chained behind it.
pub struct Witness<P, F> {
    policy: P,
    listener: F,
}

impl<P: Policy, F: FnMut(Time, Go, &[ReqId])> Witness<P, F> {
    /// `policy`, with `listener` told of its decisions.
    pub fn new(policy: P, listener: F) -> Self {
        Self { policy, listener }
    }
}

impl<P: Policy, F: FnMut(Time, Go, &[ReqId])> Policy for Witness<P, F> {
    fn enqueue(&mut self, now: Time, req: &Request) {
        self.policy.enqueue(now, req);
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        let go = self.policy.dispatch(now, out)?;
        (self.listener)(now, go, out.chain);
        Some(go)
    }

    fn complete(&mut self, now: Time, req: &Request, part: &Part) {
        self.policy.complete(now, req, part);
    }

    fn wakeup(&self) -> Time {
        self.policy.wakeup()
    }
}
