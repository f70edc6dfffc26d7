//! The traces given to DiskSim 4.0, its answers, and the answers of a model.

use std::collections::VecDeque;
use std::io::Read;
use std::path::PathBuf;
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use penstock_core::{
    ClassId, Device, Done, Flags, Io, Limits, Observer, Op, Policy, Prio, Request, Served, Source,
    StreamId, Time, Virtual, run,
};
use penstock_device::hdd::{Hdd, Options};
use penstock_jobs::drives;
use penstock_policy::{MAX_SECTORS, Value};
use serde_json::Value as Json;

/// Response times of a run, in milliseconds.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Requests finished before the last arrival.
    pub count: u64,
    /// The mean.
    pub mean: f64,
    /// The 50th, 90th and 95th percentile.
    pub percentiles: [f64; 3],
    /// The 99th percentile, which depends on a few requests.
    pub p99: f64,
}

fn file(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn results(name: &str) -> &'static Json {
    static RESULTS: OnceLock<Json> = OnceLock::new();
    let read = || serde_json::from_slice(&file("disksim/results.json")).expect("results in JSON");
    &RESULTS.get_or_init(read)[name]
}

/// Returns how many accesses to the platter DiskSim reports in the case called `name`, and the mean
/// of their part called `part`, in milliseconds.
pub fn part(name: &str, part: &str) -> (u64, f64) {
    let result = &results(name)[part];
    (result["n"].as_u64().expect("a count"), result["mean"].as_f64().expect("a mean"))
}

/// Returns DiskSim's answer in the case called `name`.
pub fn answer(name: &str) -> Answer {
    let result = &results(name)["response_ms"];
    let ms = |key: &str| result[key].as_f64().unwrap_or_else(|| panic!("{name} has no {key}"));
    Answer {
        count: result["n"].as_u64().expect("a count"),
        mean: ms("mean"),
        percentiles: [ms("p50"), ms("p90"), ms("p95")],
        p99: ms("p99"),
    }
}

/// Returns a text of DiskSim's data, unpacked.
pub fn text(name: &str) -> String {
    unpacked(&format!("disksim/{name}"))
}

/// Returns a text under `tests/data`, unpacked.
pub fn unpacked(name: &str) -> String {
    let mut text = String::new();
    GzDecoder::new(&file(name)[..]).read_to_string(&mut text).expect("gzipped text");
    text
}

/// Requests at set times, independent of earlier completions.
#[derive(Debug)]
pub struct Trace(VecDeque<Io>);

impl Trace {
    /// Reads the trace called `name`.
    pub fn new(name: &str) -> Self {
        Self(text(&format!("traces/{name}.trace.gz")).lines().map(request).collect())
    }
}

impl FromIterator<Io> for Trace {
    fn from_iter<T: IntoIterator<Item = Io>>(ios: T) -> Self {
        Self(ios.into_iter().collect())
    }
}

/// Parses a line: `time_ms device lbn blocks flags`.
fn request(line: &str) -> Io {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let number = |at: usize| fields[at].parse::<u64>().expect("a whole number");
    let ms: f64 = fields[0].parse().expect("a time");
    let due = Time::from_ns((ms * 1e6).round() as u64);
    let op = if number(4) & 1 == 1 { Op::Read } else { Op::Write };
    io(due, op, number(2) * 512, number(3) as u32 * 512)
}

/// Creates a request of the only class and stream.
pub fn io(due: Time, op: Op, start: u64, len: u32) -> Io {
    let (stream, class, prio, flags) = (StreamId(0), ClassId(0), Prio(0), Flags::NONE);
    Io { due, start, len, stream, class, op, prio, flags }
}

impl Source for Trace {
    fn next_due(&self) -> Time {
        self.0.front().map_or(Time::NEVER, |io| io.due)
    }
    fn take(&mut self, _: Time) -> Option<Io> {
        self.0.pop_front()
    }
    fn finished(&mut self, _: Time, _: &Request, _: &Done) {}
}

/// Response times, in nanoseconds.
#[derive(Default)]
struct Responses(Vec<u64>);

impl Observer for Responses {
    fn finished(&mut self, now: Time, req: &Request, _: &Done) {
        self.0.push(now.since(req.due).ns());
    }
}

/// Builds a registered policy that merges nothing, as in the runs of the reference.
pub fn policy(name: &str) -> Box<dyn Policy> {
    let entry = penstock_policy::find(name).expect("a registered policy");
    let mut params = entry.defaults();
    if (entry.facts.merges)(&params).is_some() {
        params.set(MAX_SECTORS.name, Value::Word("off"));
    }
    (entry.build)(&params, &Served::ONE_DISK)
}

/// Builds the drive called `name`.
pub fn drive(name: &str, options: Options) -> Hdd {
    Hdd::new(&drives::drive(name).expect("a known drive"), options).expect("good facts")
}

/// Returns the response times of `trace` on `device`, in nanoseconds, until its last arrival, where
/// DiskSim stops too.
pub fn played(trace: &mut Trace, device: &mut impl Device) -> Vec<u64> {
    let until = trace.0.back().expect("a trace of something").due;
    let mut responses = Responses::default();
    let limits = Limits { until, ..Limits::default() };
    run(trace, device, &mut Virtual::default(), &mut responses, limits)
        .expect("a trace runs to its end");
    responses.0
}

/// Returns the answer of `device` to the trace called `trace`.
pub fn answered(trace: &str, mut device: impl Device) -> Answer {
    let mut all = played(&mut Trace::new(trace), &mut device);
    all.sort_unstable();
    let ms = |ns: u64| ns as f64 / 1e6;
    let percentile = |p: usize| ms(all[(all.len() * p).div_ceil(100) - 1]);
    Answer {
        count: all.len() as u64,
        mean: ms(all.iter().sum()) / all.len() as f64,
        percentiles: [50, 90, 95].map(percentile),
        p99: percentile(99),
    }
}
