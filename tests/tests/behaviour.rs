//! The purpose of each policy in sentences: one small case for each of its promises.

use penstock_core::{
    ClassId, Device, Done, Flags, Io, Limits, Observer, Op, Prio, Queued, Request, Seed, Served,
    Span, StreamId, Time, Virtual, run,
};
use penstock_device::hdd::{Hdd, Options};
use penstock_device::{Cost, Fixed};
use penstock_policy::{Params, Value, find};
use penstock_tests::{Script, noted};
use penstock_workload::{Agent, Agents, Arrivals};

const KIB: u32 = 1024;

/// Returns the begin of the run if `begins`, otherwise a little later.
fn at(begins: bool) -> Time {
    Time::ZERO + if begins { Span::ZERO } else { Span::from_us(1) }
}

/// Creates a request: `at` ms, operation, stream, first KiB, KiB.
fn io(at: u64, op: Op, stream: u32, start: u64, len: u32) -> Io {
    Io {
        due: Time::ZERO + Span::from_ms(at),
        start: start * u64::from(KIB),
        len: len * KIB,
        stream: StreamId(stream),
        class: ClassId(0),
        op,
        prio: Prio(0),
        flags: Flags::NONE,
    }
}

fn read(at: u64, stream: u32, start: u64, len: u32) -> Io {
    io(at, Op::Read, stream, start, len)
}

fn write(at: u64, stream: u32, start: u64, len: u32) -> Io {
    io(at, Op::Write, stream, start, len)
}

fn policy(name: &str, set: &[(&str, Value)]) -> (&'static penstock_policy::Entry, Params) {
    let entry = find(name).expect("a registered policy");
    let params =
        set.iter().fold(entry.defaults(), |params, (name, value)| params.with(name, value.clone()));
    (entry, params)
}

/// A device that takes one millisecond for each command, whatever its length.
fn one_ms() -> Fixed {
    let cost = Cost::Linear { base: Span::from_ms(1), per_mb: Span::ZERO };
    Fixed::new(cost, 1 << 50)
}

/// Returns the commands that the policy `name` sends, in order: first KiB and KiB of each.
fn sent(name: &str, set: &[(&str, Value)], ios: &[Io]) -> Vec<(u64, u32)> {
    let (entry, params) = policy(name, set);
    let (device, commands) = noted(one_ms());
    let mut stack = Queued::new((entry.build)(&params, &Served::ONE_DISK), device);
    let mut source = Script::new(ios.to_vec());
    run(&mut source, &mut stack, &mut Virtual::default(), &mut (), Limits::default()).unwrap();
    let first =
        |(_, command): &(Time, Request)| (command.start / u64::from(KIB), command.len / KIB);
    commands.borrow().iter().map(first).collect()
}

/// Returns the first KiB of each command.
fn order(name: &str, set: &[(&str, Value)], ios: &[Io]) -> Vec<u64> {
    sent(name, set, ios).into_iter().map(|(start, _)| start).collect()
}

#[test]
fn noop_merges_front_and_back_but_no_further_than_max_sectors() {
    // The first keeps the device busy; the others meet in the queue.
    let ios = [read(0, 0, 9000, 4), read(0, 0, 100, 4), read(0, 0, 104, 4), read(0, 0, 96, 4)];
    assert_eq!(sent("noop", &[], &ios), [(9000, 4), (96, 12)]);
    let short = [("max_sectors", Value::Size(8 << 10))];
    assert_eq!(sent("noop", &short, &ios), [(9000, 4), (100, 8), (96, 4)]);
}

#[test]
fn noop_looks_for_neighbours_as_nomerges_says() {
    // The first keeps the device busy. 104 follows 100, with another request between their arrivals.
    let ios = [
        read(0, 0, 9000, 4),
        read(0, 0, 100, 4),
        read(0, 0, 500, 4),
        read(0, 0, 104, 4),
        read(0, 0, 108, 4),
        read(0, 0, 96, 4),
    ];
    let with = |n| sent("noop", &[("nomerges", Value::Count(n))], &ios);
    assert_eq!(with(0), [(9000, 4), (96, 16), (500, 4)]);
    // Only the last arrival: 108 behind 104.
    assert_eq!(with(1), [(9000, 4), (100, 4), (500, 4), (104, 8), (96, 4)]);
    assert_eq!(with(2), [(9000, 4), (100, 4), (500, 4), (104, 4), (108, 4), (96, 4)]);
}

#[test]
fn nothing_merges_across_operations_or_forced_unit_access() {
    let mut forced = write(0, 0, 108, 4);
    forced.flags = Flags::FUA;
    let ios = [read(0, 0, 9000, 4), read(0, 0, 100, 4), write(0, 0, 104, 4), forced];
    assert_eq!(order("noop", &[], &ios), [9000, 100, 104, 108]);
}

#[test]
fn deadline_serves_a_batch_in_ascending_order_and_prefers_reads() {
    let ios = [
        read(0, 0, 9000, 4),
        write(0, 0, 50, 4),
        read(0, 0, 300, 4),
        read(0, 0, 9500, 4),
        read(0, 0, 100, 4),
    ];
    assert_eq!(order("deadline", &[], &ios), [100, 300, 9000, 9500, 50]);
    // A batch that is under way when the others come goes on upwards; requests behind it are in the
    // next one. It begins at the oldest, or at the lowest position.
    let late: Vec<Io> =
        ios.iter().map(|&first| Io { due: at(first.start > 8 << 20), ..first }).collect();
    assert_eq!(order("deadline", &[], &late), [9000, 9500, 300, 100, 50]);
    let lowest = [("wrap", Value::Word("lowest"))];
    assert_eq!(order("deadline", &lowest, &late), [9000, 9500, 100, 300, 50]);
}

#[test]
fn deadline_lets_writes_wait_for_at_most_writes_starved_batches() {
    let set = [("fifo_batch", Value::Count(2)), ("writes_starved", Value::Count(1))];
    let reads = (0..8).map(|n| read(0, 0, 1000 + 10 * n, 4));
    let ios: Vec<Io> = reads.chain([write(0, 0, 50, 4)]).collect();
    assert_eq!(order("deadline", &set, &ios), [1000, 1010, 50, 1020, 1030, 1040, 1050, 1060, 1070]);
}

#[test]
fn deadline_begins_the_next_batch_at_an_expired_request() {
    let set = [("fifo_batch", Value::Count(4)), ("read_expire", Value::Duration(Span::from_ms(6)))];
    // One request lies behind the head, and a flood keeps coming in front of it.
    let flood = (0..30).map(|n| read(n, 0, 1000 + 10 * n, 4));
    let more = (0..30).map(|n| read(n, 0, 5000 + 10 * n, 4));
    let ios: Vec<Io> = flood.chain(more).chain([read(1, 0, 20, 4)]).collect();
    let found = order("deadline", &set, &ios);
    let place = found.iter().position(|&start| start == 20).expect("it goes");
    // Expired after 7 ms: at most the running batch goes on, and another for each older request.
    assert!(place <= 7 + 4 + 2 * 4, "it went at place {place}");
    let never = [("fifo_batch", Value::Count(4)), ("read_expire", Value::Duration(Span::MAX))];
    let late = order("deadline", &never, &ios).iter().position(|&start| start == 20).unwrap();
    assert!(late > place + 10, "without expiry it waits for the sweep: {late}");
}

#[test]
fn cfq_gives_greedy_streams_equal_turns_of_at_most_quantum() {
    let ios: Vec<Io> = (0..3)
        .flat_map(|s| (0..12).map(move |n| read(0, s, 10_000 * u64::from(s) + 40 * n, 4)))
        .collect();
    let turns: Vec<u64> = order("cfq", &[], &ios).iter().map(|start| start / 10_000).collect();
    let mut runs: Vec<(u64, usize)> = Vec::new();
    for stream in turns {
        match runs.last_mut() {
            Some((last, count)) if *last == stream => *count += 1,
            _ => runs.push((stream, 1)),
        }
    }
    assert_eq!(runs, [(0, 4), (1, 4), (2, 4), (0, 4), (1, 4), (2, 4), (0, 4), (1, 4), (2, 4)]);
}

const SPLIT: (&str, Value) = ("split", Value::Size(4 << 10));
const OFF: Value = Value::Word("off");

#[test]
fn size_priority_sends_short_ones_at_every_piece_boundary() {
    // A long one of four pieces; short ones come when its second has just begun.
    let ios = [write(0, 0, 1000, 16), write(1, 1, 50, 4), write(1, 1, 60, 4)];
    assert_eq!(order("size-priority", &[SPLIT], &ios), [1000, 1004, 50, 60, 1008, 1012]);
}

#[test]
fn size_priority_serves_long_ones_one_after_another_or_in_turn() {
    let ios = [write(0, 0, 1000, 12), write(0, 1, 2000, 8)];
    assert_eq!(order("size-priority", &[SPLIT], &ios), [1000, 1004, 1008, 2000, 2004]);
    let rr = [SPLIT, ("order", Value::Word("rr"))];
    assert_eq!(order("size-priority", &rr, &ios), [1000, 2000, 1004, 2004, 1008]);
}

#[test]
fn size_priority_without_priority_keeps_the_order_of_arrival() {
    let ios = [write(0, 0, 1000, 12), write(1, 1, 50, 4)];
    let set = [SPLIT, ("priority", Value::Switch(false))];
    assert_eq!(order("size-priority", &set, &ios), [1000, 1004, 1008, 50]);
}

#[test]
fn size_priority_without_splitting_sends_long_ones_whole() {
    let ios = [write(0, 0, 1000, 256), write(0, 0, 3000, 256), write(0, 1, 50, 4)];
    let set = [("split", OFF)];
    assert_eq!(sent("size-priority", &set, &ios), [(50, 4), (1000, 256), (3000, 256)]);
}

#[test]
fn size_priority_takes_its_threshold_from_the_piece_up_to_64_kib() {
    let first = write(0, 0, 9000, 4);
    let middling = [first, write(0, 0, 1000, 512), write(0, 0, 2000, 128)];
    // With pieces of 512 KiB, 128 KiB are still long: order of arrival.
    let auto = [("split", Value::Size(512 << 10))];
    assert_eq!(order("size-priority", &auto, &middling), [9000, 1000, 2000]);
    let same = [("split", Value::Size(512 << 10)), ("threshold", Value::Word("split"))];
    assert_eq!(order("size-priority", &same, &middling), [9000, 1000, 2000], "both are short");
    let mine = [("split", Value::Size(512 << 10)), ("threshold", Value::Size(128 << 10))];
    assert_eq!(order("size-priority", &mine, &middling), [9000, 2000, 1000]);
}

/// A flood of short requests, one each millisecond and one ahead, so that one always waits; and a
/// long request of `pieces`.
fn flood(pieces: u32) -> Vec<Io> {
    let short = (0..200).map(|n| write(u64::saturating_sub(n, 1), 0, 10 * n, 4));
    short.chain([write(0, 1, 1_000_000, 4 * pieces)]).collect()
}

/// Returns the places at which pieces of the long request went.
fn long_places(set: &[(&str, Value)], ios: &[Io]) -> Vec<usize> {
    let found = order("size-priority", set, ios);
    (0..found.len()).filter(|&place| found[place] >= 1_000_000).collect()
}

#[test]
fn the_guard_lets_a_long_piece_go_after_sixteen_short_ones() {
    let places = long_places(&[SPLIT], &flood(4));
    let gaps: Vec<usize> = places.windows(2).map(|w| w[1] - w[0] - 1).collect();
    assert_eq!(gaps, [16, 16, 16], "short ones between two pieces: {places:?}");
}

#[test]
fn the_guard_lets_a_long_piece_go_when_nothing_moved_for_a_while() {
    let group = Params::clone(find("size-priority").unwrap().defaults().group("guard").unwrap());
    let guard = group.with("stall", Value::Duration(Span::from_ms(5)));
    let places = long_places(&[SPLIT, ("guard", Value::Group(guard))], &flood(4));
    let gaps: Vec<usize> = places.windows(2).map(|w| w[1] - w[0]).collect();
    assert_eq!(gaps, [5, 5, 5], "a millisecond each: {places:?}");
}

#[test]
fn without_the_guard_short_ones_starve_long_ones() {
    let places = long_places(&[SPLIT, ("guard", OFF)], &flood(4));
    assert_eq!(places, [200, 201, 202, 203], "after the last short one");
}

/// A device that takes several commands at once counts the long bytes among them.
#[test]
fn long_in_flight_bounds_the_bytes_at_the_device() {
    struct Wide {
        serving: Vec<(Time, Request)>,
        most: u64,
    }
    impl Device for Wide {
        fn capacity(&self) -> u64 {
            1 << 40
        }
        fn block(&self) -> u32 {
            1
        }
        fn room(&self) -> u32 {
            32 - self.serving.len() as u32
        }
        fn start(&mut self, now: Time, req: &Request) {
            self.serving.push((now + Span::from_ms(1), *req));
            let long = self.serving.iter().filter(|(_, r)| r.start >= 1 << 20);
            self.most = self.most.max(long.map(|(_, r)| u64::from(r.len)).sum());
        }
        fn wakeup(&self) -> Time {
            self.serving.iter().map(|(ends, _)| *ends).min().unwrap_or(Time::NEVER)
        }
        fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
            self.serving.retain(|&(ends, req)| {
                if ends <= now {
                    let Request { id, io: Io { len, .. } } = req;
                    let service = Span::from_ms(1);
                    done.push(Done { id, at: now, begun: now, service, len, error: None });
                }
                ends > now
            });
        }
    }
    let most = |split, limit: Value| {
        let (entry, params) = policy("size-priority", &[split, ("long_in_flight", limit)]);
        let wide = Wide { serving: Vec::new(), most: 0 };
        let mut stack = Queued::new((entry.build)(&params, &Served::ONE_DISK), wide);
        let ios = (0..4).map(|n| write(0, 0, 1024 * (n + 1), 400)).chain([read(1, 0, 0, 4)]);
        let mut source = Script::new(ios.collect());
        run(&mut source, &mut stack, &mut Virtual::default(), &mut (), Limits::default()).unwrap();
        stack.device().most
    };
    assert_eq!(most(SPLIT, Value::Word("unlimited")), 32 * 4096);
    assert_eq!(most(SPLIT, Value::Size(12 << 10)), 12 << 10);
    assert_eq!(most(SPLIT, Value::Size(1)), 4096, "one piece is always allowed");
    let whole = most(("split", OFF), Value::Size(12 << 10));
    assert_eq!(whole, 400 << 10, "what is not split goes whole");
}

#[derive(Default)]
struct Count(u64);
impl Observer for Count {
    fn finished(&mut self, _: Time, _: &Request, _: &Done) {
        self.0 += 1;
    }
}
/// Serves random 4 KiB reads, 32 outstanding, on `device` for ten seconds. Returns how many were
/// served, and the mean distance between two in bytes.
fn random_load(name: &str, device: impl Device) -> (u64, u64) {
    let (region, think) = (0..device.capacity() / 4096 * 4096, Span::ZERO);
    let agent = Agent {
        active: Time::ZERO..Time::ZERO + Span::from_secs(10),
        ..Agent::new(ClassId(0), Op::Read, 4096, region, Arrivals::closed(32, think))
    };
    let (entry, params) = policy(name, &[]);
    let (device, commands) = noted(device);
    let mut stack = Queued::new((entry.build)(&params, &Served::ONE_DISK), device);
    let (mut source, mut count) = (Agents::new(vec![agent], Seed(1)), Count::default());
    run(&mut source, &mut stack, &mut Virtual::default(), &mut count, Limits::default()).unwrap();
    let starts: Vec<u64> = commands.borrow().iter().map(|(_, c)| c.start).collect();
    let way: u64 = starts.windows(2).map(|pair| pair[0].abs_diff(pair[1])).sum();
    (count.0, way / count.0)
}

fn disk() -> Hdd {
    let drive = penstock_jobs::drives::drive("hdd-7200").expect("a named drive");
    Hdd::new(&drive, Options::MECHANICAL).expect("a sound drive")
}

#[test]
fn sorting_shortens_the_way_of_the_arm_and_serves_more() {
    let (fcfs, far) = random_load("fcfs", disk());
    for name in ["deadline", "cfq", "elevator", "anticipatory"] {
        let (served, way) = random_load(name, disk());
        assert!(way * 2 < far, "{name}: {way} bytes from request to request, fcfs {far}");
        assert!(served * 10 > fcfs * 13, "{name} served {served}, fcfs {fcfs}");
    }
}

#[test]
fn without_seeks_every_policy_serves_alike() {
    let (noop, _) = random_load("noop", one_ms());
    for entry in penstock_policy::POLICIES {
        let (served, _) = random_load(entry.name, one_ms());
        assert!(served.abs_diff(noop) * 50 <= noop, "{}: {served}, noop {noop}", entry.name);
    }
}
