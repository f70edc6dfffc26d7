//! The trait of what is measured: a measure observes a run and writes its part of the result.

use penstock_core::{Errno, Request, Source, Span, Time};

use crate::measures::ledger::Spent;
use crate::result::RunResult;

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

/// Something that is measured in a run.
pub(crate) trait Measure {
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

    /// Writes what was measured until `end`. Measures write in the order in which they are listed.
    fn write(&mut self, end: Time, result: &mut RunResult);
}
