//! The text that `blkparse` prints by default: one event a line.
//!
//! ```text
//! 254,0    1        2    0.000079000   549  Q  WS 40393264 + 16 [postgres]
//! device  CPU  number      seconds     pid  |   |  sector + sectors [process]
//!                                       action  operation: R W D F, then F forced, S synchronous
//! ```
//!
//! The letters `Q` (queued), `D` (issued to the device) and `C` (completed) are events of a request:
//! `Q` is its arrival, and `C` gives it its latency. `G`, `I`, `M`, `X` and the others describe the
//! kernel's work on requests. They are skipped, as are passthrough commands and the summary at the
//! end. Sectors are of 512 bytes. Written are `Q` and `C` events. Source: the manual page blkparse(1).

use std::io::{self, Write};

use penstock_core::{Flags, Op};

use crate::trace::block_events::{BlockEvent, BlockEvents, Operation, Step};
use crate::trace::capture::{self, Action, CapturedEvent};
use crate::trace::error::{ParseError, Parsed, TraceError};
use crate::trace::fields::{Fields, number32};
use crate::trace::format::{Format, Written};
use crate::trace::input::Input;
use crate::trace::recording::Trace;

const EXAMPLE: &str = "an event as blkparse prints it, as in \
                       `254,0 1 2 0.000079000 549 Q WS 40393264 + 16 [postgres]`";

/// Beginnings of the lines of the summary.
const SUMMARY: &[&str] = &[
    "CPU",
    "Total",
    "Reads Queued",
    "Read Dispatches",
    "Reads Requeued",
    "Reads Completed",
    "Read Merges",
    "Read depth",
    "PC Read",
    "IO unplugs",
    "Throughput",
    "Events",
    "Skips",
    "Input file",
];

pub(super) const FORMAT: Format = Format {
    name: "blkparse",
    summary: "blkparse's default text: Q events are requests, C events their latency",
    example: EXAMPLE,
    read,
    write: Some(write),
};

fn read(input: &mut Input<'_>) -> Result<Trace, TraceError> {
    let mut events = BlockEvents::new();
    input.lines(|text, line| event(text, line, &mut events))?;
    events.finish(input, EXAMPLE)
}

fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<Written> {
    // The devices of other formats have names: they are numbered.
    let named = trace.devices.iter().any(|name| !is_device(name.as_bytes()));
    let number = |name: &[u8]| {
        let index = trace.devices.iter().position(|device| device.as_bytes() == name);
        format!("0,{}", index.unwrap_or(0))
    };
    let mut count = 0_u64;
    capture::events(trace, |event| {
        count += 1;
        let &CapturedEvent { at_ns, action, device, letters, sector, sectors, cpu, pid, .. } =
            event;
        let text = |bytes| String::from_utf8_lossy(bytes).replace(char::is_control, "?");
        let device = if named { number(device) } else { text(device) };
        // A completion has the error of the device in the place of a name.
        let name = if action == Action::Completed { "0".into() } else { text(event.process) };
        let (s, ns, letters) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000, text(letters));
        let action = char::from(action.letter());
        writeln!(
            out,
            "{device:>6} {cpu:>4} {count:>8} {s:>5}.{ns:09} {pid:>5}  {action} {letters:>3} \
             {sector} + {sectors} [{name}]"
        )
    })
}

fn event(text: &[u8], line: u32, events: &mut BlockEvents) -> Parsed<()> {
    let mut fields = Fields::new(text);
    let device = fields.word();
    if !is_device(device) {
        events.skip();
        return summary(text);
    }
    fields.number("the number of the CPU")?;
    fields.number("the number of the event")?;
    let at_ns = fields.decimal(9, "the time in seconds, as in `0.000079000`")?;
    let pid = number32(fields.word(), "the number of the process")?;
    let step = match fields.word() {
        b"Q" => Step::Queued,
        b"D" => Step::Issued,
        b"C" => Step::Completed,
        other if !other.is_empty() && other.iter().all(u8::is_ascii_alphabetic) => {
            events.skip();
            return Ok(());
        }
        other => return Err(ParseError::new(other, "an action, such as `Q` or `C`")),
    };
    // The figures are parsed even if they are not used, so that a cut or damaged line is an error.
    let text = fields.rest();
    let operation = operation(fields.word())?;
    let place = place(&mut fields)?;
    let process = match step {
        Step::Queued => process(fields.rest())?,
        Step::Issued | Step::Completed => process(fields.rest()).unwrap_or_default(),
    };
    let Some((sector, sectors)) = place else {
        events.skip();
        return Ok(());
    };
    events.add(
        line,
        text,
        &BlockEvent { step, at_ns, operation, device, sector, sectors, pid, process, ioprio: None },
    )
}

/// Parses the letters behind the action.
pub(super) fn operation(letters: &[u8]) -> Parsed<Operation> {
    if letters.is_empty() || !letters.iter().all(u8::is_ascii_alphabetic) {
        return Err(ParseError::new(letters, "what is asked for, such as `R`, `WS` or `FWS`"));
    }
    let flush_first = letters[0] == b'F';
    let mut rest = letters[usize::from(flush_first)..].iter();
    let op = match rest.next() {
        Some(b'R') => Some(Op::Read),
        Some(b'W') => Some(Op::Write),
        Some(b'D') => Some(Op::Discard),
        Some(b'F') | None => Some(Op::Flush),
        Some(b'N') if flush_first => Some(Op::Flush),
        Some(_) => None,
    };
    let flags = rest.fold(Flags::NONE, |flags, letter| match letter {
        b'S' => flags.with(Flags::SYNC),
        b'F' => flags.with(Flags::FUA),
        // Read-ahead, metadata and letters of later kernels do not change the request.
        _ => flags,
    });
    Ok(Operation { op, flush_first, flags })
}

/// Parses the first sector and the number of sectors; a flush may have neither. Returns `None` for
/// a passthrough command, whose bytes are in parentheses.
fn place(fields: &mut Fields<'_>) -> Parsed<Option<(u64, u64)>> {
    match fields.rest().first() {
        Some(b'[') => return Ok(Some((0, 0))),
        Some(b'(') => return Ok(None),
        _ => {}
    }
    let first = fields.number("the first sector, as in `40393264 + 16`")?;
    let rest = fields.rest();
    match rest.first() {
        Some(b'(') if is_command(rest) => return Ok(None),
        Some(b'[' | b'(') => return Ok(Some((first, 0))),
        _ => {}
    }
    match fields.word() {
        b"+" => Ok(Some((first, fields.number("how many sectors, as in `+ 16`")?))),
        other => Err(ParseError::new(other, "`+` and how many sectors")),
    }
}

/// Whether these parentheses contain the bytes of a command, `(5a 00 ..)`, not an elapsed time,
/// `(  1234)`.
fn is_command(text: &[u8]) -> bool {
    let inner = text.split(|&byte| byte == b')').next().unwrap_or_default();
    inner[1..].trim_ascii().contains(&b' ')
}

/// Parses the name in brackets, which may contain spaces and brackets.
fn process(text: &[u8]) -> Parsed<&[u8]> {
    let start = memchr::memchr(b'[', text);
    match (start, text.last()) {
        (Some(start), Some(b']')) => Ok(&text[start + 1..text.len() - 1]),
        _ => Err(ParseError::new(text, "the name of the process in brackets, as in `[postgres]`")),
    }
}

/// Whether `word` is a device number, `major,minor`.
fn is_device(word: &[u8]) -> bool {
    let mut parts = word.split(|&byte| byte == b',');
    let mut digits =
        || parts.next().is_some_and(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit));
    digits() && digits() && parts.next().is_none()
}

fn summary(text: &[u8]) -> Parsed<()> {
    let text = text.trim_ascii();
    if SUMMARY.iter().any(|begin| text.starts_with(begin.as_bytes())) {
        return Ok(());
    }
    Err(ParseError::new(text, EXAMPLE))
}
