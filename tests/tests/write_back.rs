//! Write-back to several devices: each works as it would alone, as far as memory is shared.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use penstock_core::{
    ClassId, Device, Done, Flags, Io, Limits, Observer, Op, Prio, Queued, Request, Rng, Seed,
    Served, Source, Span, StreamId, Tap, Time, Virtual, run,
};
use penstock_device::hdd::{Hdd, Options as HddOptions};
use penstock_device::page_cache::{Options, Topology};
use penstock_device::{Cost, Fixed, PageCache, Rack};
use penstock_jobs::drives;
use penstock_policy::noop;
use rand::RngExt;

const MIB: u64 = 1 << 20;

fn at(seconds: u64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

/// A closed loop of one request at a time.
#[derive(Clone)]
struct Loop {
    op: Op,
    random: bool,
    len: u32,
    region: Range<u64>,
    /// Time during which it issues requests.
    active: Range<Time>,
}

impl Loop {
    fn writer(random: bool, len: u32, region: Range<u64>, active: Range<Time>) -> Self {
        Self { op: Op::Write, random, len, region, active }
    }
}

/// All loops of a run; the number of each is its stream and its class.
struct Loops {
    all: Vec<Loop>,
    next: Vec<(Time, u64)>,
    rng: Rng,
}

impl Loops {
    fn new(loops: Vec<Loop>) -> Self {
        let next = loops.iter().map(|one| (one.active.start, 0)).collect();
        Self { all: loops, next, rng: Seed(1).stream("loops", 0) }
    }
}

impl Source for Loops {
    fn next_due(&self) -> Time {
        self.next.iter().map(|(due, _)| *due).min().expect("a loop")
    }

    fn take(&mut self, now: Time) -> Option<Io> {
        let number = self.next.iter().position(|(due, _)| *due <= now)?;
        let Loop { op, random, len, region, .. } = &self.all[number];
        let slots = (region.end - region.start) / u64::from(*len);
        let (due, count) = self.next[number];
        let slot = if *random { self.rng.random_range(0..slots) } else { count % slots };
        self.next[number] = (Time::NEVER, count + 1);
        Some(Io {
            due,
            start: region.start + slot * u64::from(*len),
            len: *len,
            stream: StreamId(number as u32),
            class: ClassId(number as u16),
            op: *op,
            prio: Prio(0),
            flags: Flags::BUFFERED,
        })
    }

    fn finished(&mut self, now: Time, req: &Request, _: &Done) {
        let number = req.class.index();
        if now < self.all[number].active.end {
            self.next[number].0 = now;
        }
    }
}

/// Measures in a window of time: the bytes of each loop, and how long each disk was busy.
struct Measured {
    window: Range<Time>,
    bytes: Vec<u64>,
    busy: Rc<RefCell<Vec<Busy>>>,
}

#[derive(Clone, Copy)]
struct Busy {
    in_flight: usize,
    since: Time,
    total: Span,
}

impl Observer for Measured {
    fn finished(&mut self, now: Time, req: &Request, _: &Done) {
        if self.window.contains(&now) {
            self.bytes[req.class.index()] += u64::from(req.len);
        }
    }
}

impl Measured {
    fn new(disks: usize, loops: usize, window: Range<Time>) -> Self {
        let idle = Busy { in_flight: 0, since: Time::ZERO, total: Span::ZERO };
        let busy = Rc::new(RefCell::new(vec![idle; disks]));
        Self { window, bytes: vec![0; loops], busy }
    }

    /// Wraps `disk` to measure its busy time as that of the disk `number`.
    fn over<D: Device>(&self, number: usize, disk: D) -> impl Device + use<D> {
        let window = self.window.clone();
        let (begun, ended) = (Rc::clone(&self.busy), Rc::clone(&self.busy));
        let begin = move |now: Time, _: &Request| {
            let one = &mut begun.borrow_mut()[number];
            one.since = if one.in_flight == 0 { now } else { one.since };
            one.in_flight += 1;
        };
        let end = move |now: Time, done: &[Done]| {
            let one = &mut ended.borrow_mut()[number];
            one.in_flight -= done.len();
            if one.in_flight == 0 && !done.is_empty() {
                let (from, to) = (one.since.max(window.start), now.min(window.end));
                one.total += if from < to { to.since(from) } else { Span::ZERO };
            }
        };
        Tap::new(disk, begin, end)
    }

    /// Returns the bytes a second of each loop, and the share of the time in which each disk was
    /// busy.
    fn rates(&self) -> (Vec<f64>, Vec<f64>) {
        let seconds = |span: Span| span.ns() as f64 / 1e9;
        let whole = seconds(self.window.end.since(self.window.start));
        let busy = |one: &Busy| {
            let open = if one.in_flight > 0 {
                self.window.end.since(one.since.max(self.window.start))
            } else {
                Span::ZERO
            };
            seconds(one.total + open) / whole
        };
        let rates = self.bytes.iter().map(|&bytes| bytes as f64 / whole).collect();
        (rates, self.busy.borrow().iter().map(busy).collect())
    }
}

/// Runs the `loops` over `disks`, each with a queue of its own, below a cache of `memory` bytes,
/// and measures them in `window`.
fn measured(
    memory: u64,
    disks: Vec<Box<dyn Device>>,
    loops: &[Loop],
    window: Range<Time>,
) -> (Vec<f64>, Vec<f64>) {
    let topology = Topology::new(disks.iter().map(Device::capacity), []);
    let mut measured = Measured::new(disks.len(), loops.len(), window.clone());
    let queue = |(number, disk)| {
        let policy = (noop::ENTRY.build)(&noop::ENTRY.defaults(), &Served::ONE_DISK);
        Queued::new(policy, measured.over(number, disk))
    };
    let rack = Rack::new(disks.into_iter().enumerate().map(queue).collect());
    let mut cache = PageCache::over(&options(memory), &topology, rack);
    let limits = Limits { until: window.end, ..Limits::default() };
    let mut source = Loops::new(loops.to_vec());
    run(&mut source, &mut cache, &mut Virtual::default(), &mut measured, limits).unwrap();
    measured.rates()
}

/// The settings of Linux.
fn options(memory: u64) -> Options {
    Options {
        memory,
        base: Span::from_us(1),
        per_mb: Span::from_us(100),
        dirty_background: memory / 10,
        dirty: memory / 5,
        dirty_expire: Span::from_secs(30),
        dirty_writeback: Span::from_secs(5),
        read_ahead: 128 << 10,
    }
}

/// A disk with arm and platter.
fn hdd() -> Box<dyn Device> {
    let drive = drives::drive("ibm18es").expect("a known drive");
    Box::new(Hdd::new(&drive, HddOptions::MECHANICAL).expect("a sound drive"))
}

/// A device of 4 GiB that moves `mb` megabytes a second.
fn of_rate(mb: u64) -> Box<dyn Device> {
    let per_mb = Span::from_ns(1_000_000_000 / mb);
    Box::new(Fixed::new(Cost::Linear { base: Span::from_us(10), per_mb }, 4 << 30))
}

/// Returns the first gibibyte of the disk `number` of disks with `capacity` bytes.
fn on(number: u64, capacity: u64) -> Range<u64> {
    number * capacity..number * capacity + (1 << 30)
}

#[test]
fn four_disks_work_as_one_does_with_its_part_of_the_memory() {
    let (capacity, active) = (hdd().capacity(), at(0)..at(120));
    for (name, random, len) in [("sequential", false, 64 << 10), ("random", true, 4 << 10)] {
        let writer = |disk| Loop::writer(random, len, on(disk, capacity), active.clone());
        let window = at(20)..at(120);
        let (one, busy) = measured(64 * MIB, vec![hdd()], &[writer(0)], window.clone());
        assert!(busy[0] > 0.95, "{name}: {busy:?}");
        let disks = (0..4).map(|_| hdd()).collect();
        let four = measured(256 * MIB, disks, &[0, 1, 2, 3].map(writer), window);
        let (rates, busy) = four;
        let sum: f64 = rates.iter().sum();
        assert!(busy.iter().all(|&busy| busy > 0.95), "{name}: {busy:?}");
        assert!((sum / one[0] / 4.0 - 1.0).abs() < 0.03, "{name}: {sum} of {one:?}");
    }
}

#[test]
fn a_writer_to_a_fast_device_does_not_wait_for_a_slow_one() {
    let capacity = 4 << 30;
    let writer = |disk, from| Loop::writer(false, 64 << 10, on(disk, capacity), at(from)..at(90));
    let alone = |mb| measured(256 * MIB, vec![of_rate(mb)], &[writer(0, 0)], at(12)..at(90)).0[0];
    let (fast, slow) = (alone(200), alone(5));
    // The slow device has filled its part when the other begins, and keeps it.
    let both = |window| {
        let disks = vec![of_rate(200), of_rate(5)];
        measured(256 * MIB, disks, &[writer(0, 10), writer(1, 0)], window)
    };
    let (rates, busy) = both(at(11)..at(30));
    // At first it has no more than its reserve.
    assert!(rates[0] > 0.99 * fast && busy[0] > 0.98 && busy[1] > 0.99, "{rates:?} {busy:?}");
    let (rates, busy) = both(at(30)..at(90));
    let parts = [rates[0] / fast, rates[1] / slow];
    assert!(parts.iter().all(|part| (part - 1.0).abs() < 0.01), "{parts:?} {rates:?} {busy:?}");
}

#[test]
fn readers_of_two_disks_read_ahead_as_each_does_alone() {
    let capacity = 4 << 30;
    let reader =
        |disk| Loop { op: Op::Read, ..Loop::writer(false, 4096, on(disk, capacity), at(0)..at(5)) };
    let window = at(1)..at(5);
    let alone = measured(64 * MIB, vec![of_rate(50)], &[reader(0)], window.clone()).0[0];
    let (rates, busy) =
        measured(64 * MIB, vec![of_rate(50), of_rate(50)], &[reader(0), reader(1)], window);
    assert!(alone > 0.95 * 50e6 && busy.iter().all(|&busy| busy > 0.95), "{alone} {busy:?}");
    assert!(rates.iter().all(|rate| (rate / alone - 1.0).abs() < 0.02), "{rates:?} {alone}");
}
