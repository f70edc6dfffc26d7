//! A trace: its requests in order of time, and the names that they refer to.

use std::io;

use penstock_core::{Flags, Op, Span, Time};

use super::requests::Requests;
use super::spool::{Packed, PackedReader, PackedWriter};

/// A process as an index into [`Trace::processes`]; 0 stands for a process that was not recorded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct ProcessId(pub u16);

impl ProcessId {
    /// The process as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A device, volume or file as an index into [`Trace::devices`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct DeviceId(pub u16);

impl DeviceId {
    /// The device as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One request of a trace. A flush has neither place nor length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// When it was issued, counted from the trace's first request.
    pub at: Time,
    /// First byte on its device.
    pub start: u64,
    /// Its recorded latency; [`Span::MAX`] stands for unknown and takes half the room of an
    /// `Option`.
    latency: Span,
    /// Bytes.
    pub len: u32,
    /// Process number; 0 if the format has none.
    pub pid: u32,
    /// The line of the file that it stands in, or the number of its record in a binary file.
    pub line: u32,
    /// Name of the process.
    pub process: ProcessId,
    /// The device that it goes to.
    pub device: DeviceId,
    /// What it asks for.
    pub op: Op,
    /// Synchronous, forced unit access.
    pub flags: Flags,
}

// A list keeps some ten thousand of them in memory. Adding a field should be a decision.
const _: () = assert!(size_of::<Record>() == 48);

impl Record {
    /// A request of no process, on the first device, with unknown latency.
    pub const fn new(at: Time, op: Op, start: u64, len: u32) -> Self {
        Self {
            at,
            start,
            latency: Span::MAX,
            len,
            pid: 0,
            line: 0,
            process: ProcessId(0),
            device: DeviceId(0),
            op,
            flags: Flags::NONE,
        }
    }

    /// Its recorded latency, from the request to its completion.
    pub fn latency(&self) -> Option<Span> {
        (self.latency != Span::MAX).then_some(self.latency)
    }

    /// The same with a recorded latency.
    #[must_use]
    pub const fn with_latency(mut self, latency: Span) -> Self {
        self.latency = latency;
        self
    }

    /// The byte after the last.
    pub const fn end(&self) -> u64 {
        self.start + self.len as u64
    }

    /// Whether a caller waits for it: every read, and every request flagged synchronous.
    pub const fn is_sync(&self) -> bool {
        matches!(self.op, Op::Read) || self.flags.has(Flags::SYNC)
    }
}

impl Packed for Record {
    const BYTES: usize = 42;

    #[inline]
    fn pack(&self, to: &mut PackedWriter<'_>) {
        let mut to = to.item(Self::BYTES);
        to.u64(self.at.ns());
        to.u64(self.start);
        to.u64(self.latency.ns());
        to.u32(self.len);
        to.u32(self.pid);
        to.u32(self.line);
        to.u16(self.process.0);
        to.u16(self.device.0);
        to.u8(self.op as u8);
        to.u8(self.flags.bits());
    }

    #[inline]
    fn unpack(from: &mut PackedReader<'_>) -> Self {
        let mut from = from.item(Self::BYTES);
        Self {
            at: Time::from_ns(from.u64()),
            start: from.u64(),
            latency: Span::from_ns(from.u64()),
            len: from.u32(),
            pid: from.u32(),
            line: from.u32(),
            process: ProcessId(from.u16()),
            device: DeviceId(from.u16()),
            op: Op::from_byte(from.u8()).expect("it was an operation"),
            flags: Flags::from_bits(from.u8()),
        }
    }
}

/// A recorded workload.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// The requests in order of time; equal times in the order of the file.
    pub records: Requests,
    /// Names of the processes; the first is empty and stands for none recorded.
    pub processes: Vec<String>,
    /// Names of the devices, volumes or files.
    pub devices: Vec<String>,
    /// The time of the first request as the file has it, in nanoseconds of the file's own clock.
    pub origin_ns: u64,
    /// Requests whose time lay before that of an earlier line. They were sorted.
    pub out_of_order: u64,
    /// Lines or records that are no requests: other events, file actions, summaries.
    pub skipped: u64,
    /// What else is to be known about how the file was read, in sentences without an end.
    pub remarks: Vec<String>,
    /// Each request was sent when the one before had completed and some time had gone by.
    pub one_by_one: bool,
}

impl Trace {
    /// The name of the process that made this request; empty if it was not recorded.
    pub fn process(&self, record: &Record) -> &str {
        &self.processes[record.process.index()]
    }

    /// The name of the device that this request went to.
    pub fn device(&self, record: &Record) -> &str {
        &self.devices[record.device.index()]
    }

    /// From the first request to the last.
    pub fn span(&self) -> Span {
        self.records.last().map_or(Span::ZERO, |last| last.at.since(Time::ZERO))
    }

    /// The byte after the last that any request touches, on any device.
    pub fn end(&self) -> u64 {
        self.records.ends().iter().flatten().copied().max().unwrap_or(0)
    }

    /// Bytes of its largest request.
    pub fn longest(&self) -> u32 {
        self.records.longest()
    }

    /// The requests to these devices only, timed from the first of them.
    ///
    /// # Errors
    /// If they cannot be read or kept.
    pub fn keep(&mut self, devices: &[DeviceId]) -> io::Result<()> {
        let mut kept = Requests::new();
        let mut first = None;
        for mut record in self.records.iter().filter(|record| devices.contains(&record.device)) {
            let first = *first.get_or_insert(record.at);
            record.at = Time::ZERO + record.at.since(first);
            kept.push(record)?;
        }
        self.records.check()?;
        self.records = kept;
        self.origin_ns += first.map_or(0, Time::ns);
        Ok(())
    }
}
