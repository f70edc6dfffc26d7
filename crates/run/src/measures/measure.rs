//! The trait of measures: a measure observes a run and writes its part of the result.

use penstock_core::{Done, Errno, Request, Source, Span, Time};

use crate::measures::ledger::Spent;
use crate::result::RunResult;
use crate::result::parts::ThreadPart;

/// How a request finished.
pub(crate) struct Finished {
    /// When it was done.
    pub(crate) at: Time,
    /// Time from its intended arrival until then.
    pub(crate) latency: Span,
    /// Time from its intended arrival until its first piece was dispatched.
    pub(crate) wait: Span,
    /// Device time of all its pieces.
    pub(crate) service: Span,
    /// Device time that its class is charged for it: zero above a page cache, where the ledger
    /// books it.
    pub(crate) charged: Span,
    /// The error that it failed with.
    pub(crate) error: Option<Errno>,
    /// Whether it was due after the warm-up.
    pub(crate) counted: bool,
}

impl Finished {
    /// Describes how `req` finished with `done`, in a run whose warm-up ends at `warmup`; its class
    /// is charged `charged`.
    pub(crate) fn new(req: &Request, done: &Done, warmup: Time, charged: Span) -> Self {
        Self {
            at: done.at,
            latency: done.at.since(req.due),
            wait: done.begun.since(req.due),
            service: done.service,
            charged,
            error: done.error,
            counted: req.due >= warmup,
        }
    }
}

/// A measure of a run.
pub(crate) trait Measure {
    /// Whether [`turn`](Self::turn) must be called.
    fn needs_turns(&self) -> bool {
        false
    }

    /// Called when a turn of the loop begins.
    fn turn(&mut self) {}

    /// Called when `req` is handed over at `now`.
    fn arrived(&mut self, _now: Time, _req: &Request) {}

    /// Called when `req` has finished; the loop is at `now`.
    fn finished(&mut self, _now: Time, _req: &Request, _how: &Finished) {}

    /// Called when device time was spent below a page cache.
    fn spent(&mut self, _spent: &Spent) {}

    /// Called when the run has ended at `end`; requests that `source` still plans before `until`
    /// did not take place.
    fn ended(&mut self, _source: &mut dyn Source, _end: Time, _until: Time) {}

    /// Returns the data collected until `end`, for [`join`](Self::join) in a run on several
    /// threads; `None` if the measure cannot be joined.
    fn part(&mut self, _end: Time) -> Option<ThreadPart> {
        None
    }

    /// Adds the data of the same measure on another thread.
    fn join(&mut self, _part: ThreadPart) {}

    /// Writes the results until `end`. Measures write in the order in which they are listed.
    fn write(&mut self, end: Time, result: &mut RunResult);
}

/// Requests for tests of measures.
#[cfg(test)]
pub(crate) mod samples {
    use penstock_core::{ClassId, Flags, Io, Op, Prio, ReqId, StreamId};

    use super::*;

    /// A request of 1,000 bytes of `class`, due at `due`.
    pub(crate) fn request(class: u16, due: Time) -> Request {
        let io = Io {
            due,
            start: 0,
            len: 1000,
            stream: StreamId(0),
            class: ClassId(class),
            op: Op::Read,
            prio: Prio(0),
            flags: Flags::NONE,
        };
        io.with(ReqId::new(0, 0))
    }

    /// How `req` finished after `wait` and `service`.
    pub(crate) fn finished(
        req: &Request,
        wait: Span,
        service: Span,
        error: Option<Errno>,
    ) -> Finished {
        let begun = req.due + wait;
        let done = Done { id: req.id, at: begun + service, begun, service, len: req.len, error };
        Finished::new(req, &done, Time::ZERO, service)
    }
}
