//! Shared by the tests of this crate: a scratch folder, a source that keeps a depth, a policy.

#![allow(dead_code)] // each test file uses a part

pub(crate) mod disk;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use penstock_core::{ClassId, StreamId};
use penstock_core::{
    Clock, Device, Done, End, Errno, Flags, Go, Io, Limits, Observer, Op, Out, Part, Policy, Prio,
    ReqId, Request, Source, Span, Time, run,
};
use penstock_live::{Caching, Engine, Settings};

/// A folder that is removed when it is dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("penstock-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).expect("a new folder among the temporary files");
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("the folder is ours");
    }
}

/// Tries until `over` returns true, for ten seconds at most; whether it did.
#[allow(clippy::disallowed_methods)] // a test may look at the clock
pub(crate) fn eventually(mut over: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !over() {
        if begun.elapsed() > Duration::from_secs(10) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// A request, with the fields that matter here.
pub(crate) fn io(op: Op, start: u64, len: u32) -> Io {
    Io {
        due: Time::ZERO,
        start,
        len,
        stream: StreamId(0),
        class: ClassId(0),
        op,
        prio: Prio(0),
        flags: Flags::NONE,
    }
}

/// First come, first served.
#[derive(Default)]
pub(crate) struct Fcfs(VecDeque<ReqId>);

impl Policy for Fcfs {
    fn enqueue(&mut self, _: Time, req: &Request) {
        self.0.push_back(req.id);
    }

    fn dispatch(&mut self, _: Time, _: &mut Out<'_>) -> Option<Go> {
        self.0.pop_front().map(Go::all)
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
}

/// A closed loop: `depth` requests outstanding until `count` were made by `make`.
pub(crate) struct Closed<F> {
    pub(crate) make: F,
    pub(crate) depth: u32,
    pub(crate) count: u32,
    made: u32,
    outstanding: u32,
}

impl<F: FnMut(u32) -> Io> Closed<F> {
    pub(crate) fn new(depth: u32, count: u32, make: F) -> Self {
        Self { make, depth, count, made: 0, outstanding: 0 }
    }
}

impl<F: FnMut(u32) -> Io> Source for Closed<F> {
    fn next_due(&self) -> Time {
        if self.made < self.count && self.outstanding < self.depth {
            Time::ZERO
        } else {
            Time::NEVER
        }
    }

    fn take(&mut self, now: Time) -> Option<Io> {
        if self.next_due() > now {
            return None;
        }
        let io = Io { due: now, ..(self.make)(self.made) };
        self.made += 1;
        self.outstanding += 1;
        Some(io)
    }

    fn finished(&mut self, _: Time, _: &Request, _: &Done) {
        self.outstanding -= 1;
    }
}

/// The completions at the top of the stack.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) now: Time,
    pub(crate) arrived: u32,
    pub(crate) finished: u32,
    pub(crate) errors: Vec<Errno>,
    pub(crate) service: Span,
    pub(crate) in_flight_max: u32,
}

impl Observer for Seen {
    fn turn(&mut self, now: Time) -> bool {
        assert!(now >= self.now, "time goes on");
        self.now = now;
        true
    }

    fn arrived(&mut self, _: Time, _: &Request) {
        self.arrived += 1;
        self.in_flight_max = self.in_flight_max.max(self.arrived - self.finished);
    }

    fn finished(&mut self, now: Time, req: &Request, done: &Done) {
        assert_eq!((done.at, done.len, done.id), (now, req.len, req.id), "no older than its turn");
        assert!(done.begun <= now);
        self.finished += 1;
        self.errors.extend(done.error);
        self.service += done.service;
    }
}

/// Runs `source` to its end.
pub(crate) fn drain(
    source: &mut impl Source,
    device: &mut impl Device,
    clock: &mut impl Clock,
) -> (Seen, End) {
    let mut seen = Seen::default();
    let end = run(source, device, clock, &mut seen, Limits::default()).expect("a run that ends");
    (seen, end)
}

/// A linear congruential step: places that look random, the same in every run.
pub(crate) fn scatter(n: u32) -> u64 {
    u64::from(n).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
        >> 20
}

/// Every engine of this machine, past the page cache and through it, with a word on stderr for one that is
/// missing.
#[allow(dead_code)] // not every test has engines
pub(crate) fn ways() -> impl Iterator<Item = (Engine, Caching)> {
    let works = |engine: &Engine| match engine.probe() {
        Ok(()) => true,
        Err(error) => {
            eprintln!("skipped on {}: {error}", engine.name());
            false
        }
    };
    let both =
        |engine: Engine| [Caching::Direct, Caching::Buffered].map(|caching| (engine, caching));
    let can = |(engine, caching): &(Engine, Caching)| {
        *caching == Caching::Buffered || engine.can_be_direct()
    };
    Engine::ALL.into_iter().filter(works).flat_map(both).filter(can)
}

/// Settings for commands of up to `max_len` bytes on `way`, at most `depth` at once.
#[allow(dead_code)] // as above
pub(crate) fn settings((engine, caching): (Engine, Caching), depth: u32, max_len: u32) -> Settings {
    Settings { caching, ..Settings::new(depth.min(engine.most_in_flight()), max_len) }
}
