//! The events of Linux' block layer: a request is queued (`Q`), issued to the device (`D`) and
//! completed (`C`).
//!
//! Queued requests are the requests of the trace, and completions give them their latency. A file
//! without queued requests is read by those that were issued, and one without these by completions:
//! such a request arrives when it completed. A remark says so. A flush before data (`F` first) is a
//! flush; with data, two requests of the same time.

use penstock_core::{Flags, Op};

use super::builder::{Asked, Builder, bytes};
use super::completions::{Completions, Range};
use super::error::{Parsed, TraceError};
use super::input::Input;
use super::record::ProcessId;
use super::recording::Trace;

/// A step in the life of a request. The greatest that a file has are its requests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// The device has done it.
    Completed,
    /// The device got it.
    Issued,
    /// A program asked for it.
    Queued,
}

/// What a request asks for.
#[derive(Clone, Copy)]
pub(super) struct Asks {
    /// `None`: neither data nor a flush, as a zone command.
    pub(super) op: Option<Op>,
    pub(super) flush_first: bool,
    pub(super) flags: Flags,
}

impl Asks {
    /// The flags of this part of the request: the data is forced, not the flush before it.
    fn flags_of(self, op: Op) -> Flags {
        match op {
            Op::Flush if self.flags.has(Flags::SYNC) => Flags::SYNC,
            Op::Flush => Flags::NONE,
            _ => self.flags,
        }
    }
}

/// An event of a request.
pub(super) struct BlockEvent<'a> {
    pub(super) step: Step,
    pub(super) at_ns: u64,
    pub(super) asks: Asks,
    pub(super) device: &'a [u8],
    pub(super) sector: u64,
    pub(super) sectors: u64,
    pub(super) pid: u32,
    pub(super) process: &'a [u8],
}

/// Makes a trace of events in order of time.
pub(super) struct BlockEvents {
    trace: Builder,
    completions: Completions,
    /// Events of this step are the requests, as far as is known yet.
    requests: Step,
}

impl BlockEvents {
    pub(super) fn new() -> Self {
        let (trace, completions) = (Builder::new(), Completions::new());
        Self { trace, completions, requests: Step::Completed }
    }

    /// An event of another kind.
    pub(super) fn skip(&mut self) {
        self.trace.skipped += 1;
    }

    /// Adds an event of line `line`; messages quote `text`.
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
        let &BlockEvent { step, at_ns, asks, sectors, .. } = event;
        let Some(op) = event.op() else {
            self.skip();
            return Ok(());
        };
        let device = self.trace.device(event.device)?;
        // At a completion the kernel notes the process that the interrupt met.
        let (pid, process) = match step {
            Step::Completed => (0, ProcessId(0)),
            Step::Issued | Step::Queued => (event.pid, self.trace.process(event.process)?),
        };
        let ops = [
            (asks.flush_first || op == Op::Flush).then_some(Op::Flush),
            (op != Op::Flush && (sectors > 0 || !asks.flush_first)).then_some(op),
        ];
        for op in ops.into_iter().flatten() {
            let (start, len) = event.extent(op, text)?;
            let flags = asks.flags_of(op);
            let asked = Asked::new(at_ns, op, start, len, device);
            for index in self.trace.push(line, text, &Asked { flags, pid, process, ..asked })? {
                let record = self.trace.record(index)?;
                let (start, end) = (record.start, record.end());
                self.completions.asked(index, at_ns, &Range { device, op, start, end });
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
        self.completions.completed(event.at_ns, &range, |index, latency| trace.took(index, latency))
    }

    /// The trace of all events.
    pub(super) fn finish(
        mut self,
        input: &Input<'_>,
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
        self.trace.finish(input, expected)
    }
}

impl BlockEvent<'_> {
    /// What is asked for. A completion without data ends a flush, whatever else it says.
    fn op(&self) -> Option<Op> {
        let without_data = self.step == Step::Completed && self.sectors == 0;
        if without_data { Some(Op::Flush) } else { self.asks.op }
    }

    /// First byte and bytes. A flush has neither; kernels number its sector as they like, as
    /// 2^64 - 1 for one.
    fn extent(&self, op: Op, text: &[u8]) -> Parsed<(u64, u64)> {
        match op {
            Op::Flush => Ok((0, 0)),
            _ => Ok((bytes(self.sector, text)?, bytes(self.sectors, text)?)),
        }
    }
}
