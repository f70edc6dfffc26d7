//! The loop over a real file, on both engines: every request ends once, device time adds up, and
//! exactly the named bytes change.

use std::fs::File;
use std::path::Path;

use crate::common::{Closed, Fcfs, Scratch, Seen, drain, io, scatter, settings, ways};
use penstock_core::{
    Clock, Device, Done, Errno, Flags, Io, Limits, Observer, Op, Queued, ReqId, Request, Seed,
    Span, Time, run,
};
use penstock_live::{
    Caching, Engine, Guard, LiveClock, LiveDevice, Settings, Stage, Target, Trouble,
};

const SIZE: u64 = 4 << 20;
const DEPTHS: [u32; 2] = [1, 32];
const BLOCK: u64 = 4096;

/// Calls `test` for each engine of this machine, past the page cache and through it, and for each depth that
/// it holds, on a fresh owned file.
fn on_every_stage(name: &str, test: impl Fn(&Path, LiveClock, LiveDevice, u32)) {
    for way in ways() {
        let (engine, caching) = way;
        for depth in DEPTHS.into_iter().filter(|depth| *depth <= engine.most_in_flight()) {
            let scratch = Scratch::new(&format!("{name}-{}-{caching:?}-{depth}", engine.name()));
            let path = scratch.path("data.img");
            let target = Target::open(&path, Some(SIZE)).unwrap();
            let settings = settings(way, depth, 128 << 10);
            let (clock, device) = Stage::single(engine, target, settings).unwrap();
            test(&path, clock, device, depth);
        }
    }
}

fn clean(seen: &Seen, count: u32) {
    assert_eq!((seen.arrived, seen.finished), (count, count));
    assert_eq!(seen.errors, []);
}

#[test]
fn a_closed_loop_ends_and_its_device_time_adds_up() {
    on_every_stage("closed", |_, mut clock, mut device, depth| {
        let mixed = |n: u32| match n % 4 {
            0 => io(Op::Write, scatter(n) % (SIZE - 70_000), 1 + n % 70_000),
            1 => io(Op::Read, scatter(n) % (SIZE - 512), 512),
            _ => io(Op::Read, scatter(n) % (SIZE / BLOCK) * BLOCK, 4096),
        };
        let mut source = Closed::new(depth, 2_000, mixed);
        let (seen, end) = drain(&mut source, &mut device, &mut clock);
        clean(&seen, 2_000);
        assert_eq!(device.room(), depth, "nothing is left behind");
        assert_eq!(seen.service, device.busy(), "every busy instant is charged");
        assert!(seen.service.ns() <= end.at.ns(), "there is one disk");
    });
}

#[test]
fn a_policy_in_front_makes_no_difference() {
    on_every_stage("queued", |_, mut clock, device, depth| {
        let make = |n: u32| io(Op::Read, scatter(n) % (SIZE / BLOCK) * BLOCK, 4096);
        let mut source = Closed::new(2 * depth, 1_000, make);
        let mut queue = Queued::new(Fcfs::default(), device);
        let (seen, _) = drain(&mut source, &mut queue, &mut clock);
        clean(&seen, 1_000);
        assert_eq!(seen.service, queue.device().busy());
        assert_eq!(seen.in_flight_max, 2 * depth, "what has no room waits in the queue");
    });
}

#[test]
fn exactly_the_blocks_that_were_written_change() {
    on_every_stage("written", |path, mut clock, mut device, depth| {
        let before = std::fs::read(path).unwrap();
        let block = u64::from(device.block());
        // Whole blocks, a range inside one, one that straddles, the last byte, and a durable one.
        let mut wanted = [
            io(Op::Write, 8192, 8192),
            io(Op::Write, 40_001, 10),
            io(Op::Write, 81_919, 2),
            io(Op::Write, SIZE - 1, 1),
            Io { flags: Flags::FUA, ..io(Op::Write, 1 << 20, 128 << 10) },
        ];
        let mut source = Closed::new(depth, 5, |n| wanted[n as usize]);
        clean(&drain(&mut source, &mut device, &mut clock).0, 5);

        let after = std::fs::read(path).unwrap();
        assert_eq!(after.len(), before.len());
        for io in &mut wanted {
            let end = (io.start + u64::from(io.len)).next_multiple_of(block);
            io.start = io.start / block * block;
            io.len = u32::try_from(end - io.start).unwrap();
        }
        for at in 0..after.len() as u64 / 512 {
            let inside = wanted.iter().any(|io| (io.start..io.end()).contains(&(at * 512)));
            let bytes =
                usize::try_from(at * 512).unwrap()..usize::try_from(at * 512 + 512).unwrap();
            let same = before[bytes.clone()] == after[bytes];
            assert_eq!(same, !inside, "sector {at}");
        }
    });
}

#[test]
fn what_is_written_depends_on_the_seed_and_the_place() {
    let mut contents = Vec::new();
    for (number, (engine, seed)) in
        [(Engine::Threads, 1), (Engine::Uring, 1), (Engine::Uring, 2)].into_iter().enumerate()
    {
        if let Err(error) = engine.probe() {
            eprintln!("skipped on {}: {error}", engine.name());
            return;
        }
        let scratch = Scratch::new(&format!("seeded-{number}"));
        let path = scratch.path("data.img");
        let target = Target::open(&path, Some(SIZE)).unwrap();
        let settings = Settings { seed: Seed(seed), ..Settings::new(8, 64 << 10) };
        let (mut clock, mut device) = Stage::single(engine, target, settings).unwrap();
        let ops = [Op::Write, Op::Read];
        let mut source =
            Closed::new(8, 64, |n| io(ops[n as usize % 2], u64::from(n) << 16, 64 << 10));
        clean(&drain(&mut source, &mut device, &mut clock).0, 64);
        contents.push(std::fs::read(&path).unwrap());
    }
    assert!(contents[0] == contents[1], "not on the engine, nor on what was read");
    assert!(contents[1] != contents[2]);
}

#[test]
fn a_discard_zeroes_what_it_names() {
    on_every_stage("discard", |path, mut clock, mut device, depth| {
        let before = std::fs::read(path).unwrap();
        let make = |n: u32| [io(Op::Discard, 65_536, 1 << 20), io(Op::Flush, 0, 0)][n as usize];
        let mut source = Closed::new(depth, 2, make);
        let (seen, _) = drain(&mut source, &mut device, &mut clock);
        if seen.errors.first().is_some_and(|error| error.code() == 95) {
            eprintln!("skipped: this file system punches no holes");
            return;
        }
        clean(&seen, 2);
        let after = std::fs::read(path).unwrap();
        let (from, to) = (65_536, 65_536 + (1 << 20));
        assert!(after[from..to].iter().all(|&byte| byte == 0));
        assert!(after[..from] == before[..from] && after[to..] == before[to..]);
        assert_eq!(after.len(), before.len(), "the mark stays where it was");
    });
}

#[test]
fn a_flush_and_a_durable_write_end() {
    on_every_stage("durable", |_, mut clock, mut device, depth| {
        let make = |n: u32| match n % 3 {
            0 => io(Op::Write, u64::from(n) * BLOCK, 4096),
            1 => Io { flags: Flags::FUA, ..io(Op::Write, u64::from(n) * BLOCK, 4096) },
            _ => io(Op::Flush, 0, 0),
        };
        let (seen, _) = drain(&mut Closed::new(depth, 60, make), &mut device, &mut clock);
        clean(&seen, 60);
        assert_eq!(seen.service, device.busy());
    });
}

#[test]
fn a_file_cut_underneath_gives_errors_and_no_hang() {
    on_every_stage("cut", |path, mut clock, mut device, depth| {
        // Half way through a block, so that the last read that reaches it is short.
        File::options().write(true).open(path).unwrap().set_len(SIZE / 2 + 2048).unwrap();
        let make = |n: u32| io(Op::Read, u64::from(n) << 17, 128 << 10);
        let (seen, _) = drain(&mut Closed::new(depth, 32, make), &mut device, &mut clock);
        assert_eq!(seen.finished, 32);
        assert_eq!(seen.errors, [Errno::EIO; 16], "the half that is gone");
    });
}

#[test]
fn a_file_that_is_cut_during_a_run_ends_it_and_does_not_grow_back() {
    /// Cuts the file once some requests have finished.
    struct Cutter<'a> {
        guard: &'a Guard,
        path: &'a Path,
        finished: u32,
    }
    impl Observer for Cutter<'_> {
        fn turn(&mut self, now: Time) -> bool {
            assert!(now < Time::ZERO + Span::from_secs(60), "the run did not end");
            self.guard.look(now)
        }
        fn finished(&mut self, _: Time, _: &Request, _: &Done) {
            self.finished += 1;
            if self.finished == 50 {
                File::options().write(true).open(self.path).unwrap().set_len(SIZE / 2).unwrap();
            }
        }
    }
    on_every_stage("shrinks", |path, mut clock, mut device, depth| {
        let make = |n: u32| io(Op::Write, scatter(n) % (SIZE / BLOCK) * BLOCK, 4096);
        let guard = clock.guard();
        let mut cutter = Cutter { guard: &guard, path, finished: 0 };
        let mut endless = Closed::new(depth, u32::MAX, make);
        let limits = Limits::default();
        let end = run(&mut endless, &mut device, &mut clock, &mut cutter, limits).unwrap();
        assert!(end.interrupted);
        let trouble = guard.end(end.at, None).cloned();
        let Some(Trouble::Resized { found, expected, .. }) = trouble else { panic!("{trouble:?}") };
        assert!((SIZE / 2..=SIZE).contains(&found) && expected == SIZE + 4096, "{found} bytes");
        assert!(std::fs::metadata(path).unwrap().len() <= SIZE, "the file stays as it is");
    });
}

#[test]
fn a_drop_waits_for_what_is_in_flight() {
    on_every_stage("dropped", |path, mut clock, mut device, depth| {
        let now = clock.now();
        for slot in 0..depth {
            let id = ReqId::new(slot, 0);
            device.start(now, &io(Op::Write, u64::from(slot) << 17, 128 << 10).with(id));
        }
        assert!(clock.park(now + Span::from_ns(1)), "the kernel has them");
        assert_eq!(device.room(), 0, "and they were not asked for");
        drop(device);
        drop(clock);
        assert!(Target::open(path, Some(SIZE)).is_ok(), "released, and still ours");
    });
}

#[test]
fn a_stage_of_several_targets_sleeps_on_all_of_them() {
    let several = |(engine, _): &(Engine, _)| engine.most_in_flight() >= 12;
    for way in ways().filter(several) {
        let (engine, caching) = way;
        let scratch = Scratch::new(&format!("several-{}-{caching:?}", engine.name()));
        let create = |n| Target::open(&scratch.path(&format!("{n}.img")), Some(SIZE)).unwrap();
        let targets = (0..3).map(create).collect();
        let Stage { mut clock, mut devices } =
            Stage::open(engine, targets, settings(way, 4, 4096)).unwrap();
        let (mut done, mut left) = (Vec::new(), [50; 3]);
        loop {
            let now = clock.now();
            for (device, left) in devices.iter_mut().zip(&mut left) {
                if device.room() > 0 && *left > 0 {
                    let id = ReqId::new(0, *left);
                    device.start(now, &io(Op::Read, scatter(*left) % 1000 * BLOCK, 4096).with(id));
                    *left -= 1;
                }
            }
            if !clock.park(Time::NEVER) {
                break;
            }
            // Backwards, so that a device's completions are collected after it was asked.
            let now = clock.now();
            devices.iter_mut().rev().for_each(|device| device.advance(now, &mut done));
        }
        assert_eq!((left, done.len()), ([0; 3], 150));
        assert!(devices.iter().all(|device| device.room() == 4));
        assert!(done.iter().all(|done| done.error.is_none()));
    }
}

#[test]
fn the_clock_waits_for_deadlines() {
    on_every_stage("clock", |_, mut clock, device, _| {
        let begin = clock.now();
        assert_eq!(begin, Time::ZERO, "the run begins when it is first asked");
        assert!(clock.park(begin), "what is due already is no wait");
        assert!(!clock.park(Time::NEVER), "nothing is in flight and nothing is planned");
        let mut due = begin;
        for _ in 0..20 {
            due += Span::from_us(500);
            while clock.now() < due {
                assert!(clock.park(due));
            }
        }
        drop(device);
    });
}

/// A buffered write changes exactly the bytes that it names, and a direct one next to it the blocks around
/// them, through one stage.
#[test]
fn buffered_and_direct_requests_share_a_stage() {
    for engine in
        ways().filter(|(_, caching)| *caching == Caching::Direct).map(|(engine, _)| engine)
    {
        let scratch = Scratch::new(&format!("mixed-{}", engine.name()));
        let path = scratch.path("data.img");
        let target = Target::open(&path, Some(SIZE)).unwrap();
        let before = std::fs::read(&path).unwrap();
        let block = target.block() as usize;
        let settings = settings((engine, Caching::Mixed), 4, 64 << 10);
        let (mut clock, mut device) = Stage::single(engine, target, settings).unwrap();
        let wanted = [
            Io { flags: Flags::BUFFERED, ..io(Op::Write, 40_001, 70) },
            io(Op::Write, 1 << 20, 10),
            Io { flags: Flags::BUFFERED, ..io(Op::Read, 1, 1001) },
        ];
        let mut source = Closed::new(1, 3, |n| wanted[n as usize]);
        clean(&drain(&mut source, &mut device, &mut clock).0, 3);
        let after = std::fs::read(&path).unwrap();
        let (one, other) = (40_001..40_071, 1 << 20..(1 << 20) + block);
        assert!(before[one.clone()] != after[one.clone()]);
        assert!(before[other.clone()] != after[other.clone()]);
        for (at, bytes) in before.iter().zip(&after).enumerate() {
            let changed = one.contains(&at) || other.contains(&at);
            assert!(changed || bytes.0 == bytes.1, "byte {at} on {}", engine.name());
        }
    }
}

#[test]
fn a_mapped_file_is_not_for_direct_requests() {
    let scratch = Scratch::new("mapped-direct");
    let target = Target::open(&scratch.path("data.img"), Some(SIZE)).unwrap();
    let refused = Stage::single(Engine::Mmap, target, Settings::new(1, 4096)).err().unwrap();
    let text = "the engine `mmap` goes through the page cache, and requests are direct\n\
                hint: set `cache = \"buffered\"`, or choose another engine";
    assert_eq!((refused.to_string().as_str(), refused.exit_code()), (text, 2));
}
