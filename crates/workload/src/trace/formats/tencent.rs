//! The traces of Tencent's cloud block storage, comma-separated:
//! `Timestamp,Offset,Size,IOType,VolumeID`.
//!
//! The time is in whole seconds since 1970, offset and size count sectors of 512 bytes, the type is 0
//! for a read and 1 for a write, the volume is a device. The first line may name the columns. Source:
//! README of "Tencent Block Storage Traces", SNIA IOTTA repository; Y. Zhang et al., "OSCA", ATC 2020.

use penstock_core::Op;

use crate::trace::builder::{Builder, NewRequest, bytes};
use crate::trace::error::{ParseError, Parsed, TraceError};
use crate::trace::fields::{Fields, number, scaled};
use crate::trace::format::Format;
use crate::trace::input::Input;
use crate::trace::recording::Trace;

const EXAMPLE: &str =
    "Timestamp,Offset,Size,IOType,VolumeID, as in `1538323200,12910952,128,0,1063`";

pub(super) const FORMAT: Format = Format {
    name: "tencent",
    summary: "Tencent's block traces: Timestamp (in s),Offset,Size,IOType,VolumeID",
    example: EXAMPLE,
    read,
    write: None,
};

const NS_PER_S: u64 = 1_000_000_000;

fn read(input: &mut Input<'_>) -> Result<Trace, TraceError> {
    Builder::table(input, b"Timestamp,Offset,", EXAMPLE, request)
}

fn request(text: &[u8], line: u32, trace: &mut Builder) -> Parsed<()> {
    let mut fields = Fields::new(text);
    let at_ns = scaled(fields.cell(), NS_PER_S, "the time in whole seconds")?;
    let start = bytes(number(fields.cell(), "the first sector")?, text)?;
    let len = bytes(number(fields.cell(), "how many sectors")?, text)?;
    let op = match fields.cell() {
        b"0" => Op::Read,
        b"1" => Op::Write,
        other => return Err(ParseError::new(other, "`0` for a read or `1` for a write")),
    };
    let volume = fields.cell();
    number(volume, "the number of the volume")?;
    fields.end()?;
    let device = trace.device(volume)?;
    trace.push(line, text, &NewRequest::new(at_ns, op, start, len, device)).map(drop)
}
