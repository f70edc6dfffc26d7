//! A device whose service time depends on length alone.
//!
//! Use it for flash-like devices, for papers that state a time per unit, and for a disk that is
//! known by its figures only. One server takes requests in the order of arrival; position costs
//! nothing. Beside the server's time each request may take a [`latency`](Law::latency) that any
//! number of them spend at once, as they do on a link or in a disk with many parts: with `depth`
//! requests in it the device gives `1 / cost` a second at most, and `1 / (latency + cost)` to one
//! who waits for each.
//!
//! # Divergence from real devices
//!
//! What position, neighbours, history and the hour do to a real device's times is left out; so are
//! caches that fill up. Reads and writes have a law each, and share the server.

use std::collections::VecDeque;

use penstock_core::{Device, Done, Op, ReqId, Request, Span, Time};

/// Nanoseconds of service for a request of a length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cost {
    /// `base + per_mb · length / 1,000,000`.
    Linear {
        /// Time of a request of no length.
        base: Span,
        /// Time of each megabyte (10^6 bytes).
        per_mb: Span,
    },
    /// `unit` for each begun `unit_bytes`.
    Units {
        /// Time of one unit.
        unit: Span,
        /// Bytes that one unit carries at most.
        unit_bytes: u32,
    },
}

impl Cost {
    /// The service time of `len` bytes; a flush costs nothing, as there is no cache to write back.
    pub fn of(self, op: Op, len: u32) -> Span {
        match self {
            _ if op == Op::Flush => Span::ZERO,
            Self::Linear { base, per_mb } => base + per_mb.share(u64::from(len), 1_000_000),
            Self::Units { unit, unit_bytes } => unit.share(u64::from(len.div_ceil(unit_bytes)), 1),
        }
    }
}

/// What requests of one kind take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Law {
    /// Time of the server, one request after the other.
    pub cost: Cost,
    /// Time beside that, which requests spend at once.
    pub latency: Span,
}

impl Law {
    /// The server's time alone.
    pub const fn of(cost: Cost) -> Self {
        Self { cost, latency: Span::ZERO }
    }
}

/// A device of one server and a law of length.
#[derive(Debug)]
pub struct Fixed {
    reads: Law,
    writes: Law,
    depth: u32,
    capacity: u64,
    /// When the server has done what it was given.
    free: Time,
    /// In the order in which they end.
    serving: VecDeque<Serving>,
}

#[derive(Debug)]
struct Serving {
    id: ReqId,
    len: u32,
    begun: Time,
    ends: Time,
    service: Span,
}

impl Fixed {
    /// A device of `capacity` bytes that takes one request at a time, reads and writes alike.
    pub fn new(cost: Cost, capacity: u64) -> Self {
        Self::with(Law::of(cost), Law::of(cost), 1, capacity)
    }

    /// A device of `capacity` bytes that takes `depth` requests at a time; what is no read is as
    /// `writes` say.
    pub fn with(reads: Law, writes: Law, depth: u32, capacity: u64) -> Self {
        let serving = VecDeque::with_capacity(depth.min(1 << 10) as usize);
        Self { reads, writes, depth, capacity, free: Time::ZERO, serving }
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
        self.depth - self.serving.len() as u32
    }

    fn start(&mut self, now: Time, req: &Request) {
        debug_assert!(self.room() > 0, "started without room");
        let law = if req.op == Op::Read { &self.reads } else { &self.writes };
        let latency = if req.op == Op::Flush { Span::ZERO } else { law.latency };
        let cost = law.cost.of(req.op, req.len);
        let begun = self.free.max(now);
        self.free = begun + cost;
        let (ends, service) = (self.free + latency, cost + latency);
        // Among equals the first to come is the first to end.
        let later = self.serving.iter().rev().take_while(|other| other.ends > ends).count();
        let place = self.serving.len() - later;
        self.serving.insert(place, Serving { id: req.id, len: req.len, begun, ends, service });
    }

    fn wakeup(&self) -> Time {
        self.serving.front().map_or(Time::NEVER, |serving| serving.ends)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        while let Some(Serving { id, len, begun, service, .. }) =
            self.serving.pop_front_if(|serving| serving.ends <= now)
        {
            done.push(Done { id, at: now, begun, service, len, error: None });
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
        io.with(ReqId { slot: n, age: 0 })
    }

    fn linear(base_us: u64, latency_us: u64) -> Law {
        let cost = Cost::Linear { base: Span::from_us(base_us), per_mb: Span::ZERO };
        Law { cost, latency: Span::from_us(latency_us) }
    }

    /// Who ends when, in microseconds, of what is started at once.
    fn ends(device: &mut Fixed, ops: &[Op]) -> Vec<(u32, u64)> {
        for (n, &op) in ops.iter().enumerate() {
            device.start(Time::ZERO, &request(n as u32, op, 4096));
        }
        let mut seen = Vec::new();
        let mut done = Vec::new();
        while device.wakeup() != Time::NEVER {
            let now = device.wakeup();
            device.advance(now, &mut done);
            seen.extend(done.drain(..).map(|done| (done.id.slot, now.ns() / 1_000)));
        }
        seen
    }

    #[test]
    fn latencies_pass_at_once_and_the_server_serves_one_by_one() {
        let mut device = Fixed::with(linear(10, 40), linear(10, 40), 3, 1 << 20);
        assert_eq!(ends(&mut device, &[Op::Read; 3]), [(0, 50), (1, 60), (2, 70)]);
        assert_eq!(device.room(), 3);
    }

    #[test]
    fn a_write_that_takes_less_ends_before_a_read_that_came_first() {
        let mut device = Fixed::with(linear(10, 40), linear(5, 0), 2, 1 << 20);
        assert_eq!(ends(&mut device, &[Op::Read, Op::Write]), [(1, 15), (0, 50)]);
        assert_eq!(device.room(), 2);
    }

    #[test]
    fn a_flush_waits_for_the_server_alone() {
        let mut device = Fixed::with(linear(10, 40), linear(10, 40), 2, 1 << 20);
        assert_eq!(ends(&mut device, &[Op::Write, Op::Flush]), [(1, 10), (0, 50)]);
    }
}
