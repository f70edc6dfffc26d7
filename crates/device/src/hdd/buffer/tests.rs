//! Checks the cache against models that go sector by sector, and its promises about dirty data.

mod protocol;

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use penstock_core::{ClassId, Device, Flags, Io, Prio, ReqId, Request, Span, StreamId, Time};
use proptest::prelude::*;

use super::*;
use crate::hdd::{
    Bus, BusProtocol, BusTimes, CommandOverheads, Drive, Hdd, Options, Overheads, SeekLaw, Spares,
    TrackOrder, Zone,
};

const SECTORS: u64 = 2_000;

fn cache() -> Cache {
    Cache {
        segments: 3,
        segment_sectors: 40,
        ahead: ReadAhead::Segment,
        ahead_most: 30,
        write_back: true,
        combine: true,
        hits_on_written: true,
        overheads: CommandOverheads::constant(Span::from_us(50)),
        ..Cache::NONE
    }
}

/// Ten milliseconds a turn, 100 sectors a track, a bus half as fast as the platter.
fn facts(cache: Cache) -> Drive {
    let zone = Zone {
        first_cyl: 0,
        last_cyl: 9,
        sectors_per_track: 100,
        offset: 0.0,
        empty_blocks: 0,
        track_skew: 10.0,
        cyl_skew: 20.0,
        spares: 0,
        slips: vec![],
    };
    Drive {
        surfaces: 2,
        cylinders: 10,
        rpm: 6_000,
        zones: vec![zone],
        spares: Spares::None,
        order: TrackOrder::Normal,
        seek: SeekLaw::Table(vec![(1, Span::from_ms(1)), (9, Span::from_ms(2))]),
        head_switch: Span::from_us(500),
        write_settle_ns: 250_000,
        overheads: CommandOverheads::constant(Span::from_us(300)),
        least_write_seek: Span::ZERO,
        bus: Some(BusTimes::same(Span::from_us(200))),
        protocol: BusProtocol::NONE,
        cache,
    }
}

fn drive(facts: &Drive) -> Hdd {
    let options = Options { cache: Some(facts.cache), ..Options::default() };
    Hdd::new(facts, options).expect("a good drive")
}

fn hdd(cache: Cache) -> Hdd {
    drive(&facts(cache))
}

fn request(op: Op, first: u64, sectors: u64, flags: Flags) -> Request {
    let io = Io {
        due: Time::ZERO,
        start: first * 512,
        len: sectors as u32 * 512,
        stream: StreamId(0),
        class: ClassId(0),
        op,
        prio: Prio(0),
        flags,
    };
    io.with(ReqId::new(0, 0))
}

/// Serves one request from `now` on. Returns when it is answered.
fn serve(hdd: &mut Hdd, now: u64, request: &Request) -> u64 {
    let mut done = Vec::new();
    hdd.start(Time::from_ns(now), request);
    hdd.advance(hdd.wakeup(), &mut done);
    assert_eq!((done.len(), done[0].error), (1, None));
    done[0].at.ns()
}

fn read(hdd: &mut Hdd, now: u64, first: u64, sectors: u64) -> u64 {
    serve(hdd, now, &request(Op::Read, first, sectors, Flags::NONE))
}

/// Returns when everything is on the platter, at least `now`.
fn clean_at(hdd: &Hdd, now: u64) -> u64 {
    hdd.buffer.as_ref().expect("it has a cache").flushed(now)
}

const HIT: u64 = 50_000;
const BUS: u64 = 200_000;
const MEDIA: u64 = 100_000;
const TURN: u64 = 100 * MEDIA;
const SECOND: u64 = 1_000_000_000;

#[test]
fn a_hit_costs_its_overhead_and_the_bus() {
    let mut hdd = hdd(cache());
    let miss = read(&mut hdd, 0, 10, 4);
    assert!(miss > 300_000 + 4 * BUS);
    assert_eq!(read(&mut hdd, SECOND, 14, 8), SECOND + HIT + 8 * BUS, "read ahead");
    assert_eq!(hdd.position(Time::from_ns(2 * SECOND), Op::Read, 14 * 512), Span::ZERO);
    assert!(read(&mut hdd, 2 * SECOND, 500, 8) > 2 * SECOND + 300_000 + 8 * BUS, "a miss");
}

#[test]
fn what_was_not_read_ahead_is_not_read_before_it_is_asked_for() {
    let mut hdd = hdd(cache());
    read(&mut hdd, 0, 0, 10);
    // Sectors up to 39 are in the buffer. The next five need the arm, which starts for them when a
    // command comes, as it would for them alone.
    read(&mut hdd, SECOND, 35, 10);
    let mut apart = super::tests::hdd(cache());
    read(&mut apart, SECOND, 40, 5);
    let fetched = |hdd: &Hdd| {
        let active = hdd.buffer.as_ref().and_then(|buffer| buffer.active).expect("it reads on");
        (active.sweep.next, active.sweep.at)
    };
    assert_eq!(fetched(&hdd), fetched(&apart));
}

#[test]
fn a_stream_on_a_fast_bus_goes_at_the_pace_of_the_platter() {
    let facts = Cache { segment_sectors: 200, ahead_most: 200, hits_on_coming: true, ..cache() };
    let ends = |facts: Cache| {
        let mut hdd = hdd(facts);
        hdd.mechanism.bus = [1_000; 2];
        (0..5).fold(0, |now, part| read(&mut hdd, now, part * 20, 20))
    };
    // At most a turn until the first sector comes, and one for the track.
    let turn = 10_000_000;
    assert!(ends(facts) < 2 * turn + 1_000_000, "{}", ends(facts));
    let strict = Cache { hits_on_coming: false, ..facts };
    assert!(ends(strict) > 4 * turn, "each loses a turn: {}", ends(strict));
}

#[test]
fn a_write_is_answered_from_the_buffer_and_what_follows_waits() {
    let mut hdd = hdd(cache());
    assert_eq!(serve(&mut hdd, 0, &request(Op::Write, 900, 4, Flags::NONE)), HIT + 4 * BUS);
    let clean = clean_at(&hdd, 0);
    assert!(clean > HIT + 4 * BUS);
    let hit = read(&mut hdd, HIT + 4 * BUS, 900, 4);
    assert_eq!(hit, clean + 4 * BUS, "held, but the arm is busy");
}

#[test]
fn a_write_that_continues_joins_the_one_before() {
    let mut hdd = hdd(cache());
    let first = serve(&mut hdd, 0, &request(Op::Write, 900, 4, Flags::NONE));
    let second = serve(&mut hdd, first, &request(Op::Write, 904, 4, Flags::NONE));
    assert_eq!(second, first + HIT + 4 * BUS);
    let mut facts = cache();
    facts.combine = false;
    let mut apart = super::tests::hdd(facts);
    let first = serve(&mut apart, 0, &request(Op::Write, 900, 4, Flags::NONE));
    let clean = clean_at(&apart, 0);
    let second = serve(&mut apart, first, &request(Op::Write, 904, 4, Flags::NONE));
    assert_eq!(second, clean + 4 * BUS);
}

#[test]
fn the_observer_gets_what_the_arm_begins_with_its_parts_but_no_hit() {
    let facts = Cache { ahead_on_hit: true, ..cache() };
    let log = Rc::new(RefCell::new(Vec::new()));
    let events = Rc::clone(&log);
    let mut hdd =
        hdd(facts).observed(move |at, access| events.borrow_mut().push((at.ns(), *access)));
    let accesses =
        || log.take().into_iter().map(|(at, access)| (at, access, access.service().ns()));
    let sector = 100_000;
    let answered = read(&mut hdd, 0, 10, 4);
    let (at, access, takes) = accesses().next().expect("a miss");
    assert_eq!((at, access.transfer.ns()), (300_000, 4 * sector), "what is read ahead is left out");
    assert_eq!(access.rotation + access.transfer, Span::from_ns(takes), "the arm was there");
    assert!(at + takes < answered, "the bus is behind");

    read(&mut hdd, SECOND, 14, 8);
    let (_, access, _) = accesses().next().expect("reading on without a request");
    assert_eq!(access.transfer, Span::ZERO, "no sector was requested");
    read(&mut hdd, SECOND + 5_000_000, 18, 8);
    assert!(accesses().next().is_none(), "a hit while the arm reads on");

    let answered = serve(&mut hdd, 2 * SECOND, &request(Op::Write, 900, 4, Flags::NONE));
    serve(&mut hdd, answered, &request(Op::Write, 904, 4, Flags::NONE));
    let wrote: Vec<_> = accesses().collect();
    assert_eq!(wrote.len(), 1, "one joins the other");
    let (at, access, takes) = wrote[0];
    assert!(access.seek > Span::ZERO && access.transfer.ns() == 4 * sector);
    assert!(answered < at + takes, "it was answered from the buffer");
}

#[test]
fn the_arm_finds_its_track_anew_for_each_command() {
    let facts = Cache { settle: Span::from_ms(2), ..cache() };
    let answered = |facts, first| read(&mut hdd(facts), SECOND, first, 1) - SECOND;
    // After 0.3 ms of overhead sector 3 comes round, and 2 ms later sector 23.
    assert_eq!(answered(cache(), 10), 11 * MEDIA + BUS);
    assert_eq!(answered(facts, 10), TURN + 11 * MEDIA + BUS, "it is missed");
    assert_eq!(answered(facts, 30), 31 * MEDIA + BUS);
    assert_eq!(answered(facts, 1_900), answered(cache(), 1_900), "a seek settles anyway");
    // Tracks that follow in the same command are reached as usual.
    let long = |facts| read(&mut hdd(facts), SECOND, 30, 100);
    assert_eq!(long(facts), long(cache()));
}

#[test]
fn only_what_continues_the_last_command_costs_the_short_overhead() {
    let overheads = CommandOverheads {
        read_after_read: Span::from_us(10),
        read_after_write: Span::from_us(20),
        write_after_read: Span::from_us(40),
        write_after_write: Span::from_us(30),
    };
    let overheads_of = |short_if_continued| {
        let mut hdd = hdd(Cache { short_if_continued, overheads, ..cache() });
        read(&mut hdd, 0, 100, 4);
        let mut now = 0;
        // Each comes long after the one before, which is on the platter by then.
        [(Op::Read, 104), (Op::Read, 112), (Op::Write, 900), (Op::Write, 904), (Op::Write, 920)]
            .map(|(op, first)| {
                now += SECOND;
                let answered = serve(&mut hdd, now, &request(op, first, 4, Flags::NONE));
                (answered - now - 4 * BUS) / 1_000
            })
    };
    assert_eq!(overheads_of(false), [10, 10, 40, 30, 30]);
    assert_eq!(overheads_of(true), [10, 20, 40, 30, 40]);
}

#[test]
fn what_was_asked_for_is_kept_if_the_drive_keeps_it() {
    let again = |keeps_asked| {
        // The segment is too small for the request and the sectors that may be read behind it.
        let mut hdd = hdd(Cache { ahead_most: 40, keeps_asked, ..cache() });
        read(&mut hdd, 0, 10, 4);
        read(&mut hdd, SECOND, 10, 4) - SECOND
    };
    assert_eq!(again(true), HIT + 4 * BUS);
    assert!(again(false) > HIT + 4 * BUS, "pushed out");
}

/// Generates a command of any kind, and the time before it.
fn command() -> impl Strategy<Value = (u8, u64, u64, bool, u64)> {
    // Commands are near each other, so that they hit and join.
    (0_u8..8, 0..SECTORS - 60, 1_u64..60, any::<bool>(), 0_u64..30_000_000)
}

proptest! {
    #[test]
    fn how_far_a_sweep_is_is_what_a_walk_from_sector_to_sector_says(
        first in 0..SECTORS - 300,
        asked in 1_u64..60,
        sectors in 60_u64..240,
        room in 8_u64..80,
        pace in 0_u64..400_000,
        start in 0_u64..20_000_000,
        settle in 0_u64..3_000_000,
        write in any::<bool>(),
        times in prop::collection::vec(0_u64..120_000_000, 20),
    ) {
        let drive = hdd(cache()).mechanism;
        let op = if write { Op::Write } else { Op::Read };
        let end = first + asked;
        let flow = Flow { first, end, base: start, pace, room, mark: first, connects: 0 };
        let end = if write { first + asked } else { first + sectors };
        let (arm, order) = (drive.arm, Order::Rising);
        let sweep = Sweep { op, next: first, end, at: start, arm, settle, order, flow };
        let mut passed = Vec::new();
        let mut walk = sweep;
        while walk.next < end {
            let sector = walk.next;
            passed.push(drive.reach(&mut walk, sector + 1));
        }
        // A write's part of a track begins when all of it will arrive in time, so a walk may begin
        // sooner. It does not finish sooner.
        let whole = drive.finish(&mut { sweep });
        let last = passed[passed.len() - 1];
        let close = |a: u64, b: u64| a.abs_diff(b) <= 400;
        prop_assert!(close(whole, last), "{whole} or {last}");
        for time in times.into_iter().filter(|_| !write) {
            let mut at = sweep;
            drive.follow(&mut at, start + time);
            let sectors = passed.iter().filter(|&&at| at <= start + time).count() as u64;
            prop_assert!((at.next - first).abs_diff(sectors) <= 1, "{} or {sectors}", at.next - first);
        }
    }

    #[test]
    fn the_buffer_holds_what_is_put_into_it_sector_by_sector(
        reads in prop::collection::vec((0..SECTORS - 60, 1_u64..60), 1..40),
        most in 0_u32..40,
    ) {
        let facts = Cache { ahead_most: most, ..cache() };
        let mut hdd = hdd(facts);
        // Segments as queues of sectors, the most recently used one at the end.
        let mut segments: Vec<VecDeque<u64>> = vec![VecDeque::new(); 3];
        let mut now = 0;
        for (first, sectors) in reads {
            let end = first + sectors;
            let holds = |held: &VecDeque<u64>, sector| held.contains(&sector);
            let whole = segments.iter().position(|held| (first..end).all(|sector| holds(held, sector)));
            let part = segments.iter().position(|held| holds(held, first));
            let empty = segments.iter().position(VecDeque::is_empty);
            let at = whole.or(part).or(empty).unwrap_or(0);
            let mut held = segments.remove(at);
            let answered = read(&mut hdd, now, first, sectors);
            if whole.is_some() {
                prop_assert_eq!(answered, now + HIT + sectors * BUS);
            } else {
                if part.is_none() {
                    held.clear();
                }
                let next = held.back().map_or(first, |last| last + 1);
                let limit = (end + u64::from(most)).min(SECTORS);
                for sector in next..limit {
                    held.push_back(sector);
                    if held.len() > 40 {
                        held.pop_front();
                    }
                }
                prop_assert!(answered >= now + HIT + sectors * BUS);
            }
            segments.push(held);
            // Long enough for the whole read-ahead.
            now = answered + SECOND;
            let buffer = hdd.buffer.as_mut().expect("it has a cache");
            buffer.settle(&mut hdd.mechanism, now);
            let spans_found: BTreeSet<(u64, u64)> = (0..3)
                .map(|at| buffer.segments.get(at))
                .map(|segment| (segment.start, segment.end))
                .filter(|(start, end)| start < end)
                .collect();
            let spans = segments.iter().filter_map(|held| Some((*held.front()?, held.back()? + 1)));
            prop_assert_eq!(spans_found, spans.collect::<BTreeSet<_>>());
        }
    }

    #[test]
    fn after_a_flush_everything_answered_is_on_the_platter(
        commands in prop::collection::vec(command(), 1..40),
        write_back in any::<bool>(),
        write_segment in any::<bool>(),
    ) {
        let mut hdd = hdd(Cache { write_segment, write_back, ..cache() });
        let mut now = 0;
        for (kind, first, sectors, forced, think) in commands {
            // Half of the commands begin near the start, for streams.
            let first = if kind % 2 == 0 { first } else { first % 8 * 20 };
            let flags = if forced { Flags::FUA } else { Flags::NONE };
            let answered = match kind {
                0 => serve(&mut hdd, now, &request(Op::Flush, 0, 0, Flags::NONE)),
                1..=3 => read(&mut hdd, now, first, sectors),
                _ => serve(&mut hdd, now, &request(Op::Write, first, sectors, flags)),
            };
            prop_assert!(answered >= now);
            let clean = clean_at(&hdd, answered);
            if kind == 0 || (kind > 3 && forced) || !write_back {
                prop_assert_eq!(clean, answered, "something is dirty");
            } else if kind <= 3 {
                prop_assert_eq!(clean, answered, "a read goes after what is dirty");
            }
            now = answered + think;
        }
    }
}
