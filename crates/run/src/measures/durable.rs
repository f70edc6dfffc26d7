//! Ends a run when everything that was written is on its device: the source of a run with
//! `stop = "durable"`.
//!
//! When the load has ended and all its requests have completed, each device, or each file below a page
//! cache, gets a flush. The run ends with the last of them. These flushes belong to no class: they are
//! recorded, and no measure sees them.

use std::cell::Cell;
use std::rc::Rc;

use penstock_core::{ClassId, Done, Errno, Flags, Io, Op, Prio, Request, Source, StreamId, Time};

use crate::measures::errors;

/// Whether the flushes at the end of a run have begun. Clones are of the same run.
#[derive(Clone, Default)]
pub(crate) struct Flushing {
    begun: Rc<Cell<bool>>,
    failed: Rc<Cell<Option<Errno>>>,
}

impl Flushing {
    /// Whether requests that arrive and finish now are flushes at the end of the run.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.get()
    }

    /// Returns a remark that data may not be on its device, if a flush failed.
    pub(crate) fn remark(&self) -> Option<String> {
        let name = errors::name(self.failed.get()?);
        Some(format!("{name} at the last flush: not all that was written is durable"))
    }
}

/// A load followed by flushes.
pub(crate) struct Durable<'a> {
    load: &'a mut dyn Source,
    flushing: Flushing,
    /// The first byte of each device or file that is still to be flushed, the last of them first.
    left: Vec<u64>,
    outstanding: u64,
    /// When the last request completed.
    last: Time,
}

impl<'a> Durable<'a> {
    /// Creates a source that plays `load`, and then flushes the device or file at each of the bytes
    /// `starts`, in this order.
    pub(crate) fn new(load: &'a mut dyn Source, starts: &[u64], flushing: Flushing) -> Self {
        let left = starts.iter().rev().copied().collect();
        Self { load, flushing, left, outstanding: 0, last: Time::ZERO }
    }

    /// Whether the load has ended, so that only flushes may be left.
    fn load_is_over(&self) -> bool {
        let quiet = || self.load.next_due() == Time::NEVER && !self.load.waits();
        self.flushing.has_begun() || self.outstanding == 0 && quiet()
    }
}

impl Source for Durable<'_> {
    fn next_due(&self) -> Time {
        match (self.load_is_over(), self.left.is_empty()) {
            (false, _) => self.load.next_due(),
            (true, false) => self.last,
            (true, true) => Time::NEVER,
        }
    }

    fn take(&mut self, now: Time) -> Option<Io> {
        if !self.load_is_over() {
            let io = self.load.take(now)?;
            self.outstanding += 1;
            return Some(io);
        }
        let start = self.left.pop()?;
        self.flushing.begun.set(true);
        Some(Io {
            due: self.last,
            start,
            len: 0,
            stream: StreamId(0),
            class: ClassId(0),
            op: Op::Flush,
            prio: Prio(0),
            flags: Flags::SYNC,
        })
    }

    fn finished(&mut self, now: Time, req: &Request, done: &Done) {
        if self.flushing.has_begun() {
            let failed = &self.flushing.failed;
            failed.set(failed.get().or(done.error));
            return;
        }
        self.outstanding -= 1;
        self.last = now;
        self.load.finished(now, req, done);
    }

    fn waits(&self) -> bool {
        self.load.waits()
    }
}

#[cfg(test)]
mod tests {
    use penstock_core::{Limits, Observer, Span, Virtual, run};
    use penstock_device::{Cost, Fixed, Rack};

    use super::*;

    /// Writes to two devices of a mebibyte, at 0 and 5 ms.
    struct Two(u64);

    impl Source for Two {
        fn next_due(&self) -> Time {
            if self.0 < 2 { Time::ZERO + Span::from_ms(5 * self.0) } else { Time::NEVER }
        }
        fn take(&mut self, _: Time) -> Option<Io> {
            let (due, start) = (self.next_due(), self.0 << 20);
            self.0 += 1;
            let (stream, class, prio, flags) = (StreamId(0), ClassId(0), Prio(0), Flags::NONE);
            Some(Io { due, start, len: 512, stream, class, op: Op::Write, prio, flags })
        }
        fn finished(&mut self, _: Time, _: &Request, _: &Done) {}
    }

    #[derive(Default)]
    struct Seen(Vec<(Op, u64, u64)>);

    impl Observer for Seen {
        fn arrived(&mut self, now: Time, req: &Request) {
            self.0.push((req.op, req.start, now.ns() / 1_000_000));
        }
    }

    #[test]
    fn flushes_come_when_all_requests_have_completed_and_then_the_run_ends() {
        let cost = Cost::Linear { base: Span::from_ms(2), per_mb: Span::ZERO };
        let mut rack = Rack::new(vec![Fixed::new(cost, 1 << 20), Fixed::new(cost, 1 << 20)]);
        let (mut load, flushing, mut seen) = (Two(0), Flushing::default(), Seen::default());
        let mut source = Durable::new(&mut load, &[0, 1 << 20], flushing.clone());
        assert!(!flushing.has_begun());
        let clock = &mut Virtual::default();
        run(&mut source, &mut rack, clock, &mut seen, Limits::default()).unwrap();
        let flushed = [(Op::Flush, 0, 7), (Op::Flush, 1 << 20, 7)];
        assert_eq!(seen.0[..2], [(Op::Write, 0, 0), (Op::Write, 1 << 20, 5)]);
        assert_eq!(seen.0[2..], flushed);
        assert!(flushing.has_begun() && flushing.failed.get().is_none());
    }

    #[test]
    fn a_flush_that_fails_is_known() {
        let flushing = Flushing::default();
        let mut load = Two(2);
        let mut source = Durable::new(&mut load, &[0], flushing.clone());
        assert_eq!(source.next_due(), Time::ZERO, "nothing was asked for");
        let io = source.take(Time::ZERO).unwrap();
        let req = io.with(penstock_core::ReqId::new(0, 0));
        let (at, service, error) = (Time::ZERO, Span::ZERO, Some(Errno::EIO));
        source.finished(at, &req, &Done { id: req.id, at, begun: at, service, len: 0, error });
        assert_eq!((source.next_due(), flushing.failed.get()), (Time::NEVER, Some(Errno::EIO)));
    }
}
