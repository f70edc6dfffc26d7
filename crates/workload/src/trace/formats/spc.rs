//! Traces in the format of the Storage Performance Council, for example of the `UMass` repository:
//! `ASU,LBA,Size,Opcode,Timestamp`, comma-separated.
//!
//! The ASU is an application's storage unit, here a device; addresses count blocks of 512 bytes;
//! the size is in bytes; the opcode is `R` or `W`; the time is in seconds. More fields may follow
//! and are ignored. Source: SPC Trace File Format Specification, revision 1.0.1.

use penstock_core::Op;

use crate::trace::builder::{Builder, NewRequest, bytes};
use crate::trace::error::{ParseError, Parsed, TraceError};
use crate::trace::fields::{Fields, decimal, number};
use crate::trace::format::Format;
use crate::trace::input::Input;
use crate::trace::recording::Trace;

const EXAMPLE: &str = "ASU,LBA,Size,Opcode,Timestamp, as in `0,20941264,8192,W,0.551706`";

pub(super) const FORMAT: Format = Format {
    name: "spc",
    summary: "Storage Performance Council and UMass: ASU,LBA,Size,Opcode,Timestamp",
    example: EXAMPLE,
    read,
    write: None,
};

fn read(input: &mut Input<'_>) -> Result<Trace, TraceError> {
    Builder::lines(input, EXAMPLE, request)
}

fn request(text: &[u8], line: u32, trace: &mut Builder) -> Parsed<()> {
    let mut fields = Fields::new(text);
    let unit = fields.cell();
    number(unit, "the number of the storage unit (ASU)")?;
    let lba = number(fields.cell(), "the first block (LBA)")?;
    let len = number(fields.cell(), "the size in bytes")?;
    let op = match fields.cell() {
        b"R" | b"r" => Op::Read,
        b"W" | b"w" => Op::Write,
        other => return Err(ParseError::new(other, "`R` or `W`")),
    };
    let at_ns = decimal(fields.cell(), 9, "the time in seconds, as in `0.551706`")?;
    let start = bytes(lba, text)?;
    let device = trace.device(unit)?;
    trace.push(line, text, &NewRequest::new(at_ns, op, start, len, device)).map(drop)
}
