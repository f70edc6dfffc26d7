//! A small drive whose times can be computed by hand: 10 ms a turn, 100 sectors a track.

use penstock_core::{
    ClassId, Device, Errno, Flags, Io, Op, Prio, ReqId, Request, Span, StreamId, Time,
};

use super::mechanism::sectors;
use super::*;

const TURN: u64 = 10_000_000;
const PASS: u64 = TURN / 100;

fn drive() -> Drive {
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
        cylinders: 20,
        rpm: 6_000,
        zones: vec![zone],
        spares: Spares::None,
        order: TrackOrder::Normal,
        seek: SeekLaw::Table(vec![(1, Span::from_ms(1)), (11, Span::from_ms(2))]),
        head_switch: Span::from_us(500),
        write_settle_ns: 250_000,
        overheads: CommandOverheads {
            read_after_read: Span::from_us(100),
            read_after_write: Span::from_us(200),
            write_after_read: Span::from_us(300),
            write_after_write: Span::from_us(400),
        },
        least_write_seek: Span::ZERO,
        bus: Some(BusTimes::same(Span::from_us(200))),
        protocol: BusProtocol::NONE,
        cache: Cache::NONE,
    }
}

fn hdd(options: Options) -> Hdd {
    Hdd::new(&drive(), options).expect("a good drive")
}

fn request(op: Op, sector: u64, sectors: u32) -> Request {
    let io = Io {
        due: Time::ZERO,
        start: sector * 512,
        len: sectors * 512,
        stream: StreamId(0),
        class: ClassId(0),
        op,
        prio: Prio(0),
        flags: Flags::NONE,
    };
    io.with(ReqId::new(0, 0))
}

/// Serves one request from `now` on. Returns when it ends.
fn serve(hdd: &mut Hdd, now: u64, op: Op, sector: u64, sectors: u32) -> u64 {
    let mut done = Vec::new();
    hdd.start(Time::from_ns(now), &request(op, sector, sectors));
    assert_eq!(hdd.room(), 0);
    hdd.advance(hdd.wakeup(), &mut done);
    assert_eq!(done.len(), 1);
    assert_eq!(done[0].at.ns() - now, done[0].service.ns());
    done[0].at.ns()
}

/// Rounding takes at most a nanosecond from each part.
fn about(actual: u64, expected: u64) {
    assert!(actual <= expected && expected - actual <= 4, "{actual} is not about {expected}");
}

#[test]
fn sectors_pass_at_the_platters_speed() {
    let mut hdd = hdd(Options::MECHANICAL);
    about(serve(&mut hdd, 0, Op::Read, 0, 8), 8 * PASS);
    about(serve(&mut hdd, 3 * TURN, Op::Read, 50, 1), 3 * TURN + 51 * PASS);
}

#[test]
fn what_follows_at_once_never_loses_a_turn() {
    let mut hdd = hdd(Options::MECHANICAL);
    let mut now = 0;
    for first in (0..200).step_by(8) {
        now = serve(&mut hdd, now, Op::Read, first, 8);
    }
    // Two tracks and the skew between them.
    let expected = (100 + 10 + 100) * PASS;
    assert!(now <= expected && expected - now <= 50, "{now} is not about {expected}");
}

#[test]
fn a_switch_of_tracks_is_hidden_by_the_skew_or_costs_a_turn() {
    let mut first = hdd(Options::MECHANICAL);
    about(serve(&mut first, 0, Op::Read, 0, 200), 210 * PASS);
    let mut both = hdd(Options::MECHANICAL);
    about(serve(&mut both, TURN, Op::Read, 0, 400), TURN + (400 + 10 + 20 + 10) * PASS);
    // 0.5 ms of switch and 0.25 of settling are within a track skew of 1 ms; with 0.7 they are not.
    let mut facts = drive();
    facts.write_settle_ns = 700_000;
    let mut slow = Hdd::new(&facts, Options::MECHANICAL).expect("a good drive");
    about(serve(&mut slow, 0, Op::Write, 0, 200), (210 + 100) * PASS);
}

#[test]
fn a_write_settles_when_the_arm_has_moved() {
    let hdd = hdd(Options::MECHANICAL);
    let read = hdd.access(Time::ZERO, Op::Read, 200 * 512, 512);
    assert_eq!((read.seek, read.from, read.to), (Span::from_ms(1), 0, 1));
    let write = hdd.access(Time::ZERO, Op::Write, 200 * 512, 512);
    assert_eq!(write.seek, Span::from_us(1_250));
    let switch = hdd.access(Time::ZERO, Op::Read, 100 * 512, 512);
    assert_eq!((switch.seek, switch.from, switch.to), (Span::from_us(500), 0, 0));
    about(switch.seek.ns() + switch.rotation.ns(), 10 * PASS);
    about(read.seek.ns() + read.rotation.ns(), 30 * PASS);
}

#[test]
fn overheads_follow_the_last_command() {
    let mut hdd = hdd(Options { overheads: Overheads::Drive, ..Options::MECHANICAL });
    let overhead = |hdd: &Hdd, op| hdd.access(Time::ZERO, op, 0, 512).overhead.ns() / 1_000;
    assert_eq!((overhead(&hdd, Op::Read), overhead(&hdd, Op::Write)), (100, 300));
    serve(&mut hdd, 0, Op::Write, 0, 1);
    hdd.mechanism.ready = Time::ZERO;
    assert_eq!((overhead(&hdd, Op::Read), overhead(&hdd, Op::Write)), (200, 400));
    let now = 5 * TURN;
    assert_eq!(serve(&mut hdd, now, Op::Flush, 0, 0), now, "nothing to write back");
    assert_eq!(serve(&mut hdd, now, Op::Discard, 0, 8), now + 400_000);
}

#[test]
fn a_slow_bus_takes_one_sector_and_then_its_own_time() {
    let mut hdd = hdd(Options { bus: Bus::Drive, ..Options::MECHANICAL });
    about(serve(&mut hdd, 0, Op::Read, 0, 8), PASS + 8 * 200_000);
    // A write of 8 sectors may begin when 1.6 ms less the 0.7 of its first seven have passed.
    about(serve(&mut hdd, TURN, Op::Write, 20, 8), TURN + 28 * PASS);
    about(serve(&mut hdd, 2 * TURN, Op::Write, 5, 8), 3 * TURN + 13 * PASS);
}

#[test]
fn the_turnaround_delays_the_next_command_and_is_no_service() {
    let mut hdd = hdd(Options { turnaround: Span::from_us(150), ..Options::MECHANICAL });
    let mut done = Vec::new();
    hdd.start(Time::ZERO, &request(Op::Read, 0, 1));
    hdd.advance(hdd.wakeup(), &mut done);
    about(done[0].at.ns(), PASS);
    assert_eq!(hdd.room(), 0, "it takes no command until the turnaround is over");
    assert_eq!(hdd.wakeup(), done[0].at + Span::from_us(150));
    // An access that begins then misses the next sector, but not the third.
    about(hdd.access(done[0].at, Op::Read, 512, 512).service().ns(), TURN + PASS);
    hdd.advance(hdd.wakeup(), &mut done);
    assert_eq!((done.len(), hdd.room()), (1, 1));
    let ready = done[0].at + Span::from_us(150);
    hdd.start(ready, &request(Op::Read, 3, 1));
    hdd.advance(hdd.wakeup(), &mut done);
    assert_eq!(done[1].begun, ready);
    about(done[1].at.ns(), 4 * PASS);
    about(done[1].service.ns(), 3 * PASS - 150_000);
    // A disk that was idle for longer has room at once.
    hdd.advance(done[1].at + Span::from_ms(1), &mut done);
    assert_eq!((hdd.room(), hdd.wakeup()), (1, Time::NEVER));
}

#[test]
fn bytes_are_rounded_outwards() {
    assert_eq!(sectors(0, 1), (0, 1));
    assert_eq!(sectors(511, 2), (0, 2));
    assert_eq!(sectors(512, 512), (1, 1));
}

#[test]
fn position_is_what_the_access_then_takes() {
    let hdd = hdd(Options { overheads: Overheads::Drive, ..Options::MECHANICAL });
    for sector in [0, 7, 99, 100, 1_999] {
        let now = Time::from_ns(12_345_678);
        let access = hdd.access(now, Op::Write, sector * 512, 512);
        assert_eq!(hdd.position(now, Op::Write, sector * 512), access.seek + access.rotation);
    }
}

#[test]
fn beyond_the_end_is_an_error_of_the_medium() {
    let mut hdd = hdd(Options::MECHANICAL);
    let mut done = Vec::new();
    hdd.start(Time::ZERO, &request(Op::Read, 1_999, 2));
    hdd.advance(hdd.wakeup(), &mut done);
    assert_eq!(done[0].error, Some(Errno::EIO));
}

/// First come, first served.
#[derive(Default)]
struct Fifo(std::collections::VecDeque<ReqId>);

impl penstock_core::Policy for Fifo {
    fn enqueue(&mut self, _: Time, req: &Request) {
        self.0.push_back(req.id);
    }
    fn dispatch(&mut self, _: Time, _: &mut penstock_core::Out<'_>) -> Option<penstock_core::Go> {
        self.0.pop_front().map(penstock_core::Go::all)
    }
    fn complete(&mut self, _: Time, _: &Request, _: &penstock_core::Part) {}
}

/// Returns when reads of one sector each that arrive at these times begin and end, behind a queue
/// of 4.
fn tagged(comes: &[u64]) -> Vec<(u64, u64)> {
    let options = Options {
        cache: None,
        overheads: Overheads::Drive,
        bus: Bus::Drive,
        turnaround: Span::ZERO,
    };
    let mut disk = Tagged::new(Fifo::default(), hdd(options), 4);
    let mut done = Vec::new();
    let mut comes = comes.iter().copied().peekable();
    while let Some(now) = comes.peek().copied().into_iter().chain([disk.wakeup().ns()]).min() {
        if now == Time::NEVER.ns() {
            break;
        }
        let now = Time::from_ns(now);
        if disk.wakeup() <= now {
            disk.advance(now, &mut done);
        }
        while comes.next_if(|&at| at <= now.ns()).is_some() {
            disk.start(now, &request(Op::Read, 50, 1));
        }
    }
    done.iter().map(|done| (done.begun.ns(), done.at.ns())).collect()
}

#[test]
fn a_command_that_comes_while_the_arm_works_costs_no_overhead() {
    const OVERHEAD: u64 = 100_000;
    let [(begun, ended)] = tagged(&[0])[..] else { panic!("one request") };
    assert_eq!(begun, OVERHEAD, "a disk that stands idle waits for it");
    assert_eq!(tagged(&[0, 1_000_000])[1].0, ended, "a busy one goes on at once");
    // The sector crosses the bus for the last 0.2 ms: a command that comes then follows it.
    for during in [ended - 200_000, ended - 1] {
        assert_eq!(tagged(&[0, during])[1].0, ended + OVERHEAD);
    }
    let just_before = ended - 200_000 - OVERHEAD;
    assert_eq!(tagged(&[0, just_before])[1].0, ended);
    assert_eq!(tagged(&[0, just_before + 1])[1].0, ended + OVERHEAD, "data does not wait");
}
