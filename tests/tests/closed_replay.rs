//! A closed replay of the requests of closed loops has their throughput, on the device of the
//! recording and on one half as fast.
//!
//! No format holds the completions of a modelled run, so the traces are built from what an observer
//! saw.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use penstock_core::{
    ClassId, Device, Done, Flags, Io, Limits, Observer, Op, Prio, Queued, Request, Rng, Seed,
    Served, Source, Span, StreamId, Time, Virtual, run,
};
use penstock_device::hdd::{Hdd, Options};
use penstock_device::{Cost, Fixed};
use penstock_jobs::drives;
use penstock_policy::find;
use penstock_workload::trace::{ClassOf, Places, Record, Replay, Timing, Trace};
use rand::RngExt;
use rand_distr::{Distribution, Exp1};

/// Requests of a run.
const REQUESTS: usize = 20_000;
const CAPACITY: u64 = 8 << 30;

/// The think time of a program.
#[derive(Clone, Copy)]
enum Think {
    Always(Span),
    /// An exponential distribution.
    Mean(Span),
}

/// The way a program continues after a completion.
#[derive(Clone, Copy)]
enum Shape {
    /// A number of loops of one request each.
    Loops(u32),
    /// Batches of a number of requests: the next one starts when all of the last have completed.
    Batches(u32),
}

/// A process of the load.
#[derive(Clone, Copy)]
struct Process(Shape, Think);

/// Processes that ask for random places and lengths.
struct Load {
    /// Pages of the longest request.
    pages: u64,
    processes: Vec<(Process, Rng, u32)>,
    due: BinaryHeap<Reverse<(Time, u32, usize)>>,
    planned: usize,
}

impl Load {
    fn new(processes: &[Process], pages: u64) -> Self {
        let known = |(number, &process)| (process, Seed(1).stream("process", number), 0);
        let processes = (0..).zip(processes).map(known).collect();
        let mut load = Self { pages, processes, due: BinaryHeap::new(), planned: 0 };
        for number in 0..load.processes.len() {
            let (Shape::Loops(many) | Shape::Batches(many)) = load.processes[number].0.0;
            load.plan(number, Time::ZERO, many);
        }
        load
    }

    fn plan(&mut self, number: usize, at: Time, many: u32) {
        for _ in 0..many {
            if self.planned < REQUESTS {
                self.due.push(Reverse((at, number as u32, self.planned)));
                self.planned += 1;
            }
        }
    }
}

impl Source for Load {
    fn next_due(&self) -> Time {
        self.due.peek().map_or(Time::NEVER, |&Reverse((at, ..))| at)
    }

    fn take(&mut self, now: Time) -> Option<Io> {
        if self.next_due() > now {
            return None;
        }
        let Reverse((due, number, _)) = self.due.pop()?;
        let (_, rng, outstanding) = &mut self.processes[number as usize];
        *outstanding += 1;
        let start = rng.random_range(0..1 << 20) * 4096;
        let len = rng.random_range(1..=self.pages) as u32 * 4096;
        let (class, op, prio, flags) = (ClassId(0), Op::Read, Prio(0), Flags::NONE);
        Some(Io { due, start, len, stream: StreamId(number), class, op, prio, flags })
    }

    fn finished(&mut self, now: Time, req: &Request, _: &Done) {
        let number = req.stream.0 as usize;
        let (Process(shape, think), rng, outstanding) = &mut self.processes[number];
        *outstanding -= 1;
        let many = match *shape {
            Shape::Loops(_) => 1,
            Shape::Batches(many) if *outstanding == 0 => many,
            Shape::Batches(_) => return,
        };
        let think = match *think {
            Think::Always(think) => think,
            Think::Mean(mean) => {
                let factor: f64 = Exp1.sample(rng);
                Span::from_ns((mean.ns() as f64 * factor) as u64)
            }
        };
        self.plan(number, now + think, many);
    }
}

/// Requests as they arrived and completed.
#[derive(Default)]
struct Recording(Vec<(Io, Time)>);

impl Observer for Recording {
    fn finished(&mut self, now: Time, req: &Request, _: &Done) {
        self.0.push((req.io, now));
    }
}

impl Recording {
    /// Records `source` on `device` under a policy.
    fn of(source: &mut impl Source, policy: &str, device: impl Device) -> Self {
        let entry = find(policy).expect("it is registered");
        let policy = (entry.build)(&entry.defaults(), &Served::ONE_DISK);
        let mut recording = Self::default();
        let clock = &mut Virtual::default();
        let mut stack = Queued::new(policy, device);
        run(source, &mut stack, clock, &mut recording, Limits::default()).expect("it ends");
        assert_eq!(recording.0.len(), REQUESTS);
        recording
    }

    /// Returns the requests a second.
    fn rate(&self) -> f64 {
        let last = self.0.iter().map(|&(_, done)| done.ns()).max().unwrap_or(1);
        self.0.len() as f64 / (last as f64 / 1e9)
    }

    /// Returns the mean latency in milliseconds, from the due time.
    fn latency(&self) -> f64 {
        let sum: u64 = self.0.iter().map(|(io, done)| done.since(io.due).ns()).sum();
        sum as f64 / self.0.len() as f64 / 1e6
    }

    /// Returns a trace; process numbers, if they are recorded, are those of the streams, from 1.
    fn trace(&self, with_processes: bool) -> Trace {
        let record = |&(io, done): &(Io, Time)| {
            let mut record = Record::new(io.due, io.op, io.start, io.len);
            record.pid = if with_processes { io.stream.0 + 1 } else { 0 };
            record.with_latency(done.since(io.due))
        };
        let mut records: Vec<Record> = self.0.iter().map(record).collect();
        records.sort_by_key(|record| record.at);
        Trace { records: records.into_iter().collect(), ..Trace::default() }
    }
}

const CLOSED: Timing = Timing::Closed { latency: None };

fn replay(trace: &Trace, timing: Timing) -> Replay {
    let class = ClassOf::One(ClassId(0), Prio(0));
    let places = Places::new(trace, None, |_| CAPACITY, None).expect("one device");
    Replay::new(trace.clone(), places, timing, class).expect("it fits and has completions")
}

/// A disk with a service time by length, `times` as slow as that of the recording.
fn disk(times: u64) -> Fixed {
    let (base, per_mb) = (Span::from_us(500 * times), Span::from_ms(4 * times));
    Fixed::new(Cost::Linear { base, per_mb }, CAPACITY)
}

fn close(what: &str, found: f64, expected: f64, within: f64) {
    let off = found / expected - 1.0;
    assert!(off.abs() <= within, "{what}: {found}, expected {expected}, off by {off}");
}

/// Records `processes` on a disk, and replays them there and on one half as fast.
fn like_the_loops(what: &str, processes: &[Process], with_processes: bool) {
    let loops = |times| Recording::of(&mut Load::new(processes, 256), "fcfs", disk(times));
    let (recorded, slower) = (loops(1), loops(2));
    let trace = recorded.trace(with_processes);
    let same = Recording::of(&mut replay(&trace, CLOSED), "fcfs", disk(1));
    close(&format!("{what}, same disk"), same.rate(), recorded.rate(), 0.03);
    close(&format!("{what}, same disk, latency"), same.latency(), recorded.latency(), 0.03);
    let half = Recording::of(&mut replay(&trace, CLOSED), "fcfs", disk(2));
    close(&format!("{what}, half as fast"), half.rate(), slower.rate(), 0.05);
    // Without closing the loop the requests come as fast as they came from the faster disk.
    assert!(slower.rate() < 0.93 * recorded.rate(), "{what}: the slower disk must matter");
}

fn ms(ms: u64) -> Think {
    Think::Always(Span::from_ms(ms))
}

fn about(ms: u64) -> Think {
    Think::Mean(Span::from_ms(ms))
}

#[test]
fn one_process_that_waits_for_each_answer() {
    like_the_loops("a think time", &[Process(Shape::Loops(1), ms(3))], true);
    like_the_loops("random think times", &[Process(Shape::Loops(1), about(3))], true);
    like_the_loops("no think time", &[Process(Shape::Loops(1), ms(0))], true);
}

#[test]
fn several_processes() {
    let four = |think| [Process(Shape::Loops(1), think); 4];
    like_the_loops("four that think as long", &four(ms(10)), true);
    like_the_loops("four that think at random", &four(about(10)), true);
    let mixed = [
        Process(Shape::Loops(1), ms(0)),
        Process(Shape::Loops(1), about(20)),
        Process(Shape::Loops(3), about(30)),
        Process(Shape::Batches(8), ms(50)),
    ];
    like_the_loops("four different ones", &mixed, true);
}

#[test]
fn one_process_that_keeps_a_depth() {
    like_the_loops("depth 8", &[Process(Shape::Loops(8), ms(0))], true);
    for depth in [2, 4, 16] {
        let what = |think: &str| format!("depth {depth}, {think}");
        like_the_loops(&what("a think time"), &[Process(Shape::Loops(depth), ms(15))], true);
        like_the_loops(&what("random ones"), &[Process(Shape::Loops(depth), about(15))], true);
    }
}

#[test]
fn one_process_that_waits_for_whole_batches() {
    for (many, think) in [(2, ms(5)), (8, ms(20)), (8, about(20)), (32, ms(0))] {
        like_the_loops(
            &format!("batches of {many}"),
            &[Process(Shape::Batches(many), think)],
            true,
        );
    }
}

#[test]
fn a_class_where_processes_were_not_recorded() {
    let four = [Process(Shape::Loops(1), about(10)); 4];
    like_the_loops("four under no number", &four, false);
    // Four that begin together, and one of another kind.
    let two = [Process(Shape::Loops(4), ms(20)), Process(Shape::Loops(1), ms(4))];
    like_the_loops("two kinds of loops under no number", &two, false);
}

/// A disk that serves in its own order also completes requests in another order.
#[test]
fn completions_in_another_order() {
    let disk = || Hdd::new(&drives::drive("ibm18es").expect("it is known"), Options::default());
    let disk = || disk().expect("good facts");
    let eight = [Process(Shape::Loops(8), ms(0)), Process(Shape::Batches(4), about(5))];
    let recorded = Recording::of(&mut Load::new(&eight, 2), "sptf", disk());
    let trace = recorded.trace(true);
    for policy in ["sptf", "fcfs", "deadline"] {
        let loops = Recording::of(&mut Load::new(&eight, 2), policy, disk());
        let replayed = Recording::of(&mut replay(&trace, CLOSED), policy, disk());
        close(policy, replayed.rate(), loops.rate(), 0.05);
    }
}

/// The open timing, for comparison: it issues requests as fast as recorded.
#[test]
fn an_open_replay_is_behind_where_a_closed_one_waits() {
    let processes = [Process(Shape::Loops(1), about(10)); 4];
    let trace = Recording::of(&mut Load::new(&processes, 256), "fcfs", disk(1)).trace(true);
    let latency = |timing| Recording::of(&mut replay(&trace, timing), "fcfs", disk(3)).latency();
    let (open, closed) = (latency(Timing::Original), latency(CLOSED));
    assert!(open > 100.0 * closed, "{open} {closed}");
}
