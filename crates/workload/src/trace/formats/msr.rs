//! The block traces of Microsoft Research Cambridge, comma-separated:
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! Time and response time are in Windows' file time, steps of 100 ns (the former since 1601),
//! offset and size in bytes, the type `Read` or `Write`. A device is called `HOST.DISK`. The first
//! line may name the columns. A response time of 0 stands for none recorded. Source: the traces'
//! README; D. Narayanan, A. Donnelly, A. Rowstron, "Write Off-Loading", FAST 2008.
//!
//! The writer writes reads and writes with the file's own clock, in steps of 100 ns. Flushes,
//! discards and processes are omitted.

use std::io::{self, Write};

use penstock_core::{Op, Span};

use crate::trace::builder::{Builder, NewRequest};
use crate::trace::error::{ParseError, Parsed, TraceError};
use crate::trace::fields::{Fields, number, scaled};
use crate::trace::format::{Format, Written};
use crate::trace::input::Input;
use crate::trace::recording::Trace;

const EXAMPLE: &str = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime, as in \
                       `128166372003061629,usr,0,Read,7014609920,24576,41286`";

/// Nanoseconds in a step of the Windows file time.
const STEP_NS: u64 = 100;

pub(super) const FORMAT: Format = Format {
    name: "msr",
    summary: "MSR Cambridge CSV: Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
    example: EXAMPLE,
    read,
    write: Some(write),
};

fn read(input: &mut Input<'_>) -> Result<Trace, TraceError> {
    let mut name = Vec::new();
    Builder::table(input, b"Timestamp,Hostname,", EXAMPLE, |text, line, trace| {
        request(text, line, trace, &mut name)
    })
}

fn request(text: &[u8], line: u32, trace: &mut Builder, name: &mut Vec<u8>) -> Parsed<()> {
    let mut fields = Fields::new(text);
    let at_ns = scaled(fields.cell(), STEP_NS, "the time in steps of 100 ns since 1601")?;
    let host = fields.cell();
    if host.is_empty() {
        return Err(ParseError::new(host, "the name of the host"));
    }
    let disk = fields.cell();
    number(disk, "the number of the disk")?;
    let op = match fields.cell() {
        kind if kind.eq_ignore_ascii_case(b"Read") => Op::Read,
        kind if kind.eq_ignore_ascii_case(b"Write") => Op::Write,
        other => return Err(ParseError::new(other, "`Read` or `Write`")),
    };
    let start = number(fields.cell(), "the offset in bytes")?;
    let len = number(fields.cell(), "the size in bytes")?;
    let response = fields.cell();
    let took_ns = scaled(response, STEP_NS, "the response time in steps of 100 ns");
    // Without the comma before it, the line was cut off.
    if response.is_empty() && !text.trim_ascii_end().ends_with(b",") {
        return took_ns.map(drop);
    }
    fields.end()?;
    name.clear();
    name.extend_from_slice(host);
    name.push(b'.');
    name.extend_from_slice(disk);
    let device = trace.device(name)?;
    let request = NewRequest::new(at_ns, op, start, len, device);
    trace.push_with_response(line, text, &request, response, took_ns)
}

fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<Written> {
    let mut written = Written::default();
    let devices: Vec<_> = trace.devices.iter().map(|name| host_and_disk(name)).collect();
    for record in &trace.records {
        let kind = match record.op {
            Op::Read => "Read",
            Op::Write => "Write",
            Op::Flush | Op::Discard => {
                written.left_out += 1;
                continue;
            }
        };
        let at = trace.origin_ns.saturating_add(record.at.ns()) / STEP_NS;
        let took = record.latency().unwrap_or(Span::ZERO).ns() / STEP_NS;
        let (host, disk) = &devices[record.device.index()];
        writeln!(out, "{at},{host},{disk},{kind},{},{},{took}", record.start, record.len)?;
        written.requests += 1;
    }
    Ok(written)
}

/// Splits `usr.0` into the host `usr` and the disk 0. Any other name becomes a host with disk 0.
/// Commas and line ends are replaced, since they would end the field.
fn host_and_disk(name: &str) -> (String, u64) {
    let split = name.rsplit_once('.').and_then(|(host, disk)| Some((host, disk.parse().ok()?)));
    let (host, disk) = split.unwrap_or((name, 0));
    let host = host.trim().replace([',', '\n', '\r'], "-");
    (if host.is_empty() { "host".into() } else { host }, disk)
}
