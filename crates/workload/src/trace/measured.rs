//! What a drive took, measured one request at a time, comma-separated:
//! `op,lbn,blocks,measured_response_ms,think_time_after_completion_ms`.
//!
//! The operation is `R` or `W`, blocks are of 512 bytes, times milliseconds; what lies below a
//! nanosecond is cut off. The first line may name the columns. No request has a time of its own:
//! each was sent when the one before had completed and its think time was over, and a replay does
//! the same ([`Trace::one_by_one`]). Source: the form in which the validation set of DiskSim 4.0
//! is kept here.
//!
//! It cannot be written: other traces do not know what each request took.

use penstock_core::{Flags, Op, Span, Time};

use super::builder::{Asked, Builder, bytes};
use super::error::{Parsed, TraceError, Wrong};
use super::fields::{Fields, decimal, number};
use super::{Format, Lines, Trace};

const EXAMPLE: &str = "op,lbn,blocks,measured_response_ms,think_time_after_completion_ms, as in \
                       `R,2992396,4,13.670,35.942`";

pub(super) const FORMAT: Format = Format {
    name: "measured",
    summary: "responses of a drive, one request at a time: op,lbn,blocks,response_ms,think_ms",
    example: EXAMPLE,
    read,
    write: None,
};

fn read(lines: &mut Lines<'_>) -> Result<Trace, TraceError> {
    let mut trace = Builder::new();
    let mut at_ns = 0;
    lines.each(|text, line| {
        if line == 1 && text.starts_with(b"op,") {
            trace.skipped += 1;
            return Ok(());
        }
        at_ns = request(text, line, at_ns, &mut trace)?;
        Ok(())
    })?;
    Ok(Trace { one_by_one: true, ..trace.finish(lines, EXAMPLE)? })
}

/// Reads the request that was sent at `at_ns`; when the next one was.
fn request(text: &[u8], line: u32, at_ns: u64, trace: &mut Builder) -> Parsed<u64> {
    let mut fields = Fields::new(text);
    let op = match fields.cell() {
        b"R" => Op::Read,
        b"W" => Op::Write,
        other => return Err(Wrong::new(other, "`R` or `W`")),
    };
    let lbn = number(fields.cell(), "the first block")?;
    let blocks = number(fields.cell(), "how many blocks")?;
    let took_ns = decimal(fields.cell(), 6, "the response time in milliseconds, as in `13.670`")?;
    let think_ns = decimal(fields.cell(), 6, "the think time in milliseconds, as in `35.942`")?;
    fields.end()?;
    let next = at_ns.checked_add(took_ns).and_then(|ns| ns.checked_add(think_ns));
    let Some(next) = next.filter(|&ns| ns < Time::NEVER.ns()) else {
        return Err(Wrong::new(text, "times that add up to less than 500 years"));
    };
    let (start, len, flags) = (bytes(lbn, text)?, bytes(blocks, text)?, Flags::NONE);
    let device = trace.device(b"drive")?;
    let record = trace.push(line, text, &Asked { at_ns, op, start, len, flags, device })?;
    *record = record.with_latency(Span::from_ns(took_ns));
    Ok(next)
}
