//! The traces of Florida International University, for example of "I/O Deduplication":
//! `ts_ns pid process lba blocks R|W major minor MD5`, one request a line.
//!
//! Times are in nanoseconds, blocks are of 512 bytes. A device is called `MAJOR,MINOR`. The digest of
//! the content is ignored; it may be missing. Source: README of "FIU `IODedup`", SNIA IOTTA repository;
//! R. Koller, R. Rangaswami, "I/O Deduplication", FAST 2010.

use penstock_core::Op;

use crate::trace::builder::{Builder, NewRequest, bytes};
use crate::trace::error::{ParseError, Parsed, TraceError};
use crate::trace::fields::{Fields, number, number32};
use crate::trace::format::Format;
use crate::trace::input::Input;
use crate::trace::recording::Trace;

const EXAMPLE: &str = "ts_ns pid process lba blocks R|W major minor MD5, as in \
                       `89966496912869 2559 kjournald 3145944 8 W 8 1 6f4922f45568161a8cdf4ad2299f6d23`";

pub(super) const FORMAT: Format = Format {
    name: "fiu",
    summary: "Florida International University: ts_ns pid process lba blocks R|W major minor MD5",
    example: EXAMPLE,
    read,
    write: None,
};

fn read(input: &mut Input<'_>) -> Result<Trace, TraceError> {
    let mut name = Vec::new();
    Builder::lines(input, EXAMPLE, |text, line, trace| request(text, line, trace, &mut name))
}

fn request(text: &[u8], line: u32, trace: &mut Builder, name: &mut Vec<u8>) -> Parsed<()> {
    let mut fields = Fields::new(text);
    let at_ns = fields.number("the time in nanoseconds")?;
    let pid = number32(fields.word(), "the number of the process")?;
    let process = fields.word();
    let lba = fields.number("the first block")?;
    let blocks = fields.number("how many blocks")?;
    let op = match fields.word() {
        b"R" => Op::Read,
        b"W" => Op::Write,
        other => return Err(ParseError::new(other, "`R` or `W`")),
    };
    let (major, minor) = (fields.word(), fields.word());
    number(major, "the major number of the device")?;
    number(minor, "the minor number of the device")?;
    let digest = fields.word();
    if !digest.iter().all(u8::is_ascii_hexdigit) {
        return Err(ParseError::new(digest, "the digest in hexadecimal digits"));
    }
    fields.end()?;
    name.clear();
    name.extend_from_slice(major);
    name.push(b',');
    name.extend_from_slice(minor);
    let (start, len) = (bytes(lba, text)?, bytes(blocks, text)?);
    let device = trace.device(name)?;
    let process = trace.process(process)?;
    let request = NewRequest { pid, process, ..NewRequest::new(at_ns, op, start, len, device) };
    trace.push(line, text, &request).map(drop)
}
