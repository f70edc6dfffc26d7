//! Tables that tracing programs print for people: a heading that names the columns, then a line for each
//! request, written when it completed.
//!
//! Fields are words between white space. The name of a process may have several; the fields behind
//! it are found from the end of the line. A time is in the unit of its column, or a time of day,
//! which continues after midnight.

use penstock_core::{Op, Span};

use super::block_events::Operation;
use super::builder::{Builder, NewRequest, bytes, is_missing};
use super::error::{Oddity, ParseError, Parsed, TraceError};
use super::fields::{decimal, number, number32};
use super::input::Input;
use super::recording::Trace;

/// The content of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SnoopColumn {
    /// The time of arrival, in units of 10^n ns.
    Start(usize),
    /// The time of completion, in units of 10^n ns.
    End(usize),
    /// The name of the process.
    Process,
    Pid,
    Device,
    /// The operation. One of several letters says whether a caller waits for the request; a single
    /// letter may be all that the program prints.
    Operation,
    /// The operation with the letters of the kernel.
    Letters,
    /// The first block of 512 bytes.
    Block,
    /// The length in bytes.
    Bytes,
    /// The time in the queue before the device, in units of 10^n ns. A negative one was not recorded.
    Queued(usize),
    /// The latency without the time in the queue, in units of 10^n ns.
    Latency(usize),
    Ignored,
    /// Text of any number of words, which ends what is read of a line.
    Rest,
}

/// A kind of table.
pub(super) struct SnoopLayout {
    /// The columns by their names in the heading.
    pub(super) columns: &'static [(&'static str, SnoopColumn)],
    /// The columns whose presence proves that a line is a heading of this kind.
    pub(super) proof: &'static [&'static str],
    /// Parses the operation of a request of this many bytes.
    pub(super) operation: fn(&[u8], u64) -> Parsed<Operation>,
    /// The time to which the times of a table are added, so that arrivals before the first completion
    /// are not negative.
    pub(super) base_ns: u64,
    /// The needed columns in messages: operation, place, length and time.
    pub(super) needed: [&'static str; 4],
    /// The form of the file in messages.
    pub(super) example: &'static str,
}

/// Beginnings of lines that are neither a heading nor a request: what the programs say of
/// themselves, and what is copied with them from a terminal.
const SAYINGS: &[&[u8]] =
    &[b"Tracing ", b"Attach", b"Ending tracing", b"lost ", b"# ", b"$ ", b"^C", b"[...]"];
/// Name of the device in a table without a column for it.
const DEVICE: &[u8] = b"disk";
/// Name of the process in the line of a command that no process issued.
const NO_PROCESS: &[u8] = b"?";
/// Disk of a command of the driver, in the versions that name one.
const NO_DEVICE: &[u8] = b"<unknown>";
pub(super) const DAY_NS: u64 = 24 * HOUR_NS;
const HOUR_NS: u64 = 3_600_000_000_000;

/// Reads a table of this `layout`.
pub(super) fn read(
    input: &mut Input<'_>,
    layout: &'static SnoopLayout,
) -> Result<Trace, TraceError> {
    let mut trace = Builder::new();
    let mut table: Option<SnoopTable> = None;
    input.lines(|text, line| {
        if SAYINGS.iter().any(|saying| text.trim_ascii_start().starts_with(saying)) {
            trace.skipped += 1;
            return Ok(());
        }
        if let Some(table) = table.as_mut().filter(|table| !table.is_heading(text)) {
            return table.request(text, line, &mut trace);
        }
        trace.skipped += 1;
        let heading = table.insert(SnoopTable::parse(text, layout));
        trace.headed |= heading.is_proof();
        heading.check(text)
    })?;
    if let Some(remark) = table.and_then(|table| table.remark()) {
        trace.remarks.push(remark);
    }
    trace.finish(input, layout.example)
}

/// The columns of a file.
struct SnoopTable {
    layout: &'static SnoopLayout,
    heading: Vec<u8>,
    columns: Vec<SnoopColumn>,
    clock: Clock,
}

/// The fields of a line.
#[derive(Default)]
struct Line<'a> {
    start_ns: Option<u64>,
    end_ns: Option<u64>,
    queued_ns: u64,
    took_ns: Option<u64>,
    process: Vec<u8>,
    pid: u32,
    device: &'a [u8],
    operation: &'a [u8],
    block: u64,
    bytes: u64,
}

impl SnoopTable {
    /// Parses the heading `text`.
    fn parse(text: &[u8], layout: &'static SnoopLayout) -> Self {
        let known = |word: &[u8]| {
            let column = layout.columns.iter().find(|(name, _)| name.as_bytes() == word);
            column.map_or(SnoopColumn::Ignored, |&(_, column)| column)
        };
        let columns = words(text).into_iter().map(known).collect();
        let clock = Clock { base_ns: layout.base_ns, last: 0, midnights: 0 };
        Self { layout, heading: text.to_vec(), columns, clock }
    }

    /// Whether `text` is this heading: programs repeat it, and so does who copies several parts.
    fn is_heading(&self, text: &[u8]) -> bool {
        self.heading == text
    }

    fn is_proof(&self) -> bool {
        let names = words(&self.heading);
        self.layout.proof.iter().all(|name| names.contains(&name.as_bytes()))
    }

    fn has(&self, column: impl Fn(&SnoopColumn) -> bool) -> bool {
        self.columns.iter().any(column)
    }

    /// Whether each needed column is present, in the order of [`SnoopLayout::needed`].
    fn present(&self) -> [bool; 4] {
        let has_end = self.has(|column| matches!(column, SnoopColumn::End(_)));
        let timed = has_end && self.has(|column| matches!(column, SnoopColumn::Latency(_)));
        [
            self.has(|column| matches!(column, SnoopColumn::Operation | SnoopColumn::Letters)),
            self.columns.contains(&SnoopColumn::Block),
            self.columns.contains(&SnoopColumn::Bytes),
            timed || self.has(|column| matches!(column, SnoopColumn::Start(_))),
        ]
    }

    /// Checks that each needed column is present.
    fn check(&self, text: &[u8]) -> Parsed<()> {
        let named = self.present().into_iter().zip(self.layout.needed);
        let missing: Vec<_> = named.filter(|(present, _)| !present).map(|(_, name)| name).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let expected = format!("a heading with columns also for {}", missing.join(" and for "));
        Err(ParseError::new(text, expected))
    }

    /// A remark on what the times of the requests mean, if it needs saying.
    fn remark(&self) -> Option<String> {
        let has_queued = self.has(|column| matches!(column, SnoopColumn::Queued(_)));
        let records_it =
            self.layout.columns.iter().any(|(_, column)| matches!(column, SnoopColumn::Queued(_)));
        (records_it && !has_queued).then(|| {
            "the time in the queue was not recorded (option -Q): requests arrive when they were \
             sent to the device"
                .into()
        })
    }

    fn request(&mut self, text: &[u8], line: u32, trace: &mut Builder) -> Parsed<()> {
        // Reached only in a trial of a format: an incomplete heading counts as a single mistake.
        if self.present().contains(&false) {
            let wrong = || Err(ParseError::new(text, self.layout.example));
            return if self.is_proof() { Ok(()) } else { wrong() };
        }
        let words = words(text);
        let ends_early = self.columns.contains(&SnoopColumn::Rest);
        // A command of the driver has neither a process nor a disk.
        let no_disk = words.len() + 1 == self.columns.len() || words.contains(&NO_DEVICE);
        if no_disk && words.contains(&NO_PROCESS) {
            trace.skipped += 1;
            return Ok(());
        }
        let more = words.len().saturating_sub(self.columns.len());
        let mut rest = words.into_iter();
        let mut fields = Line { device: DEVICE, ..Line::default() };
        let mut odd = Ok(());
        for column in &self.columns {
            let word = match column {
                SnoopColumn::Rest => break,
                _ => rest.next().unwrap_or_default(),
            };
            match *column {
                SnoopColumn::Start(digits) => {
                    fields.start_ns = Some(self.clock.read(word, digits)?);
                }
                SnoopColumn::End(digits) => fields.end_ns = Some(self.clock.read(word, digits)?),
                SnoopColumn::Process => {
                    fields.process.extend_from_slice(word);
                    for word in rest.by_ref().take(if ends_early { 0 } else { more }) {
                        fields.process.push(b' ');
                        fields.process.extend_from_slice(word);
                    }
                }
                SnoopColumn::Pid => fields.pid = number32(word, "the number of the process")?,
                SnoopColumn::Device => fields.device = word,
                SnoopColumn::Operation | SnoopColumn::Letters => {
                    trace.tells_sync |= word.len() > 1 || *column == SnoopColumn::Letters;
                    fields.operation = word;
                }
                SnoopColumn::Block => fields.block = number(word, "the first sector")?,
                SnoopColumn::Bytes => fields.bytes = number(word, "the length in bytes")?,
                SnoopColumn::Queued(_) if word.starts_with(b"-") => {}
                SnoopColumn::Queued(digits) => {
                    fields.queued_ns = decimal(word, digits, "the time in the queue")?;
                }
                SnoopColumn::Latency(digits) => match decimal(word, digits, "the latency") {
                    Ok(took_ns) => fields.took_ns = Some(took_ns),
                    Err(error) if is_missing(word) && !word.is_empty() => {
                        odd = Err(error.odd(Oddity::NoResponse));
                    }
                    Err(error) => return Err(error),
                },
                SnoopColumn::Ignored if word.is_empty() => {
                    return Err(ParseError::new(text, self.layout.example));
                }
                SnoopColumn::Ignored | SnoopColumn::Rest => {}
            }
        }
        self.push(&fields, text, line, trace)?;
        odd
    }

    /// Adds the request of a line.
    fn push(&self, fields: &Line<'_>, text: &[u8], line: u32, trace: &mut Builder) -> Parsed<()> {
        let &Line { start_ns, end_ns, queued_ns, took_ns, pid, device, block, bytes: len, .. } =
            fields;
        let operation = (self.layout.operation)(fields.operation, len)?;
        let took_ns = took_ns.map(|took_ns| took_ns.saturating_add(queued_ns));
        let (at_ns, took_ns) = match (start_ns, end_ns) {
            (Some(start_ns), None) => (Some(start_ns), took_ns),
            (Some(start_ns), Some(end_ns)) => {
                let took_ns = end_ns.checked_sub(start_ns);
                (took_ns.map(|_| start_ns), took_ns)
            }
            (None, end_ns) => (end_ns.and_then(|ns| ns.checked_sub(took_ns.unwrap_or(0))), took_ns),
        };
        let Some(at_ns) = at_ns else {
            return Err(ParseError::new(text, "a completion after the request"));
        };
        let Some(op) = operation.op else {
            trace.skipped += 1;
            return Ok(());
        };
        let (device, process) = (trace.device(device)?, trace.process(&fields.process)?);
        let latency = took_ns.map(Span::from_ns);
        for op in operation.parts(op, len > 0) {
            let (start, len) = if op == Op::Flush { (0, 0) } else { (bytes(block, text)?, len) };
            let flags = operation.flags_of(op);
            let request = NewRequest::new(at_ns, op, start, len, device);
            trace.push(line, text, &NewRequest { flags, pid, process, latency, ..request })?;
        }
        Ok(())
    }
}

/// Reads times in nanoseconds.
struct Clock {
    /// Added to each time.
    base_ns: u64,
    /// The last time of day in nanoseconds, and the number of midnights before it.
    last: u64,
    midnights: u64,
}

impl Clock {
    /// Parses a time in units of 10^`digits` ns, or a time of day.
    fn read(&mut self, text: &[u8], digits: usize) -> Parsed<u64> {
        let expected = "the time, as in `12.000451` or `15:04:05.120`";
        let ns = if text.contains(&b':') {
            self.time_of_day(text, expected)?
        } else {
            decimal(text, digits, expected)?
        };
        ns.checked_add(self.base_ns).ok_or_else(|| ParseError::new(text, "an earlier time"))
    }

    /// Parses a time of day, counted from the first midnight of the file.
    fn time_of_day(&mut self, text: &[u8], expected: &str) -> Parsed<u64> {
        let mut parts = text.split(|&byte| byte == b':');
        let mut part = |digits| decimal(parts.next().unwrap_or_default(), digits, expected);
        let (hours, minutes, seconds_ns) = (part(0)?, part(0)?, part(9)?);
        if hours > 23 || minutes > 59 || seconds_ns >= 61_000_000_000 || parts.next().is_some() {
            return Err(ParseError::new(text, expected));
        }
        let ns = hours * HOUR_NS + minutes * (HOUR_NS / 60) + seconds_ns;
        // Lines of several processors may be slightly out of order, but not by half a day.
        if ns + DAY_NS / 2 < self.last {
            self.midnights += 1;
        }
        self.last = ns;
        Ok(self.midnights * DAY_NS + ns)
    }
}

/// The words of a line.
fn words(text: &[u8]) -> Vec<&[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect()
}
