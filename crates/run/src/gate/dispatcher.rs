//! The one thread of a gate: its orders as a source, and the loop over them.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex};

use penstock_core::{Device, Done, Flags, Io, Limits, Observer, Op, Request, Source, Time, run};
use penstock_live::{Cargo, Guard, LiveClock, Load, Trouble};

use super::by_class::by_class;
use super::carrier::WINDOW;
use super::counters::Counters;
use super::inbox::{Answer, Inbox, Order};
use super::locks::lock;
use super::register::{Entry, Register};
use crate::record::Recorder;

/// Takes orders from the inbox, and answers them.
pub(super) struct GateLoop {
    pub(super) inbox: Arc<Inbox<Order>>,
    pub(super) cargo: Cargo,
    pub(super) register: Register,
    pub(super) counters: Arc<Mutex<Counters>>,
    /// The longest request that counts as short, in bytes.
    pub(super) threshold: u32,
    pub(super) recorder: Option<Recorder>,
}

impl GateLoop {
    /// Serves until the gate is closed and every order is answered, or until the loop fails.
    pub(super) fn serve(mut self, mut stack: impl Device, mut clock: LiveClock, most: u32) {
        let guard = clock.guard();
        let limits = Limits { until: Time::NEVER, max_outstanding: most };
        let mut watch = GateWatch { guard: &guard, recorder: self.recorder.clone() };
        let end = run(&mut self, &mut stack, &mut clock, &mut watch, limits);
        if let Some(Err(error)) = self.recorder.take().map(|recorder| recorder.finish()) {
            lock(&self.counters).record_error = Some(error);
        }
        let at = end.as_ref().map_or(Time::ZERO, |end| end.at);
        let (kind, why) = match (guard.end(at, None), end) {
            (Some(silent @ Trouble::Silent { .. }), _) => (ErrorKind::TimedOut, silent.to_string()),
            (Some(trouble), _) => (ErrorKind::Other, trouble.to_string()),
            (None, Err(error)) => (ErrorKind::Other, error.to_string()),
            (None, Ok(_)) => return,
        };
        self.inbox.fail(kind, &why);
    }
}

impl Source for GateLoop {
    fn next_due(&self) -> Time {
        self.inbox.next_due()
    }

    fn take(&mut self, _: Time) -> Option<Io> {
        let (due, order) = self.inbox.take()?;
        let Order { op, file, offset, bytes, len, sync, class, prio, book, reply } = order;
        let start = u64::from(file) * WINDOW + offset;
        let short = op != Op::Flush && len <= self.threshold;
        let stream = self.cargo.put(Load { start: offset, bytes });
        let entry = Entry { op, reply, short, book, class, sync, start, pieces: 0, failed: None };
        self.register.put(stream, entry);
        // A merged command would carry the bytes of its first request alone. FUA keeps a policy
        // from merging; the carrier removes the flag where the caller did not ask for it.
        let flags = Flags::SYNC.with(Flags::FUA);
        Some(Io { due, start, len, stream, class, op, prio, flags })
    }

    fn finished(&mut self, _: Time, req: &Request, done: &Done) {
        let entry = self.register.take(req.stream);
        let bytes = self.cargo.take(req.stream).bytes;
        let pieces = (entry.pieces, self.register.long_first());
        lock(&self.counters).finished(entry.book, req, done, pieces);
        let certain = entry.failed.map_or(0, |(place, _)| place - entry.start);
        let carried = if done.error.is_some() { certain } else { req.len.into() };
        entry.reply.send(Answer { bytes, done: carried, error: done.error });
        self.inbox.answered();
    }
}

impl Drop for GateLoop {
    fn drop(&mut self) {
        self.inbox.end();
    }
}

/// Ends the loop when the device does not answer, and records what happens.
pub(super) struct GateWatch<'a> {
    pub(super) guard: &'a Guard,
    pub(super) recorder: Option<Recorder>,
}

impl Observer for GateWatch<'_> {
    fn turn(&mut self, now: Time) -> bool {
        if let Some(recorder) = &self.recorder {
            recorder.turn(now);
        }
        self.guard.look(now)
    }

    fn arrived(&mut self, _: Time, req: &Request) {
        if let Some(recorder) = &self.recorder {
            recorder.arrived(&by_class(req).io);
        }
    }
}
