//! After warm-up no policy allocates, nor does a disk with a cache: a run twice as long makes as
//! many allocations.

#[allow(unreachable_pub)] // it is a crate's file where it is meant to go
#[path = "../../examples/policies/lifo.rs"]
mod lifo;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use penstock_core::{
    ClassId, Device, Flags, Limits, Observer, Op, Prio, Queued, Seed, Span, Time, Virtual, run,
};
use penstock_device::hdd::{Hdd, Options};
use penstock_device::{Cost, Fixed};
use penstock_job::drives;
use penstock_policy::{POLICIES, find};
use penstock_tests::any_params;
use penstock_workload::{Agent, Agents, Arrivals, Pattern};

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

/// A load that fills queues, merges and splits.
fn agents(seconds: u64) -> Agents {
    let agent = |op, size, pattern, arrivals| Agent {
        class: ClassId(0),
        prio: Prio(0),
        op,
        flags: Flags::NONE,
        size,
        pattern,
        region: 0..1 << 30,
        arrivals,
        active: Time::ZERO..Time::ZERO + Span::from_secs(seconds),
    };
    // Closed loops, so that what is outstanding is bounded whatever the policy prefers.
    let closed = |depth, ms| Arrivals::Closed { depth, think: Span::from_ms(ms) };
    Agents::new(
        vec![
            agent(Op::Read, 4096, Pattern::Random, closed(16, 0)),
            agent(Op::Write, 4096, Pattern::Sequential, closed(64, 2)),
            agent(Op::Write, 1 << 20, Pattern::Sequential, closed(4, 0)),
            agent(Op::Read, 8192, Pattern::Random, closed(32, 40)),
        ],
        Seed(1),
    )
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

/// Runs a minute of the load: how many requests were served, and the allocations every ten seconds.
fn minute(mut stack: impl Device) -> Count {
    let marks = Vec::with_capacity(16);
    let mut count = Count { requests: 0, marks, every: Span::from_secs(10) };
    let (mut clock, mut source) = (Virtual::default(), agents(60));
    run(&mut source, &mut stack, &mut clock, &mut count, Limits::default()).unwrap();
    count
}

/// The first 20 seconds warm up; what follows must not allocate at all.
fn check(count: &Count, least: u64, what: &str) {
    let steady = &count.marks[1..];
    assert!(count.requests > least && steady.len() > 3, "{what}: {}", count.requests);
    assert_eq!(steady[0], *steady.last().unwrap(), "{what}");
}

// One test in this file: the count is the process's.
#[test]
fn nothing_allocates_after_warm_up() {
    for entry in POLICIES.iter().chain([&lifo::ENTRY]) {
        for params in 0..6 {
            let policy = (entry.build)(&any_params(entry, params));
            let cost = Cost::Linear { base: Span::from_us(300), per_mb: Span::from_ms(5) };
            let count = minute(Queued::new(policy, Fixed::new(cost, 1 << 40)));
            check(&count, 5_000, &format!("{} with parameters {params}", entry.name));
        }
    }
    let policy = find("c-look").expect("a registered policy");
    let count = minute(Queued::new((policy.build)(&policy.defaults()), cached()));
    check(&count, 1_000, "a disk with its cache");
}
