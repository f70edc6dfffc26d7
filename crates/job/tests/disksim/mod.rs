//! What `DiskSim` 4.0 was asked and what it answered: `tests/data/disksim`.

use std::collections::VecDeque;
use std::io::Read;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use penstock_core::{
    ClassId, Device, Done, Flags, Go, Io, Limits, Observer, Op, Out, Part, Policy, Prio, Queued,
    ReqId, Request, Source, StreamId, Time, Virtual, run,
};

/// A file of the comparison data.
fn file(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A text of the comparison data, unpacked.
pub fn text(name: &str) -> String {
    let mut text = String::new();
    GzDecoder::new(&file(name)[..]).read_to_string(&mut text).expect("gzipped text");
    text
}

/// What was measured in a case.
pub fn result(case: &str) -> serde_json::Value {
    let results: serde_json::Value =
        serde_json::from_slice(&file("disksim/results.json")).expect("JSON");
    results[case].clone()
}

/// Milliseconds, as the data has them, as nanoseconds.
pub fn ns(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

/// A request for `sectors` sectors from `first` on.
pub fn io(due: Time, op: Op, first: u64, sectors: u32) -> Io {
    Io {
        due,
        start: first * 512,
        len: sectors * 512,
        stream: StreamId(0),
        class: ClassId(0),
        op,
        prio: Prio(0),
        flags: Flags::NONE,
    }
}

/// A trace: requests at set times, whatever becomes of the ones before.
pub struct Trace {
    pub ios: VecDeque<Io>,
}

impl Trace {
    pub fn new(name: &str) -> Self {
        let line = |line: &str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let number = |at: usize| fields[at].parse::<u64>().expect("a whole number");
            let due = Time::from_ns(ns(fields[0].parse().expect("a time")));
            let op = if number(4) & 1 == 1 { Op::Read } else { Op::Write };
            io(due, op, number(2), number(3) as u32)
        };
        Self { ios: text(&format!("disksim/traces/{name}.trace.gz")).lines().map(line).collect() }
    }
}

impl Source for Trace {
    fn next_due(&self) -> Time {
        self.ios.front().map_or(Time::NEVER, |io| io.due)
    }
    fn take(&mut self, _: Time) -> Option<Io> {
        self.ios.pop_front()
    }
    fn finished(&mut self, _: Time, _: &Request, _: &Done) {}
}

/// First come, first served.
#[derive(Default)]
pub struct Fifo(VecDeque<ReqId>);

impl Policy for Fifo {
    fn enqueue(&mut self, _: Time, req: &Request) {
        self.0.push_back(req.id);
    }
    fn dispatch(&mut self, _: Time, _: &mut Out<'_>) -> Option<Go> {
        self.0.pop_front().map(Go::all)
    }
    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
}

/// Response times, in nanoseconds.
#[derive(Default)]
struct Responses(Vec<u64>);

impl Observer for Responses {
    fn finished(&mut self, now: Time, req: &Request, _: &Done) {
        self.0.push(now.since(req.due).ns());
    }
}

/// Response times of a trace under FCFS, sorted, until its last arrival, where `DiskSim` stops too.
pub fn replay(device: impl Device, trace: &str) -> Vec<u64> {
    let mut source = Trace::new(trace);
    let until = source.ios.back().expect("a trace of something").due;
    let mut device = Queued::new(Fifo::default(), device);
    let mut responses = Responses::default();
    let limits = Limits { until, ..Limits::default() };
    run(&mut source, &mut device, &mut Virtual::default(), &mut responses, limits)
        .expect("a trace runs to its end");
    responses.0.sort_unstable();
    responses.0
}
