//! A drive: its mechanism, its cache if that is simulated, and the command that it serves.

use std::ops::Range;

use penstock_core::{Device, Done, Errno, Flags, Op, Request, Span, Time};

use super::access::Access;
use super::buffer::{SectorRequest, SegmentBuffer};
use super::drive::{Drive, DriveError};
use super::geometry::{Angle, Place};
use super::mechanism::{Mechanism, SECTOR, sectors};
use super::observer::AccessObserver;
use super::options::Options;

/// A single drive.
#[derive(Debug)]
pub struct Hdd {
    pub(super) mechanism: Mechanism,
    /// The cache, if it is simulated.
    pub(super) buffer: Option<Box<SegmentBuffer>>,
    serving: Option<CommandInService>,
    /// Whether the turnaround after the last command is not over.
    resting: bool,
}

#[derive(Debug)]
struct CommandInService {
    req: Request,
    begun: Time,
    ends: Time,
    error: Option<Errno>,
}

impl CommandInService {
    /// Takes the completion of the command in service, if it has ended by `now`.
    fn finish(serving: &mut Option<Self>, now: Time) -> Option<Done> {
        let Self { req, begun, ends, error } = serving.take_if(|s| s.ends <= now)?;
        Some(Done { id: req.id, at: now, begun, service: ends.since(begun), len: req.len, error })
    }
}

impl Hdd {
    /// Creates an idle drive with these facts.
    ///
    /// # Errors
    /// The facts contradict each other.
    pub fn new(drive: &Drive, options: Options) -> Result<Self, DriveError> {
        let mechanism = Mechanism::new(drive, &options)?;
        let buffer = options.cache.map(|cache| SegmentBuffer::new(&cache, drive, &options));
        Ok(Self { mechanism, buffer: buffer.transpose()?, serving: None, resting: false })
    }

    /// Turns the platter to `angle` at the begin of the run.
    #[must_use]
    pub fn turned(mut self, angle: Angle) -> Self {
        self.mechanism.platter.phase = angle;
        self
    }

    /// Adds an `observer` that is called for every access with its start and its parts; an access
    /// does not change once it has begun. With the cache, the call comes when a command makes the
    /// access certain. The access may begin later, and then has neither overhead nor bus time.
    #[must_use]
    pub fn observed(mut self, observer: impl FnMut(Time, &Access) + 'static) -> Self {
        self.mechanism.observer = AccessObserver::new(observer);
        self
    }

    /// Returns the place of the sector `sector` of 512 bytes.
    ///
    /// # Panics
    /// If the drive has no such sector.
    pub fn place(&self, sector: u64) -> Place {
        self.mechanism.place(sector)
    }

    /// Returns the time of a seek for `op` over `distance` cylinders on one head.
    pub fn seek(&self, op: Op, distance: u32) -> Span {
        Span::from_ns(self.mechanism.seeks.ns(op, distance, false))
    }

    /// Returns the cost of a read or write of `len` bytes from `start` without the cache if it came
    /// `now`.
    ///
    /// # Panics
    /// If the range is empty or passes the drive's end.
    pub fn access(&self, now: Time, op: Op, start: u64, len: u32) -> Access {
        self.mechanism.access(now, op, start, len)
    }

    /// Returns when the data of the command in service crosses the bus, if that takes time.
    pub(super) fn bus_taken(&self) -> Option<Range<Time>> {
        let CommandInService { req, begun, ends, .. } = self.serving.as_ref()?;
        let ([read, write], (_, sectors)) = (self.mechanism.bus, sectors(req.start, req.len));
        match req.op {
            Op::Read => Some(*ends - Span::from_ns(sectors * read)..*ends),
            Op::Write => Some(*begun..*begun + Span::from_ns(sectors * write)),
            Op::Flush | Op::Discard => None,
        }
    }

    /// Takes the command overheads out of the drive, since they are spent before a command reaches
    /// it.
    pub(super) fn take_overheads(&mut self) -> [[u64; 2]; 2] {
        if let Some(buffer) = &mut self.buffer {
            buffer.decode_for_free();
        }
        std::mem::take(&mut self.mechanism.overheads)
    }

    /// Serves a read or write with the cache. Returns when it is answered.
    fn start_cached(
        mechanism: &mut Mechanism,
        buffer: &mut SegmentBuffer,
        now: Time,
        req: &Request,
    ) -> Time {
        let (first, sectors) = sectors(req.start, req.len);
        let command =
            SectorRequest { now: now.max(mechanism.ready).ns(), first, end: first + sectors };
        Time::from_ns(match req.op {
            Op::Write => buffer.write(mechanism, &command, req.flags.has(Flags::FUA)),
            _ => buffer.read(mechanism, &command),
        })
    }
}

impl Device for Hdd {
    fn capacity(&self) -> u64 {
        self.mechanism.map.blocks() * u64::from(SECTOR)
    }

    fn block(&self) -> u32 {
        SECTOR
    }

    fn room(&self) -> u32 {
        u32::from(self.serving.is_none() && !self.resting)
    }

    /// Seek and rotational wait, as exact as the drive itself would know them.
    fn position(&self, now: Time, op: Op, start: u64) -> Span {
        let sector = start / u64::from(SECTOR);
        if !matches!(op, Op::Read | Op::Write) || sector >= self.mechanism.map.blocks() {
            return Span::ZERO;
        }
        if let Some(buffer) = &self.buffer {
            let taken = now.max(self.mechanism.ready).ns();
            return Span::from_ns(buffer.position(&self.mechanism, taken, op, sector));
        }
        let begun = now.max(self.mechanism.ready).ns() + self.mechanism.overhead(op);
        let run = self.mechanism.map.run(self.mechanism.map.zone_of(sector), sector, 1);
        let (seek, wait) = self.mechanism.approach(begun, op, &run, 1);
        Span::from_ns(seek + wait)
    }

    fn cylinder(&self, start: u64) -> Option<u32> {
        let sector = start / u64::from(SECTOR);
        (sector < self.mechanism.map.blocks()).then(|| self.mechanism.place(sector).cylinder)
    }

    fn start(&mut self, now: Time, req: &Request) {
        debug_assert!(self.room() > 0, "started without room");
        let (mut ends, mut error) = (now, None);
        match req.op {
            Op::Flush => {
                // Without a cache there is nothing to write back.
                if let Some(buffer) = &self.buffer {
                    ends = Time::from_ns(buffer.flushed(now.ns()));
                }
            }
            Op::Discard => ends = self.mechanism.decode_only(now, req.op),
            Op::Read | Op::Write if req.end() > self.capacity() => {
                ends = self.mechanism.decode_only(now, req.op);
                error = Some(Errno::EIO);
            }
            Op::Read | Op::Write => {
                if let Some(buffer) = &mut self.buffer {
                    ends = Self::start_cached(&mut self.mechanism, buffer, now, req);
                } else {
                    let access = self.mechanism.access(now, req.op, req.start, req.len);
                    self.mechanism.observer.report(now, &access);
                    ends = now + access.service();
                    self.mechanism.arm = access.arm;
                    self.mechanism.wrote = req.op == Op::Write;
                }
            }
        }
        if req.op != Op::Flush {
            self.mechanism.ready = ends + self.mechanism.turnaround;
        }
        self.serving = Some(CommandInService { req: *req, begun: now, ends, error });
    }

    fn wakeup(&self) -> Time {
        match &self.serving {
            Some(serving) => serving.ends,
            None if self.resting => self.mechanism.ready,
            None => Time::NEVER,
        }
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        done.extend(CommandInService::finish(&mut self.serving, now));
        self.resting = self.serving.is_none() && now < self.mechanism.ready;
    }
}
