//! The moving parts of a drive: the arm over the map of its sectors, and the turning platter.

use penstock_core::{Op, Span, Time};

use super::access::{Access, Arm};
use super::drive::{Drive, DriveError};
use super::geometry::{Map, Place, Run};
use super::observer::AccessObserver;
use super::options::Options;
use super::platter::Platter;
use super::seek::SeekTimes;

/// Bytes of a sector.
pub(super) const SECTOR: u32 = 512;

/// The mechanism of one drive, and the times of its electronics.
#[derive(Debug)]
pub(super) struct Mechanism {
    pub(super) map: Map,
    pub(super) seeks: SeekTimes,
    pub(super) platter: Platter,
    /// Nanoseconds of overhead: `[write][after a write]`.
    pub(super) overheads: [[u64; 2]; 2],
    /// Nanoseconds of one sector on the bus: `[write]`.
    pub(super) bus: [u64; 2],
    /// Nanoseconds to report that a command is done: `[write]`.
    pub(super) completions: [u64; 2],
    /// Least nanoseconds of the arm for a write.
    pub(super) least_write_seek: u64,
    pub(super) turnaround: Span,
    pub(super) arm: Arm,
    /// Whether the last command moved data to the drive.
    pub(super) wrote: bool,
    /// Time from which the next command may be taken.
    pub(super) ready: Time,
    pub(super) observer: AccessObserver,
}

impl Mechanism {
    /// Creates the idle mechanism of a drive with these facts.
    pub(super) fn new(drive: &Drive, options: &Options) -> Result<Self, DriveError> {
        let map = Map::new(drive)?;
        let cylinders = drive.cylinders.max(map.end_cylinder());
        let settle = drive.write_settle_ns;
        let seeks = SeekTimes::new(&drive.seek, cylinders, drive.head_switch, settle)?;
        Ok(Self {
            platter: Platter::new(drive, &map)?,
            map,
            seeks,
            overheads: options.overheads.table(&drive.overheads),
            bus: options.bus.times(drive.bus).table(),
            completions: options.overheads.protocol(&drive.protocol).completions(),
            least_write_seek: drive.least_write_seek.ns(),
            turnaround: options.turnaround,
            arm: Arm::default(),
            wrote: false,
            ready: Time::ZERO,
            observer: AccessObserver::default(),
        })
    }

    /// Returns the place of the sector `sector` of 512 bytes.
    ///
    /// # Panics
    /// If the drive has no such sector.
    pub(super) fn place(&self, sector: u64) -> Place {
        assert!(sector < self.map.blocks(), "sector {sector} of {}", self.map.blocks());
        self.map.place(self.map.zone_of(sector), sector)
    }

    /// Returns the cost of a read or write of `len` bytes from `start` without the cache if it came
    /// `now`.
    ///
    /// # Panics
    /// If the range is empty or passes the drive's end.
    pub(super) fn access(&self, now: Time, op: Op, start: u64, len: u32) -> Access {
        let (first, mut left) = sectors(start, len);
        let write = usize::from(op != Op::Read);
        assert!(left > 0 && first + left <= self.map.blocks(), "{len} bytes at {start}");
        let begun = now.max(self.ready).ns() + self.overhead(op);
        let run = self.map.run(self.map.zone_of(first), first, left);
        let (seek, wait) = self.approach(begun, op, &run, left);
        let mut clock = begun + seek + wait;
        let mut bus = clock;
        let mut block = first;
        let mut at = run;
        loop {
            self.pass(op, &at, left, &mut clock, &mut bus);
            left -= at.blocks;
            if left == 0 {
                break;
            }
            block += at.blocks;
            let next = self.map.run(self.map.zone_of(block), block, left);
            clock += self.switch(op, &at.place, &next.place);
            clock += self.platter.until(clock, next.place.angle);
            at = next;
        }
        Access {
            op,
            overhead: Time::from_ns(begun).since(now),
            seek: Span::from_ns(seek),
            rotation: Span::from_ns(wait),
            transfer: Span::from_ns(clock - begun - seek - wait),
            bus: Span::from_ns(bus.saturating_sub(clock) + self.completions[write]),
            from: self.arm.cylinder,
            to: run.place.cylinder,
            arm: Arm { cylinder: at.place.cylinder, head: at.place.head },
        }
    }

    /// Returns the seek, and the wait until `run` may begin, of an access of `sectors` that begins
    /// at `begun`.
    pub(super) fn approach(&self, begun: u64, op: Op, run: &Run, sectors: u64) -> (u64, u64) {
        let distance = run.place.cylinder.abs_diff(self.arm.cylinder);
        let mut seek = self.seeks.ns(op, distance, run.place.head != self.arm.head);
        if op == Op::Write {
            seek = seek.max(self.least_write_seek);
        }
        let arrived = begun + seek;
        let [_, bus] = self.bus;
        let data = if op == Op::Write && bus > 0 {
            // The last sector needs all of them; if the bus is faster, the first one is enough.
            let media = self.platter.pass(run.zone, 1).min(bus);
            (begun + sectors * bus - (sectors - 1) * media).max(arrived)
        } else {
            arrived
        };
        (seek, data + self.platter.until(data, run.place.angle) - arrived)
    }

    /// Advances `clock` over the sectors of one track, and `bus` over those of a read.
    fn pass(&self, op: Op, run: &Run, left: u64, clock: &mut u64, bus: &mut u64) {
        let [pace, _] = self.bus;
        if pace > 0 && op == Op::Read {
            // No sector is on the bus before it has passed the head, and the rest follows it.
            // Within a track the bus waits longest for either the first sector or the last.
            let first = *clock + self.platter.pass(run.zone, 1) + left * pace;
            let rest = left - run.blocks + 1;
            let last = *clock + self.platter.pass(run.zone, run.sectors) + rest * pace;
            *bus = (*bus).max(first).max(last);
        }
        *clock += self.platter.pass(run.zone, run.sectors);
    }

    /// Returns the time of the switch from one track of a request to the next.
    fn switch(&self, op: Op, from: &Place, to: &Place) -> u64 {
        self.seeks.ns(op, to.cylinder.abs_diff(from.cylinder), to.head != from.head)
    }

    /// Serves a command that needs no platter: it takes its overhead. Returns when it ends.
    pub(super) fn decode_only(&mut self, now: Time, op: Op) -> Time {
        let ends = now.max(self.ready) + Span::from_ns(self.overhead(op));
        self.observer.report_decoding(now, op, ends, self.arm);
        ends
    }

    pub(super) fn overhead(&self, op: Op) -> u64 {
        self.overheads[usize::from(op != Op::Read)][usize::from(self.wrote)]
    }
}

/// Returns the sectors that a range touches, as first and number, rounded outwards.
pub(super) fn sectors(start: u64, len: u32) -> (u64, u64) {
    let first = start / u64::from(SECTOR);
    (first, (start + u64::from(len)).div_ceil(u64::from(SECTOR)) - first)
}
