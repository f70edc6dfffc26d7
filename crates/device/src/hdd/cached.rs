//! A hard disk with its cache: segments, read-ahead, write-back.
//!
//! TEXT

mod segments;

use penstock_core::{Device, Done, Errno, Flags, Op, Request, Time};

use self::segments::Segments;
use super::drive::{Cache, Drive, DriveError, ReadAhead};
use super::sweep::{Flow, Motion, Order, Sweep};
use super::{Hdd, Options, Serving, command_table, sectors};

/// One drive with its cache.
#[derive(Debug)]
pub struct CachedHdd {
    /// Arm and platter; its own arm is where the last sweep that ended left it.
    hdd: Hdd,
    cache: Cache,
    /// Nanoseconds of overhead if the buffer answers: `[write][after a write]`.
    hits: [[u64; 2]; 2],
    segments: Segments,
    /// What the arm does beside what is asked for, or last did.
    active: Option<Active>,
    serving: Option<Serving>,
}

/// A segment that is being filled from the platter or written to it.
#[derive(Clone, Copy, Debug)]
struct Active {
    segment: usize,
    sweep: Sweep,
    /// The sector up to which it is read whoever waits.
    least: u64,
}

/// A command, once its drive may take it up. Times are nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Command {
    /// When it is taken up.
    now: u64,
    first: u64,
    /// The sector behind the last.
    end: u64,
}

impl CachedHdd {
    /// The drive of these facts, at rest, with nothing in its buffer.
    ///
    /// # Errors
    /// [`DriveError`]: the facts contradict each other.
    pub fn new(drive: &Drive, options: Options) -> Result<Self, DriveError> {
        let cache = drive.cache;
        let count = cache.segments;
        if count <= u32::from(cache.write_segment) || cache.segment_sectors < 2 {
            let why = "its cache needs a segment for reads, of two sectors or more";
            return Err(DriveError::Drive(why));
        }
        Ok(Self {
            hdd: Hdd::new(drive, options)?,
            cache,
            hits: command_table(options.overheads, cache.overheads),
            segments: Segments::new(count, cache.segment_sectors, cache.write_segment),
            active: None,
            serving: None,
        })
    }

    /// Serves a read; when it is answered.
    fn read(&mut self, command: &Command) -> u64 {
        let Command { now, first, end } = *command;
        let missed = now + self.hdd.overhead(Op::Read);
        let (written, waited) = self.settle(now);
        let reading = self.active.map(|active| active.segment);
        let found = self.segments.find(first, end, reading);
        let decoded = match found {
            // Who waits for the arm has been told to.
            Some(_) if !waited => now + self.hits[0][usize::from(self.hdd.wrote)],
            _ => missed,
        };
        let start = decoded.max(written);
        let flow = self.flow(first, end, start);
        let whole = found.is_some_and(|at| self.segments.get(at).end >= end);
        let continued = found.filter(|_| found == reading);
        let mut active = match continued.and(self.active) {
            Some(active) => active,
            None => {
                let free = (self.stop(now) + missed - now).max(written);
                let segment = found.unwrap_or_else(|| self.segments.for_read(reading));
                if found.is_none() {
                    self.segments.begin(segment, first);
                }
                let next = self.segments.get(segment).end;
                let sweep = self.sweep(Op::Read, next, next, free, flow);
                Active { segment, sweep, least: end }
            }
        };
        self.segments.touch(active.segment);
        active.sweep.flow = flow;
        active.least = end + u64::from(self.cache.ahead_least);
        if found.is_none() && self.cache.free_sectors {
            self.keep_passing(&active);
        }
        let start_of = self.segments.get(active.segment).start;
        let limit = self.limit(start_of, end).max(active.sweep.end).max(end);
        active.sweep.end = limit;
        if !whole {
            self.hdd.reach(&mut active.sweep, end);
        }
        let flow = active.sweep.flow;
        let done = if whole { flow.done() } else { flow.done().max(active.sweep.at) };
        if !whole || continued.is_some() || self.cache.ahead_on_hit {
            self.active = Some(active);
        }
        self.hdd.wrote = false;
        done
    }

    /// Serves a write; when it is answered.
    fn write(&mut self, command: &Command, durable: bool) -> u64 {
        let Command { now, first, end } = *command;
        let after = usize::from(self.hdd.wrote);
        let overhead = if durable { self.hdd.overhead(Op::Write) } else { self.hits[1][after] };
        let decoded = now + overhead;
        self.hdd.wrote = true;
        if !durable && let Some(done) = self.append(now, decoded, first, end) {
            return done;
        }
        let (written, _) = self.settle(now);
        let reading = self.active.map(|active| active.segment);
        let free = (self.stop(now) + decoded - now).max(written);
        let segment = self.segments.for_write(first, end, reading);
        self.segments.void(first, end);
        self.segments.begin(segment, first);
        // What is longer than a segment goes through it part by part.
        let room = self.segments.sectors();
        let part = first + room.min(end - first);
        let mut sweep = self.sweep(
            Op::Write,
            first,
            part,
            free,
            self.flow(first, part, decoded.max(written)),
        );
        while sweep.end < end {
            let drained = self.hdd.finish(&mut sweep);
            let part = end.min(sweep.end + room);
            sweep.flow = self.flow(sweep.end, part, drained);
            sweep.end = part;
        }
        self.segments.extend(segment, end);
        self.active = Some(Active { segment, sweep, least: end });
        if durable { self.hdd.finish(&mut sweep) } else { sweep.flow.done() }
    }

    /// Joins a write to the data on its way to the platter, if it continues that; when it is
    /// answered.
    fn append(&mut self, now: u64, decoded: u64, first: u64, end: u64) -> Option<u64> {
        let room = self.segments.sectors();
        let mut active = self.active.filter(|active| {
            let fits = end - first <= room && self.cache.combine;
            fits && active.sweep.op == Op::Write && active.sweep.end == first
        })?;
        if matches!(self.hdd.follow(&mut active.sweep, now), Motion::Done) {
            return None;
        }
        // It enters the buffer when as much has left it.
        let mut emptied = active.sweep;
        let enters = self.hdd.reach(&mut emptied, end.saturating_sub(room));
        let enters = if end.saturating_sub(room) > active.sweep.next { enters } else { 0 };
        active.sweep.flow = self.flow(first, end, decoded.max(enters));
        active.sweep.end = end;
        active.least = end;
        self.segments.void(first, end);
        self.segments.extend(active.segment, end);
        self.segments.touch(active.segment);
        self.active = Some(active);
        Some(active.sweep.flow.done())
    }

    /// When everything that was answered is on the platter.
    fn flushed(&self, now: u64) -> u64 {
        match self.active {
            Some(Active { mut sweep, .. }) if sweep.op == Op::Write => {
                self.hdd.finish(&mut sweep).max(now)
            }
            _ => now,
        }
    }

    /// Brings the arm to the time `now`, and past the end of a write, which nothing stops. When
    /// the arm is free of it, and whether that is still to come.
    fn settle(&mut self, now: u64) -> (u64, bool) {
        let Some(mut active) = self.active else { return (now, false) };
        if active.sweep.op == Op::Write {
            let ends = self.hdd.finish(&mut active.sweep);
            self.hdd.arm = active.sweep.arm;
            self.active = None;
            if !self.cache.hits_on_written || self.cache.write_segment {
                self.segments.clear(active.segment);
            }
            return (ends.max(now), ends > now);
        }
        self.hdd.follow(&mut active.sweep, now);
        self.segments.extend(active.segment, active.sweep.next);
        self.active = Some(active);
        (now, false)
    }

    /// Stops reading ahead, as soon as a sector or a seek that has begun ends; when that is.
    fn stop(&mut self, now: u64) -> u64 {
        let Some(mut active) = self.active.take() else { return now };
        let must = active.least.min(active.sweep.end);
        let least = if active.sweep.next < must { self.hdd.reach(&mut active.sweep, must) } else { 0 };
        let motion = self.hdd.follow(&mut active.sweep, now.max(least));
        self.segments.extend(active.segment, active.sweep.next);
        self.hdd.arm = active.sweep.arm;
        let ends = match motion {
            Motion::Done => active.sweep.at,
            Motion::Passing(ends) => ends,
            Motion::Seeking(ends, there) => {
                self.hdd.arm = there;
                ends
            }
        };
        ends.max(least).max(now)
    }

    /// Takes into the segment what passes on the way to the first wanted sector of its track.
    fn keep_passing(&mut self, active: &Active) {
        let mut sweep = active.sweep;
        sweep.end = sweep.flow.end;
        let leg = self.hdd.leg(&mut sweep);
        let passed = self.hdd.platter.sectors(leg.run.zone, leg.begins - leg.arrives);
        let on_track = sweep.next - self.hdd.map.track_start(leg.run.zone, sweep.next);
        self.segments.begin(active.segment, sweep.next - passed.min(on_track));
        self.segments.extend(active.segment, sweep.next);
    }

    /// How far it reads behind a request that ends before `end`, in a segment from `start` on.
    fn limit(&self, start: u64, end: u64) -> u64 {
        let map = &self.hdd.map;
        let most = (end + u64::from(self.cache.ahead_most)).min(map.blocks());
        let zone = |sector| map.zone_of(sector, self.hdd.arm.zone);
        match self.cache.ahead {
            ReadAhead::None => end,
            ReadAhead::Segment => most,
            ReadAhead::Track => most.min(map.track_end(zone(end - 1), end - 1)),
            ReadAhead::Cylinder => {
                let cylinder = |sector| map.place(zone(sector), sector).cylinder;
                let here = cylinder(end - 1);
                let mut limit = map.track_end(zone(end - 1), end - 1);
                while limit < most && cylinder(limit) == here {
                    limit = map.track_end(zone(limit), limit);
                }
                limit.min(most)
            }
            ReadAhead::Stream if end == map.blocks() => end,
            ReadAhead::Stream => {
                let limit = map.track_end(zone(end), end);
                if start < map.track_start(zone(end), end) && limit < map.blocks() {
                    map.track_end(zone(limit), limit)
                } else {
                    limit
                }
            }
        }
    }

    fn flow(&self, first: u64, end: u64, base: u64) -> Flow {
        Flow { first, end, base, pace: self.hdd.bus, room: self.segments.sectors() }
    }

    /// A sweep from where the arm rests.
    fn sweep(&self, op: Op, next: u64, end: u64, at: u64, flow: Flow) -> Sweep {
        let order = match op {
            Op::Write => Order::Rising,
            _ if self.cache.zero_latency => Order::Any,
            _ if self.cache.free_sectors => Order::Inside,
            _ => Order::Rising,
        };
        Sweep { op, next, end, at, arm: self.hdd.arm, order, flow }
    }
}

impl Device for CachedHdd {
    fn capacity(&self) -> u64 {
        self.hdd.capacity()
    }

    fn block(&self) -> u32 {
        self.hdd.block()
    }

    fn room(&self) -> u32 {
        u32::from(self.serving.is_none())
    }

    fn start(&mut self, now: Time, req: &Request) {
        debug_assert!(self.serving.is_none(), "started without room");
        let taken = now.max(self.hdd.ready).ns();
        let (first, count) = sectors(req.start, req.len);
        let command = Command { now: taken, first, end: first + count };
        let (mut ends, mut error) = (taken, None);
        match req.op {
            Op::Flush => ends = self.flushed(now.ns()),
            Op::Discard => ends += self.hdd.overhead(Op::Discard),
            Op::Read | Op::Write if req.end() > self.capacity() => {
                ends += self.hdd.overhead(req.op);
                error = Some(Errno::EIO);
            }
            Op::Read => ends = self.read(&command),
            Op::Write => {
                let durable = !self.cache.write_back || req.flags.has(Flags::FUA);
                ends = self.write(&command, durable);
            }
        }
        let ends = Time::from_ns(ends);
        if req.op != Op::Flush {
            self.hdd.ready = ends + self.hdd.turnaround;
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
