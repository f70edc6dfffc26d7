//! After warm-up no policy, no array, no drive of flash, no disk with a cache and no page cache
//! allocates: a run twice as long makes as many allocations.

#[allow(unreachable_pub)] // it is a crate's file where it is meant to go
#[path = "../../examples/policies/lifo.rs"]
mod lifo;

use std::alloc::{GlobalAlloc, Layout, System};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};

use penstock_core::{
    ClassId, ClassInfo, Device, Flags, IoPrio, Limits, Observer, Op, Prio, Queued, Seed, Served,
    Source, Span, Time, Virtual, run,
};
use penstock_device::hdd::{Hdd, Options};
use penstock_device::{Array, Cost, Fixed, Level, PageCache, Rack, Ssd, page_cache, ssd};
use penstock_jobs::drives;
use penstock_policy::{POLICIES, Value, fcfs};
use penstock_tests::any_params;
use penstock_workload::trace::{ClassOf, Places, Record, Replay, Timing, Trace};
use penstock_workload::{
    ALL_REQUESTS, Agent, Agents, Arrivals, Ops, Pattern, Spread, Think, WHOLE_REGION, Weighted,
};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(ptr, layout) }
    }
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Two classes with weights 1 and 3, the second with idle I/O priority.
fn weighted() -> [ClassInfo; 2] {
    [(1, IoPrio::DEFAULT), (3, IoPrio::IDLE)].map(|(weight, ioprio)| {
        let weight = NonZeroU32::new(weight).expect("above zero");
        ClassInfo { weight, ioprio, ..ClassInfo::new("class") }
    })
}

/// A load that fills queues, merges and splits.
fn agents(seconds: u64, flags: Flags) -> Agents {
    let agent = |class, op, size, pattern, arrivals| Agent {
        flags,
        pattern,
        active: Time::ZERO..Time::ZERO + Span::from_secs(seconds),
        ..Agent::new(ClassId(class), op, size, 0..1 << 30, arrivals)
    };
    // Closed loops, so that the outstanding requests are bounded whatever the policy prefers.
    let closed = |depth, ms| Arrivals::closed(depth, Span::from_ms(ms));
    Agents::new(
        vec![
            agent(0, Op::Read, 4096, Pattern::Random, closed(16, 0)),
            agent(0, Op::Write, 4096, Pattern::Sequential, closed(64, 2)),
            agent(1, Op::Write, 1 << 20, Pattern::Sequential, closed(4, 0)),
            agent(1, Op::Read, 8192, Pattern::Random, closed(32, 40)),
        ],
        Seed(1),
    )
}

/// Agents that mix operations and sizes, flush and think at random, one for each spread.
fn mixed_agents(seconds: u64) -> Agents {
    let part = |percent: u32| percent * (WHOLE_REGION / 100);
    let zones = Weighted::new([((0, part(10)), 60), ((part(10), part(100)), 40)]).expect("weights");
    let middle = f64::from(1 << 29);
    let spreads = [
        Spread::Uniform,
        Spread::Zipf { theta: 1.2 },
        Spread::Pareto { h: 0.2 },
        Spread::Normal { mean: middle, dev: middle / 10.0 },
        Spread::Poisson { mean: middle },
        Spread::Zoned(zones),
    ];
    let agent = |spread| Agent {
        ops: Ops::Mix { reads: ALL_REQUESTS / 2 },
        flush: NonZeroU32::new(10),
        sizes: Weighted::new([(4096, 60), (65_536, 40)]).expect("weights"),
        spread,
        active: Time::ZERO..Time::ZERO + Span::from_secs(seconds),
        ..Agent::new(
            ClassId(0),
            Op::Read,
            4096,
            0..1 << 30,
            Arrivals::Closed { depth: 4, think: Think::Exponential(Span::from_ms(2)), burst: None },
        )
    };
    Agents::new(spreads.map(agent).into(), Seed(1))
}

/// A closed replay of three processes: one request at a time, loops, and batches of eight.
fn closed_replay() -> Replay {
    let record = |ms: u64, pid, took| {
        let at = Time::ZERO + Span::from_ms(ms);
        let mut record = Record::new(at, Op::Read, ms % 1000 * 4096, 4096);
        record.pid = pid;
        record.with_latency(Span::from_ms(took))
    };
    let mut records = Vec::new();
    for ms in 0..120_000 {
        match ms % 10 {
            0 => records.push(record(ms, 1, 5)),
            1 => records.extend((0..8).map(|_| record(ms, 3, 8))),
            3 | 6 => records.push(record(ms, 2, 1 + ms % 8)),
            _ => {}
        }
    }
    let trace = Trace { records: records.into_iter().collect(), ..Trace::default() };
    let timing = Timing::Closed { latency: None };
    let places = Places::new(&trace, None, |_| 1 << 30, None).expect("one device");
    Replay::new(trace, places, timing, ClassOf::One(ClassId(0), Prio(0))).expect("it fits")
}

/// A disk of a measured drive, with its cache.
fn cached() -> Hdd {
    let drive = drives::drive("ibm18es").expect("a known drive");
    let options = Options { cache: Some(drive.cache), ..Options::default() };
    Hdd::new(&drive, options).expect("good facts")
}

/// Counts the requests, and the allocations between two points of time.
#[derive(Default)]
struct Count {
    requests: u64,
    marks: Vec<u64>,
    every: Span,
}

impl Observer for Count {
    fn turn(&mut self, now: Time) -> bool {
        if now >= Time::ZERO + Span::from_ns(self.every.ns() * (self.marks.len() as u64 + 1)) {
            self.marks.push(ALLOCATIONS.load(Ordering::Relaxed));
        }
        true
    }
    fn finished(&mut self, _: Time, _: &penstock_core::Request, _: &penstock_core::Done) {
        self.requests += 1;
    }
}

/// Requests that a run must have served to show anything.
const ENOUGH: u64 = 5_000;

/// Runs `stack` until `source` ends, with six marks in `seconds` of model time.
fn counted(stack: &mut impl Device, mut source: impl Source, seconds: u64) -> Count {
    let marks = Vec::with_capacity(16);
    let mut count = Count { requests: 0, marks, every: Span::from_secs(seconds / 6) };
    run(&mut source, stack, &mut Virtual::default(), &mut count, Limits::default()).unwrap();
    count
}

/// Asserts that after the first third of a run at most `growths` tables still grew.
fn is_steady(name: &str, count: &Count, growths: u64) {
    let steady = &count.marks[1..];
    assert!(count.requests > ENOUGH && steady.len() > 3, "{name}: {}", count.requests);
    assert!(steady.last().unwrap() - steady[0] <= growths, "{name}: {steady:?}");
}

/// Runs `stack` for a minute of model time, in which at most `growths` tables may still grow.
fn allocates_nothing_when_warm(
    name: &str,
    stack: &mut impl Device,
    source: impl Source,
    growths: u64,
) {
    is_steady(name, &counted(stack, source, 60), growths);
}

/// A memory with as many dirty pages as allowed, and few of the pages that are read.
const MEMORY: page_cache::Options = page_cache::Options {
    memory: 16 << 20,
    base: Span::from_us(1),
    per_mb: Span::from_us(100),
    dirty_background: 2 << 20,
    dirty: 4 << 20,
    dirty_expire: Span::from_secs(1),
    dirty_writeback: Span::from_ms(500),
    read_ahead: 128 << 10,
};

/// A drive without power-loss protection, so that flushes have something to wait for.
fn ssd() -> Ssd {
    Ssd::new(&ssd::Facts {
        capacity: 1 << 40,
        dies: 16,
        dies_per_chip: 1,
        channels: 8,
        page: 16_384,
        planes: 2,
        block_pages: 768,
        read_time: Span::from_us(60),
        program_time: Span::from_us(700),
        erase_time: Span::from_ms(5),
        suspend_time: Some(Span::from_us(20)),
        channel_rate: 1_000_000_000,
        link: ssd::Link {
            rate: 20_000_000,
            full_duplex: false,
            turn: Some(16_384),
            overhead: Span::from_us(3),
        },
        command_overhead: Span::from_us(40),
        command_interval: Span::ZERO,
        write_buffer: 8 << 20,
        power_loss_protection: false,
        over_provisioning: 0.1,
        depth: 32,
    })
}

// There is only one test in this file: the count is that of the process.
#[test]
fn nothing_allocates_after_warm_up() {
    let cost = Cost::Linear { base: Span::from_us(300), per_mb: Span::from_ms(5) };
    let disk = || Fixed::new(cost, 1 << 40);
    for entry in POLICIES.iter().chain([&lifo::ENTRY]) {
        for params in 0..4 {
            let served = Served { classes: &weighted(), ..Served::ONE_DISK };
            let run_for = |seconds| {
                let policy = (entry.build)(&any_params(entry, params), &served);
                counted(&mut Queued::new(policy, disk()), agents(seconds, Flags::NONE), seconds)
            };
            let name = format!("{} with parameters {params}", entry.name);
            // Under a low limit as many requests take hours.
            let mut counts = [60, 600, 6_000, 60_000].into_iter().map(run_for);
            let count = counts.find(|count| count.requests > ENOUGH).expect(&name);
            is_steady(&name, &count, 0);
        }
    }
    let entry = penstock_policy::find("noop").expect("it is registered");
    let mut stack = Queued::new((entry.build)(&entry.defaults(), &Served::ONE_DISK), disk());
    allocates_nothing_when_warm("a closed replay", &mut stack, closed_replay().clone(), 0);
    let mut stack = Queued::new((entry.build)(&entry.defaults(), &Served::ONE_DISK), disk());
    allocates_nothing_when_warm("agents that mix", &mut stack, mixed_agents(60), 0);
    let stripe = 16 << 10;
    for level in [Level::Raid0 { stripe }, Level::Raid1, Level::Raid5 { stripe }, Level::Jbod] {
        let fcfs = || (fcfs::ENTRY.build)(&fcfs::ENTRY.defaults(), &Served::ONE_DISK);
        let disks = (0..5).map(|_| Queued::with_depth(fcfs(), disk(), 4)).collect();
        let array = Array::new(level, 64 << 10, disks).expect("an array");
        let what = format!("{level:?}");
        let mut stack = Queued::new(fcfs(), array);
        allocates_nothing_when_warm(&what, &mut stack, agents(60, Flags::NONE), 0);
    }
    let policy = (fcfs::ENTRY.build)(&fcfs::ENTRY.defaults(), &Served::ONE_DISK);
    let mut stack = Queued::new(policy, ssd());
    allocates_nothing_when_warm("a drive of flash", &mut stack, agents(60, Flags::NONE), 0);
    let entry = penstock_policy::find("noop").expect("it is registered");
    let queued =
        Queued::new((entry.build)(&entry.defaults(), &Served::ONE_DISK), Fixed::new(cost, 1 << 40));
    let mut stack = PageCache::new(&MEMORY, queued);
    // The number of commands waiting below comes in waves; one of 200,000 requests may be the
    // highest.
    allocates_nothing_when_warm("a page cache", &mut stack, agents(60, Flags::BUFFERED), 1);
    // Two devices, the first with two files: borders at multiples of every request.
    let half = || {
        let fcfs = (fcfs::ENTRY.build)(&fcfs::ENTRY.defaults(), &Served::ONE_DISK);
        Queued::new(fcfs, Fixed::new(cost, 512 << 20))
    };
    let topology = page_cache::Topology::new([512 << 20; 2], [0..256 << 20, 256 << 20..512 << 20]);
    let mut stack = PageCache::over(&MEMORY, &topology, Rack::new(vec![half(), half()]));
    let source = agents(60, Flags::BUFFERED);
    allocates_nothing_when_warm("a page cache over two devices", &mut stack, source, 2);
    let entry = penstock_policy::find("c-look").expect("it is registered");
    // With merging, the shorter of two sequential streams is soon behind the arm for good.
    let params = entry.defaults().with("max_sectors", Value::Word("off"));
    let mut stack = Queued::new((entry.build)(&params, &Served::ONE_DISK), cached());
    allocates_nothing_when_warm("a disk with its cache", &mut stack, agents(60, Flags::NONE), 0);
}
