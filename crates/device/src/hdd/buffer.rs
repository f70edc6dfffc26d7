//! The cache of a drive: segments, read-ahead, write-back.
//!
//! Use it to model a drive with its cache on. The rules are those that Ruemmler and Wilkes describe
//! (section "Data caching") and whose parameters `DIXtrac` extracts. Where the facts of a drive do
//! not decide, the rule is that of `DiskSim` 4.0, and the tests compare with its answers.
//!
//! *Segments.* A segment holds one run of sectors, and slides: when it is full, its first sectors
//! are dropped. A new run takes an empty segment, or the least recently used one. A write empties
//! every other segment that holds some of its sectors.
//!
//! *Reads.* A read is a hit if its first sector is in the buffer. It then has the shorter overhead,
//! and the bus begins at once with these sectors. The arm fetches missing sectors, or continues if
//! it is fetching them already. After a read the arm reads on as far as the drive's rule says. It
//! stops for any other command, at the end of the sector or seek that has begun, and the command's
//! overhead comes after that. Data that the host has not yet taken from the buffer is never
//! replaced: the arm loses turns instead.
//!
//! *Writes.* With write-back, a write is answered when its data is in the buffer, and goes to the
//! platter at once. A write that continues it joins it. Every other command, even a hit, waits
//! until the data is on the platter: the drives described here serve one command at a time. Without
//! write-back, and for a write with FUA, the answer comes from the platter. A write longer than a
//! segment receives its next part when no more than the low water mark is left in the buffer, or as
//! soon as there is room if the drive keeps the bus.
//!
//! *Bus.* A hit is decoded and answered on the bus that brought the command. For a read that needs
//! the platter the drive disconnects from the bus, and reconnects when the share of the request up
//! to the high water mark is in the buffer; from then on it keeps the bus. For a write it
//! disconnects when the data is in the buffer, and reconnects when the data is on the platter. A
//! drive that disconnects early also does so before the data, if the last command was a write that
//! this one does not continue; it begins on the platter when 10 sectors are in the buffer, or 15 of
//! a write of 45 or more. The costs of each step are facts ([`BusProtocol`]).
//!
//! Invariants: only the rest of one sweep is dirty; a flush is answered when that sweep has ended;
//! the work per request is a few steps for each segment and each track.
//!
//! # Divergence from real disks
//!
//! - Sectors read ahead may displace requested sectors, if the drive reads on that far and its
//!   facts do not say that it keeps them. Only the maximum read-ahead counts, as in `DiskSim`.
//! - The overhead of a command that stops a read-ahead begins after that sector or seek has ended,
//!   as in `DiskSim`, and not meanwhile.
//! - Levels 1 and 2 of `DiskSim`'s fast writes are one: with one command at a time they do not
//!   differ. So are its levels 1 and 2 of caching.
//! - A write does not join data that it precedes. A drive that writes sectors in the order in which
//!   they come round does so only where all of the track's data has arrived by then.
//! - A drive that keeps the bus for a write has no limit on what the buffer holds of that write.
//!
//! # Facts that change nothing
//!
//! None of the twelve drives that `DiskSim` describes has these, so they are not modelled: an
//! overhead of every request, hits past another command, writes that prebuffer, seeks before the
//! answer, a disconnection while the arm seeks, water marks that are shares of the segment. Whether
//! a drive keeps the bus for the rest of a read, or never disconnects, matters only where
//! disconnecting costs time or another disk waits: the drives with such costs keep it for reads.

mod segments;

use std::ops::Range;

use penstock_core::Op;

use self::segments::Segments;
use super::access::Arm;
use super::bus::BusProtocol;
use super::drive::{Cache, Drive, DriveError, ReadAhead};
use super::mechanism::Mechanism;
use super::options::Options;
use super::sweep::{Flow, Leg, Motion, Order, Sweep};

/// The cache of a drive, and the motion of the arm beyond the requests.
#[derive(Debug)]
pub(super) struct SegmentBuffer {
    cache: Cache,
    /// Nanoseconds of overhead if the buffer answers: `[write][after a write]`.
    hits: [[u64; 2]; 2],
    protocol: BusProtocol,
    segments: Segments,
    active: Option<Active>,
    /// The sector behind the last command.
    last_end: u64,
}

/// A segment that is being filled from the platter or written to it.
#[derive(Clone, Copy, Debug)]
struct Active {
    segment: usize,
    sweep: Sweep,
    /// The sector up to which the read-ahead continues even if a command waits.
    least: u64,
    /// The motion of the arm at the last command.
    motion: Motion,
    /// The end of a write if no other write joins it.
    written: Option<WriteEnd>,
}

/// The end of a write.
#[derive(Clone, Copy, Debug)]
struct WriteEnd {
    /// Time at which all of it is on the platter, in nanoseconds.
    at: u64,
    /// The arm at that time.
    arm: Arm,
}

impl WriteEnd {
    /// Returns the end of `sweep`, which has been finished.
    fn new(sweep: &Sweep) -> Self {
        Self { at: sweep.at, arm: sweep.arm }
    }
}

/// Costs of a write in addition to arm, platter and data, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct WriteCosts {
    /// Time from the command until the arm may move.
    arm: u64,
    /// Time from the command until data crosses the bus.
    bus: u64,
    /// Time from the end of the data until the drive has disconnected.
    disconnect: u64,
    /// Time to reconnect.
    reselect: u64,
}

/// A request for sectors.
#[derive(Clone, Copy, Debug)]
pub(super) struct SectorRequest {
    /// Time at which the drive takes it, in nanoseconds.
    pub(super) now: u64,
    /// First sector.
    pub(super) first: u64,
    /// The sector behind the last one.
    pub(super) end: u64,
}

impl SegmentBuffer {
    /// Creates an empty buffer.
    ///
    /// # Errors
    /// The cache has no room to read into.
    pub(super) fn new(
        cache: &Cache,
        drive: &Drive,
        options: &Options,
    ) -> Result<Box<Self>, DriveError> {
        if cache.segments <= u32::from(cache.write_segment) || cache.segment_sectors < 2 {
            let why = "its cache needs a segment for reads, of two sectors or more";
            return Err(DriveError::Drive(why));
        }
        Ok(Box::new(Self {
            cache: *cache,
            hits: options.overheads.table(&cache.overheads),
            protocol: options.overheads.protocol(&drive.protocol),
            segments: Segments::new(cache.segments, cache.segment_sectors, cache.write_segment),
            active: None,
            last_end: 0,
        }))
    }

    /// Sets the overheads to zero: commands are decoded before they reach the cache.
    pub(super) fn decode_for_free(&mut self) {
        self.hits = Default::default();
        self.protocol.early_disconnect = None;
    }

    /// Serves a read. Returns when it is answered.
    pub(super) fn read(&mut self, drive: &mut Mechanism, command: &SectorRequest) -> u64 {
        let SectorRequest { now, first, end } = *command;
        let missed = drive.overhead(Op::Read);
        let written = self.settle(drive, now);
        let reading = self.active.map(|active| active.segment);
        let found = self.segments.find(first, end, reading).or_else(|| self.coming(first));
        // A read that must wait for the arm is reported with all of its costs.
        let hit = found.is_some() && written <= now;
        let flow = self.read_flow(drive, command, hit, written);
        (drive.wrote, self.last_end) = (false, end);
        let completion = drive.completions[0];
        let whole = found.is_some_and(|at| self.segments.get(at).end >= end);
        let going = self.active.filter(|active| found == Some(active.segment));
        let mut begun = None;
        let mut active = going.unwrap_or_else(|| {
            let free = (self.stop(drive, now) + missed).max(written);
            let segment = found.unwrap_or_else(|| self.segments.for_read(reading));
            if found.is_none() {
                self.segments.begin(segment, first);
            }
            let next = self.segments.get(segment).end;
            let sweep = self.sweep(drive, Op::Read, next..end.max(next), free, flow);
            if !whole {
                let access = begun.insert(drive.begin(sweep));
                if found.is_none() && self.cache.free_sectors {
                    self.keep_passing(drive, segment, next, &access.first);
                }
            }
            Active { segment, sweep, least: end, motion: Motion::Done, written: None }
        });
        self.segments.touch(active.segment);
        active.least = end + u64::from(self.cache.ahead_least);
        active.sweep.flow = flow;
        let mut limit = self.limit(drive, self.segments.get(active.segment).start, end);
        if self.cache.keeps_asked {
            limit = limit.min((first + self.segments.sectors()).max(end));
        }
        active.sweep.end = active.sweep.end.max(limit);
        if self.cache.drops_asked {
            self.segments.drop_before(active.segment, end);
        }
        if whole {
            if going.is_some() || self.cache.ahead_on_hit {
                self.active = Some(active);
                if going.is_none() && active.sweep.next < active.sweep.end {
                    let begun = drive.begin(active.sweep);
                    drive.report(&begun, 0);
                }
            }
            return flow.done() + completion;
        }
        let read = match begun {
            None => drive.reach(&mut active.sweep, end),
            Some(begun) => {
                let read = drive.reach_from(&begun, &mut active.sweep, end);
                drive.report(&begun, read);
                read
            }
        };
        self.active = Some(active);
        active.sweep.flow.done().max(read) + completion
    }

    /// Returns how a read crosses the bus, not before `written`.
    fn read_flow(
        &self,
        drive: &Mechanism,
        command: &SectorRequest,
        hit: bool,
        written: u64,
    ) -> Flow {
        let SectorRequest { now, first, end } = *command;
        let flow = |costs: u64| self.flow(drive, Op::Read, first..end, written.max(now + costs));
        let BusProtocol {
            data_preparation,
            read_disconnect_after_read,
            read_disconnect_after_write,
            ..
        } = self.protocol;
        if hit {
            return flow(self.overhead(drive, Op::Read, first) + data_preparation.ns());
        }
        let disconnect =
            if drive.wrote { read_disconnect_after_write } else { read_disconnect_after_read };
        let connects = self.connects();
        // The cost of reconnecting counts from the first sector on.
        let least = u64::from(connects > 0);
        let mark = first + self.share(end - first, self.cache.read_mark).max(least);
        let costs = drive.overhead(Op::Read) + disconnect.ns() + connects;
        Flow { mark, connects, ..flow(costs) }
    }

    /// Returns the overhead in nanoseconds of a command from sector `first` on that the buffer
    /// answers.
    fn overhead(&self, drive: &Mechanism, op: Op, first: u64) -> u64 {
        let write = op == Op::Write;
        let continues = !self.cache.short_if_continued || first == self.last_end;
        let same = drive.wrote == write && continues;
        self.hits[usize::from(write)][usize::from(same == write)]
    }

    /// Returns the segment that is being filled, if `sector` is its next one.
    fn coming(&self, sector: u64) -> Option<usize> {
        let Active { segment, sweep, .. } = self.active?;
        let comes = sweep.op == Op::Read && sweep.next == sector && sector < sweep.end;
        (comes && self.cache.hits_on_coming).then_some(segment)
    }

    /// Serves a write. Returns when it is answered; if it must be `durable`, from the platter.
    pub(super) fn write(
        &mut self,
        drive: &mut Mechanism,
        command: &SectorRequest,
        durable: bool,
    ) -> u64 {
        let SectorRequest { now, first, end } = *command;
        let durable = durable || !self.cache.write_back;
        let missed = drive.overhead(Op::Write);
        let overhead = if durable { missed } else { self.overhead(drive, Op::Write, first) };
        let costs = self.write_costs(overhead, drive.wrote && first != self.last_end);
        (drive.wrote, self.last_end) = (true, end);
        if !durable && let Some(done) = self.append(drive, command, now + costs.bus) {
            return done;
        }
        let written = self.settle(drive, now);
        let reading = self.active.map(|active| active.segment);
        let free = (self.stop(drive, now) + costs.arm).max(written);
        let segment = self.segments.for_write(first, end, reading);
        self.segments.void(first, end);
        self.segments.begin(segment, first);
        // A write longer than a segment goes through it part by part.
        let (room, sectors) = (self.segments.sectors(), end - first);
        let rest_mark = self.share(sectors, self.cache.write_mark).max(1);
        let refill = room.saturating_sub(rest_mark);
        let holds = self.cache.holds_bus_for_write || refill == 0;
        let part = if holds { end } else { end.min(first + room) };
        let mut flow = self.flow(drive, Op::Write, first..part, written.max(now + costs.bus));
        flow.mark = first + self.head_start(sectors);
        let mut sweep = self.sweep(drive, Op::Write, first..part, free, flow);
        let begun = drive.begin(sweep);
        while sweep.end < end {
            let rest = sweep.end - rest_mark;
            let drained = drive.reach(&mut sweep, rest);
            let apart = drained.max(sweep.flow.done() + costs.disconnect);
            let part = end.min(sweep.end + refill);
            let connected = apart + costs.reselect + self.protocol.data_preparation.ns();
            sweep.flow = self.flow(drive, Op::Write, sweep.end..part, connected);
            sweep.end = part;
        }
        self.segments.extend(segment, end);
        let mut ended = sweep;
        let written = if sweep.next == first {
            drive.reach_from(&begun, &mut ended, end)
        } else {
            drive.finish(&mut ended)
        };
        drive.report(&begun, written);
        let (motion, ended) = (Motion::Done, Some(WriteEnd::new(&ended)));
        self.active = Some(Active { segment, sweep, least: end, motion, written: ended });
        let crossed = sweep.flow.done();
        let answered = if durable {
            written.max(crossed + costs.disconnect) + costs.reselect
        } else {
            crossed
        };
        answered + drive.completions[1]
    }

    /// Returns the costs of a write whose command takes `overhead`; `apart` tells whether it does
    /// not continue the write before it.
    fn write_costs(&self, overhead: u64, apart: bool) -> WriteCosts {
        let BusProtocol { data_preparation, reselect, write_disconnect, .. } = self.protocol;
        match self.protocol.early_disconnect.filter(|_| apart) {
            None => WriteCosts {
                arm: overhead,
                bus: overhead + data_preparation.ns(),
                disconnect: write_disconnect.ns(),
                reselect: reselect.ns(),
            },
            Some(early) => WriteCosts {
                arm: (early.command + early.seek_delay).ns(),
                bus: (early.command + early.disconnect + early.apart).ns() + self.connects(),
                disconnect: early.second_disconnect.ns(),
                reselect: early.second_reselect.ns(),
            },
        }
    }

    /// Returns how many of a write's `sectors` are in the buffer before the platter takes the
    /// first. The numbers are those of `DiskSim` for a drive that disconnects early.
    fn head_start(&self, sectors: u64) -> u64 {
        match self.protocol.early_disconnect {
            None => 0,
            Some(_) if sectors < 45 => sectors.min(10),
            Some(_) => 15,
        }
    }

    /// Returns `percent` of a request for `sectors`, or of a segment if that is shorter.
    fn share(&self, sectors: u64, percent: u32) -> u64 {
        sectors.min(self.segments.sectors()) * u64::from(percent) / 100
    }

    /// Returns the nanoseconds to reconnect for data.
    fn connects(&self) -> u64 {
        (self.protocol.reselect + self.protocol.data_preparation).ns()
    }

    /// Joins a write to the data on its way to the platter, if it continues that data. Returns when
    /// it is answered.
    fn append(&mut self, drive: &Mechanism, command: &SectorRequest, decoded: u64) -> Option<u64> {
        let SectorRequest { now, first, end } = *command;
        let room = self.segments.sectors();
        let joins = self.cache.combine && end - first <= room;
        let mut active = self
            .active
            .filter(|Active { sweep, .. }| joins && sweep.op == Op::Write && sweep.end == first)?;
        if matches!(drive.follow(&mut active.sweep, now), Motion::Done) {
            return None;
        }
        // The write enters the buffer when enough sectors have left it.
        let leaves = end.saturating_sub(room);
        let enters = if leaves > active.sweep.next {
            drive.reach(&mut { active.sweep }, leaves).max(decoded)
        } else {
            decoded
        };
        active.sweep.flow = self.flow(drive, Op::Write, first..end, enters);
        active.sweep.end = end;
        let mut ended = active.sweep;
        drive.finish(&mut ended);
        active.written = Some(WriteEnd::new(&ended));
        self.segments.void(first, end);
        self.segments.extend(active.segment, end);
        self.segments.touch(active.segment);
        self.active = Some(active);
        Some(active.sweep.flow.done() + drive.completions[1])
    }

    /// Returns when everything that was answered is on the platter.
    pub(super) fn flushed(&self, now: u64) -> u64 {
        let written = self.active.and_then(|active| active.written);
        written.map_or(now, |written| written.at.max(now))
    }

    /// Returns how long a read or write that begins with `sector` would wait for it.
    pub(super) fn position(&self, drive: &Mechanism, now: u64, op: Op, sector: u64) -> u64 {
        let (mut at, mut arm, mut held) = (now, drive.arm, None);
        if let Some(Active { segment, mut sweep, written, .. }) = self.active {
            if let Some(written) = written {
                (at, arm) = (written.at.max(now), written.arm);
            } else {
                drive.follow(&mut sweep, now);
                let coming = self.cache.hits_on_coming && sweep.next < sweep.end;
                held = Some((segment, sweep.next + u64::from(coming)));
                arm = sweep.arm;
            }
        }
        if op == Op::Read && self.segments.holds(sector, held) {
            return 0;
        }
        let flow = self.flow(drive, op, sector..sector + 1, at);
        let begun = at + drive.overhead(op);
        let (next, end) = (sector, sector + 1);
        let (settle, order) = (self.settling(drive, op), Order::Rising);
        let mut sweep = Sweep { op, next, end, at: begun, arm, settle, order, flow };
        drive.leg(&mut sweep).begins - begun
    }

    /// Advances the arm to the time `now`, or past the end of a write, which is never interrupted.
    /// Returns that time.
    fn settle(&mut self, drive: &mut Mechanism, now: u64) -> u64 {
        let Some(active) = &mut self.active else { return now };
        let Some(written) = active.written else {
            active.motion = drive.follow(&mut active.sweep, now);
            self.segments.extend(active.segment, active.sweep.next);
            if matches!(active.motion, Motion::Done) {
                drive.arm = active.sweep.arm;
                self.active = None;
            }
            return now;
        };
        drive.arm = written.arm;
        if !self.cache.hits_on_written {
            self.segments.clear(active.segment);
        }
        self.active = None;
        written.at.max(now)
    }

    /// Stops a read-ahead that was settled. Returns when the arm is free.
    fn stop(&mut self, drive: &mut Mechanism, now: u64) -> u64 {
        let Some(mut active) = self.active.take() else { return now };
        if active.sweep.next < active.least.min(active.sweep.end) {
            let read = drive.reach(&mut active.sweep, active.least);
            self.segments.extend(active.segment, active.sweep.next);
            drive.arm = active.sweep.arm;
            return read.max(now);
        }
        drive.arm = active.sweep.arm;
        match active.motion {
            Motion::Done => now,
            Motion::Passing(_) if self.cache.stops_in_sector => now,
            Motion::Passing(ends) => ends,
            Motion::Seeking(ends, there) => {
                drive.arm = there;
                ends
            }
        }
    }

    /// Keeps in the segment the sectors that pass on the way to `first`, the first sector of `leg`.
    fn keep_passing(&mut self, drive: &Mechanism, segment: usize, first: u64, leg: &Leg) {
        let passed = drive.platter.sectors(leg.run.zone, leg.begins - leg.arrives);
        let before = first - drive.map.track_start(leg.run.zone, first);
        self.segments.begin(segment, first - passed.min(before));
        self.segments.extend(segment, first);
    }

    /// Returns how far the drive reads on behind a request that ends before `end`, in a segment
    /// from `start` on.
    fn limit(&self, drive: &Mechanism, start: u64, end: u64) -> u64 {
        let map = &drive.map;
        let zone = |sector| map.zone_of(sector);
        let track_end = |sector| map.track_end(zone(sector), sector);
        let most = (end + u64::from(self.cache.ahead_most)).min(map.blocks());
        match self.cache.ahead {
            ReadAhead::None => end,
            ReadAhead::Segment => most,
            ReadAhead::Track => most.min(track_end(end - 1)),
            ReadAhead::Cylinder => {
                let cylinder = |sector| map.place(zone(sector), sector).cylinder;
                let mut limit = track_end(end - 1);
                while limit < most && cylinder(limit) == cylinder(end - 1) {
                    limit = track_end(limit);
                }
                limit.min(most)
            }
            ReadAhead::Stream if end == map.blocks() => end,
            ReadAhead::Stream => {
                let limit = track_end(end);
                let streams = start < map.track_start(zone(end), end);
                if streams && limit < map.blocks() { track_end(limit) } else { limit }
            }
        }
    }

    fn flow(&self, drive: &Mechanism, op: Op, sectors: Range<u64>, base: u64) -> Flow {
        let Range { start: first, end } = sectors;
        let pace = drive.bus[usize::from(op == Op::Write)];
        let room = self.segments.sectors();
        Flow { first, end, base, pace, room, mark: first, connects: 0 }
    }

    /// Returns the least time in nanoseconds that the arm takes for a command that needs the
    /// platter.
    fn settling(&self, drive: &Mechanism, op: Op) -> u64 {
        let settle = self.cache.settle.ns();
        if op == Op::Write { settle.max(drive.least_write_seek) } else { settle }
    }

    /// Returns a sweep from the resting arm, which is free at the time `at`.
    fn sweep(&self, drive: &Mechanism, op: Op, sectors: Range<u64>, at: u64, flow: Flow) -> Sweep {
        let order = match op {
            Op::Read if self.cache.zero_latency => Order::Any,
            Op::Read if self.cache.free_sectors => Order::Inside,
            Op::Write if self.cache.zero_latency_write => Order::Any,
            _ => Order::Rising,
        };
        let Range { start: next, end } = sectors;
        let (arm, settle) = (drive.arm, self.settling(drive, op));
        Sweep { op, next, end, at, arm, settle, order, flow }
    }
}

#[cfg(test)]
mod tests;
