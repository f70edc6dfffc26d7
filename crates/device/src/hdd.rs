//! A hard disk: arm, heads, turning platters, zones, skews, slips; its cache, if it takes part.
//!
//! Use it for one mechanical drive whose measured facts are at hand, or for a drive made of the
//! figures of a data sheet. The model is the one of Ruemmler and Wilkes ("An introduction to disk
//! drive modeling", IEEE Computer 27(3), 1994; `buffer.rs` has their section on data caching)
//! with the zone tables that `DIXtrac` extracts (Schindler and Ganger, CMU-CS-99-176).
//!
//! An access is: command overhead; seek, the longer of arm and head switch, and for a write the
//! settling; the wait until the first wanted sector comes round; the sectors, at the speed of the
//! platter. At a track's end comes a switch of head or cylinder and the wait for the next track's
//! first sector, which the skew mostly hides. A request costs one closed form for each track that
//! it touches.
//!
//! Invariants: one command in service, queues stand in front ([`Tagged`],
//! [`Queued`](penstock_core::Queued)); the platter stands at `t / period` turns at time `t`, if it
//! was not [`turned`](Hdd::turned), and arm and head 0 at cylinder 0 when the run begins; hot paths
//! compute in integers and allocate nothing. Every rounding of a time goes down, less than a
//! nanosecond each: a request that follows on the last one's heels finds its sector just ahead,
//! never just missed. Over a year of modelled time the platter lags by 15 µs.
//!
//! # Divergence from real disks
//!
//! - Without its cache every request goes to the platter: a drive whose cache is on is faster on
//!   sequential work. With it: one command at a time, so that a hit waits for a write that is on
//!   its way; nothing is kept back to be written later; no choice among dirty data; overheads at
//!   completion and water marks of the oldest drives are left out. `buffer.rs` says more.
//! - Without its cache, or where [`Cache::settle`] is zero, an access that needs no seek begins at
//!   once. Real drives take about as long as over one cylinder.
//! - The bus is one rate. A read hands on each sector when it has passed the head; a write begins
//!   when what has arrived will last. Disconnecting, arbitration and buffer sizes are left out.
//! - Defects found in use (remapped, not slipped) are left out: no seek to a far spare.
//! - Seeks take the same time at every temperature and place; no retries, no recalibration, no
//!   thermal or media errors, no power states, no vibration.
//! - Without the cache reads begin with the first wanted sector, as writes always do; drives that
//!   take sectors in any order as they come round save up to half a turn on long requests.
//! - No shingled tracks, no second actuator.

mod buffer;
mod drive;
mod geometry;
mod options;
mod seek;
mod sweep;
mod tagged;
mod watcher;

pub use drive::{
    Cache, CommandOverheads, Drive, DriveError, ReadAhead, SeekLaw, Spares, TrackOrder, Zone,
};
pub use geometry::{Angle, Place};
pub use options::{Bus, Options, Overheads};
pub use tagged::Tagged;

use buffer::{Buffer, Command};
use geometry::{Map, Run};
use penstock_core::{Device, Done, Errno, Flags, Op, Request, Span, Time};
use seek::SeekTimes;
use watcher::Watcher;

/// Bytes of a sector.
const SECTOR: u32 = 512;

/// One access, part by part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// From the request's arrival until the arm begins to move: the rest of the turnaround and
    /// the command overhead.
    pub overhead: Span,
    /// Arm, head switch and settling, to the first track.
    pub seek: Span,
    /// Until the first wanted sector comes round; for a write, until its data has arrived too.
    pub rotation: Span,
    /// From there until the last wanted sector has passed, switches between tracks included.
    pub transfer: Span,
    /// What the bus still carries when the last sector has passed.
    pub bus: Span,
    /// Cylinders that the arm moved to the first track.
    pub distance: u32,
    /// Where the arm is left.
    arm: Arm,
}

impl Access {
    /// Whether it is a command that asked nothing of the platter and cost its overhead alone.
    pub fn is_decoding(&self) -> bool {
        self.service() == self.overhead
    }

    /// The whole of it.
    pub fn service(&self) -> Span {
        self.overhead + self.seek + self.rotation + self.transfer + self.bus
    }
}

/// Where arm and head stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Arm {
    cylinder: u32,
    head: u32,
}

/// One drive.
#[derive(Debug)]
pub struct Hdd {
    map: Map,
    seeks: SeekTimes,
    platter: Platter,
    /// Nanoseconds of overhead: `[write][after a write]`.
    overheads: [[u64; 2]; 2],
    /// Nanoseconds of one sector on the bus.
    bus: u64,
    turnaround: Span,
    arm: Arm,
    /// The last command moved data to the drive.
    wrote: bool,
    /// When the next command may be taken up.
    ready: Time,
    /// The cache, if it takes part.
    buffer: Option<Box<Buffer>>,
    serving: Option<Serving>,
    watcher: Watcher,
}

#[derive(Debug)]
struct Serving {
    req: Request,
    begun: Time,
    ends: Time,
    error: Option<Errno>,
}

impl Serving {
    /// What is over by `now` of the command in service.
    fn finish(serving: &mut Option<Self>, now: Time) -> Option<Done> {
        let Self { req, begun, ends, error } = serving.take_if(|s| s.ends <= now)?;
        Some(Done { id: req.id, at: now, begun, service: ends.since(begun), len: req.len, error })
    }
}

impl Hdd {
    /// The drive of these facts, at rest.
    ///
    /// # Errors
    /// [`DriveError`]: the facts contradict each other.
    pub fn new(drive: &Drive, options: Options) -> Result<Self, DriveError> {
        let map = Map::new(drive)?;
        let cylinders = drive.cylinders.max(map.end_cylinder());
        let settle = drive.write_settle_ns;
        let seeks = SeekTimes::new(&drive.seek, cylinders, drive.head_switch, settle)?;
        Ok(Self {
            platter: Platter::new(drive, &map)?,
            map,
            seeks,
            overheads: options.overheads.table(&drive.overheads),
            bus: if options.bus == Bus::Drive { drive.bus_per_sector.ns() } else { 0 },
            turnaround: options.turnaround,
            arm: Arm::default(),
            wrote: false,
            ready: Time::ZERO,
            buffer: options
                .cache
                .map(|cache| Buffer::new(&cache, options.overheads))
                .transpose()?,
            serving: None,
            watcher: Watcher::default(),
        })
    }

    /// The same with its platter at `angle` when the run begins.
    #[must_use]
    pub fn turned(mut self, angle: Angle) -> Self {
        self.platter.phase = angle;
        self
    }

    /// Where the sector of 512 bytes numbered `sector` lies.
    ///
    /// # Panics
    /// If the drive has no such sector.
    pub fn place(&self, sector: u64) -> Place {
        assert!(sector < self.map.blocks(), "sector {sector} of {}", self.map.blocks());
        self.map.place(self.map.zone_of(sector), sector)
    }

    /// How long a seek over `distance` cylinders on one head takes for `op`.
    pub fn seek(&self, op: Op, distance: u32) -> Span {
        Span::from_ns(self.seeks.ns(op, distance, false))
    }

    /// What a read or write of `len` bytes from `start` would cost if it came `now`, without the
    /// cache.
    ///
    /// # Panics
    /// If the range is empty or passes the drive's end.
    pub fn access(&self, now: Time, op: Op, start: u64, len: u32) -> Access {
        let (first, mut left) = sectors(start, len);
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
            overhead: Time::from_ns(begun).since(now),
            seek: Span::from_ns(seek),
            rotation: Span::from_ns(wait),
            transfer: Span::from_ns(clock - begun - seek - wait),
            bus: Span::from_ns(bus.saturating_sub(clock)),
            distance: run.place.cylinder.abs_diff(self.arm.cylinder),
            arm: Arm { cylinder: at.place.cylinder, head: at.place.head },
        }
    }

    /// Seek, and wait until `run` may begin, of an access of `sectors` that begins at `begun`.
    fn approach(&self, begun: u64, op: Op, run: &Run, sectors: u64) -> (u64, u64) {
        let distance = run.place.cylinder.abs_diff(self.arm.cylinder);
        let seek = self.seeks.ns(op, distance, run.place.head != self.arm.head);
        let arrived = begun + seek;
        let data = if op == Op::Write && self.bus > 0 {
            // The last sector needs all of them; if the bus is the faster, the first one is enough.
            let media = self.platter.pass(run.zone, 1).min(self.bus);
            (begun + sectors * self.bus - (sectors - 1) * media).max(arrived)
        } else {
            arrived
        };
        (seek, data + self.platter.until(data, run.place.angle) - arrived)
    }

    /// The sectors of one track pass the head, and a read's pass the bus.
    fn pass(&self, op: Op, run: &Run, left: u64, clock: &mut u64, bus: &mut u64) {
        if self.bus > 0 && op == Op::Read {
            // Nothing is on the bus before its sector has passed, and all that is left follows it.
            // Within a track either the first sector or the last is what the bus waits for longest.
            let first = *clock + self.platter.pass(run.zone, 1) + left * self.bus;
            let rest = left - run.blocks + 1;
            let last = *clock + self.platter.pass(run.zone, run.sectors) + rest * self.bus;
            *bus = (*bus).max(first).max(last);
        }
        *clock += self.platter.pass(run.zone, run.sectors);
    }

    /// From one track of a request to its next.
    fn switch(&self, op: Op, from: &Place, to: &Place) -> u64 {
        self.seeks.ns(op, to.cylinder.abs_diff(from.cylinder), to.head != from.head)
    }

    /// A command that asks nothing of the platter takes its overhead: when it ends.
    fn decode_only(&mut self, now: Time, op: Op) -> Time {
        let ends = now.max(self.ready) + Span::from_ns(self.overhead(op));
        self.watcher.tell_decoding(now, ends, self.arm);
        ends
    }

    fn overhead(&self, op: Op) -> u64 {
        self.overheads[usize::from(op != Op::Read)][usize::from(self.wrote)]
    }
}

impl Hdd {
    /// Serves a read or write with the cache; when it is answered.
    fn start_cached(&mut self, now: Time, req: &Request) -> Time {
        // It moves the arm, so the two are apart meanwhile.
        let mut buffer = self.buffer.take().expect("looked up by the caller");
        let (first, sectors) = sectors(req.start, req.len);
        let command = Command { now: now.max(self.ready).ns(), first, end: first + sectors };
        let ends = match req.op {
            Op::Write => buffer.write(self, &command, req.flags.has(Flags::FUA)),
            _ => buffer.read(self, &command),
        };
        self.buffer = Some(buffer);
        Time::from_ns(ends)
    }
}

/// The sectors that a range touches: first, and how many. Rounded outwards.
fn sectors(start: u64, len: u32) -> (u64, u64) {
    let first = start / u64::from(SECTOR);
    (first, (start + u64::from(len)).div_ceil(u64::from(SECTOR)) - first)
}

impl Device for Hdd {
    fn capacity(&self) -> u64 {
        self.map.blocks() * u64::from(SECTOR)
    }

    fn block(&self) -> u32 {
        SECTOR
    }

    fn room(&self) -> u32 {
        u32::from(self.serving.is_none())
    }

    /// Seek and rotational wait, exact, as the drive itself would know them.
    fn position(&self, now: Time, op: Op, start: u64) -> Span {
        let sector = start / u64::from(SECTOR);
        if !matches!(op, Op::Read | Op::Write) || sector >= self.map.blocks() {
            return Span::ZERO;
        }
        if let Some(buffer) = &self.buffer {
            let taken = now.max(self.ready).ns();
            return Span::from_ns(buffer.position(self, taken, op, sector));
        }
        let begun = now.max(self.ready).ns() + self.overhead(op);
        let run = self.map.run(self.map.zone_of(sector), sector, 1);
        let (seek, wait) = self.approach(begun, op, &run, 1);
        Span::from_ns(seek + wait)
    }

    fn start(&mut self, now: Time, req: &Request) {
        debug_assert!(self.serving.is_none(), "started without room");
        let (mut ends, mut error) = (now, None);
        match req.op {
            Op::Flush => {
                // Without a cache there is nothing to write back.
                if let Some(buffer) = &self.buffer {
                    ends = Time::from_ns(buffer.flushed(self, now.ns()));
                }
            }
            Op::Discard => ends = self.decode_only(now, req.op),
            Op::Read | Op::Write if req.end() > self.capacity() => {
                ends = self.decode_only(now, req.op);
                error = Some(Errno::EIO);
            }
            Op::Read | Op::Write if self.buffer.is_some() => ends = self.start_cached(now, req),
            Op::Read | Op::Write => {
                let access = self.access(now, req.op, req.start, req.len);
                self.watcher.tell(now, &access);
                ends = now + access.service();
                self.arm = access.arm;
                self.wrote = req.op == Op::Write;
            }
        }
        if req.op != Op::Flush {
            self.ready = ends + self.turnaround;
        }
        self.serving = Some(Serving { req: *req, begun: now, ends, error });
    }

    fn wakeup(&self) -> Time {
        self.serving.as_ref().map_or(Time::NEVER, |serving| serving.ends)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        done.extend(Serving::finish(&mut self.serving, now));
    }
}

/// The turning platter: time to angle and back.
#[derive(Debug)]
struct Platter {
    /// Where it stands at time 0.
    phase: Angle,
    /// Angle of a nanosecond.
    rate: u64,
    /// Nanoseconds of a turn, with 32 binary places.
    period: u64,
    /// Nanoseconds of a sector in each zone, with 32 binary places.
    sector: Box<[u64]>,
}

impl Platter {
    fn new(drive: &Drive, map: &Map) -> Result<Self, DriveError> {
        const MINUTE: u128 = 60_000_000_000;
        // Within these bounds a turn of nanoseconds fits 32 bits and so `period` 64.
        if !(15..=1_000_000).contains(&drive.rpm) {
            return Err(DriveError::Drive("it turns less than 15 or more than 1,000,000 a minute"));
        }
        let period = ((MINUTE << 32) / u128::from(drive.rpm)) as u64;
        Ok(Self {
            phase: Angle::default(),
            rate: ((u128::from(drive.rpm) << 64) / MINUTE) as u64,
            period,
            sector: (0..map.zones())
                .map(|z| period / u64::from(map.sectors_per_track(z)))
                .collect(),
        })
    }

    /// Nanoseconds from time `ns` until `angle` passes the head.
    fn until(&self, ns: u64, angle: Angle) -> u64 {
        let ahead = angle.0.wrapping_sub(ns.wrapping_mul(self.rate)).wrapping_sub(self.phase.0);
        ((u128::from(ahead) * u128::from(self.period)) >> 96) as u64
    }

    /// Nanoseconds in which `sectors` of a track, one turn at most, pass the head.
    fn pass(&self, zone: u32, sectors: u64) -> u64 {
        (sectors * self.sector[zone as usize]) >> 32
    }

    /// Whole sectors of a track that pass the head in `ns`, a turn at most.
    fn sectors(&self, zone: u32, ns: u64) -> u64 {
        (ns << 32) / self.sector[zone as usize]
    }
}

#[cfg(test)]
mod tests;
