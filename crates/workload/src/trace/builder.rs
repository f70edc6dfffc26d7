//! Collects the requests of a trace while its file is read, and sorts them by time.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use penstock_core::{Flags, IoPrio, Op, Span, Time};

use super::error::{Oddity, ParseError, Parsed, TraceError};
use super::input::Input;
use super::record::{DeviceId, ProcessId, Record};
use super::recording::Trace;
use super::requests::Requests;
use super::spool::Spool;

/// Bytes of a block in formats that count in blocks.
pub(super) const BLOCK_BYTES: u64 = 512;

/// The requests of a trace, in the order of the file.
pub(super) struct Builder {
    /// Requests timed from `origin`. Times before it wrap around to large values.
    records: Requests,
    /// Time of the first request in the file, by the file's own clock.
    origin: Option<u64>,
    /// The latest time so far, and the number of requests that followed a later one.
    latest: u64,
    out_of_order: u64,
    processes: Names,
    devices: Names,
    pub(super) skipped: u64,
    /// Whether a heading said what the format is.
    pub(super) headed: bool,
    /// Whether the file says of each request if a caller waits for it.
    pub(super) tells_sync: bool,
    /// Whether a line opened a file, and none has closed one since.
    pub(super) is_open: bool,
    /// Remarks for users on how the file was read.
    pub(super) remarks: Vec<String>,
    /// Number of discards that were split, and of the requests that they became.
    long_discards: u64,
    pieces: u64,
}

/// A request as a line or a record states it.
pub(super) struct NewRequest {
    pub(super) at_ns: u64,
    pub(super) op: Op,
    pub(super) start: u64,
    pub(super) len: u64,
    pub(super) flags: Flags,
    pub(super) device: DeviceId,
    pub(super) pid: u32,
    pub(super) process: ProcessId,
    pub(super) latency: Option<Span>,
    pub(super) ioprio: Option<IoPrio>,
}

impl NewRequest {
    /// A request without a process and with unknown latency.
    pub(super) fn new(at_ns: u64, op: Op, start: u64, len: u64, device: DeviceId) -> Self {
        let (flags, pid, process) = (Flags::NONE, 0, ProcessId(0));
        let (latency, ioprio) = (None, None);
        Self { at_ns, op, start, len, flags, device, pid, process, latency, ioprio }
    }
}

/// Length of the pieces of discards of 4 GiB and more: records count bytes in 32 bits, and a
/// discard in pieces has the same effect.
const PIECE_BYTES: u64 = 2 << 30;
/// Most requests that long discards may become (1 PiB of them), so that a short line cannot exhaust
/// memory.
const PIECES_MAX: u64 = 512 << 10;

impl Builder {
    pub(super) fn new() -> Self {
        let mut processes = Names::new("processes");
        processes.add(b"");
        Self {
            records: Requests::new(),
            origin: None,
            latest: 0,
            out_of_order: 0,
            processes,
            devices: Names::new("devices"),
            skipped: 0,
            headed: false,
            tells_sync: false,
            is_open: false,
            remarks: Vec::new(),
            long_discards: 0,
            pieces: 0,
        }
    }

    /// Reads a trace with a request on each line.
    pub(super) fn lines(
        input: &mut Input<'_>,
        expected: &'static str,
        mut request: impl FnMut(&[u8], u32, &mut Self) -> Parsed<()>,
    ) -> Result<Trace, TraceError> {
        let mut trace = Self::new();
        input.lines(|text, line| request(text, line, &mut trace))?;
        trace.finish(input, expected)
    }

    /// Reads a table with a request on each line. The first line may name the columns; it then
    /// begins with `head`, which no other format does.
    pub(super) fn table(
        input: &mut Input<'_>,
        head: &[u8],
        expected: &'static str,
        mut request: impl FnMut(&[u8], u32, &mut Self) -> Parsed<()>,
    ) -> Result<Trace, TraceError> {
        Self::lines(input, expected, |text, line, trace| {
            if line == 1 && text.starts_with(head) {
                trace.headed = true;
                trace.skipped += 1;
                return Ok(());
            }
            request(text, line, trace)
        })
    }

    pub(super) fn device(&mut self, name: &[u8]) -> Parsed<DeviceId> {
        self.devices.id(name).map(DeviceId)
    }

    pub(super) fn process(&mut self, name: &[u8]) -> Parsed<ProcessId> {
        self.processes.id(name).map(ProcessId)
    }

    /// Adds the request of line or record `line`; messages quote `text`. Returns the numbers of the
    /// requests that it became: several for a long discard. A request without bytes is odd.
    #[expect(
        clippy::inline_always,
        reason = "copying a value just after it was built in memory stalls on its stores"
    )]
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        line: u32,
        text: &[u8],
        request: &NewRequest,
    ) -> Parsed<Range<usize>> {
        let &NewRequest { at_ns, op, start, len, flags, device, pid, process, latency, ioprio } =
            request;
        let (start, len) = if op == Op::Flush { (0, 0) } else { (start, len) };
        if len == 0 && op != Op::Flush {
            let error = ParseError::new(text, "a request of at least one byte");
            return Err(error.odd(Oddity::NoBytes));
        }
        let Some(end) = start.checked_add(len) else {
            return Err(ParseError::new(text, "a request that ends below 2^64 bytes"));
        };
        if at_ns == Time::NEVER.ns() {
            return Err(ParseError::new(text, "an earlier time"));
        }
        let origin = self.origin.unwrap_or(at_ns);
        let at = Time::from_ns(at_ns.wrapping_sub(origin));
        let mut record = Record::new(at, op, start, 0);
        (record.line, record.flags, record.device) = (line, flags, device);
        (record.pid, record.process, record.ioprio) = (pid, process, ioprio);
        let mut record = latency.map_or(record, |latency| record.with_latency(latency));
        let first = self.records.len();
        if let Ok(len) = u32::try_from(len) {
            record.len = len;
            self.records.push(record)?;
        } else {
            self.long_discard(text, record, end)?;
        }
        self.origin = Some(origin);
        let last = self.records.len();
        if at_ns < self.latest {
            self.out_of_order += (last - first) as u64;
        } else {
            self.latest = at_ns;
        }
        Ok(first..last)
    }

    /// Adds `request` as [`push`](Self::push) does, with the response time in the field `response`,
    /// of which `took_ns` is the content in nanoseconds. 0 means that none was recorded. A field
    /// that is empty or a dash is odd.
    pub(super) fn push_with_response(
        &mut self,
        line: u32,
        text: &[u8],
        request: &NewRequest,
        response: &[u8],
        took_ns: Parsed<u64>,
    ) -> Parsed<()> {
        let (took_ns, odd) = match took_ns {
            Ok(took_ns) => (took_ns, Ok(())),
            Err(error) if is_missing(response) => (0, Err(error.odd(Oddity::NoResponse))),
            Err(error) => return Err(error),
        };
        let latency = (took_ns > 0).then_some(Span::from_ns(took_ns));
        self.push(line, text, &NewRequest { latency, ..*request })?;
        odd
    }

    /// Adds a discard of 4 GiB or more in pieces, from the start of `record` until `end`. Other
    /// operations of that length are errors.
    #[cold]
    fn long_discard(&mut self, text: &[u8], mut record: Record, end: u64) -> Parsed<()> {
        if record.op != Op::Discard {
            return Err(ParseError::new(text, "a request of less than 4 GiB"));
        }
        let pieces = (end - record.start).div_ceil(PIECE_BYTES);
        if pieces > PIECES_MAX - self.pieces {
            return Err(ParseError::new(text, "long discards of at most 1 PiB altogether"));
        }
        self.long_discards += 1;
        self.pieces += pieces;
        while record.start < end {
            record.len = PIECE_BYTES.min(end - record.start) as u32;
            self.records.push(record)?;
            record.start += u64::from(record.len);
        }
        Ok(())
    }

    /// Drops all requests so far and counts them as skipped.
    pub(super) fn skip_all(&mut self) {
        self.skipped += self.records.len() as u64 - self.pieces + self.long_discards;
        (self.pieces, self.long_discards) = (0, 0);
        (self.origin, self.latest, self.out_of_order) = (None, 0, 0);
        self.records = Requests::new();
    }

    /// The request numbered `index`.
    pub(super) fn record(&self, index: usize) -> Parsed<Record> {
        Ok(self.records.get(index)?)
    }

    /// Sets the latency of the request numbered `index`, and its I/O priority if that is known.
    pub(super) fn complete(
        &mut self,
        index: usize,
        latency: Span,
        ioprio: Option<IoPrio>,
    ) -> Parsed<()> {
        let mut record = self.records.get(index)?.with_latency(latency);
        record.ioprio = ioprio.or(record.ioprio);
        Ok(self.records.set(index, record)?)
    }

    /// Returns the trace, sorted by time, with times counted from its first request.
    pub(super) fn finish(
        mut self,
        input: &mut Input<'_>,
        expected: &'static str,
    ) -> Result<Trace, TraceError> {
        if let Some(trial) = &mut input.trial {
            trial.headed = self.headed;
        } else {
            self.remarks.extend(input.odd.remarks(self.records.len() as u64)?);
        }
        let Some(mut origin_ns) = self.origin else {
            return Err(TraceError::Empty { last: input.place, expected });
        };
        self.records.finish_writing().map_err(|source| TraceError::Kept { source })?;
        if self.out_of_order > 0 {
            let records = self.records.arranged(|list| ordered(list, &mut origin_ns));
            self.records = records.map_err(|source| TraceError::Kept { source })?;
        }
        if self.long_discards > 0 {
            let Self { long_discards, pieces, .. } = self;
            self.remarks.push(format!(
                "{long_discards} of its discards had 4 GiB or more; they became {pieces} of at most 2 GiB"
            ));
        }
        Ok(Trace {
            records: self.records,
            processes: self.processes.listed,
            devices: self.devices.listed,
            origin_ns,
            out_of_order: self.out_of_order,
            skipped: self.skipped,
            remarks: self.remarks,
            one_by_one: false,
            tells_sync: self.tells_sync,
        })
    }
}

/// Sorts `records` by time and counts their times from the first of them. On entry they are counted
/// from `origin_ns`, which becomes the time of the first.
fn ordered(records: Spool<Record>, origin_ns: &mut u64) -> io::Result<Spool<Record>> {
    let from = *origin_ns;
    let at_ns = |record: &Record| record.at.ns().wrapping_add(from);
    let sorted = records.sorted_by_key(at_ns)?;
    let first = sorted.first().as_ref().map_or(from, at_ns);
    *origin_ns = first;
    if first == from {
        return Ok(sorted);
    }
    let mut counted = Spool::new();
    for mut record in &sorted {
        record.at = Time::from_ns(at_ns(&record) - first);
        counted.push(record)?;
    }
    sorted.check()?;
    Ok(counted)
}

/// Whether this field says that nothing was recorded.
pub(super) fn is_missing(field: &[u8]) -> bool {
    matches!(field, b"" | b"-" | b"-1")
}

/// Converts `blocks` of 512 bytes to bytes.
pub(super) fn bytes(blocks: u64, text: &[u8]) -> Parsed<u64> {
    let bytes = blocks.checked_mul(BLOCK_BYTES);
    bytes.ok_or_else(|| ParseError::new(text, "a block number below 2^55"))
}

/// Names, each stored once and numbered in the order of their first use.
struct Names {
    /// Plural of the named things, for messages.
    kind: &'static str,
    listed: Vec<String>,
    ids: BTreeMap<Vec<u8>, u16>,
    /// The last name looked up and its number: usually the next name is the same.
    last: (Vec<u8>, u16),
}

impl Names {
    fn new(kind: &'static str) -> Self {
        Self { kind, listed: Vec::new(), ids: BTreeMap::new(), last: (Vec::new(), u16::MAX) }
    }

    fn add(&mut self, name: &[u8]) -> Option<u16> {
        // The highest number is never used: in `last` it means that no name was looked up yet.
        let id = u16::try_from(self.listed.len()).ok().filter(|&id| id < u16::MAX)?;
        self.listed.push(String::from_utf8_lossy(name).into_owned());
        self.ids.insert(name.to_vec(), id);
        Some(id)
    }

    fn id(&mut self, name: &[u8]) -> Parsed<u16> {
        if self.last.1 != u16::MAX && self.last.0 == name {
            return Ok(self.last.1);
        }
        let known = self.ids.get(name).copied();
        let Some(id) = known.or_else(|| self.add(name)) else {
            let expected = format!("at most {} different {}", u16::MAX, self.kind);
            return Err(ParseError::new(name, expected));
        };
        self.last.0.clear();
        self.last.0.extend_from_slice(name);
        self.last.1 = id;
        Ok(id)
    }
}
