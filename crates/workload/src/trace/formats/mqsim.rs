//! `MQSim`'s traces: `time_ns device lba sectors type`, one request a line.
//!
//! Sectors are of 512 bytes. The type is 0 for a write and 1 for a read, as in the traces that come
//! with `MQSim`. `MQSim` has one drive and ignores the device, and so does this format: all requests
//! have one address space, with a remark if there are several devices.

use penstock_core::Op;

use crate::trace::builder::{Builder, NewRequest, bytes};
use crate::trace::error::{ParseError, Parsed, TraceError};
use crate::trace::fields::Fields;
use crate::trace::format::Format;
use crate::trace::input::Input;
use crate::trace::recording::Trace;

const EXAMPLE: &str = "time_ns device lba sectors type, as in `938513000 4 264719034 16 0`";

pub(super) const FORMAT: Format = Format {
    name: "mqsim",
    summary: "MQSim's traces: time_ns device lba sectors type (0 write, 1 read)",
    example: EXAMPLE,
    read,
    write: None,
};

fn read(input: &mut Input<'_>) -> Result<Trace, TraceError> {
    let (mut first, mut several) = (None, false);
    let mut trace = Builder::lines(input, EXAMPLE, |text, line, trace| {
        let device = request(text, line, trace)?;
        several |= *first.get_or_insert(device) != device;
        Ok(())
    })?;
    if several {
        trace.remarks.push(
            "its requests name several devices, which are ignored as in MQSim: all go to one \
             drive"
                .into(),
        );
    }
    Ok(trace)
}

/// Reads a request. Returns the number of its device.
fn request(text: &[u8], line: u32, trace: &mut Builder) -> Parsed<u64> {
    let mut fields = Fields::new(text);
    let at_ns = fields.number("the time in whole nanoseconds, as in `938513000`")?;
    let device = fields.number("the number of the device")?;
    let lba = fields.number("the first sector")?;
    let sectors = fields.number("how many sectors")?;
    let op = match fields.word() {
        b"0" => Op::Write,
        b"1" => Op::Read,
        other => return Err(ParseError::new(other, "`0` for a write or `1` for a read")),
    };
    fields.end()?;
    let (start, len) = (bytes(lba, text)?, bytes(sectors, text)?);
    let drive = trace.device(b"drive")?;
    trace.push(line, text, &NewRequest::new(at_ns, op, start, len, drive))?;
    Ok(device)
}
