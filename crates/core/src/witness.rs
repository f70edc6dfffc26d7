//! A policy under observation: an observer gets its decisions.

use alloc::vec::Vec;

use crate::policy::{Go, Out, Part, Policy};
use crate::request::{ReqId, Request};
use crate::time::Time;

/// One decision of a policy. Two runs decided alike if these are equal, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// When.
    pub at: Time,
    /// What is sent.
    pub go: Go,
    /// The neighbours merged behind it.
    pub chain: Vec<ReqId>,
}

/// Passes every call on to `policy`. The observer gets each decision: the time, the request and
/// length, and the chain behind it.
pub struct Witness<P, F> {
    policy: P,
    observer: F,
}

impl<P: Policy, F: FnMut(Time, Go, &[ReqId])> Witness<P, F> {
    /// `policy`, with `observer` called for each of its decisions.
    pub fn new(policy: P, observer: F) -> Self {
        Self { policy, observer }
    }
}

impl<P: Policy, F: FnMut(Time, Go, &[ReqId])> Policy for Witness<P, F> {
    fn enqueue(&mut self, now: Time, req: &Request) {
        self.policy.enqueue(now, req);
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        let go = self.policy.dispatch(now, out)?;
        (self.observer)(now, go, out.chain);
        Some(go)
    }

    fn complete(&mut self, now: Time, req: &Request, part: &Part) {
        self.policy.complete(now, req, part);
    }

    fn wakeup(&self) -> Time {
        self.policy.wakeup()
    }

    fn counters(&self, report: &mut dyn FnMut(&str, u64)) {
        self.policy.counters(report);
    }
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;
    use alloc::string::String;

    use super::*;

    struct Counts;

    impl Policy for Counts {
        fn enqueue(&mut self, _: Time, _: &Request) {}
        fn dispatch(&mut self, _: Time, _: &mut Out<'_>) -> Option<Go> {
            None
        }
        fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
        fn counters(&self, report: &mut dyn FnMut(&str, u64)) {
            report("picked", 3);
            report("passed", 0);
        }
    }

    #[test]
    fn counters_pass_whoever_holds_the_policy() {
        let policy: Box<dyn Policy> = Box::new(Counts);
        let held = Box::new(Witness::new(policy, |_, _, _: &[ReqId]| {}));
        let mut counted = Vec::new();
        held.counters(&mut |name, value| counted.push((String::from(name), value)));
        assert_eq!(counted, [("picked".into(), 3), ("passed".into(), 0)]);
    }
}
