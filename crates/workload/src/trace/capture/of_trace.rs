//! The events that a trace would have been captured as: each request is queued, and completed if its
//! latency is known.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use penstock_core::{Flags, Op};

use super::event::{Action, CapturedEvent};
use crate::trace::builder::BLOCK_BYTES;
use crate::trace::format::Written;
use crate::trace::record::Record;
use crate::trace::recording::Trace;

/// Calls `put` for the events of `trace`, in order of time.
pub(crate) fn events(
    trace: &Trace,
    mut put: impl FnMut(&CapturedEvent<'_>) -> io::Result<()>,
) -> io::Result<Written> {
    let mut written = Written::default();
    // Completions to come, by their time.
    let mut ends = BinaryHeap::new();
    for record in &trace.records {
        while let Some(&Reverse((at_ns, number))) = ends.peek()
            && at_ns <= record.at.ns()
        {
            complete(trace, at_ns, number, &mut put)?;
            ends.pop();
        }
        put(&event(trace, &record, record.at.ns(), Action::Queued))?;
        if let Some(latency) = record.latency() {
            let at_ns = record.at.ns().saturating_add(latency.ns());
            ends.push(Reverse((at_ns, written.requests as usize)));
        }
        written.requests += 1;
    }
    while let Some(Reverse((at_ns, number))) = ends.pop() {
        complete(trace, at_ns, number, &mut put)?;
    }
    Ok(written)
}

fn complete(
    trace: &Trace,
    at_ns: u64,
    number: usize,
    put: &mut impl FnMut(&CapturedEvent<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let record = trace.records.get(number)?;
    put(&CapturedEvent { process: b"", pid: 0, ..event(trace, &record, at_ns, Action::Completed) })
}

fn event<'a>(trace: &'a Trace, record: &Record, at_ns: u64, action: Action) -> CapturedEvent<'a> {
    let sector = record.start / BLOCK_BYTES;
    CapturedEvent {
        at_ns,
        action,
        device: trace.device(record).as_bytes(),
        letters: letters(record.op, trace.flags(record)),
        sector,
        sectors: record.end().div_ceil(BLOCK_BYTES) - sector,
        cpu: 0,
        pid: record.pid,
        process: trace.process(record).as_bytes(),
        ioprio: record.ioprio,
    }
}

/// The kernel's letters of an operation with its flags.
const fn letters(op: Op, flags: Flags) -> &'static [u8] {
    match (op, flags.has(Flags::FUA), flags.has(Flags::SYNC)) {
        (Op::Read, false, false) => b"R",
        (Op::Read, false, true) => b"RS",
        (Op::Read, true, false) => b"RF",
        (Op::Read, true, true) => b"RFS",
        (Op::Write, false, false) => b"W",
        (Op::Write, false, true) => b"WS",
        (Op::Write, true, false) => b"WF",
        (Op::Write, true, true) => b"WFS",
        (Op::Flush, _, false) => b"FF",
        (Op::Flush, _, true) => b"FFS",
        (Op::Discard, _, false) => b"D",
        (Op::Discard, _, true) => b"DS",
    }
}
