//! Collects the requests of a trace while its lines are read, and puts them in order.

use std::collections::BTreeMap;

use penstock_core::{Flags, Op, Span, Time};

use super::error::{Parsed, TraceError, Wrong};
use super::lines::Lines;
use super::record::{DeviceId, ProcessId, Record, Trace};

/// Blocks of the formats that count in blocks.
pub(super) const BLOCK_BYTES: u64 = 512;

/// Requests as they come, with times of the file's own clock.
pub(super) struct Builder {
    records: Vec<Record>,
    processes: Names,
    devices: Names,
    pub(super) skipped: u64,
}

/// A request as a line has it.
pub(super) struct Asked {
    pub(super) at_ns: u64,
    pub(super) op: Op,
    pub(super) start: u64,
    pub(super) len: u64,
    pub(super) flags: Flags,
    pub(super) device: DeviceId,
}

impl Builder {
    pub(super) fn new() -> Self {
        let mut processes = Names::new("processes");
        processes.add(b"");
        Self { records: Vec::new(), processes, devices: Names::new("devices"), skipped: 0 }
    }

    pub(super) fn device(&mut self, name: &[u8]) -> Parsed<DeviceId> {
        self.devices.id(name).map(DeviceId)
    }

    pub(super) fn process(&mut self, name: &[u8]) -> Parsed<ProcessId> {
        self.processes.id(name).map(ProcessId)
    }

    /// Adds a request of line `line`, to be completed by the caller; messages quote `text`.
    pub(super) fn push(&mut self, line: u32, text: &[u8], asked: &Asked) -> Parsed<&mut Record> {
        let &Asked { at_ns, op, start, len, flags, device } = asked;
        let (start, len) = if op == Op::Flush { (0, 0) } else { (start, len) };
        let Ok(len32) = u32::try_from(len) else {
            return Err(Wrong::new(text, "a request of less than 4 GiB"));
        };
        if len == 0 && op != Op::Flush {
            return Err(Wrong::new(text, "a request of at least one byte"));
        }
        if start.checked_add(len).is_none() {
            return Err(Wrong::new(text, "a request that ends below 2^64 bytes"));
        }
        if at_ns == Time::NEVER.ns() {
            return Err(Wrong::new(text, "an earlier time"));
        }
        if self.records.try_reserve(1).is_err() {
            let many = self.records.len();
            return Err(Wrong::new(text, format!("no more than {many} requests: memory is full")));
        }
        let mut record = Record::new(Time::from_ns(at_ns), op, start, len32);
        (record.line, record.flags, record.device) = (line, flags, device);
        self.records.push(record);
        Ok(self.records.last_mut().expect("just pushed"))
    }

    /// How many requests there are: the index of the next.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// The request numbered `index` took `latency`.
    pub(super) fn took(&mut self, index: usize, latency: Span) {
        self.records[index] = self.records[index].with_latency(latency);
    }

    /// The trace, in order of time and counted from its first request.
    pub(super) fn finish(
        mut self,
        lines: &Lines<'_>,
        expected: &'static str,
    ) -> Result<Trace, TraceError> {
        let mut latest = Time::ZERO;
        let mut out_of_order = 0;
        for record in &self.records {
            out_of_order += u64::from(record.at < latest);
            latest = latest.max(record.at);
        }
        if out_of_order > 0 {
            self.records.sort_by_key(|record| record.at);
        }
        let Some(origin) = self.records.first().map(|first| first.at) else {
            return Err(TraceError::Empty { lines: lines.number(), expected });
        };
        for record in &mut self.records {
            record.at = Time::from_ns(record.at.since(origin).ns());
        }
        self.records.shrink_to_fit();
        Ok(Trace {
            records: self.records,
            processes: self.processes.listed,
            devices: self.devices.listed,
            origin_ns: origin.ns(),
            out_of_order,
            skipped: self.skipped,
            one_by_one: false,
        })
    }
}

/// `blocks` of 512 bytes in bytes.
pub(super) fn bytes(blocks: u64, text: &[u8]) -> Parsed<u64> {
    let bytes = blocks.checked_mul(BLOCK_BYTES);
    bytes.ok_or_else(|| Wrong::new(text, "a block number below 2^55"))
}

/// Names, each stored once, numbered as they come.
struct Names {
    /// What they name, for messages.
    kind: &'static str,
    listed: Vec<String>,
    ids: BTreeMap<Vec<u8>, u16>,
    /// The last name looked up: mostly the next is the same.
    last: (Vec<u8>, u16),
}

impl Names {
    fn new(kind: &'static str) -> Self {
        Self { kind, listed: Vec::new(), ids: BTreeMap::new(), last: (Vec::new(), u16::MAX) }
    }

    fn add(&mut self, name: &[u8]) -> Option<u16> {
        // The highest number is never used, so that `last` can begin with it.
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
            return Err(Wrong::new(name, expected));
        };
        self.last.0.clear();
        self.last.0.extend_from_slice(name);
        self.last.1 = id;
        Ok(id)
    }
}
