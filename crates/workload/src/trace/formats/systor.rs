//! The traces of virtual desktops of SYSTOR '17, comma-separated:
//! `Timestamp,Response,IOType,LUN,Offset,Size`.
//!
//! The time is in seconds since 1970, the response time in seconds, the type `R` or `W`, offset and
//! size are in bytes; a logical unit (LUN) is a device. A request with an empty type got no response
//! and is skipped: nothing says what it was. The first line may name the columns. Source: README of
//! "SYSTOR '17 Traces", SNIA IOTTA repository; C. Lee et al., "Understanding Storage Traffic
//! Characteristics on Enterprise Virtual Desktop Infrastructure", SYSTOR 2017.

use penstock_core::Op;

use crate::trace::builder::{Builder, NewRequest};
use crate::trace::error::{ParseError, Parsed, TraceError};
use crate::trace::fields::{Fields, decimal, number};
use crate::trace::format::Format;
use crate::trace::input::Input;
use crate::trace::recording::Trace;

const EXAMPLE: &str = "Timestamp,Response,IOType,LUN,Offset,Size, as in \
                       `1456095145.133076000,0.000806000,R,0,899056122368,131072`";

pub(super) const FORMAT: Format = Format {
    name: "systor17",
    summary: "virtual desktops of SYSTOR '17: Timestamp,Response,IOType,LUN,Offset,Size",
    example: EXAMPLE,
    read,
    write: None,
};

fn read(input: &mut Input<'_>) -> Result<Trace, TraceError> {
    Builder::table(input, b"Timestamp,Response,", EXAMPLE, request)
}

fn request(text: &[u8], line: u32, trace: &mut Builder) -> Parsed<()> {
    let mut fields = Fields::new(text);
    let at_ns = decimal(fields.cell(), 9, "the time in seconds, as in `1456095145.133076000`")?;
    let response = fields.cell();
    let op = match fields.cell() {
        b"R" => Some(Op::Read),
        b"W" => Some(Op::Write),
        b"" => None,
        other => return Err(ParseError::new(other, "`R`, `W` or nothing")),
    };
    let unit = fields.cell();
    number(unit, "the number of the logical unit (LUN)")?;
    let start = number(fields.cell(), "the offset in bytes")?;
    let len = number(fields.cell(), "the size in bytes")?;
    fields.end()?;
    let Some(op) = op else {
        trace.skipped += 1;
        return Ok(());
    };
    let took_ns = decimal(response, 9, "the response time in seconds, as in `0.000806000`");
    let device = trace.device(unit)?;
    let request = NewRequest::new(at_ns, op, start, len, device);
    trace.push_with_response(line, text, &request, response, took_ns)
}
