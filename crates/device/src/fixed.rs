//! A device whose service time depends on length alone.
//!
//! Use it for flash-like devices, and for papers that state a time per unit. One request at a time,
//! in the order of arrival; position costs nothing.

use penstock_core::{Device, Done, Op, Request, Span, Time};

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

/// A device of one server and a law of length.
#[derive(Debug)]
pub struct Fixed {
    cost: Cost,
    capacity: u64,
    serving: Option<Serving>,
}

#[derive(Debug)]
struct Serving {
    req: Request,
    begun: Time,
    ends: Time,
}

impl Fixed {
    /// A device of `capacity` bytes.
    pub const fn new(cost: Cost, capacity: u64) -> Self {
        Self { cost, capacity, serving: None }
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
        u32::from(self.serving.is_none())
    }

    fn start(&mut self, now: Time, req: &Request) {
        debug_assert!(self.serving.is_none(), "started without room");
        let ends = now + self.cost.of(req.op, req.len);
        self.serving = Some(Serving { req: *req, begun: now, ends });
    }

    fn wakeup(&self) -> Time {
        self.serving.as_ref().map_or(Time::NEVER, |serving| serving.ends)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        if let Some(Serving { req, begun, .. }) = self.serving.take_if(|s| s.ends <= now) {
            let service = self.cost.of(req.op, req.len);
            done.push(Done { id: req.id, at: now, begun, service, len: req.len, error: None });
        }
    }
}
