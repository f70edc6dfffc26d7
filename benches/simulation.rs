//! Speed of simulation under fcfs: the loop, a fixed device, a mechanical disk (also with its cache
//! and in an array), drives of flash, a page cache; and the schedulers of Linux next to deadline.
//!
//! Peers: a bare binary heap of events, measured here, which is the minimum cost of a simulator
//! with an event list; and the published figures of `DiskSim` 4.0 for one mechanical disk and for
//! eight.
#![allow(clippy::print_stdout, reason = "a benchmark's output is its purpose")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use penstock_benches::{RUNS, best_of, report};
use penstock_core::{
    ClassId, Device, Done, End, Flags, Io, Limits, Op, Prio, Queued, Request, Rng, Seed, Served,
    Source, Span, StreamId, Time, Virtual, run,
};
use penstock_device::hdd::{Hdd, Options};
use penstock_device::{Array, Cost, Fixed, Level, PageCache, Ssd, page_cache};
use penstock_jobs::devices::{Model, find};
use penstock_policy::fcfs::{self, Fcfs};
use penstock_policy::{
    Entry, POLICIES, Params, c_look, class_priority, deadline, look, noop, scan, size_priority,
    sptf, sstf,
};
use rand::RngExt;

const REQUESTS: u64 = 1_000_000;

/// Requests a CPU second of `DiskSim` 4.0 on `r4k_50`, mechanical: measured on another machine, so
/// a ratio to it is only an order of magnitude.
const DISKSIM: (&str, f64) = ("DiskSim 4.0 (223,000/s at 4 KiB, quoted)", 223_000.0);

/// Requests a CPU second of `DiskSim` with the disk's cache.
const DISKSIM_CACHED: (&str, f64) = ("DiskSim 4.0 (60,000/s with the cache, quoted)", 60_000.0);

/// Requests a CPU second of `DiskSim` on RAID-0 of 8 disks, at 4 KiB and at 64 KiB, which are 8
/// pieces.
const DISKSIM_ARRAY: (&str, f64) = ("DiskSim 4.0 (209,000/s on 8 disks, quoted)", 209_000.0);
const DISKSIM_PIECES: (&str, f64) = ("DiskSim 4.0 (17,700/s in 8 pieces, quoted)", 17_700.0);

/// Random reads of one length in a closed loop: the lightest possible source.
struct Reads {
    rng: Rng,
    left: u64,
    pending: u32,
    len: u32,
    slots: u64,
}

impl Reads {
    fn new(capacity: u64, depth: u32, len: u32) -> Self {
        let rng = Seed(1).stream("bench", 0);
        Self { rng, left: REQUESTS, pending: depth, len, slots: capacity / u64::from(len) }
    }
}

impl Source for Reads {
    fn next_due(&self) -> Time {
        if self.pending > 0 && self.left > 0 { Time::ZERO } else { Time::NEVER }
    }

    fn take(&mut self, now: Time) -> Option<Io> {
        if self.pending == 0 || self.left == 0 {
            return None;
        }
        self.pending -= 1;
        self.left -= 1;
        Some(Io {
            due: now,
            start: self.rng.random_range(0..self.slots) * u64::from(self.len),
            len: self.len,
            stream: StreamId(0),
            class: ClassId(0),
            op: Op::Read,
            prio: Prio(0),
            flags: Flags::BUFFERED,
        })
    }

    fn finished(&mut self, _: Time, _: &Request, _: &Done) {
        self.pending += 1;
    }
}

fn drive(mut stack: impl Device, depth: u32, len: u32) -> End {
    let mut source = Reads::new(stack.capacity(), depth, len);
    run(&mut source, &mut stack, &mut Virtual::default(), &mut (), Limits::default())
        .expect("a closed loop runs to its end")
}

fn fixed() -> Fixed {
    fixed_of(1 << 40)
}

fn fixed_of(capacity: u64) -> Fixed {
    let cost = Cost::Linear { base: Span::from_us(100), per_mb: Span::from_ms(1) };
    Fixed::new(cost, capacity)
}

/// A page cache of a gibibyte over a device of `capacity` bytes.
fn cached(capacity: u64) -> impl Device {
    let options = page_cache::Options {
        memory: 1 << 30,
        base: Span::from_us(1),
        per_mb: Span::from_us(100),
        dirty_background: 100 << 20,
        dirty: 200 << 20,
        dirty_expire: Span::from_secs(30),
        dirty_writeback: Span::from_secs(5),
        read_ahead: 128 << 10,
    };
    PageCache::new(&options, Queued::new(Fcfs::new(&Params::NONE), fixed_of(capacity)))
}

fn hdd() -> Hdd {
    let drive = penstock_jobs::drives::drive("ibm18es").expect("a known drive");
    Hdd::new(&drive, Options::MECHANICAL).expect("a sound drive")
}

/// The drive with its cache and all known facts.
fn with_cache() -> Hdd {
    let drive = penstock_jobs::drives::drive("ibm18es").expect("a known drive");
    let options = Options { cache: Some(drive.cache), ..Options::default() };
    Hdd::new(&drive, options).expect("a sound drive")
}

/// Eight disks in stripes of 8 KiB, each behind a queue of the host.
fn raid0() -> impl Device {
    let disks = (0..8).map(|_| Queued::new(Fcfs::new(&Params::NONE), hdd())).collect();
    Array::new(Level::Raid0 { stripe: 8192 }, u32::MAX, disks).expect("a sound array")
}

fn ssd(name: &str) -> Ssd {
    let Model::Ssd(spec) = find(name).expect("a named device").model else {
        panic!("{name} is no drive of flash")
    };
    Ssd::new(&spec.facts)
}

/// Random reads of 4 KiB by 32 streams that have `depth` requests under way in all.
struct Streams {
    rng: Rng,
    left: u64,
    /// The stream of each request that may be sent.
    pending: Vec<u32>,
}

impl Streams {
    fn new(depth: u32) -> Self {
        let pending = (0..depth).map(|n| n % 32).collect();
        Self { rng: Seed(1).stream("streams", 0), left: REQUESTS, pending }
    }
}

impl Source for Streams {
    fn next_due(&self) -> Time {
        if self.left > 0 && !self.pending.is_empty() { Time::ZERO } else { Time::NEVER }
    }

    fn take(&mut self, now: Time) -> Option<Io> {
        self.left = self.left.checked_sub(1)?;
        let Some(stream) = self.pending.pop() else {
            self.left += 1;
            return None;
        };
        Some(Io {
            due: now,
            start: self.rng.random_range(0..1_u64 << 28) * 4096,
            len: 4096,
            stream: StreamId(stream),
            class: ClassId(0),
            op: Op::Read,
            prio: Prio(0),
            flags: Flags::NONE,
        })
    }

    fn finished(&mut self, _: Time, req: &Request, _: &Done) {
        self.pending.push(req.stream.0);
    }
}

/// Returns the requests a second of a policy under [`Streams`].
fn streams(entry: &Entry, depth: u32) -> f64 {
    let seconds = best_of(|| {
        let policy = (entry.build)(&entry.defaults(), &Served::ONE_DISK);
        let mut stack = Queued::new(policy, fixed());
        let mut source = Streams::new(depth);
        run(&mut source, &mut stack, &mut Virtual::default(), &mut (), Limits::default())
            .expect("a closed loop runs to its end")
    });
    REQUESTS as f64 / seconds
}

/// Measures every scheduler of Linux next to deadline: with few requests, and with so many that a
/// search of all of them would show.
fn schedulers_of_linux() {
    for depth in [32, 100_000] {
        let mut peer = None;
        for entry in POLICIES.iter().filter(|entry| entry.facts.linux.is_some()) {
            let label = format!("streams: 32, {}, fixed", entry.name);
            if !named(&label) {
                continue;
            }
            let peer = *peer.get_or_insert_with(|| streams(&deadline::ENTRY, depth));
            let label = format!("{label}, depth {depth}");
            let seconds = REQUESTS as f64 / streams(entry, depth);
            report(&label, REQUESTS, seconds, Some(("deadline", peer)));
        }
    }
}

/// Pushes and pops as many events as the loop turns: the floor of a simulator with an event list.
fn heap(events: u64) -> u64 {
    let mut rng = Seed(1).stream("heap", 0);
    let mut heap: BinaryHeap<_> = (0..8_u64).map(|n| Reverse((n, n))).collect();
    for event in 0..events {
        let Reverse((at, _)) = heap.pop().expect("eight events");
        heap.push(Reverse((at + rng.random_range(1..1_000_000_u64), event)));
    }
    heap.len() as u64
}

/// Whether the filter of the command line names this measurement.
fn named(name: &str) -> bool {
    std::env::args().skip(1).all(|filter| filter.starts_with("--") || name.contains(&filter))
}

/// Measures a fresh `stack` for each run under `load` (depth and length), if the filter of the
/// command line matches `name`.
fn measure<D: Device>(name: &str, load: (u32, u32), peer: (&str, f64), stack: impl Fn() -> D) {
    let (depth, len) = load;
    if named(name) {
        let mut stacks: Vec<D> = (0..RUNS).map(|_| stack()).collect();
        let seconds = best_of(|| drive(stacks.pop().expect("one for each run"), depth, len));
        report(&format!("{name}, depth {depth}"), REQUESTS, seconds, Some(peer));
    }
}

fn main() {
    println!(
        "1,000,000 random reads, of 4 KiB if not said, in virtual time; best of {RUNS} runs on one core\n"
    );
    let fcfs = || Fcfs::new(&Params::NONE);
    let turns = drive(Queued::new(fcfs(), fixed()), 1, 4096).turns;
    let per_second = turns as f64 / best_of(|| heap(turns));
    let seconds = best_of(|| drive(Queued::new(fcfs(), fixed()), 1, 4096));
    report(
        "engine: turns of the loop",
        turns,
        seconds,
        Some(("a bare heap of events", per_second)),
    );
    for load in [(1, 4096), (32, 4096)] {
        // Each request is at least two events of an event list: its arrival and its completion.
        let peer = ("a bare heap, two events each", per_second / 2.0);
        measure("requests: fcfs, fixed", load, peer, || Queued::new(fcfs(), fixed()));
        measure("requests: fcfs, hdd", load, DISKSIM, || Queued::new(fcfs(), hdd()));
    }
    let long = || Queued::new(fcfs(), hdd());
    measure("requests of 64 KiB: fcfs, hdd", (32, 64 << 10), DISKSIM, long);
    let cache = || Queued::new(fcfs(), with_cache());
    measure("requests: fcfs, cached hdd", (32, 4096), DISKSIM_CACHED, cache);
    let array = || Queued::new(fcfs(), raid0());
    measure("requests: fcfs, raid0 of 8 hdd", (32, 4096), DISKSIM_ARRAY, array);
    measure("requests of 64 KiB: fcfs, raid0 of 8 hdd", (32, 64 << 10), DISKSIM_PIECES, array);
    for (name, depth) in [("ssd-sata", 1), ("ssd-sata", 32), ("ssd-nvme", 128)] {
        let label = format!("requests: fcfs, {name}");
        measure(&label, (depth, 4096), ("a bare heap, two events each", per_second / 2.0), || {
            Queued::new(fcfs(), ssd(name))
        });
    }
    // A device that fits into the cache is read only once.
    let peer = ("a bare heap, two events each", per_second / 2.0);
    measure("buffered: hits, fcfs, fixed", (32, 4096), peer, || cached(64 << 20));
    measure("buffered: misses, fcfs, fixed", (32, 4096), peer, || cached(1 << 40));
    measure("buffered: hits of 1 MiB, fcfs, fixed", (32, 1 << 20), peer, || cached(1 << 29));
    for entry in [&fcfs::ENTRY, &noop::ENTRY, &deadline::ENTRY, &size_priority::ENTRY] {
        let label = format!("requests: boxed {}, hdd", entry.name);
        measure(&label, (32, 4096), DISKSIM, || {
            Queued::new((entry.build)(&entry.defaults(), &Served::ONE_DISK), hdd())
        });
    }
    // A queue so long that a search of all of it would show.
    let sorts = [&sstf::ENTRY, &c_look::ENTRY, &look::ENTRY, &scan::ENTRY, &sptf::ENTRY];
    for entry in sorts.into_iter().chain([&class_priority::ENTRY]) {
        let label = format!("requests: boxed {}, hdd", entry.name);
        measure(&label, (100_000, 4096), DISKSIM, || {
            Queued::new((entry.build)(&entry.defaults(), &Served::ONE_DISK), hdd())
        });
    }
    schedulers_of_linux();
}
