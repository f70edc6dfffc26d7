//! Measured response times of a drive, one request at a time, comma-separated:
//! `op,lbn,blocks,measured_response_ms,think_time_after_completion_ms`.
//!
//! The operation is `R` or `W`, blocks are of 512 bytes, times milliseconds; digits below a
//! nanosecond are cut off. The first line may name the columns. Requests have no times of arrival:
//! each was sent after the completion of the previous one and a pause, which its own line states. A
//! replay does the same ([`Trace::one_by_one`]); the think time of the first is ignored. Source:
//! the form in which the validation set of DiskSim 4.0 is stored here. The data shows that the
//! think time precedes its request: with this reading, the sectors of two reads of a track pass the
//! head of a freely rotating platter at the measured times, with the other reading they do not
//! (`docs/validation.md`).
//!
//! The format cannot be written: other traces do not record the latency of each request.

use penstock_core::{Op, Span, Time};

use crate::trace::builder::{Builder, NewRequest, bytes};
use crate::trace::error::{ParseError, Parsed, TraceError};
use crate::trace::fields::{Fields, decimal, number};
use crate::trace::format::Format;
use crate::trace::input::Input;
use crate::trace::recording::Trace;

const EXAMPLE: &str = "op,lbn,blocks,measured_response_ms,think_time_after_completion_ms, as in \
                       `R,2992396,4,13.670,35.942`";

pub(super) const FORMAT: Format = Format {
    name: "measured",
    summary: "responses of a drive, one request at a time: op,lbn,blocks,response_ms,think_ms",
    example: EXAMPLE,
    read,
    write: None,
};

fn read(input: &mut Input<'_>) -> Result<Trace, TraceError> {
    let mut trace = Builder::new();
    let mut completed = None;
    input.lines(|text, line| {
        if line == 1 && text.starts_with(b"op,lbn,") {
            trace.headed = true;
            trace.skipped += 1;
            return Ok(());
        }
        request(text, line, &mut completed, &mut trace)
    })?;
    Ok(Trace { one_by_one: true, ..trace.finish(input, EXAMPLE)? })
}

/// Reads a request. `completed` is the completion time of the previous one, and then of this one,
/// even if this one has no bytes and is left out.
fn request(text: &[u8], line: u32, completed: &mut Option<u64>, trace: &mut Builder) -> Parsed<()> {
    let mut fields = Fields::new(text);
    let op = match fields.cell() {
        b"R" => Op::Read,
        b"W" => Op::Write,
        other => return Err(ParseError::new(other, "`R` or `W`")),
    };
    let lbn = number(fields.cell(), "the first block")?;
    let blocks = number(fields.cell(), "how many blocks")?;
    let took_ns = decimal(fields.cell(), 6, "the response time in milliseconds, as in `13.670`")?;
    let think_ns = decimal(fields.cell(), 6, "the think time in milliseconds, as in `35.942`")?;
    fields.end()?;
    let at_ns = completed.map_or(Some(0), |ns| ns.checked_add(think_ns));
    let times = at_ns.and_then(|at_ns| Some((at_ns, at_ns.checked_add(took_ns)?)));
    let Some((at_ns, completed_ns)) = times.filter(|&(_, ns)| ns < Time::NEVER.ns()) else {
        return Err(ParseError::new(text, "times that add up to less than 500 years"));
    };
    *completed = Some(completed_ns);
    let (start, len) = (bytes(lbn, text)?, bytes(blocks, text)?);
    let device = trace.device(b"drive")?;
    let latency = Some(Span::from_ns(took_ns));
    let request = NewRequest { latency, ..NewRequest::new(at_ns, op, start, len, device) };
    trace.push(line, text, &request).map(drop)
}
