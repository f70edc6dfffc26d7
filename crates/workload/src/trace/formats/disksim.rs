//! DiskSim's ASCII traces: `time_ms device lbn blocks flags`, one request a line.
//!
//! Blocks are of 512 bytes. Flags are hexadecimal; bit 0 is 1 for a read and 0 for a write, the
//! others are DiskSim's own. Times are milliseconds; digits below a nanosecond are cut off. Source:
//! DiskSim 4.0 reference manual.
//!
//! The writer writes times from the first request, to the nanosecond; reads and writes, widened to
//! whole blocks; and devices by their number if their name is a number, otherwise by their
//! position. Flushes, discards and all facts other than the range are omitted.

use std::io::{self, Write};

use penstock_core::Op;

use crate::trace::builder::{BLOCK_BYTES, Builder, NewRequest, bytes};
use crate::trace::error::{ParseError, Parsed, TraceError};
use crate::trace::fields::{Fields, number};
use crate::trace::format::{Format, Written};
use crate::trace::input::Input;
use crate::trace::recording::Trace;

const EXAMPLE: &str = "time_ms device lbn blocks flags, as in `34.025970 0 13020280 8 1`";

pub(super) const FORMAT: Format = Format {
    name: "disksim",
    summary: "DiskSim's ASCII traces: time_ms device lbn blocks flags (bit 0: 1 read, 0 write)",
    example: EXAMPLE,
    read,
    write: Some(write),
};

fn read(input: &mut Input<'_>) -> Result<Trace, TraceError> {
    Builder::lines(input, EXAMPLE, request)
}

fn request(text: &[u8], line: u32, trace: &mut Builder) -> Parsed<()> {
    let mut fields = Fields::new(text);
    let at_ns = fields.decimal(6, "the time in milliseconds, as in `34.025970`")?;
    let device = fields.word();
    number(device, "the number of the device")?;
    let lbn = fields.number("the first block")?;
    let blocks = fields.number("how many blocks")?;
    let flags = fields.word();
    let odd = match flags {
        [.., last] if flags.iter().all(u8::is_ascii_hexdigit) => {
            (*last as char).to_digit(16).is_some_and(|digit| digit % 2 == 1)
        }
        _ => {
            return Err(ParseError::new(
                flags,
                "the flags, as in `1` for a read or `0` for a write",
            ));
        }
    };
    fields.end()?;
    let op = if odd { Op::Read } else { Op::Write };
    let (start, len) = (bytes(lbn, text)?, bytes(blocks, text)?);
    let device = trace.device(device)?;
    trace.push(line, text, &NewRequest::new(at_ns, op, start, len, device)).map(drop)
}

fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<Written> {
    let mut written = Written::default();
    for record in &trace.records {
        let read = match record.op {
            Op::Read => 1,
            Op::Write => 0,
            Op::Flush | Op::Discard => {
                written.left_out += 1;
                continue;
            }
        };
        let ns = record.at.ns();
        let name = trace.device(&record);
        let device = name.parse().unwrap_or(u64::from(record.device.0));
        let lbn = record.start / BLOCK_BYTES;
        let blocks = record.end().div_ceil(BLOCK_BYTES) - lbn;
        writeln!(out, "{}.{:06} {device} {lbn} {blocks} {read}", ns / 1_000_000, ns % 1_000_000)?;
        written.requests += 1;
    }
    Ok(written)
}
