//! The trait of what is measured: a measure observes a run and writes its part of the result.

use penstock_core::{Done, Errno, Request, Source, Span, Time};

use crate::measures::ledger::Spent;
use crate::result::RunResult;
use crate::result::parts::ThreadPart;

/// How a request finished.
pub(crate) struct Finished {
    /// When it was done.
    pub(crate) at: Time,
    /// From its intended arrival until then.
    pub(crate) latency: Span,
    /// From its intended arrival until its first piece was dispatched.
    pub(crate) wait: Span,
    /// Device time of all its pieces.
    pub(crate) service: Span,
    /// Device time that its class is charged for it: none below a page cache, which has a ledger.
    pub(crate) charged: Span,
    /// What it failed with.
    pub(crate) error: Option<Errno>,
    /// It was due after the warm-up.
    pub(crate) counted: bool,
}

impl Finished {
    /// How `req` finished with `done`, in a run with a warm-up until `warmup`; its class is charged
    /// `charged`.
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

/// Something that is measured in a run.
pub(crate) trait Measure {
    /// Whether it is to be called when a turn of the loop begins.
    fn needs_turns(&self) -> bool {
        false
    }

    /// A turn of the loop begins.
    fn turn(&mut self) {}

    /// `req` was handed over at `now`.
    fn arrived(&mut self, _now: Time, _req: &Request) {}

    /// `req` has finished; the loop is at `now`.
    fn finished(&mut self, _now: Time, _req: &Request, _how: &Finished) {}

    /// Device time was spent below a page cache.
    fn spent(&mut self, _spent: &Spent) {}

    /// The run ended at `end`; what `source` still plans before `until` did not take place.
    fn ended(&mut self, _source: &mut dyn Source, _end: Time, _until: Time) {}

    /// What it has found until `end`, for the same measure of a run on several threads; none if that has no
    /// such.
    fn part(&mut self, _end: Time) -> Option<ThreadPart> {
        None
    }

    /// Takes in a `part` of the same measure.
    fn join(&mut self, _part: ThreadPart) {}

    /// Writes what was measured until `end`. Measures write in the order in which they are listed.
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
