//! Penstock's own captures of the kernel's block events, as `penstock capture` writes them.
//!
//! Requests, latencies and remarks as in `blkparse`, and I/O priorities from the completions. The
//! [file](crate::trace::capture) has every step of a request in nanoseconds.

use std::cell::Cell;
use std::io::{self, Write};

use crate::trace::block_events::{BlockEvent, BlockEvents, Step};
use crate::trace::capture::{
    Action, CapturedEvent, Decoded, Decoder, Encoder, HEAD_BYTES, events, size,
};
use crate::trace::error::{Parsed, TraceError};
use crate::trace::format::{Format, Written};
use crate::trace::formats::blkparse::operation;
use crate::trace::input::Input;
use crate::trace::recording::Trace;

const EXAMPLE: &str = "a request of a capture, which begins with two bytes and `Penstock trace`";

pub(super) const FORMAT: Format = Format {
    name: "ptrace",
    summary: "captures of penstock: every step of a request, with its process and I/O priority",
    example: EXAMPLE,
    read,
    write: Some(write),
};

fn read(input: &mut Input<'_>) -> Result<Trace, TraceError> {
    let mut events = BlockEvents::new();
    let mut number = 0;
    let lost = captured(input, |event| {
        number += 1;
        add(&mut events, number, event)
    })?;
    if lost > 0 {
        events.remark(format!(
            "the kernel lost {lost} events of this capture: requests and latencies are missing"
        ));
    }
    events.finish(input, EXAMPLE)
}

/// Calls `handle` for each event of a capture, in order of time. Returns the number of events that
/// the kernel lost.
pub(crate) fn captured(
    input: &mut Input<'_>,
    mut handle: impl FnMut(&CapturedEvent<'_>) -> Parsed<()>,
) -> Result<u64, TraceError> {
    let (mut decoder, mut lost) = (Decoder::default(), 0_u64);
    let is_first = Cell::new(true);
    let size = |head: &[u8]| size(head, is_first.replace(false));
    input.records(HEAD_BYTES, size, |record, _| {
        match decoder.record(record)? {
            Decoded::Event(event) => handle(&event)?,
            Decoded::Lost(events) => lost = lost.saturating_add(events),
            Decoded::Other => {}
        }
        Ok(())
    })?;
    Ok(lost)
}

fn add(events: &mut BlockEvents, number: u32, event: &CapturedEvent<'_>) -> Parsed<()> {
    let step = match event.action {
        Action::Queued => Step::Queued,
        Action::Issued => Step::Issued,
        Action::Completed => Step::Completed,
        _ => {
            events.skip();
            return Ok(());
        }
    };
    let &CapturedEvent { at_ns, device, sector, sectors, pid, process, ioprio, .. } = event;
    let operation = operation(event.letters)?;
    let event =
        BlockEvent { step, at_ns, operation, device, sector, sectors, pid, process, ioprio };
    events.add(number, &[], &event)
}

fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<Written> {
    let mut encoder = Encoder::new();
    let written = events(trace, |event| {
        encoder.event(event);
        out.write_all(&encoder.take())
    })?;
    out.write_all(&encoder.take())?;
    Ok(written)
}
