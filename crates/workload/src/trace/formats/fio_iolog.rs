//! fio's I/O logs, versions 2 and 3: after a heading `FILE add|open|close` and
//! `FILE read|write|sync|datasync|trim OFFSET LENGTH`, with a time before each line in version 3.
//!
//! Offsets and lengths are bytes; times are microseconds. Files are devices here; `add`, `open` and
//! `close` describe no request and are skipped. In version 2 all requests have the same time,
//! except for `FILE wait TIME`: it delays all following requests by TIME microseconds, counted from
//! the previous `wait`. Source: fio's documentation, "Trace file format". It states no unit for the
//! times of version 3; logs that fio wrote count microseconds, and fio 3.33 replays them as such.
//! fio's own replay of `wait` differs from its documentation: users report that it takes the time
//! as milliseconds since the start.
//!
//! The writer writes version 3, with times from the first request; devices are the files. Names
//! must not contain white space there, so it is replaced by `_`. A flush is a `sync`, a discard a
//! `trim`.

use std::io::{self, Write};

use penstock_core::{Flags, Op};

use crate::trace::builder::{Builder, NewRequest};
use crate::trace::error::{ParseError, Parsed, TraceError};
use crate::trace::fields::{Fields, scaled};
use crate::trace::format::{Format, Written};
use crate::trace::input::Input;
use crate::trace::recording::Trace;

const HEADING_2: &str = "fio version 2 iolog";
const HEADING_3: &str = "fio version 3 iolog";
const EXAMPLE_2: &str = "FILE ACTION OFFSET LENGTH, as in `/dev/sda read 4096 8192`";
const EXAMPLE_3: &str = "TIME_US FILE ACTION OFFSET LENGTH, as in `250 /dev/sda read 4096 8192`";

const NS_PER_US: u64 = 1_000;

pub(super) const FORMAT_2: Format = Format {
    name: "fio-iolog2",
    summary: "fio's I/O log, version 2: FILE ACTION OFFSET LENGTH, waits between",
    example: EXAMPLE_2,
    read: read_2,
    write: None,
};

pub(super) const FORMAT_3: Format = Format {
    name: "fio-iolog3",
    summary: "fio's I/O log, version 3: TIME_US FILE ACTION OFFSET LENGTH",
    example: EXAMPLE_3,
    read: read_3,
    write: Some(write),
};

fn read_2(input: &mut Input<'_>) -> Result<Trace, TraceError> {
    let mut trace = Builder::new();
    let mut at_ns = 0;
    let mut headed = false;
    input.lines(|text, line| {
        if !headed {
            headed = true;
            return heading(text, HEADING_2, &mut trace);
        }
        let mut fields = Fields::new(text);
        let mut ahead = fields.clone();
        let (_, action) = (ahead.word(), ahead.word());
        if action != b"wait" {
            return request(&mut fields, text, line, at_ns, &mut trace);
        }
        let pause = scaled(ahead.word(), NS_PER_US, "how many microseconds to wait")?;
        at_ns = at_ns.checked_add(pause).ok_or_else(|| ParseError::new(text, "a shorter wait"))?;
        trace.skipped += 1;
        Ok(())
    })?;
    finish(trace, input, EXAMPLE_2)
}

fn read_3(input: &mut Input<'_>) -> Result<Trace, TraceError> {
    let mut trace = Builder::new();
    let mut headed = false;
    input.lines(|text, line| {
        if !headed {
            headed = true;
            return heading(text, HEADING_3, &mut trace);
        }
        let mut fields = Fields::new(text);
        let at_ns = scaled(fields.word(), NS_PER_US, "the time in microseconds")?;
        request(&mut fields, text, line, at_ns, &mut trace)
    })?;
    finish(trace, input, EXAMPLE_3)
}

/// Finishes a trace. fio closes the files that it opened, so a log that does not may have been cut off.
fn finish(
    mut trace: Builder,
    input: &mut Input<'_>,
    expected: &'static str,
) -> Result<Trace, TraceError> {
    if trace.is_open {
        let remark = "the log ends without a `close` of its last file: it may have been cut off";
        trace.remarks.push(remark.into());
    }
    trace.finish(input, expected)
}

fn heading(text: &[u8], expected: &str, trace: &mut Builder) -> Parsed<()> {
    if text.trim_ascii() == expected.as_bytes() {
        trace.headed = true;
        return Ok(());
    }
    Err(ParseError::new(text, format!("the heading `{expected}`")))
}

fn request(
    fields: &mut Fields<'_>,
    text: &[u8],
    line: u32,
    at_ns: u64,
    trace: &mut Builder,
) -> Parsed<()> {
    let file = fields.word();
    if file.is_empty() {
        return Err(ParseError::new(file, "the name of a file"));
    }
    let op = match fields.word() {
        b"read" => Op::Read,
        b"write" => Op::Write,
        b"sync" | b"datasync" => Op::Flush,
        b"trim" => Op::Discard,
        action @ (b"add" | b"open" | b"close") => {
            trace.skipped += 1;
            trace.is_open = action != b"close";
            return fields.end();
        }
        other => {
            let known = "`read`, `write`, `sync`, `datasync`, `trim`, `add`, `open` or `close`";
            return Err(ParseError::new(other, known));
        }
    };
    // A flush covers the whole file, so a range of it is parsed and then ignored.
    let (start, len) = if op == Op::Flush && fields.rest().is_empty() {
        (0, 0)
    } else {
        let start = fields.number("the offset in bytes")?;
        (start, fields.number("the length in bytes")?)
    };
    fields.end()?;
    let flags = if op == Op::Flush { Flags::SYNC } else { Flags::NONE };
    let device = trace.device(file)?;
    let request = NewRequest { flags, ..NewRequest::new(at_ns, op, start, len, device) };
    trace.push(line, text, &request).map(drop)
}

fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<Written> {
    let files: Vec<String> = trace.devices.iter().map(|name| file_name(name)).collect();
    writeln!(out, "{HEADING_3}")?;
    for file in &files {
        writeln!(out, "0 {file} add\n0 {file} open")?;
    }
    let mut last_us = 0;
    for record in &trace.records {
        last_us = record.at.ns() / NS_PER_US;
        let action = match record.op {
            Op::Read => "read",
            Op::Write => "write",
            Op::Flush => "sync",
            Op::Discard => "trim",
        };
        let file = &files[record.device.index()];
        writeln!(out, "{last_us} {file} {action} {} {}", record.start, record.len)?;
    }
    for file in &files {
        writeln!(out, "{last_us} {file} close")?;
    }
    Ok(Written { requests: trace.records.len() as u64, left_out: 0 })
}

fn file_name(name: &str) -> String {
    let name = name.replace(|c: char| c.is_whitespace() || c.is_control(), "_");
    if name.is_empty() { "_".into() } else { name }
}
