//! The classic policies, in sentences: sweeps, nearest first, cheapest first, classes.

use penstock_core::{
    ClassId, Device, Done, Flags, Io, Limits, Observer, Op, Prio, Queued, Request, Seed, Served,
    Span, StreamId, Time, Virtual, run,
};
use penstock_device::hdd::{Hdd, Options};
use penstock_device::{Cost, Fixed};
use penstock_policy::{Params, Value, find};
use penstock_tests::{Script, noted};
use penstock_workload::{Agent, Agents, Arrivals};

const KIB: u64 = 1024;

/// Creates a read of 4 KiB at `at` ms, of priority `prio`, from the KiB `start`.
fn class(at: u64, prio: u8, start: u64) -> Io {
    Io {
        due: Time::ZERO + Span::from_ms(at),
        start: start * KIB,
        len: 4 * KIB as u32,
        stream: StreamId(0),
        class: ClassId(prio.into()),
        op: Op::Read,
        prio: Prio(prio),
        flags: Flags::NONE,
    }
}

fn read(at: u64, start: u64) -> Io {
    class(at, 0, start)
}

/// The first keeps the device busy; the others meet in the queue.
fn reads(first: u64, others: &[u64]) -> Vec<Io> {
    let later = |&start: &u64| Io { due: Time::ZERO + Span::from_us(1), ..read(0, start) };
    [read(0, first)].into_iter().chain(others.iter().map(later)).collect()
}

fn params(name: &str, set: &[(&str, Value)]) -> Params {
    let defaults = find(name).expect("a registered policy").defaults();
    set.iter().fold(defaults, |params, (name, value)| params.with(name, value.clone()))
}

/// Returns when the policy `name` sent what to `device`: ms of the begin, and first KiB.
fn sent(name: &str, set: &[(&str, Value)], device: impl Device, ios: &[Io]) -> Vec<(u64, u64)> {
    let policy = (find(name).unwrap().build)(&params(name, set), &Served::ONE_DISK);
    let (device, commands) = noted(device);
    let mut stack = Queued::new(policy, device);
    let mut source = Script::new(ios.to_vec());
    run(&mut source, &mut stack, &mut Virtual::default(), &mut (), Limits::default()).unwrap();
    let row = |(at, command): &(Time, Request)| (at.ns() / 1_000_000, command.start / KIB);
    commands.borrow().iter().map(row).collect()
}

/// A device that takes one millisecond for each command; position costs nothing.
fn one_ms() -> Fixed {
    Fixed::new(Cost::Linear { base: Span::from_ms(1), per_mb: Span::ZERO }, 1 << 30)
}

/// Returns the first KiB of each command, at a millisecond each.
fn order(name: &str, ios: &[Io]) -> Vec<u64> {
    sent(name, &[], one_ms(), ios).into_iter().map(|(_, start)| start).collect()
}

#[test]
fn sstf_takes_the_nearest_to_where_the_last_one_ended() {
    // The first ends at 504.
    assert_eq!(order("sstf", &reads(500, &[100, 600, 480, 530])), [500, 480, 530, 600, 100]);
    // Two are equally near: the one ahead goes first. With one first byte: the oldest.
    assert_eq!(order("sstf", &reads(500, &[404, 604])), [500, 604, 404]);
}

#[test]
fn sstf_starves_a_distant_request() {
    let near = (0..200_u64).map(|n| read(n.saturating_sub(1), 10 * (n % 5)));
    let ios: Vec<Io> = near.chain([read(1, 900_000)]).collect();
    assert_eq!(order("sstf", &ios).last(), Some(&900_000));
    let place = order("c-look", &ios).iter().position(|&start| start == 900_000).unwrap();
    assert!(place < 10, "a sweep comes by: place {place}");
}

#[test]
fn c_look_sweeps_upwards_and_begins_again_at_the_lowest() {
    let ios = reads(500, &[100, 600, 480, 530]);
    assert_eq!(order("c-look", &ios), [500, 530, 600, 100, 480]);
}

#[test]
fn look_sweeps_up_and_down() {
    let ios = reads(500, &[100, 600, 480, 530]);
    assert_eq!(order("look", &ios), [500, 530, 600, 480, 100]);
    // On its way down it continues down, whatever comes above.
    let ios: Vec<Io> = ios.into_iter().chain([read(3, 700), read(3, 90)]).collect();
    assert_eq!(order("look", &ios), [500, 530, 600, 480, 100, 90, 700]);
}

/// New requests keep coming at one place; two other requests wait far from it.
#[test]
fn sweeps_do_not_stick_to_a_place() {
    let sticky = (0..100).map(|n| read(n / 2, 500));
    let ios: Vec<Io> = sticky.chain([read(1, 300), read(1, 700)]).collect();
    for name in ["c-look", "look", "scan"] {
        let found = order(name, &ios);
        let place = |start| found.iter().position(|&found| found == start).unwrap();
        assert!(place(300) < 6 && place(700) < 6, "{name}: {found:?}");
    }
}

/// A request begins within longer ones, one of which always waits. A sweep that continued from
/// the end of a longer one would never serve it.
#[test]
fn sweeps_do_not_pass_over_what_others_cover() {
    let long = |n: u64| Io { len: 64 * KIB as u32, ..read(n, 480) };
    let ios: Vec<Io> = (0..100).map(|n| long(n / 2)).chain([read(1, 500), read(1, 100)]).collect();
    for name in ["c-look", "look", "scan"] {
        let place = order(name, &ios).iter().position(|&start| start == 500).unwrap();
        assert!(place < 6, "{name}: place {place}");
    }
}

/// A device of 1 GiB. Positioning costs a millisecond for each 10 MiB of distance. A command costs
/// that and a millisecond more.
struct Arm {
    at: u64,
    serving: Option<(Time, Request, Time)>,
}

impl Arm {
    const END: u64 = 1 << 20;

    fn new() -> Self {
        Self { at: 0, serving: None }
    }
}

impl Device for Arm {
    fn capacity(&self) -> u64 {
        Self::END * KIB
    }
    fn block(&self) -> u32 {
        4096
    }
    fn room(&self) -> u32 {
        u32::from(self.serving.is_none())
    }
    fn position(&self, _: Time, _: Op, start: u64) -> Span {
        Span::from_ms(self.at.abs_diff(start) / KIB / 10_240)
    }
    fn start(&mut self, now: Time, req: &Request) {
        let ends = now + self.position(now, req.op, req.start) + Span::from_ms(1);
        self.at = req.end();
        self.serving = Some((ends, *req, now));
    }
    fn wakeup(&self) -> Time {
        self.serving.map_or(Time::NEVER, |(ends, ..)| ends)
    }
    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        if let Some((ends, Request { id, io }, begun)) = self.serving.take_if(|s| s.0 <= now) {
            let service = ends.since(begun);
            done.push(Done { id, at: now, begun, service, len: io.len, error: None });
        }
    }
}

#[test]
fn scan_goes_to_the_end_before_it_turns() {
    // 900,000 KiB are 87 ms away; from there to the end it takes 14 ms more.
    let ios = [read(0, 900_000), read(1, 800_000)];
    assert_eq!(sent("look", &[], Arm::new(), &ios), [(0, 900_000), (88, 800_000)]);
    assert_eq!(sent("scan", &[], Arm::new(), &ios), [(0, 900_000), (102, 800_000)]);
}

#[test]
fn scan_takes_what_comes_ahead_of_it_on_its_way_to_the_end() {
    // After 7 of the 14 ms the arm is assumed to be half way, at about 974,000.
    let ios = [read(0, 900_000), read(1, 800_000), read(95, 1_000_000), read(95, 950_000)];
    let found: Vec<u64> = sent("scan", &[], Arm::new(), &ios).iter().map(|row| row.1).collect();
    assert_eq!(found, [900_000, 1_000_000, 950_000, 800_000]);
    let found: Vec<u64> = sent("look", &[], Arm::new(), &ios).iter().map(|row| row.1).collect();
    assert_eq!(found, [900_000, 800_000, 950_000, 1_000_000]);
}

#[test]
fn scan_with_nothing_to_do_rests_at_the_end() {
    // Served at 0; the others find the arm at the top, heading down.
    let ios = [read(0, 500), read(50, 600), read(50, 400), read(50, 700)];
    assert_eq!(order("look", &ios), [500, 600, 700, 400]);
    assert_eq!(order("scan", &ios), [500, 700, 600, 400]);
}

#[test]
fn sptf_asks_the_device() {
    // One is next to the first, but has just passed; the other is far away, and coming round.
    let disk = disk();
    let (first, second) = (read(0, 0), [read(0, 8), read(0, 100_000)]);
    let ends = Time::ZERO + disk.access(Time::ZERO, Op::Read, first.start, first.len).service();
    let mut moved = disk;
    moved.start(Time::ZERO, &first.with(penstock_core::ReqId::new(0, 0)));
    let cost = second.map(|io| moved.position(ends, Op::Read, io.start));
    let cheaper = second[usize::from(cost[1] < cost[0])].start / KIB;
    let ios = [&[first], &second[..]].concat();
    assert_eq!(sent("sptf", &[], self::disk(), &ios)[1].1, cheaper, "{cost:?}");
}

#[test]
fn sptf_with_one_candidate_is_sstf_and_where_position_is_free_it_is_fcfs() {
    let ios = reads(500, &[100, 600, 480, 530]);
    let one = sent("sptf", &[("candidates", Value::Count(1))], one_ms(), &ios);
    assert_eq!(one, sent("sstf", &[], one_ms(), &ios));
    assert_eq!(order("sptf", &ios), [500, 100, 600, 480, 530]);
    // Three candidates from 504: 480, 530 and 600; the first of these came earliest.
    let three = sent("sptf", &[("candidates", Value::Count(3))], one_ms(), &ios);
    assert_eq!(three[1].1, 600);
}

#[test]
fn class_priority_is_strict_and_first_in_first_out_within_a_class() {
    let ios = [class(0, 3, 1), class(0, 2, 2), class(0, 0, 3), class(0, 2, 4), class(0, 0, 5)];
    assert_eq!(order("class-priority", &ios), [3, 5, 2, 4, 1]);
}

#[test]
fn class_priority_lets_no_request_wait_for_longer_than_aging() {
    let flood = (0..100).map(|n| class(u64::saturating_sub(n, 1), 0, n));
    let ios: Vec<Io> = flood.chain([class(5, 1, 9000), class(6, 1, 9100)]).collect();
    let begun = |aging| {
        let found = sent("class-priority", &[("aging", aging)], one_ms(), &ios);
        [9000, 9100].map(|wanted| found.iter().find(|(_, start)| *start == wanted).unwrap().0)
    };
    // One request of the flood always waits, older by a millisecond.
    let aged = begun(Value::Duration(Span::from_ms(20)));
    assert_eq!(aged, [25, 26]);
    assert_eq!(begun(Value::Word("off")), [100, 101], "after the last of the flood");
    assert_eq!(begun(Value::Duration(Span::ZERO)), [7, 9], "first come, first served");
}

fn disk() -> Hdd {
    let drive = penstock_jobs::drives::drive("hdd-7200").expect("a named drive");
    Hdd::new(&drive, Options::MECHANICAL).expect("a sound drive")
}

#[derive(Default)]
struct Count(u64);
impl Observer for Count {
    fn finished(&mut self, _: Time, _: &Request, _: &Done) {
        self.0 += 1;
    }
}

/// Returns the random 4 KiB reads that a disk served in ten seconds, `depth` outstanding.
fn served(name: &str, set: &[(&str, Value)], depth: u32) -> u64 {
    let device = disk();
    let (region, think) = (0..device.capacity() / 4096 * 4096, Span::ZERO);
    let agent = Agent {
        active: Time::ZERO..Time::ZERO + Span::from_secs(10),
        ..Agent::new(ClassId(0), Op::Read, 4096, region, Arrivals::closed(depth, think))
    };
    let policy = (find(name).unwrap().build)(&params(name, set), &Served::ONE_DISK);
    let (mut stack, mut source) = (Queued::new(policy, device), Agents::new(vec![agent], Seed(1)));
    let (mut clock, mut count) = (Virtual::default(), Count::default());
    let limits = Limits { until: Time::ZERO + Span::from_secs(10), ..Limits::default() };
    run(&mut source, &mut stack, &mut clock, &mut count, limits).unwrap();
    count.0
}

/// Textbook results for a busy disk. With a few requests waiting a greedy choice beats a sweep, and
/// turning only at the end costs time. With many, all policies that sort are alike, and knowledge
/// of the rotation gains half as much again.
#[test]
fn the_more_a_policy_knows_the_more_the_disk_serves() {
    let sorts = ["scan", "c-look", "look", "sstf"];
    let few = sorts.map(|name| served(name, &[], 4));
    assert!(few.is_sorted(), "{sorts:?}: {few:?}");
    let (fcfs, sptf) = (served("fcfs", &[], 64), served("sptf", &[], 64));
    for name in sorts {
        let sorted = served(name, &[], 64);
        assert!(sorted * 10 > fcfs * 18, "{name} served {sorted}, fcfs {fcfs}");
        assert!(sptf * 10 > sorted * 14, "{name} served {sorted}, sptf {sptf}");
    }
}

/// The bound on candidates costs nothing: the more are queued, the nearer are the nearest.
#[test]
fn sixty_four_candidates_are_as_good_as_all() {
    for depth in [256, 2048] {
        let all = served("sptf", &[("candidates", Value::Count(100_000))], depth);
        let some = served("sptf", &[], depth);
        assert!(some * 20 > all * 19, "{some} of {all} at depth {depth}");
    }
}
