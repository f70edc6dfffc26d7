//! Last in, first out, with a limit on the wait of the oldest request.
//!
//! Use it to see the cost of fairness: new requests go at once and old ones wait, until the oldest
//! has waited `patience` and goes first. O(1) a request.
//!
//! Promise: once a request has waited `patience`, only older ones go before it.

use std::collections::VecDeque;

use penstock_core::{Go, Out, Part, Policy, ReqId, Request, Span, Time};
use penstock_policy::entry::{Bound, Entry, Facts};
use penstock_policy::params::{Kind, Param, Params, Value};

/// Its entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "lifo",
    summary: "the newest first, until the oldest has waited long enough",
    params: &[Param {
        name: "patience",
        kind: Kind::Duration,
        default: Value::Duration(Span::from_ms(200)),
        doc: "how long the oldest request may be passed over",
        source: "an example: a fifth of a second is where people notice",
    }],
    build: |params, _| Box::new(Lifo::new(params)),
    bound: |params, _| Some(Bound { after: params.duration("patience"), overtakes: 0 }),
    facts: Facts::NONE,
};

/// Queued requests, oldest first, with their time of arrival.
pub struct Lifo {
    patience: Span,
    queue: VecDeque<(Time, ReqId)>,
}

impl Lifo {
    /// Creates the policy with the parameter `patience`.
    pub fn new(params: &Params) -> Self {
        Self { patience: params.duration("patience"), queue: VecDeque::new() }
    }
}

impl Policy for Lifo {
    fn enqueue(&mut self, now: Time, req: &Request) {
        self.queue.push_back((now, req.id));
    }

    fn dispatch(&mut self, now: Time, _: &mut Out<'_>) -> Option<Go> {
        let &(arrived, _) = self.queue.front()?;
        let expired = now.since(arrived) >= self.patience;
        let (_, id) = if expired { self.queue.pop_front() } else { self.queue.pop_back() }?;
        Some(Go::all(id))
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
}
