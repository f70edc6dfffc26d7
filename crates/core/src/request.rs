//! The types that cross every border between layers: a request down, a completion up.

use core::fmt;
use core::num::NonZeroI32;
use core::ops::Deref;

use crate::time::{Span, Time};

/// The operation of a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Op {
    /// Data from the device.
    Read,
    /// Data to the device.
    Write,
    /// Make durable what has finished. Carries no range and bypasses every policy.
    Flush,
    /// The range is no longer needed.
    Discard,
}

impl Op {
    /// The operation of a recorded byte, which `op as u8` made.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Read),
            1 => Some(Self::Write),
            2 => Some(Self::Flush),
            3 => Some(Self::Discard),
            _ => None,
        }
    }
}

/// A ticket: slot and generation, so that a stale one is caught. The caller of
/// [`Device::start`](crate::Device::start) chooses it; the device only echoes it.
///
/// Both are in one 64-bit word: a ticket passes several layers, and reading a word whose halves
/// were just written separately stalls the processor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReqId(u64);

impl ReqId {
    /// The ticket of a slot that had been used `age` times before.
    pub const fn new(slot: u32, age: u32) -> Self {
        Self((slot as u64) << 32 | age as u64)
    }

    /// Index into the caller's table: small and dense, so that policies may index by it.
    pub const fn slot(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Number of earlier uses of the slot.
    pub const fn age(self) -> u32 {
        self.0 as u32
    }

    /// The slot as an index.
    pub const fn index(self) -> usize {
        self.slot() as usize
    }
}

impl fmt::Debug for ReqId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReqId").field("slot", &self.slot()).field("age", &self.age()).finish()
    }
}

/// The stream that issues a request: an agent, a process, a connection. Dense from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct StreamId(pub u32);

/// The class of work, as the job names it. Dense from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ClassId(pub u16);

impl ClassId {
    /// The class as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Priority of a class; the lower number goes first, as with the kernel's ioprio.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Prio(pub u8);

/// Properties of a request in addition to its range.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Flags(u8);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// A caller waits for it; [`Flags::is_sync`] says what else counts as synchronous.
    pub const SYNC: Self = Self(1);
    /// Durable when it completes (forced unit access). Never merged.
    pub const FUA: Self = Self(2);
    /// Through the page cache, if the stack has one; without this flag, past it.
    pub const BUFFERED: Self = Self(4);

    /// The flags of a program's request. As in the kernel's block layer, a direct write has a caller
    /// that waits for it, with every engine; so has a buffered one, where a policy stands above the
    /// page cache. A discard has none, and neither have the writes by which a page cache writes back.
    pub const fn of_program(op: Op) -> Self {
        if matches!(op, Op::Discard) { Self::NONE } else { Self::SYNC }
    }

    /// Whether a request for `op` with these flags is synchronous: reads, flushes, forced writes,
    /// and all with [`Flags::SYNC`]. Nothing else decides it, as in the kernel's block layer.
    pub const fn is_sync(self, op: Op) -> bool {
        matches!(op, Op::Read | Op::Flush) || self.has(Self::SYNC) || self.has(Self::FUA)
    }

    /// Whether every flag of `other` is set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The flags of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The flags that `other` does not have.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The flags as a byte, for a record.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The flags of a recorded byte; unknown bits are dropped.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 7)
    }
}

/// A request of a source, without a ticket. Offsets and lengths are in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Io {
    /// Time at which the request should arrive. Latency counts from here, so that a late generator
    /// cannot hide waiting.
    pub due: Time,
    /// First byte.
    pub start: u64,
    /// Bytes; zero for a flush only.
    pub len: u32,
    /// The stream that issues it.
    pub stream: StreamId,
    /// The class of work that it belongs to.
    pub class: ClassId,
    /// The operation.
    pub op: Op,
    /// Priority of its class.
    pub prio: Prio,
    /// Further properties.
    pub flags: Flags,
}

impl Io {
    /// The byte after the last.
    pub const fn end(&self) -> u64 {
        self.start + self.len as u64
    }

    /// Bytes that it reads or writes: a discard moves none.
    pub const fn moved(&self) -> u64 {
        if matches!(self.op, Op::Discard) { 0 } else { self.len as u64 }
    }

    /// Whether a caller waits for it, by [`Flags::is_sync`].
    pub const fn is_sync(&self) -> bool {
        self.flags.is_sync(self.op)
    }

    /// The request that carries this under the ticket `id`.
    pub const fn with(self, id: ReqId) -> Request {
        Request { id, io: self }
    }
}

/// A request to the layer below, which is a request of the layer above: one type for both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// The caller's ticket. Pieces of one request share it.
    pub id: ReqId,
    /// The operation, its range and its properties.
    pub io: Io,
}

impl Deref for Request {
    type Target = Io;
    fn deref(&self) -> &Io {
        &self.io
    }
}

/// An error number of the operating system, as in `errno`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Errno(NonZeroI32);

impl Errno {
    /// Input or output error: the error of a failing medium.
    pub const EIO: Self = Self(NonZeroI32::new(5).unwrap());
    /// No answer within the time-out.
    pub const ETIMEDOUT: Self = Self(NonZeroI32::new(110).unwrap());

    /// The error numbered `code`; `None` for zero, which means success.
    pub const fn new(code: i32) -> Option<Self> {
        match NonZeroI32::new(code) {
            Some(code) => Some(Self(code)),
            None => None,
        }
    }

    /// The number.
    pub const fn code(self) -> i32 {
        self.0.get()
    }
}

/// A completion: one for each request that was started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done {
    /// The ticket that the caller gave.
    pub id: ReqId,
    /// Time of completion: the turn in which the loop collected it.
    pub at: Time,
    /// Time at which its first byte was dispatched: the wait ends here. Each layer that queues
    /// writes its own time, so the outermost queue's time remains.
    pub begun: Time,
    /// Device time that it cost; an array sums over its disks. Shares are computed from it.
    pub service: Span,
    /// Bytes of the ticket that this command carried, so that no table of commands is needed.
    pub len: u32,
    /// The error, if it failed.
    pub error: Option<Errno>,
}

// The two hot types fit one cache line each. Adding a field should be a decision.
const _: () = assert!(size_of::<Request>() == 40 && size_of::<Done>() == 40);
