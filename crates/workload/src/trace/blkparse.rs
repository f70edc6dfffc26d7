//! The text that `blkparse` prints by default: one event a line. A `Q` event, a queued request, is
//! a request here.
//!
//! ```text
//! 254,0    1        2    0.000079000   549  Q  WS 40393264 + 16 [postgres]
//! device  CPU  number      seconds     pid  |   |  sector + sectors [process]
//!                                       action  what: R W D F, then F forced, S synchronous
//! ```
//!
//! `C`, a completion, gives the requests that it covers their latency. `D`, `G`, `I`, `M`, `X` and
//! the others describe the kernel's work on requests. They are skipped, as are passthrough commands
//! and the summary at the end. `F` before another letter is a flush before the data: without data,
//! a flush; with data, two requests of the same time. Sectors are of 512 bytes. Source: the manual
//! page blkparse(1).

use penstock_core::{Flags, Op};

use super::builder::{Asked, Builder, bytes};
use super::completions::{Completions, Range};
use super::error::{Parsed, TraceError, Wrong};
use super::fields::{Fields, decimal, number, number32};
use super::format::Format;
use super::lines::Lines;
use super::record::Trace;

const EXAMPLE: &str = "an event as blkparse prints it, as in \
                       `254,0 1 2 0.000079000 549 Q WS 40393264 + 16 [postgres]`";

/// How lines of the summary begin.
const SUMMARY: &[&str] = &[
    "CPU",
    "Total",
    "Reads Queued",
    "Read Dispatches",
    "Reads Requeued",
    "Reads Completed",
    "Read Merges",
    "Read depth",
    "PC Reads",
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
    write: None,
};

fn read(lines: &mut Lines<'_>) -> Result<Trace, TraceError> {
    let mut reader = Reader { trace: Builder::new(), completions: Completions::new() };
    lines.each(|text, line| reader.line(text, line))?;
    reader.trace.finish(lines, EXAMPLE)
}

struct Reader {
    trace: Builder,
    completions: Completions,
}

impl Reader {
    fn line(&mut self, text: &[u8], line: u32) -> Parsed<()> {
        let mut fields = Fields::new(text);
        let device = fields.word();
        if !is_device(device) {
            self.trace.skipped += 1;
            return summary(text);
        }
        number(fields.word(), "the number of the CPU")?;
        number(fields.word(), "the number of the event")?;
        let at_ns = decimal(fields.word(), 9, "the time in seconds, as in `0.000079000`")?;
        let pid = number32(fields.word(), "the number of the process")?;
        match fields.word() {
            b"Q" => self.asked(line, fields, device, at_ns, pid),
            b"C" => self.completed(fields, device, at_ns),
            b"D" => {
                // No figure of it is used, but a line that is cut or damaged is an error.
                self.trace.skipped += 1;
                What::parse(fields.word())?;
                place(&mut fields).map(drop)
            }
            other if !other.is_empty() && other.iter().all(u8::is_ascii_alphabetic) => {
                self.trace.skipped += 1;
                Ok(())
            }
            other => Err(Wrong::new(other, "an action, such as `Q` or `C`")),
        }
    }

    fn asked(
        &mut self,
        line: u32,
        mut fields: Fields<'_>,
        device: &[u8],
        at_ns: u64,
        pid: u32,
    ) -> Parsed<()> {
        let text = fields.rest();
        let what = What::parse(fields.word())?;
        let place = place(&mut fields)?;
        let process = process(fields.rest())?;
        let (Some((sector, sectors)), Some(op)) = (place, what.op) else {
            self.trace.skipped += 1;
            return Ok(());
        };
        let device = self.trace.device(device)?;
        let process = self.trace.process(process)?;
        let ops = [
            (what.flush_first || op == Op::Flush).then_some(Op::Flush),
            (op != Op::Flush && (sectors > 0 || !what.flush_first)).then_some(op),
        ];
        for op in ops.into_iter().flatten() {
            let index = self.trace.len();
            let (start, len) = extent(op, sector, sectors, text)?;
            let flags = what.flags_of(op);
            let asked = Asked { at_ns, op, start, len, flags, device };
            let record = self.trace.push(line, text, &asked)?;
            record.pid = pid;
            record.process = process;
            let range = Range { device, op, start: record.start, end: record.end() };
            self.completions.asked(index, at_ns, &range);
        }
        Ok(())
    }

    fn completed(&mut self, mut fields: Fields<'_>, device: &[u8], at_ns: u64) -> Parsed<()> {
        self.trace.skipped += 1;
        let text = fields.rest();
        let what = What::parse(fields.word())?;
        let Some((sector, sectors)) = place(&mut fields)? else { return Ok(()) };
        // Without data it ends a flush, whatever letters it has.
        let Some(op) = (if sectors == 0 { Some(Op::Flush) } else { what.op }) else {
            return Ok(());
        };
        let (start, len) = extent(op, sector, sectors, text)?;
        let end = start.saturating_add(len);
        let device = self.trace.device(device)?;
        let trace = &mut self.trace;
        let range = Range { device, op, start, end };
        self.completions.completed(at_ns, &range, |index, latency| trace.took(index, latency));
        Ok(())
    }
}

/// First byte and bytes. A flush has neither; kernels number its sector as they like, as 2^64 - 1
/// for one.
fn extent(op: Op, sector: u64, sectors: u64, text: &[u8]) -> Parsed<(u64, u64)> {
    match op {
        Op::Flush => Ok((0, 0)),
        _ => Ok((bytes(sector, text)?, bytes(sectors, text)?)),
    }
}

/// What the letters after the action say.
struct What {
    /// `None`: neither data nor a flush, as a zone command.
    op: Option<Op>,
    flush_first: bool,
    flags: Flags,
}

impl What {
    fn parse(letters: &[u8]) -> Parsed<Self> {
        let alphabetic = !letters.is_empty() && letters.iter().all(u8::is_ascii_alphabetic);
        if !alphabetic {
            return Err(Wrong::new(letters, "what is asked for, such as `R`, `WS` or `FWS`"));
        }
        let flush_first = letters[0] == b'F';
        let mut rest = &letters[usize::from(flush_first)..];
        let op = match rest.first() {
            Some(b'R') => Some(Op::Read),
            Some(b'W') => Some(Op::Write),
            Some(b'D') => Some(Op::Discard),
            Some(b'F') | None => Some(Op::Flush),
            Some(_) => None,
        };
        rest = rest.get(1..).unwrap_or_default();
        let mut flags = Flags::NONE;
        for letter in rest {
            flags = match letter {
                b'S' => flags.with(Flags::SYNC),
                b'F' => flags.with(Flags::FUA),
                // Read-ahead, metadata and what later kernels add do not change the request.
                _ => flags,
            };
        }
        Ok(Self { op, flush_first, flags })
    }

    /// The flags of this part of the request: the data is forced, not the flush before it.
    fn flags_of(&self, op: Op) -> Flags {
        match op {
            Op::Flush if self.flags.has(Flags::SYNC) => Flags::SYNC,
            Op::Flush => Flags::NONE,
            _ => self.flags,
        }
    }
}

/// The first sector and how many; a flush may have neither. `None` for a command to the device
/// itself, whose bytes stand there in parentheses.
fn place(fields: &mut Fields<'_>) -> Parsed<Option<(u64, u64)>> {
    match fields.rest().first() {
        Some(b'[') => return Ok(Some((0, 0))),
        Some(b'(') => return Ok(None),
        _ => {}
    }
    let first = number(fields.word(), "the first sector, as in `40393264 + 16`")?;
    let rest = fields.rest();
    match rest.first() {
        Some(b'(') if is_command(rest) => return Ok(None),
        Some(b'[' | b'(') => return Ok(Some((first, 0))),
        _ => {}
    }
    match fields.word() {
        b"+" => Ok(Some((first, number(fields.word(), "how many sectors, as in `+ 16`")?))),
        other => Err(Wrong::new(other, "`+` and how many sectors")),
    }
}

/// Whether these parentheses hold a command's bytes, `(5a 00 ..)`, and not an elapsed time,
/// `(  1234)`.
fn is_command(text: &[u8]) -> bool {
    let inner = text.split(|&byte| byte == b')').next().unwrap_or_default();
    inner[1..].trim_ascii().contains(&b' ')
}

/// The name between brackets; it may hold spaces and brackets of its own.
fn process(text: &[u8]) -> Parsed<&[u8]> {
    let start = memchr::memchr(b'[', text);
    match (start, text.last()) {
        (Some(start), Some(b']')) => Ok(&text[start + 1..text.len() - 1]),
        _ => Err(Wrong::new(text, "the name of the process in brackets, as in `[postgres]`")),
    }
}

/// `major,minor`.
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
    Err(Wrong::new(text, EXAMPLE))
}
