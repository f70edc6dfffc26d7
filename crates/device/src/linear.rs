//! A disk with one arm and round figures: a seek that is linear in cylinders, a wait for the
//! platter, a time for each block.
//!
//! Use it to repeat computations with such a disk, and where the arm matters but no particular
//! drive is meant. An access takes `seek` for each cylinder that the arm moves, then the wait for
//! the platter, then `transfer` for each block that it touches. The arm stands at cylinder 0 when
//! the run begins, and after an access at the cylinder of its last block. Block `b` lies on
//! cylinder `b / per_cylinder`.
//!
//! The wait is drawn uniformly from a whole turn for every access, also for one that continues
//! where the last one ended; or it is half a turn for each ([`Latency`]). So no access can be timed
//! to find its block under the head.
//!
//! Source: the studies of external merges by J. Wu and others use such a disk, as did most work on
//! sorting of the early 1990s.
//!
//! # Divergence from real disks
//!
//! It lacks what [`hdd`](crate::hdd) has: an arm that takes time to start, zones, heads and their
//! switches, a platter that turns while the disk is idle, command overheads, a bus, a cache, a
//! queue. A long access crosses cylinders in no time. Sequential work costs as much of the
//! platter's time as random work, where a real disk with a cache streams.

use penstock_core::{Device, Done, Errno, Op, Request, Rng, Span, Time};
use rand::RngExt;

use crate::hdd::{Access, AccessObserver};

/// The wait of an access for the platter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Latency {
    /// Uniformly distributed from zero to a whole turn.
    Uniform,
    /// Half a turn.
    Constant,
}

/// The figures of a linear disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinearFacts {
    /// Time of the arm for each cylinder.
    pub seek: Span,
    /// Time of a turn.
    pub turn: Span,
    /// The wait of an access for the platter.
    pub latency: Latency,
    /// Time of each block.
    pub transfer: Span,
    /// Bytes of a block.
    pub block: u32,
    /// Blocks of a cylinder.
    pub per_cylinder: u32,
    /// Bytes of the disk.
    pub capacity: u64,
}

/// A disk with these facts.
#[derive(Debug)]
pub struct Linear {
    facts: LinearFacts,
    waits: Rng,
    /// The cylinder of the arm.
    cylinder: u64,
    serving: Option<Serving>,
    observer: AccessObserver,
}

#[derive(Debug)]
struct Serving {
    req: Request,
    begun: Time,
    ends: Time,
    error: Option<Errno>,
}

impl Linear {
    /// Creates an idle disk; its waits for the platter are drawn from `waits`.
    ///
    /// # Panics
    /// If a block has no bytes, or a cylinder no blocks.
    pub fn new(facts: LinearFacts, waits: Rng) -> Self {
        assert!(facts.block > 0 && facts.per_cylinder > 0, "blocks without room: {facts:?}");
        Self { facts, waits, cylinder: 0, serving: None, observer: AccessObserver::default() }
    }

    /// Adds an `observer` that is called for every access with its start and its parts.
    #[must_use]
    pub fn observed(mut self, observer: impl FnMut(Time, &Access) + 'static) -> Self {
        self.observer = AccessObserver::new(observer);
        self
    }

    /// Returns the blocks that a range touches: the first, and their number.
    fn blocks(&self, start: u64, len: u32) -> (u64, u64) {
        let block = u64::from(self.facts.block);
        let first = start / block;
        (first, (start + u64::from(len)).div_ceil(block) - first)
    }

    fn cylinder_of(&self, block: u64) -> u64 {
        block / u64::from(self.facts.per_cylinder)
    }

    /// Returns the time of the arm to the cylinder of `block`.
    fn seek(&self, block: u64) -> Span {
        self.facts.seek.share(self.cylinder_of(block).abs_diff(self.cylinder), 1)
    }

    /// Moves the arm over the range from `now` on; returns the time that this takes.
    fn access(&mut self, now: Time, op: Op, start: u64, len: u32) -> Span {
        let (first, count) = self.blocks(start, len);
        let seek = self.seek(first);
        let LinearFacts { turn, latency, transfer, .. } = self.facts;
        let rotation = match latency {
            Latency::Uniform => Span::from_ns(self.waits.random_range(0..=turn.ns())),
            Latency::Constant => turn.share(1, 2),
        };
        let last = self.cylinder_of(first + count - 1);
        let cylinders = [self.cylinder, self.cylinder_of(first), last];
        let cylinders = cylinders.map(|cylinder| u32::try_from(cylinder).unwrap_or(u32::MAX));
        let parts = [seek, rotation, transfer.share(count, 1)];
        let access = Access::over_cylinders(op, parts, cylinders);
        self.observer.report(now, &access);
        self.cylinder = last;
        access.service()
    }
}

impl Device for Linear {
    fn capacity(&self) -> u64 {
        self.facts.capacity
    }

    fn block(&self) -> u32 {
        self.facts.block
    }

    fn room(&self) -> u32 {
        u32::from(self.serving.is_none())
    }

    /// The seek alone: the future angle of the platter is unknown.
    fn position(&self, _: Time, op: Op, start: u64) -> Span {
        match op {
            Op::Read | Op::Write => self.seek(start / u64::from(self.facts.block)),
            Op::Flush | Op::Discard => Span::ZERO,
        }
    }

    fn start(&mut self, now: Time, req: &Request) {
        debug_assert!(self.room() > 0, "started without room");
        let moves = matches!(req.op, Op::Read | Op::Write);
        let beyond = moves && req.end() > self.facts.capacity;
        let service = if moves && !beyond {
            self.access(now, req.op, req.start, req.len)
        } else {
            Span::ZERO
        };
        let error = beyond.then_some(Errno::EIO);
        self.serving = Some(Serving { req: *req, begun: now, ends: now + service, error });
    }

    fn wakeup(&self) -> Time {
        self.serving.as_ref().map_or(Time::NEVER, |serving| serving.ends)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        let Some(serving) = self.serving.take_if(|serving| serving.ends <= now) else { return };
        let Serving { req, begun, ends, error } = serving;
        done.push(Done {
            id: req.id,
            at: now,
            begun,
            service: ends.since(begun),
            len: req.len,
            error,
        });
    }
}

#[cfg(test)]
mod tests {
    use penstock_core::{ClassId, Flags, Io, Prio, ReqId, Seed, StreamId};

    use super::*;

    const FACTS: LinearFacts = LinearFacts {
        seek: Span::from_us(40),
        turn: Span::from_us(16_667),
        latency: Latency::Constant,
        transfer: Span::from_us(1_024),
        block: 4096,
        per_cylinder: 64,
        capacity: 1 << 30,
    };

    fn request(op: Op, start: u64, len: u32) -> Request {
        let io = Io {
            due: Time::ZERO,
            start,
            len,
            stream: StreamId(0),
            class: ClassId(0),
            op,
            prio: Prio(0),
            flags: Flags::NONE,
        };
        io.with(ReqId::new(0, 0))
    }

    /// Serves requests back to back; returns the time of each in nanoseconds, or its error.
    fn serve(disk: &mut Linear, requests: &[(Op, u64, u32)]) -> Vec<Result<u64, i32>> {
        let mut now = Time::ZERO;
        let mut done = Vec::new();
        for &(op, start, len) in requests {
            disk.start(now, &request(op, start, len));
            now = disk.wakeup();
            disk.advance(now, &mut done);
        }
        let took = |done: &Done| match done.error {
            None => Ok(done.service.ns()),
            Some(error) => Err(error.code()),
        };
        done.iter().map(took).collect()
    }

    const HALF: u64 = 8_333_500;
    const CYLINDER: u64 = 64 * 4096;

    #[test]
    fn an_access_is_seek_wait_and_blocks() {
        let mut disk = Linear::new(FACTS, Seed(1).stream("test", 0));
        let took = serve(
            &mut disk,
            &[
                (Op::Read, 0, 4096),
                // To cylinder 10, and on over 64 blocks into cylinder 11.
                (Op::Write, 10 * CYLINDER + 4096, 64 * 4096),
                // The arm is there.
                (Op::Read, 11 * CYLINDER, 4096),
                // A byte of each of two blocks costs both, and back to cylinder 1.
                (Op::Read, CYLINDER + 4095, 2),
            ],
        );
        let block = 1_024_000;
        let expected = [
            HALF + block,
            10 * 40_000 + HALF + 64 * block,
            HALF + block,
            10 * 40_000 + HALF + 2 * block,
        ];
        assert_eq!(took, expected.map(Ok));
    }

    #[test]
    fn what_moves_no_data_costs_nothing_and_what_lies_beyond_is_an_error() {
        let mut disk = Linear::new(FACTS, Seed(1).stream("test", 0));
        let took = serve(
            &mut disk,
            &[
                (Op::Read, 100 * CYLINDER, 4096),
                (Op::Flush, 0, 0),
                (Op::Discard, 0, 4096),
                (Op::Read, (1 << 30) - 4096, 8192),
                (Op::Read, 100 * CYLINDER, 4096),
            ],
        );
        let there = HALF + 1_024_000;
        assert_eq!(took, [Ok(4_000_000 + there), Ok(0), Ok(0), Err(5), Ok(there)]);
    }

    #[test]
    fn waits_are_spread_over_a_turn_and_are_those_of_the_seed() {
        let facts = LinearFacts { latency: Latency::Uniform, ..FACTS };
        let waits = |seed| {
            let mut disk = Linear::new(facts, Seed(seed).stream("test", 0));
            let took = serve(&mut disk, &vec![(Op::Read, 0, 4096); 10_000]);
            took.into_iter().map(|ns| ns.unwrap() - 1_024_000).collect::<Vec<_>>()
        };
        let drawn = waits(7);
        assert_eq!(drawn, waits(7));
        assert_ne!(drawn, waits(8));
        let mean = drawn.iter().sum::<u64>() / 10_000;
        // Five standard errors of a mean of 10,000.
        assert!(mean.abs_diff(HALF) < 5 * 16_667_000 / 346, "{mean}");
        for quarter in 0..4 {
            let part = drawn.iter().filter(|ns| **ns * 4 / 16_667_001 == quarter).count();
            assert!(part.abs_diff(2500) < 220, "{part} in quarter {quarter}");
        }
    }

    #[test]
    fn the_nearest_is_the_one_with_the_shortest_seek() {
        let mut disk = Linear::new(FACTS, Seed(1).stream("test", 0));
        serve(&mut disk, &[(Op::Read, 20 * CYLINDER, 4096)]);
        let seek = |op, cylinder| disk.position(Time::ZERO, op, cylinder * CYLINDER).ns();
        assert_eq!(
            [seek(Op::Read, 20), seek(Op::Write, 15), seek(Op::Read, 22)],
            [0, 200_000, 80_000]
        );
        assert_eq!(seek(Op::Flush, 0), 0);
    }
}
