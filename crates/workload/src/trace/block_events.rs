//! The events of the Linux block layer: a request is queued (`Q`), issued to the device (`D`) and
//! completed (`C`).
//!
//! Queued requests are the requests of the trace, and completions give them their latency. If a
//! file has no queue events, the issued requests are used instead; if it has no issue events
//! either, the completed ones, which arrive at the time of their completion. A remark says so. A
//! flush before data (`F` first) becomes a flush and, if it has data, a second request of the same
//! time.

use penstock_core::{Flags, IoPrio, Op};

use super::builder::{Builder, NewRequest, bytes};
use super::completions::{Completions, Range};
use super::error::{Parsed, TraceError};
use super::input::Input;
use super::record::ProcessId;
use super::recording::Trace;

/// A step in the life of a request. The events of the greatest step in a file are its requests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// The device has completed it.
    Completed,
    /// It was sent to the device.
    Issued,
    /// A program issued it.
    Queued,
}

/// The operation of an event, with its flags.
#[derive(Clone, Copy)]
pub(super) struct Operation {
    /// `None` for neither data nor a flush, such as a zone command.
    pub(super) op: Option<Op>,
    pub(super) flush_first: bool,
    pub(super) flags: Flags,
}

impl Operation {
    /// The flags of the part `op` of the request: forced unit access applies to the data, not to
    /// the flush before it.
    pub(super) fn flags_of(self, op: Op) -> Flags {
        match op {
            Op::Flush if self.flags.has(Flags::SYNC) => Flags::SYNC,
            Op::Flush => Flags::NONE,
            _ => self.flags,
        }
    }

    /// The requests that a request for `op` becomes.
    pub(super) fn parts(self, op: Op, has_data: bool) -> impl Iterator<Item = Op> {
        let flush = (self.flush_first || op == Op::Flush).then_some(Op::Flush);
        let data = (op != Op::Flush && (has_data || !self.flush_first)).then_some(op);
        flush.into_iter().chain(data)
    }
}

/// An event of a request.
pub(super) struct BlockEvent<'a> {
    pub(super) step: Step,
    pub(super) at_ns: u64,
    pub(super) operation: Operation,
    pub(super) device: &'a [u8],
    pub(super) sector: u64,
    pub(super) sectors: u64,
    pub(super) pid: u32,
    pub(super) process: &'a [u8],
    /// The I/O priority, of a completion also that of its requests; `None` if unknown.
    pub(super) ioprio: Option<IoPrio>,
}

/// Builds a trace from events in order of time.
pub(super) struct BlockEvents {
    trace: Builder,
    completions: Completions,
    /// The greatest step so far, whose events are the requests.
    requests: Step,
}

impl BlockEvents {
    pub(super) fn new() -> Self {
        let (trace, completions) = (Builder::new(), Completions::new());
        Self { trace, completions, requests: Step::Completed }
    }

    /// Counts an event that is not used.
    pub(super) fn skip(&mut self) {
        self.trace.skipped += 1;
    }

    /// Adds a remark for users: a sentence without a full stop.
    pub(super) fn remark(&mut self, remark: String) {
        self.trace.remarks.push(remark);
    }

    /// Adds the event of line or record `line`; messages quote `text`.
    pub(super) fn add(&mut self, line: u32, text: &[u8], event: &BlockEvent<'_>) -> Parsed<()> {
        if event.step > self.requests {
            self.trace.skip_all();
            self.completions = Completions::new();
            self.requests = event.step;
        }
        if event.step == self.requests {
            return self.request(line, text, event);
        }
        self.skip();
        if event.step == Step::Completed { self.completed(text, event) } else { Ok(()) }
    }

    fn request(&mut self, line: u32, text: &[u8], event: &BlockEvent<'_>) -> Parsed<()> {
        let &BlockEvent { step, at_ns, operation, sectors, ioprio, .. } = event;
        let Some(op) = event.op() else {
            self.skip();
            return Ok(());
        };
        let device = self.trace.device(event.device)?;
        // At a completion the kernel records the process that the interrupt happened to hit.
        let (pid, process) = match step {
            Step::Completed => (0, ProcessId(0)),
            Step::Issued | Step::Queued => (event.pid, self.trace.process(event.process)?),
        };
        for op in operation.parts(op, sectors > 0) {
            let (start, len) = event.extent(op, text)?;
            let flags = operation.flags_of(op);
            let request = NewRequest::new(at_ns, op, start, len, device);
            for index in self.trace.push(
                line,
                text,
                &NewRequest { flags, pid, process, ioprio, ..request },
            )? {
                let record = self.trace.record(index)?;
                let (start, end) = (record.start, record.end());
                self.completions.queued(index, at_ns, &Range { device, op, start, end });
            }
        }
        Ok(())
    }

    fn completed(&mut self, text: &[u8], event: &BlockEvent<'_>) -> Parsed<()> {
        let Some(op) = event.op() else { return Ok(()) };
        let (start, len) = event.extent(op, text)?;
        let range = Range {
            device: self.trace.device(event.device)?,
            op,
            start,
            end: start.saturating_add(len),
        };
        let trace = &mut self.trace;
        self.completions.completed(event.at_ns, &range, |index, latency| {
            trace.complete(index, latency, event.ioprio)
        })
    }

    /// Returns the trace of all events.
    pub(super) fn finish(
        mut self,
        input: &mut Input<'_>,
        expected: &'static str,
    ) -> Result<Trace, TraceError> {
        let remark = match self.requests {
            Step::Queued => None,
            Step::Issued => Some(
                "no request was recorded when it was queued (Q): these are those issued to the \
                 device (D), which the kernel had merged and ordered",
            ),
            Step::Completed => Some(
                "no request was recorded when it was queued (Q) or issued (D): these are those \
                 completed (C), which arrive when they completed",
            ),
        };
        self.trace.remarks.extend(remark.map(Into::into));
        self.trace.tells_sync = true;
        self.trace.finish(input, expected)
    }
}

impl BlockEvent<'_> {
    /// The operation. A completion without data ends a flush, whatever its letters or flags.
    fn op(&self) -> Option<Op> {
        let without_data = self.step == Step::Completed && self.sectors == 0;
        if without_data { Some(Op::Flush) } else { self.operation.op }
    }

    /// First byte and length in bytes. A flush has neither; the sector that kernels record for it,
    /// such as 2^64 - 1, has no meaning.
    fn extent(&self, op: Op, text: &[u8]) -> Parsed<(u64, u64)> {
        match op {
            Op::Flush => Ok((0, 0)),
            _ => Ok((bytes(self.sector, text)?, bytes(self.sectors, text)?)),
        }
    }
}
