//! A request of a trace.

use penstock_core::{Flags, IoClass, IoPrio, Op, Span, Time};

use super::spool::{Packed, PackedReader, PackedWriter};

/// A process as an index into `Trace::processes`; 0 stands for a process that was not recorded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct ProcessId(pub u16);

impl ProcessId {
    /// The process as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A device, volume or file as an index into `Trace::devices`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct DeviceId(pub u16);

impl DeviceId {
    /// The device as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A request of a trace. A flush has neither place nor length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Time of arrival, counted from the trace's first request.
    pub at: Time,
    /// First byte on its device.
    pub start: u64,
    /// Its recorded latency; [`Span::MAX`] stands for unknown and takes half the space of an
    /// `Option`.
    latency: Span,
    /// Length in bytes.
    pub len: u32,
    /// Process number; 0 if the format has none.
    pub pid: u32,
    /// Number of its line in the file, or of its record in a binary file.
    pub line: u32,
    /// Name of the process.
    pub process: ProcessId,
    /// The device that it goes to.
    pub device: DeviceId,
    /// The operation.
    pub op: Op,
    /// Synchronous, forced unit access.
    pub flags: Flags,
    /// Its I/O priority, if it was recorded.
    pub ioprio: Option<IoPrio>,
}

// A list keeps tens of thousands of them in memory. Adding a field should be a decision.
const _: () = assert!(size_of::<Record>() == 48);

impl Record {
    /// A request without a process, on the first device, with unknown latency.
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
            ioprio: None,
        }
    }

    /// Its recorded latency, from the request to its completion.
    pub fn latency(&self) -> Option<Span> {
        (self.latency != Span::MAX).then_some(self.latency)
    }

    /// Sets the recorded latency.
    #[must_use]
    pub const fn with_latency(mut self, latency: Span) -> Self {
        self.latency = latency;
        self
    }

    /// The byte after its last.
    pub const fn end(&self) -> u64 {
        self.start + self.len as u64
    }
}

impl Packed for Record {
    const BYTES: usize = 43;

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
        to.u8(byte_of(self.ioprio));
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
            ioprio: ioprio_of(from.u8()),
        }
    }
}

const CLASSES: [IoClass; 3] = [IoClass::RealTime, IoClass::BestEffort, IoClass::Idle];

/// Encodes an I/O priority, `None` as 0.
pub(super) fn byte_of(ioprio: Option<IoPrio>) -> u8 {
    let Some(ioprio) = ioprio else { return 0 };
    let class = CLASSES.iter().position(|class| *class == ioprio.class());
    1 + 8 * class.expect("it is one of the classes") as u8 + ioprio.level()
}

/// Decodes an I/O priority; `None` if it is unknown.
pub(super) fn ioprio_of(byte: u8) -> Option<IoPrio> {
    let number = byte.checked_sub(1)?;
    IoPrio::new(*CLASSES.get(usize::from(number / 8))?, number % 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_priority_is_kept() {
        let classes = CLASSES.iter().flat_map(|class| (0..8).map(|level| (*class, level)));
        for ioprio in classes.filter_map(|(class, level)| IoPrio::new(class, level)) {
            assert_eq!(ioprio_of(byte_of(Some(ioprio))), Some(ioprio));
        }
        assert_eq!(ioprio_of(0), None);
        assert_eq!(ioprio_of(200), None);
    }
}
