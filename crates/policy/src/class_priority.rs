//! Strict order of the classes' priorities; within a class, the order of arrival.
//!
//! Use it if a class must not notice the others and never fills the disk itself. The lowest `prio`
//! goes first, whatever waits behind it, until a request has waited for `aging`; the oldest of such
//! requests goes before every class. So if the classes request more than the disk can serve, they
//! are served as under `fcfs`, `aging` late. O(log n) per request to find its neighbours, and a
//! step for each priority. Neighbours of one class are merged.
//!
//! Promise: once a request has waited for `aging`, no request that came after it goes before it.
//! Without ageing there is no promise: a busy class stops those below it for good.
//!
//! Source: static priorities with ageing, as in textbooks on operating systems. The default of
//! `aging` is the kernel's, from its documentation.

use alloc::boxed::Box;
use alloc::vec::Vec;

use penstock_core::{Go, Out, Part, Policy, Request, Span, Time};

use crate::entry::{Bound, Entry, Facts};
use crate::params::{Kind, Param, Params, Value};
use crate::queue::{Added, Links, List, MAX_SECTORS, Merges, max_sectors};

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "class-priority",
    summary: "strictly by priority of the class, until a request has waited too long",
    params: &[
        Param {
            name: "aging",
            kind: Kind::DurationOr(&["off"]),
            default: Value::Duration(Span::from_secs(10)),
            doc: "a request that has waited this long goes first, whatever its class; off: never",
            source: "the kernel's mq-deadline, prio_aging_expire",
        },
        MAX_SECTORS,
    ],
    build: |params, _| Box::new(ClassPriority::new(params)),
    bound: |params, _| params.duration_or("aging").map(|after| Bound { after, overtakes: 0 }),
    facts: Facts { merges: max_sectors, ..Facts::NONE },
};

/// A queue for each priority, and one of all requests.
#[derive(Debug)]
pub struct ClassPriority {
    aging: Option<Span>,
    /// Queue of each priority, in order of arrival.
    queues: Vec<List>,
    queue_links: Links,
    /// All requests in order of arrival.
    ages: List,
    age_links: Links,
    /// Waiting requests, by slot.
    requests: Vec<Waiting>,
    merges: Merges,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    prio: u8,
    since: Time,
}

impl ClassPriority {
    /// Takes `aging` and `max_sectors`.
    pub fn new(params: &Params) -> Self {
        Self {
            aging: params.duration_or("aging"),
            queues: Vec::new(),
            queue_links: Links::default(),
            ages: List::default(),
            age_links: Links::default(),
            requests: Vec::new(),
            merges: Merges::new(params),
        }
    }

    /// The oldest request, if it has waited for `aging`.
    fn aged(&self, now: Time) -> Option<u32> {
        let (aging, oldest) = (self.aging?, self.ages.front()?);
        (self.requests[oldest as usize].since + aging <= now).then_some(oldest)
    }
}

impl Policy for ClassPriority {
    fn enqueue(&mut self, now: Time, req: &Request) {
        let Added::Founded(slot) = self.merges.add(req, false) else { return };
        let prio = req.prio.0;
        let waiting = Waiting { prio, since: now };
        if slot as usize >= self.requests.len() {
            self.requests.resize(slot as usize + 1, waiting);
        }
        self.requests[slot as usize] = waiting;
        if usize::from(prio) >= self.queues.len() {
            self.queues.resize_with(usize::from(prio) + 1, List::default);
        }
        self.queue_links.push_back(&mut self.queues[usize::from(prio)], slot);
        self.age_links.push_back(&mut self.ages, slot);
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        let first = || self.queues.iter().find_map(List::front);
        let slot = self.aged(now).or_else(first)?;
        let Waiting { prio, .. } = self.requests[slot as usize];
        self.queue_links.remove(&mut self.queues[usize::from(prio)], slot);
        self.age_links.remove(&mut self.ages, slot);
        Some(self.merges.take(slot, out))
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
}
