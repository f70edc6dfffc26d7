//! The block traces of Alibaba's cloud, `io_traces.csv`, comma-separated:
//! `device_id,opcode,offset,length,timestamp`.
//!
//! The device is a virtual disk, the opcode `R` or `W`, offset and length are in bytes, the time in
//! microseconds since 1970. The first line may name the columns. Source: README of
//! <https://github.com/alibaba/block-traces>.

use penstock_core::Op;

use crate::trace::builder::{Builder, NewRequest};
use crate::trace::error::{ParseError, Parsed, TraceError};
use crate::trace::fields::{Fields, number, scaled};
use crate::trace::format::Format;
use crate::trace::input::Input;
use crate::trace::recording::Trace;

const EXAMPLE: &str = "device_id,opcode,offset,length,timestamp, as in \
                       `419,W,8792731648,16384,1577808144360767`";

pub(super) const FORMAT: Format = Format {
    name: "alibaba",
    summary: "Alibaba's block traces: device_id,opcode,offset,length,timestamp (in µs)",
    example: EXAMPLE,
    read,
    write: None,
};

const NS_PER_US: u64 = 1_000;

fn read(input: &mut Input<'_>) -> Result<Trace, TraceError> {
    Builder::table(input, b"device_id,opcode,", EXAMPLE, request)
}

fn request(text: &[u8], line: u32, trace: &mut Builder) -> Parsed<()> {
    let mut fields = Fields::new(text);
    let disk = fields.cell();
    number(disk, "the number of the virtual disk")?;
    let op = match fields.cell() {
        b"R" => Op::Read,
        b"W" => Op::Write,
        other => return Err(ParseError::new(other, "`R` or `W`")),
    };
    let start = number(fields.cell(), "the offset in bytes")?;
    let len = number(fields.cell(), "the length in bytes")?;
    let at_ns = scaled(fields.cell(), NS_PER_US, "the time in microseconds")?;
    fields.end()?;
    let device = trace.device(disk)?;
    trace.push(line, text, &NewRequest::new(at_ns, op, start, len, device)).map(drop)
}
