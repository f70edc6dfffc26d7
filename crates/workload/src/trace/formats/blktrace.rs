//! The binary events of Linux block tracing, as blktrace(8) stores them: the output of `blktrace -d
//! DEV -o -` and `blkparse -d`, and the concatenated files `NAME.blktrace.N` of all CPUs, in any
//! order.
//!
//! An event is a record of 48 bytes in the byte order of the recording machine:
//!
//! ```text
//! magic 0x65617407: u32   sequence: u32   time in ns: u64   sector: u64   bytes: u32   action: u32
//! pid: u32   device: u32   CPU: u32   error: u16   length of the tail: u16   tail
//! ```
//!
//! The low byte of the action is the kind of event; its upper half is a set of flags. A device is
//! `major << 20 | minor`. A notice of a process has the process's name as its tail. Events are
//! sorted by time before they are matched, and mean the same as in `blkparse`. Source: the interface
//! of the kernel, `struct blk_io_trace` and the constants `BLK_TC_*` and `BLK_TA_*`.

use std::collections::BTreeMap;

use penstock_core::{Flags, Op};

use crate::trace::block_events::{BlockEvent, BlockEvents, Operation, Step};
use crate::trace::builder::BLOCK_BYTES;
use crate::trace::error::{ParseError, Parsed, Place, TraceError};
use crate::trace::format::Format;
use crate::trace::input::Input;
use crate::trace::recording::Trace;
use crate::trace::spool::{Packed, PackedReader, PackedWriter, Spool};

const EXAMPLE: &str = "records of 48 bytes that begin with the magic number 0x65617407";

pub(super) const FORMAT: Format = Format {
    name: "blktrace",
    summary: "blktrace's binary events, of all CPUs or of one: Q, D and C as in blkparse",
    example: EXAMPLE,
    read,
    write: None,
};

/// Bytes of a record without its tail.
const HEAD_BYTES: usize = 48;
/// The magic number: three fixed bytes and the version.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;

/// Kinds of events, in the low byte of the action.
const QUEUE: u32 = 1;
const ISSUE: u32 = 7;
const COMPLETE: u32 = 8;
/// Flags of the action.
const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const SYNC: u32 = 1 << 19;
const PASSTHROUGH: u32 = 1 << 25;
const NOTICE: u32 = 1 << 26;
const DISCARD: u32 = 1 << 29;
const FORCED: u32 = 1 << 31;

/// The notice of a process's name, in the low byte of the action.
const PROCESS: u32 = 0;
/// The longest name that the kernel gives a process.
const NAME_BYTES: usize = 16;

fn read(input: &mut Input<'_>) -> Result<Trace, TraceError> {
    let mut stored = StoredEvents::default();
    input.records(HEAD_BYTES, size, |record, place| stored.add(record, place))?;
    let mut events = BlockEvents::new();
    (0..stored.others).for_each(|_| events.skip());
    let not_kept = |source| TraceError::Kept { source };
    let sorted = stored.events.sorted_by_key(|event| event.at_ns).map_err(not_kept)?;
    for event in &sorted {
        let added = event.add_to(&mut events, &stored.names);
        input.count(added.map_err(|error| error.with_found(event.text())), event.place(), None)?;
    }
    sorted.check().map_err(not_kept)?;
    events.finish(input, EXAMPLE)
}

/// Returns the size in bytes of the record that begins with `head`.
fn size(head: &[u8]) -> Parsed<usize> {
    let record = Head { bytes: head, order: ByteOrder::detect(head)? };
    Ok(HEAD_BYTES + usize::from(record.u16(46)))
}

/// The byte order of the recording machine.
#[derive(Clone, Copy)]
enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// Detects the byte order from the magic number of a record.
    fn detect(head: &[u8]) -> Parsed<Self> {
        for order in [Self::Little, Self::Big] {
            let magic = Head { bytes: head, order }.u32(0);
            if magic == MAGIC | VERSION {
                return Ok(order);
            }
            if magic & !0xff == MAGIC {
                let found = format!("version {} of the events", magic & 0xff);
                return Err(ParseError::new(&[], format!("version {VERSION}")).with_found(found));
            }
        }
        let found = format!("the bytes {:02x?}", &head[..4]);
        Err(ParseError::new(&[], "the magic number 0x65617407, in either byte order")
            .with_found(found))
    }
}

/// The fixed part of a record.
struct Head<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl Head<'_> {
    fn u16(&self, at: usize) -> u16 {
        let bytes = self.array(at);
        match self.order {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        }
    }

    fn u32(&self, at: usize) -> u32 {
        let bytes = self.array(at);
        match self.order {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        }
    }

    fn u64(&self, at: usize) -> u64 {
        let bytes = self.array(at);
        match self.order {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        }
    }

    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        self.bytes[at..at + N].try_into().expect("a record has all of its fields")
    }
}

/// The events of a file, in their order there.
#[derive(Default)]
struct StoredEvents {
    events: Spool<StoredEvent>,
    /// Names of processes by number.
    names: BTreeMap<u32, Vec<u8>>,
    /// Number of records that belong to no request.
    others: u64,
}

impl StoredEvents {
    fn add(&mut self, record: &[u8], place: Place) -> Parsed<()> {
        let head = Head { bytes: record, order: ByteOrder::detect(record)? };
        let action = head.u32(28);
        if action & NOTICE != 0 && action & 0xff == PROCESS {
            let name = record[HEAD_BYTES..].split(|&byte| byte == 0).next().unwrap_or_default();
            let name = name[..name.len().min(NAME_BYTES)].to_vec();
            self.names.insert(head.u32(32), name);
        }
        let (Some(_), Place::Record { number, byte }) = (step(action), place) else {
            self.others += 1;
            return Ok(());
        };
        let event = StoredEvent {
            at_ns: head.u64(8),
            sector: head.u64(16),
            byte,
            bytes: head.u32(24),
            pid: head.u32(32),
            device: head.u32(36),
            number: u32::try_from(number).unwrap_or(u32::MAX),
            action,
        };
        Ok(self.events.push(event)?)
    }
}

/// Returns the step of a request that `action` records; `None` if it records something else.
fn step(action: u32) -> Option<Step> {
    match action & 0xff {
        _ if action & (NOTICE | PASSTHROUGH) != 0 => None,
        QUEUE => Some(Step::Queued),
        ISSUE => Some(Step::Issued),
        COMPLETE => Some(Step::Completed),
        _ => None,
    }
}

/// Reads the operation from the flags of an action.
fn operation(action: u32) -> Operation {
    let has = |flag: u32| action & flag != 0;
    let op = match action {
        _ if has(DISCARD) => Some(Op::Discard),
        _ if has(WRITE) => Some(Op::Write),
        _ if has(FLUSH) => Some(Op::Flush),
        _ if has(READ) => Some(Op::Read),
        _ => None,
    };
    let mut flags = Flags::NONE;
    for (flag, meaning) in [(SYNC, Flags::SYNC), (FORCED, Flags::FUA)] {
        flags = if has(flag) { flags.with(meaning) } else { flags };
    }
    Operation { op, flush_first: has(FLUSH), flags }
}

/// An event of a request, and its place in the file.
#[derive(Clone, Copy)]
struct StoredEvent {
    at_ns: u64,
    sector: u64,
    byte: u64,
    bytes: u32,
    pid: u32,
    device: u32,
    number: u32,
    action: u32,
}

impl Packed for StoredEvent {
    const BYTES: usize = 44;

    fn pack(&self, to: &mut PackedWriter<'_>) {
        to.u64(self.at_ns);
        to.u64(self.sector);
        to.u64(self.byte);
        to.u32(self.bytes);
        to.u32(self.pid);
        to.u32(self.device);
        to.u32(self.number);
        to.u32(self.action);
    }

    fn unpack(from: &mut PackedReader<'_>) -> Self {
        Self {
            at_ns: from.u64(),
            sector: from.u64(),
            byte: from.u64(),
            bytes: from.u32(),
            pid: from.u32(),
            device: from.u32(),
            number: from.u32(),
            action: from.u32(),
        }
    }
}

impl StoredEvent {
    fn add_to(&self, events: &mut BlockEvents, names: &BTreeMap<u32, Vec<u8>>) -> Parsed<()> {
        let &Self { at_ns, sector, pid, action, .. } = self;
        let device = format!("{},{}", self.device >> 20, self.device & 0xf_ffff);
        let event = BlockEvent {
            step: step(action).expect("events of requests are kept"),
            at_ns,
            operation: operation(action),
            device: device.as_bytes(),
            sector,
            sectors: u64::from(self.bytes) / BLOCK_BYTES,
            pid,
            process: names.get(&pid).map_or(&[], Vec::as_slice),
            ioprio: None,
        };
        events.add(self.number, &[], &event)
    }

    fn place(&self) -> Place {
        Place::Record { number: u64::from(self.number), byte: self.byte }
    }

    fn text(&self) -> String {
        let Self { at_ns, sector, bytes, .. } = self;
        format!("an event at {at_ns} ns of {bytes} B at sector {sector}")
    }
}
