//! The requests that the kernel had queued and in flight, by the events of its block layer.

use penstock_core::{ClassId, Flags, Io, Prio, ReqId, Request, StreamId, Table, Time};

use super::events::QueueEvent;

/// Requests in order of insertion, and commands in order of issue.
#[derive(Default)]
pub(super) struct KernelQueue {
    tickets: Table<()>,
    queued: Vec<QueuedRequest>,
    /// The requests of each command, in order of issue.
    in_flight: Vec<Vec<QueuedRequest>>,
}

/// A request with the range that it has after merges.
#[derive(Clone, Copy)]
pub(super) struct QueuedRequest {
    /// The request as it was inserted.
    pub(super) request: Request,
    pub(super) since: Time,
    start: u64,
    end: u64,
}

impl KernelQueue {
    /// The queued requests, the oldest first.
    pub(super) fn queued(&self) -> &[QueuedRequest] {
        &self.queued
    }

    /// Number of commands in flight.
    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight.len() as u32
    }

    /// The queued request with this ticket.
    pub(super) fn get(&self, id: ReqId) -> Option<&QueuedRequest> {
        self.queued.iter().find(|queued| queued.request.id == id)
    }

    /// Queues the request of an insertion.
    pub(super) fn insert(&mut self, event: &QueueEvent) -> Request {
        let &QueueEvent { at, op, start, len, class, .. } = event;
        let io = Io {
            due: at,
            start,
            len,
            stream: StreamId(0),
            class: ClassId(class),
            op,
            prio: Prio::default(),
            flags: Flags::of_program(op),
        };
        let request = io.with(self.tickets.insert_with(|_| ()));
        self.queued.push(QueuedRequest { request, since: at, start, end: io.end() });
        request
    }

    /// Makes the queued request longer that `event` was merged into. Returns whether there is one:
    /// the kernel merges also into requests that are not inserted yet.
    pub(super) fn merge(&mut self, event: &QueueEvent, behind: bool) -> bool {
        let (start, end) = (event.start, event.start + u64::from(event.len));
        let neighbour = self.queued.iter_mut().find(|queued| {
            queued.request.op == event.op
                && if behind { queued.end == start } else { queued.start == end }
        });
        match neighbour {
            Some(queued) if behind => queued.end = end,
            Some(queued) => queued.start = start,
            None => return false,
        }
        true
    }

    /// Returns the queued request that the kernel issued, if its insertion was seen: the oldest with
    /// this operation, class and range; or within this range, as a merge may not have been captured;
    /// or around it, as the kernel splits what is too long.
    pub(super) fn issued(&self, event: &QueueEvent) -> Option<QueuedRequest> {
        let first = |is: fn(&QueuedRequest, &QueueEvent) -> bool| {
            self.queued.iter().find(|queued| is(queued, event)).copied()
        };
        first(QueuedRequest::is)
            .or_else(|| first(QueuedRequest::is_within))
            .or_else(|| first(QueuedRequest::is_around))
    }

    /// Moves the queued request with ticket `id` to those in flight, as the command of `event`, and
    /// with it those that were merged into it unseen. Calls `merged` for each of these.
    pub(super) fn issue(
        &mut self,
        id: ReqId,
        event: &QueueEvent,
        mut merged: impl FnMut(&Request),
    ) {
        let command = self.queued.extract_if(.., |queued| {
            let is_first = queued.request.id == id;
            let is_merged = !is_first && !queued.is(event) && queued.is_within(event);
            if is_merged {
                merged(&queued.request);
            }
            is_first || is_merged
        });
        let end = event.start + u64::from(event.len);
        let command = command.map(|queued| QueuedRequest { start: event.start, end, ..queued });
        self.in_flight.push(command.collect());
    }

    /// Ends the command of a completion. Returns its requests whose insertion was seen.
    pub(super) fn complete(&mut self, event: &QueueEvent) -> Vec<QueuedRequest> {
        let place = self.in_flight.iter().position(|command| command[0].is(event));
        let completed = place.map(|place| self.in_flight.remove(place)).unwrap_or_default();
        for request in &completed {
            self.tickets.remove(request.request.id);
        }
        completed
    }
}

impl QueuedRequest {
    fn is(&self, event: &QueueEvent) -> bool {
        let range = (event.start, event.start + u64::from(event.len));
        self.is_like(event) && (self.start, self.end) == range
    }

    fn is_within(&self, event: &QueueEvent) -> bool {
        let end = event.start + u64::from(event.len);
        self.is_like(event) && event.start <= self.start && self.end <= end
    }

    fn is_around(&self, event: &QueueEvent) -> bool {
        let end = event.start + u64::from(event.len);
        self.is_like(event) && self.start <= event.start && end <= self.end
    }

    fn is_like(&self, event: &QueueEvent) -> bool {
        (self.request.op, self.request.class.0) == (event.op, event.class)
    }
}
