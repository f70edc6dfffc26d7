//! A device whose service time depends on the length alone.
//!
//! Use it for flash-like devices, for papers that state a time per unit, and for a disk of which
//! only figures are known. One server takes requests in the order of arrival; position costs
//! nothing.
//!
//! Waiting requests are taken together as a batch. A batch has one [`latency`](Law::latency), as
//! one doorbell and one interrupt serve many requests, and then the cost of each request in turn.
//! Requests that arrive meanwhile belong to the next batch. So `n` requests that are always in
//! flight get `n / (latency + n · cost)` a second.
//!
//! # Divergence from real devices
//!
//! The effects of position, neighbours, history and time of day are not modelled, nor are caches
//! that fill up and parts that work in parallel. Reads and writes have a law each and share the
//! server; a batch with both has the longer latency.

use std::collections::VecDeque;

use penstock_core::{Device, Done, Op, ReqId, Request, Span, Time};

/// Service time of a request by its length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cost {
    /// `base + per_mb · length / 1,000,000`.
    Linear {
        /// Time of a request of zero bytes.
        base: Span,
        /// Time of each megabyte (10^6 bytes).
        per_mb: Span,
    },
    /// `unit` for each begun `unit_bytes`.
    Units {
        /// Time of one unit.
        unit: Span,
        /// Bytes of one unit.
        unit_bytes: u32,
    },
}

impl Cost {
    /// Returns the service time of `len` bytes; a flush costs nothing, as there is no cache to
    /// write back.
    pub fn of(self, op: Op, len: u32) -> Span {
        match self {
            _ if op == Op::Flush => Span::ZERO,
            Self::Linear { base, per_mb } => base + per_mb.share(u64::from(len), 1_000_000),
            Self::Units { unit, unit_bytes } => unit.share(u64::from(len.div_ceil(unit_bytes)), 1),
        }
    }
}

/// Times of requests of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Law {
    /// Service time of each request, one after the other.
    pub cost: Cost,
    /// Time before a batch, once for all of its requests.
    pub latency: Span,
}

impl Law {
    /// A law without a latency.
    pub const fn of(cost: Cost) -> Self {
        Self { cost, latency: Span::ZERO }
    }
}

/// A device with one server and service times by length.
#[derive(Debug)]
pub struct Fixed {
    reads: Law,
    writes: Law,
    depth: u32,
    capacity: u64,
    /// The batch in service, in the order of its ends.
    batch: VecDeque<BatchedRequest>,
    /// Latency, begin and end of the batch.
    latency: Span,
    begun: Time,
    ends: Time,
    /// The next batch.
    waiting: VecDeque<Request>,
}

#[derive(Debug)]
struct BatchedRequest {
    id: ReqId,
    len: u32,
    begun: Time,
    ends: Time,
}

impl Fixed {
    /// Creates a device of `capacity` bytes that takes one request at a time, reads and writes
    /// alike.
    pub fn new(cost: Cost, capacity: u64) -> Self {
        Self::with(Law::of(cost), Law::of(cost), 1, capacity)
    }

    /// Creates a device of `capacity` bytes that takes `depth` requests at a time. Requests other
    /// than reads follow the law `writes`.
    pub fn with(reads: Law, writes: Law, depth: u32, capacity: u64) -> Self {
        Self {
            reads,
            writes,
            depth,
            capacity,
            batch: VecDeque::new(),
            latency: Span::ZERO,
            begun: Time::ZERO,
            ends: Time::ZERO,
            waiting: VecDeque::new(),
        }
    }

    /// Adds a request to the batch, which has begun but has no finished request.
    fn join(&mut self, req: &Request) {
        let law = if req.op == Op::Read { &self.reads } else { &self.writes };
        let latency = if req.op == Op::Flush { Span::ZERO } else { law.latency };
        if latency > self.latency {
            let longer = latency - self.latency;
            self.latency = latency;
            self.ends += longer;
            self.batch.iter_mut().for_each(|request| request.ends += longer);
            self.batch.iter_mut().skip(1).for_each(|request| request.begun += longer);
        }
        // The first request of a batch includes the latency.
        let begun = if self.batch.is_empty() { self.begun } else { self.ends };
        self.ends += law.cost.of(req.op, req.len);
        self.batch.push_back(BatchedRequest { id: req.id, len: req.len, begun, ends: self.ends });
    }

    /// Begins a batch at `now`.
    fn begin(&mut self, now: Time) {
        (self.latency, self.begun, self.ends) = (Span::ZERO, now, now);
    }
}

impl Device for Fixed {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn block(&self) -> u32 {
        1
    }

    fn room(&self) -> u32 {
        self.depth - (self.batch.len() + self.waiting.len()) as u32
    }

    fn start(&mut self, now: Time, req: &Request) {
        debug_assert!(self.room() > 0, "started without room");
        if self.batch.is_empty() {
            self.begin(now);
        }
        // A request that arrives at the begin of the batch joins it.
        if self.begun == now {
            self.join(req);
        } else {
            self.waiting.push_back(*req);
        }
    }

    fn wakeup(&self) -> Time {
        self.batch.front().map_or(Time::NEVER, |serving| serving.ends)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        while let Some(BatchedRequest { id, len, begun, ends }) =
            self.batch.pop_front_if(|serving| serving.ends <= now)
        {
            let service = ends.since(begun);
            done.push(Done { id, at: now, begun, service, len, error: None });
            if self.batch.is_empty() && !self.waiting.is_empty() {
                self.begin(self.ends);
                while let Some(req) = self.waiting.pop_front() {
                    self.join(&req);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use penstock_core::{ClassId, Flags, Io, Prio, StreamId};

    use super::*;

    fn request(n: u32, op: Op, len: u32) -> Request {
        let io = Io {
            due: Time::ZERO,
            start: 0,
            len,
            stream: StreamId(0),
            class: ClassId(0),
            op,
            prio: Prio(0),
            flags: Flags::NONE,
        };
        io.with(ReqId::new(n, 0))
    }

    fn linear(base_us: u64, latency_us: u64) -> Law {
        let cost = Cost::Linear { base: Span::from_us(base_us), per_mb: Span::ZERO };
        Law { cost, latency: Span::from_us(latency_us) }
    }

    /// Returns when each request ends, in microseconds, of requests that start at once.
    fn ends(device: &mut Fixed, ops: &[Op]) -> Vec<(u32, u64)> {
        for (n, &op) in ops.iter().enumerate() {
            device.start(Time::ZERO, &request(n as u32, op, 4096));
        }
        let mut seen = Vec::new();
        let mut done = Vec::new();
        while device.wakeup() != Time::NEVER {
            let now = device.wakeup();
            device.advance(now, &mut done);
            seen.extend(done.drain(..).map(|done| (done.id.slot(), now.ns() / 1_000)));
        }
        seen
    }

    #[test]
    fn what_comes_together_shares_a_latency_and_is_served_one_by_one() {
        let mut device = Fixed::with(linear(10, 40), linear(10, 40), 3, 1 << 20);
        assert_eq!(ends(&mut device, &[Op::Read; 3]), [(0, 50), (1, 60), (2, 70)]);
        assert_eq!(device.room(), 3);
    }

    #[test]
    fn a_later_request_waits_for_the_next_batch() {
        let mut device = Fixed::with(linear(10, 40), linear(10, 40), 3, 1 << 20);
        device.start(Time::ZERO, &request(0, Op::Read, 512));
        for n in 1..3 {
            device.start(Time::ZERO + Span::from_us(5), &request(n, Op::Read, 512));
        }
        assert_eq!(ends(&mut device, &[]), [(0, 50), (1, 100), (2, 110)]);
    }

    #[test]
    fn a_batch_of_both_kinds_has_the_longer_latency() {
        let mut device = Fixed::with(linear(10, 40), linear(5, 0), 3, 1 << 20);
        assert_eq!(
            ends(&mut device, &[Op::Write, Op::Read, Op::Flush]),
            [(0, 45), (1, 55), (2, 55)]
        );
    }

    #[test]
    fn the_service_of_all_is_the_time_that_the_server_was_busy() {
        let mut device = Fixed::with(linear(10, 40), linear(10, 40), 4, 1 << 20);
        for n in 0..4 {
            device.start(Time::ZERO, &request(n, Op::Read, 512));
        }
        let mut done = Vec::new();
        device.advance(Time::ZERO + Span::from_us(500), &mut done);
        let service: Vec<u64> = done.iter().map(|done| done.service.ns() / 1_000).collect();
        assert_eq!(service, [50, 10, 10, 10]);
    }

    /// Returns the device time of each of `ops`, which start at once, in microseconds.
    fn services(reads: Law, writes: Law, ops: &[Op]) -> Vec<u64> {
        let mut device = Fixed::with(reads, writes, 4, 1 << 20);
        for (n, &op) in (0..).zip(ops) {
            device.start(Time::ZERO, &request(n, op, 512));
        }
        let mut done = Vec::new();
        device.advance(Time::ZERO + Span::from_us(500), &mut done);
        done.iter().map(|done| done.service.ns() / 1_000).collect()
    }

    #[test]
    fn a_longer_latency_that_comes_later_is_charged_once() {
        let ops = [Op::Write, Op::Write, Op::Read];
        assert_eq!(services(linear(10, 40), linear(5, 0), &ops), [45, 5, 10]);
        assert_eq!(services(linear(10, 40), linear(5, 15), &ops), [45, 5, 10]);
    }

    #[test]
    fn a_first_command_that_costs_nothing_has_the_latency_alone() {
        let ops = [Op::Flush, Op::Read, Op::Read];
        assert_eq!(services(linear(10, 40), linear(5, 0), &ops), [40, 10, 10]);
    }
}
