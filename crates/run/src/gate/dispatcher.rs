//! The one thread of a gate: its orders as a source, and the loop over them.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex, PoisonError};

use penstock_core::{
    ClassId, Device, Done, Flags, Io, Limits, Observer, Op, Prio, Request, Source, Time, run,
};
use penstock_live::{Cargo, Guard, LiveClock, Load, Trouble};

use super::carrier::WINDOW;
use super::counters::{Class, Counters};
use super::inbox::{Answer, Inbox, Order};
use super::register::{Entry, Register};

/// Takes orders from the inbox, and answers them.
pub(super) struct GateLoop {
    pub(super) inbox: Arc<Inbox<Order>>,
    pub(super) cargo: Cargo,
    pub(super) register: Register,
    pub(super) counters: Arc<Mutex<Counters>>,
}

impl GateLoop {
    /// Serves until the gate is closed and every order is answered, or until the loop fails.
    pub(super) fn serve(mut self, mut stack: impl Device, mut clock: LiveClock, most: u32) {
        let guard = clock.guard();
        let limits = Limits { until: Time::NEVER, max_outstanding: most };
        let mut watch = Guarded(&guard);
        let end = run(&mut self, &mut stack, &mut clock, &mut watch, limits);
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
        let (op, len) = (order.op, order.bytes.len() as u32);
        let start = u64::from(order.file) * WINDOW + order.offset;
        let class = match op {
            Op::Flush => Class::Flush,
            _ => self.counters.lock().unwrap_or_else(PoisonError::into_inner).class(len),
        };
        let stream = self.cargo.put(Load { start: order.offset, bytes: order.bytes });
        let (reply, sync) = (order.reply, order.sync);
        self.register.put(stream, Entry { reply, class, sync, start, pieces: 0, failed: None });
        // A merged command would carry the bytes of its first request alone. FUA keeps a policy
        // from merging; the carrier removes the flag where the caller did not ask for it.
        let flags = Flags::SYNC.with(Flags::FUA);
        let class = ClassId(class as u16);
        Some(Io { due, start, len, stream, class, op, prio: Prio::default(), flags })
    }

    fn finished(&mut self, _: Time, req: &Request, done: &Done) {
        let entry = self.register.take(req.stream);
        let bytes = self.cargo.take(req.stream).bytes;
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.finished(entry.class, req, done, (entry.pieces, self.register.long_first()));
        drop(counters);
        let certain = entry.failed.map_or(0, |(place, _)| place - entry.start);
        let carried = if done.error.is_some() { certain } else { req.len.into() };
        // The caller may have been interrupted.
        let _ = entry.reply.send(Answer { bytes, done: carried, error: done.error });
        self.inbox.answered();
    }
}

impl Drop for GateLoop {
    fn drop(&mut self) {
        self.inbox.end();
    }
}

/// Ends the loop when the device does not answer.
pub(super) struct Guarded<'a>(pub(super) &'a Guard);

impl Observer for Guarded<'_> {
    fn turn(&mut self, now: Time) -> bool {
        self.0.look(now)
    }
}
