//! A device with faults: any device behind seeded errors and stalls.
//!
//! Use it to see how a policy affects other requests when a disk misbehaves. A request that fails
//! is served as usual and then reported with an input/output error. A request that stalls is
//! reported `stall` later and occupies its place until then. The medium is idle meanwhile, so a
//! stall counts as waiting and not as device time. Flushes never fail or stall.

use penstock_core::{Device, Done, Errno, Op, Request, Rng, Span, Time};
use rand::RngExt;

/// Rates of faults.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rates {
    /// Share of requests that fail, 0 to 1.
    pub errors: f64,
    /// Share of requests that stall, 0 to 1.
    pub stalls: f64,
    /// Delay of a stalled request.
    pub stall: Span,
}

/// A device with faults.
pub struct Faults<D> {
    device: D,
    rates: Rates,
    rng: Rng,
    /// Completions that are held back, each until its `at`.
    stalled: Vec<Done>,
}

impl<D: Device> Faults<D> {
    /// Adds faults at `rates`, drawn from `rng`, to `device`.
    pub fn new(device: D, rates: Rates, rng: Rng) -> Self {
        Self { device, rates, rng, stalled: Vec::new() }
    }
}

impl<D: Device> Device for Faults<D> {
    fn capacity(&self) -> u64 {
        self.device.capacity()
    }

    fn block(&self) -> u32 {
        self.device.block()
    }

    fn room(&self) -> u32 {
        self.device.room().saturating_sub(self.stalled.len() as u32)
    }

    fn admits(&self, op: Op, start: u64, len: u32) -> bool {
        self.room() > 0 && self.device.admits(op, start, len)
    }

    fn position(&self, now: Time, op: Op, start: u64) -> Span {
        self.device.position(now, op, start)
    }

    fn start(&mut self, now: Time, req: &Request) {
        self.device.start(now, req);
    }

    fn wakeup(&self) -> Time {
        let stalled = self.stalled.iter().map(|done| done.at).min().unwrap_or(Time::NEVER);
        stalled.min(self.device.wakeup())
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        let from = done.len();
        self.device.advance(now, done);
        let mut keep = from;
        for read in from..done.len() {
            let mut completion = done[read];
            let spared = completion.len == 0;
            // Two draws for every request, so that one rate does not shift the faults of the other.
            let (fails, stalls) = (self.rng.random::<f64>(), self.rng.random::<f64>());
            if !spared && fails < self.rates.errors {
                completion.error = completion.error.or(Some(Errno::EIO));
            }
            if !spared && stalls < self.rates.stalls {
                self.stalled.push(Done { at: now + self.rates.stall, ..completion });
            } else {
                done[keep] = completion;
                keep += 1;
            }
        }
        done.truncate(keep);
        self.stalled.retain(|&late| {
            let due = late.at <= now;
            if due {
                done.push(Done { at: now, ..late });
            }
            !due
        });
    }

    fn polled(&self) -> bool {
        self.device.polled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixed::{Cost, Fixed};
    use penstock_core::{ClassId, Flags, Io, Prio, ReqId, Seed, StreamId};

    fn served(rates: Rates) -> Vec<Done> {
        let cost = Cost::Linear { base: Span::from_ms(1), per_mb: Span::ZERO };
        let mut device = Faults::new(Fixed::new(cost, 1 << 20), rates, Seed(1).stream("faults", 0));
        let mut done = Vec::new();
        let mut now = Time::ZERO;
        for slot in 0..1000 {
            let io = Io {
                due: now,
                start: 0,
                len: 512,
                stream: StreamId(0),
                class: ClassId(0),
                op: Op::Read,
                prio: Prio(0),
                flags: Flags::NONE,
            };
            device.start(now, &io.with(ReqId::new(slot, 0)));
            while device.room() == 0 {
                now = device.wakeup();
                device.advance(now, &mut done);
            }
        }
        done
    }

    #[test]
    fn fails_and_stalls_at_its_rates() {
        let rates = Rates { errors: 0.1, stalls: 0.2, stall: Span::from_ms(7) };
        let done = served(rates);
        assert_eq!(done.len(), 1000);
        let failed = done.iter().filter(|d| d.error == Some(Errno::EIO)).count();
        let late = done.iter().filter(|d| d.at.since(d.begun) == Span::from_ms(8)).count();
        assert!((70..130).contains(&failed) && (160..240).contains(&late), "{failed} {late}");
        assert!(done.iter().all(|d| d.service == Span::from_ms(1)), "a stall is no device time");
    }

    #[test]
    fn equal_seeds_fail_alike() {
        let rates = Rates { errors: 0.5, stalls: 0.5, stall: Span::from_ms(1) };
        assert_eq!(served(rates), served(rates));
    }
}
