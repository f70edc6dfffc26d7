//! The arm on its way along consecutive sectors.
//!
//! A sweep is the rest of a read or write, and the place where it begins. It advances in legs, each
//! a part of one track. One closed formula gives the begin and the end of a leg, another one its
//! progress at a given time. Nothing is computed per sector, and nothing before a caller needs it.

use penstock_core::{Op, Span, Time};

use super::access::{Access, Arm};
use super::geometry::Run;
use super::mechanism::Mechanism;

/// Consecutive sectors that the arm is about to read or write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sweep {
    pub(super) op: Op,
    /// The next sector.
    pub(super) next: u64,
    /// The sector behind the last one.
    pub(super) end: u64,
    /// Time from which the arm is free to go to `next`, in nanoseconds.
    pub(super) at: u64,
    /// The arm at that time.
    pub(super) arm: Arm,
    /// Least time of the arm to the first track, in nanoseconds.
    pub(super) settle: u64,
    /// Order in which the sectors of a track are read.
    pub(super) order: Order,
    /// The sectors on the bus.
    pub(super) flow: Flow,
}

impl Sweep {
    /// Records that the arm is on the track of `leg` and free from the time `at` on.
    fn rest(&mut self, at: u64, leg: &Leg) {
        (self.at, self.arm, self.settle) = (at, leg.arm(), 0);
    }
}

/// Order in which the wanted sectors of a track are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// From the first sector on.
    Rising,
    /// In the order in which they come round, unless the first sector is the first of its track.
    Inside,
    /// In the order in which they come round.
    Any,
}

/// The sectors of one request on the bus, at an even pace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// The first sector.
    pub(super) first: u64,
    /// The sector behind the last one.
    pub(super) end: u64,
    /// Time at which the first sector would begin so that none of them is early; it rises while
    /// they are read.
    pub(super) base: u64,
    /// Nanoseconds of a sector.
    pub(super) pace: u64,
    /// Sectors that fit into the buffer.
    pub(super) room: u64,
    /// Sectors before this one must be in the buffer before a read begins to cross the bus, or
    /// before the platter takes the first sector of a write. Without such a rule it is the first
    /// sector.
    pub(super) mark: u64,
    /// Nanoseconds from then until a read begins to cross the bus.
    pub(super) connects: u64,
}

impl Flow {
    /// Returns when `sector`, and all before it, have passed the bus.
    pub(super) fn passed(&self, sector: u64) -> u64 {
        match sector.min(self.end - 1).checked_sub(self.first) {
            Some(before) => self.base + (before + 1) * self.pace,
            None => 0,
        }
    }

    /// Returns when all sectors have passed the bus.
    pub(super) fn done(&self) -> u64 {
        self.passed(self.end)
    }

    /// Returns when the buffer has room for `sector`, which replaces an earlier one.
    fn room_for(&self, sector: u64) -> u64 {
        sector.checked_sub(self.room).map_or(0, |replaced| self.passed(replaced))
    }

    /// Returns the first of `sectors` sectors from `from` on that finds no room; each comes `media`
    /// after the one before. The first of all has room, and the bus is the slower part.
    fn first_without_room(&self, from: u64, sectors: u64, begins: u64, media: u64) -> Option<u64> {
        let lacks = |sector: u64| begins + (sector - from) * media < self.room_for(sector);
        // The head gains on the bus until the last sector that the bus still carries.
        let last = (self.end - 1 + self.room).min(from + sectors - 1);
        if last < from || !lacks(last) {
            return None;
        }
        let (mut has, mut without) = (from, last);
        while without - has > 1 {
            let middle = has.midpoint(without);
            if lacks(middle) { without = middle } else { has = middle }
        }
        Some(without)
    }
}

/// The part of a sweep on one track.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    pub(super) run: Run,
    /// Time at which the arm is on the track.
    pub(super) arrives: u64,
    /// Time at which the first sector comes round, with or without room for it.
    comes: u64,
    /// Time at which the first sector is taken.
    pub(super) begins: u64,
    /// Time at which the last sector has passed.
    pub(super) ends: u64,
}

impl Leg {
    pub(super) fn arm(&self) -> Arm {
        let place = &self.run.place;
        Arm { cylinder: place.cylinder, head: place.head }
    }
}

/// The state of a sweep at some time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Motion {
    /// It has ended.
    Done,
    /// The arm moves until this time, and is there afterwards.
    Seeking(u64, Arm),
    /// A sector passes until this time, or the arm waits for one until then.
    Passing(u64),
}

impl Mechanism {
    /// Returns the next leg of `sweep`, which has not ended. Only the flow's base may change.
    pub(super) fn leg(&self, sweep: &mut Sweep) -> Leg {
        // Sectors that pass the bus have legs of their own, and so do those before the mark.
        let bound = match sweep.op {
            Op::Write => sweep.flow.first,
            _ if sweep.next < sweep.flow.mark => sweep.flow.mark,
            _ => sweep.flow.end,
        };
        let end = if sweep.next < bound { bound.min(sweep.end) } else { sweep.end };
        let zone = self.map.zone_of(sweep.next);
        let run = self.map.run(zone, sweep.next, end - sweep.next);
        let distance = run.place.cylinder.abs_diff(sweep.arm.cylinder);
        let other_head = run.place.head != sweep.arm.head;
        let seek = self.seeks.ns(sweep.op, distance, other_head);
        let arrives = sweep.at + seek.max(sweep.settle);
        if sweep.op == Op::Write {
            self.write_leg(sweep, run, arrives)
        } else {
            self.read_leg(sweep, run, arrives)
        }
    }

    /// Returns the leg of a write. It begins when its data arrives fast enough up to the end of the
    /// track.
    fn write_leg(&self, sweep: &Sweep, run: Run, arrives: u64) -> Leg {
        let passes = self.platter.pass(run.zone, run.sectors);
        let but_one = passes - self.platter.pass(run.zone, 1);
        let all = sweep.flow.passed(sweep.next + run.blocks - 1);
        let marked = sweep.flow.mark.saturating_sub(1);
        let data = arrives.max(sweep.flow.passed(sweep.next)).max(sweep.flow.passed(marked));
        let data = data.max(all.saturating_sub(but_one));
        let begins = data + self.platter.until(data, run.place.angle);
        let passing = match sweep.order {
            // Sectors that pass after all data has arrived need not pass again.
            Order::Any if all <= begins => self.passing(&run, arrives.max(all), begins),
            _ => run.sectors,
        };
        let ends = begins + self.platter.pass(run.zone, passing);
        Leg { run, arrives, comes: begins, begins, ends }
    }

    /// Returns the leg of a read. It loses a turn where it finds no room, and its sectors go to the
    /// bus as they come.
    fn read_leg(&self, sweep: &mut Sweep, mut run: Run, arrives: u64) -> Leg {
        let Sweep { next, ref mut flow, .. } = *sweep;
        let media = self.platter.pass(run.zone, 1);
        let gaining = flow.pace > media;
        let comes = arrives + self.platter.until(arrives, run.place.angle);
        let mut begins = comes;
        if gaining && begins < flow.room_for(next) {
            begins = flow.room_for(next);
            begins += self.platter.until(begins, run.place.angle);
        }
        let requested = next < flow.end;
        if requested {
            let ahead = (next - flow.first) * flow.pace;
            flow.base = flow.base.max((begins + media).saturating_sub(ahead));
        }
        if gaining && let Some(at) = flow.first_without_room(next, run.blocks, begins, media) {
            run = self.map.run(run.zone, next, at - next);
        }
        let passing = match self.passing(&run, arrives, begins) {
            fewer if fewer < run.sectors && self.takes_any(sweep.order, &run, next) => fewer,
            _ => run.sectors,
        };
        let ends = begins + self.platter.pass(run.zone, passing);
        if requested {
            let last = next + run.blocks.min(passing) - 1;
            let ahead = (last - sweep.flow.first) * sweep.flow.pace;
            sweep.flow.base = sweep.flow.base.max(ends.saturating_sub(ahead));
            if next + run.blocks == sweep.flow.mark {
                sweep.flow.base = sweep.flow.base.max(ends + sweep.flow.connects);
            }
        }
        Leg { run, arrives, comes, begins, ends }
    }

    /// Returns how many sectors of `run` are still to pass when its first one `begins`, if the head
    /// takes them as they come round from the time `from` on.
    fn passing(&self, run: &Run, from: u64, begins: u64) -> u64 {
        let media = self.platter.pass(run.zone, 1);
        let turn = self.platter.pass(run.zone, u64::from(run.place.sectors_per_track));
        let left = turn.saturating_sub(begins - from);
        // Usually the first sector comes before any other, and nothing has to be divided.
        if left > (run.sectors - 1) * media {
            return run.sectors;
        }
        run.sectors.min(left.div_ceil(media.max(1)).max(1))
    }

    fn takes_any(&self, order: Order, run: &Run, first: u64) -> bool {
        match order {
            Order::Rising => false,
            Order::Any => true,
            Order::Inside => self.map.track_start(run.zone, first) < first,
        }
    }

    /// Finishes `sweep`. Returns when it ends.
    pub(super) fn finish(&self, sweep: &mut Sweep) -> u64 {
        self.reach(sweep, sweep.end)
    }

    /// Advances `sweep` to `sector`, if it goes so far. Returns when all sectors before it have
    /// passed.
    pub(super) fn reach(&self, sweep: &mut Sweep, sector: u64) -> u64 {
        let end = sweep.end;
        sweep.end = sector.min(end);
        while sweep.next < sweep.end {
            let leg = self.leg(sweep);
            Self::take(sweep, &leg);
        }
        sweep.end = end;
        sweep.at
    }

    /// Advances `sweep` to the time `now`.
    pub(super) fn follow(&self, sweep: &mut Sweep, now: u64) -> Motion {
        while sweep.next < sweep.end {
            if now < sweep.at {
                return Motion::Passing(sweep.at);
            }
            let leg = self.leg(sweep);
            if leg.ends <= now {
                Self::take(sweep, &leg);
            } else if now < leg.arrives {
                return Motion::Seeking(leg.arrives, leg.arm());
            } else if now < leg.begins {
                // A lost turn passes sector by sector; the wait for the first sector does not.
                let until = if now < leg.comes { leg.comes } else { now };
                sweep.rest(now, &leg);
                return Motion::Passing(until);
            } else {
                let sectors = self.platter.sectors(leg.run.zone, now - leg.begins);
                sweep.next += self.map.within(&leg.run, sweep.next, sectors);
                sweep.rest(leg.begins + self.platter.pass(leg.run.zone, sectors), &leg);
                let ends = leg.begins + self.platter.pass(leg.run.zone, sectors + 1);
                return Motion::Passing(ends);
            }
        }
        Motion::Done
    }

    fn take(sweep: &mut Sweep, leg: &Leg) {
        sweep.next += leg.run.blocks;
        sweep.rest(leg.ends, leg);
    }
}

/// The begin of an access: the sweep at that time, and its first leg.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    sweep: Sweep,
    pub(super) first: Leg,
    /// The flow's base after that leg.
    base: u64,
}

impl Mechanism {
    /// Begins `sweep`, which has not ended.
    pub(super) fn begin(&self, sweep: Sweep) -> Begun {
        let mut moving = sweep;
        let first = self.leg(&mut moving);
        Begun { sweep, first, base: moving.flow.base }
    }

    /// Advances a `sweep` with this begin as [`reach`](Self::reach) does; both its end and `sector`
    /// are behind the first leg.
    pub(super) fn reach_from(&self, begun: &Begun, sweep: &mut Sweep, sector: u64) -> u64 {
        sweep.flow.base = begun.base;
        Self::take(sweep, &begun.first);
        self.reach(sweep, sector)
    }

    /// Reports the access with this begin, which occupies the arm until `ends`.
    pub(super) fn report(&mut self, Begun { sweep, first, .. }: &Begun, ends: u64) {
        let access = Access {
            op: sweep.op,
            overhead: Span::ZERO,
            seek: Span::from_ns(first.arrives - sweep.at),
            rotation: Span::from_ns(first.begins - first.arrives),
            transfer: Span::from_ns(ends.max(first.begins) - first.begins),
            bus: Span::ZERO,
            from: sweep.arm.cylinder,
            to: first.run.place.cylinder,
            arm: first.arm(),
        };
        self.observer.report(Time::from_ns(sweep.at), &access);
    }
}
