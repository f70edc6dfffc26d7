//! Keeping the disk idle for the next request of a queue, although other queues wait.

use penstock_core::{Counter, Span, Time};

/// The wait for the next request of a queue. At most one queue is waited for at a time.
#[derive(Debug, Default)]
pub(crate) struct Idling {
    /// Latest end of the wait; `None` if there is none.
    until: Option<Time>,
    /// Time since which another queue could have used the disk.
    held: Option<Time>,
    begun: u64,
    right: u64,
    wrong: u64,
    /// Waits that statistics advised against.
    declined: u64,
    /// Time for which the disk stood idle although other queues had requests.
    cost: Span,
}

impl Idling {
    /// Begins to wait for `length`. `others_wait` says whether other queues have requests.
    pub(crate) fn begin(&mut self, now: Time, length: Span, others_wait: bool) {
        self.until = Some(now + length);
        self.held = others_wait.then_some(now);
        self.begun += 1;
    }

    /// Counts a wait that was possible but would not pay.
    pub(crate) fn decline(&mut self) {
        self.declined += 1;
    }

    /// Latest end of the wait; `None` if there is none.
    pub(crate) fn until(&self) -> Option<Time> {
        self.until
    }

    /// Another queue gets a request.
    pub(crate) fn others_wait(&mut self, now: Time) {
        if self.until.is_some() {
            self.held = self.held.or(Some(now));
        }
    }

    /// The queue's next request arrives.
    pub(crate) fn arrived(&mut self, now: Time) {
        if self.until.is_some_and(|until| now <= until) {
            self.right += 1;
            self.stop(now);
        } else {
            self.end(now);
        }
    }

    /// Ends the wait, if there is one, without that request.
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

    /// Reports the counters of the waits.
    pub(crate) fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        report(Counter::total("idlings"), self.begun);
        report(Counter::total("idlings_right"), self.right);
        report(Counter::total("idlings_wrong"), self.wrong);
        report(Counter::total("idlings_declined"), self.declined);
        report(Counter::total("idle_held_ns"), self.cost.ns());
    }
}
