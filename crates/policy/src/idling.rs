//! A disk that is kept idle for the next request of one queue, although others wait.

use penstock_core::{Counter, Span, Time};

/// At most one queue is waited for at a time.
#[derive(Debug, Default)]
pub(crate) struct Idling {
    /// When the wait ends at the latest; `None` if nothing is waited for.
    until: Option<Time>,
    /// Since when another queue could have used the disk.
    held: Option<Time>,
    begun: u64,
    right: u64,
    wrong: u64,
    /// Waits that statistics advised against.
    declined: u64,
    /// How long the disk stood idle although other queues had requests.
    cost: Span,
}

impl Idling {
    /// Waits for `length` from now on; `others` says whether other queues have requests.
    pub(crate) fn begin(&mut self, now: Time, length: Span, others: bool) {
        self.until = Some(now + length);
        self.held = others.then_some(now);
        self.begun += 1;
    }

    /// It would have been possible to wait, and does not pay.
    pub(crate) fn decline(&mut self) {
        self.declined += 1;
    }

    /// When the wait ends; `None` if there is none.
    pub(crate) fn until(&self) -> Option<Time> {
        self.until
    }

    /// Another queue has got a request.
    pub(crate) fn others_wait(&mut self, now: Time) {
        if self.until.is_some() {
            self.held = self.held.or(Some(now));
        }
    }

    /// The queue's next request has come.
    pub(crate) fn arrived(&mut self, now: Time) {
        if self.until.is_some_and(|until| now <= until) {
            self.right += 1;
            self.stop(now);
        } else {
            self.end(now);
        }
    }

    /// The wait ends without that request, if there is one.
    pub(crate) fn end(&mut self, now: Time) {
        self.wrong += u64::from(self.until.is_some());
        self.stop(now);
    }

    fn stop(&mut self, now: Time) {
        if let Some(until) = self.until.take()
            && let Some(held) = self.held.take()
        {
            self.cost += now.min(until).since(held);
        }
    }

    /// Reports what waiting did.
    pub(crate) fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        report(Counter::total("idlings"), self.begun);
        report(Counter::total("idlings_right"), self.right);
        report(Counter::total("idlings_wrong"), self.wrong);
        report(Counter::total("idlings_declined"), self.declined);
        report(Counter::total("idle_held_ns"), self.cost.ns());
    }
}
