//! The traces that DiskSim 4.0 was given, and what it answered.

use std::collections::VecDeque;
use std::io::Read;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use penstock_core::{
    ClassId, Device, Done, Flags, Io, Limits, Observer, Op, Policy, Prio, Request, Source,
    StreamId, Time, Virtual, run,
};
use penstock_device::hdd::{Hdd, Options};
use penstock_job::drives;
use penstock_policy::find;

fn file(name: &str) -> Vec<u8> {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/disksim").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A text of the comparison data, unpacked.
pub(crate) fn text(name: &str) -> String {
    let mut text = String::new();
    GzDecoder::new(&file(name)[..]).read_to_string(&mut text).expect("gzipped text");
    text
}

/// What DiskSim says of `case`.
fn case(case: &str) -> serde_json::Value {
    let results: serde_json::Value = serde_json::from_slice(&file("results.json")).expect("JSON");
    results[case].clone()
}

/// Requests at set times, whatever becomes of the ones before.
pub(crate) struct Trace(VecDeque<Io>);

impl Trace {
    /// The trace called `name`.
    pub(crate) fn new(name: &str) -> Self {
        let io = |line: &str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let number = |at: usize| fields[at].parse::<u64>().expect("a whole number");
            let ms: f64 = fields[0].parse().expect("a time");
            Io {
                due: Time::from_ns((ms * 1e6).round() as u64),
                start: number(2) * 512,
                len: number(3) as u32 * 512,
                stream: StreamId(0),
                class: ClassId(0),
                op: if number(4) & 1 == 1 { Op::Read } else { Op::Write },
                prio: Prio(0),
                flags: Flags::NONE,
            }
        };
        Self(text(&format!("traces/{name}.trace.gz")).lines().map(io).collect())
    }
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

/// A registered policy, as it is without parameters.
pub(crate) fn policy(name: &str) -> Box<dyn Policy> {
    let entry = find(name).expect("a registered policy");
    (entry.build)(&entry.defaults())
}

/// The drive that was compared.
pub(crate) fn disk(options: Options) -> Hdd {
    let drive = drives::drive("ibm18es").expect("a known drive");
    Hdd::new(&drive, options).expect("good facts")
}

/// The response times of `trace` on `device`, sorted, until its last arrival, where DiskSim stops
/// too.
pub(crate) fn responses(trace: &str, device: &mut impl Device) -> Vec<u64> {
    let mut source = Trace::new(trace);
    let until = source.0.back().expect("a trace of something").due;
    let mut responses = Responses::default();
    let limits = Limits { until, ..Limits::default() };
    run(&mut source, device, &mut Virtual::default(), &mut responses, limits)
        .expect("a trace runs to its end");
    responses.0.sort_unstable();
    responses.0
}

/// How far apart what was counted and what is compared may be.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// Requests.
    pub(crate) count: usize,
    /// Share of the mean.
    pub(crate) mean: f64,
    /// Share of the percentiles up to the 95th.
    pub(crate) percentiles: f64,
}

/// Holds `responses` against DiskSim's of `name`; percentiles beyond the 95th are only told.
pub(crate) fn check(name: &str, responses: &[u64], bounds: Bounds) {
    let expected = &case(name)["response_ms"];
    let counted = expected["n"].as_u64().expect("a count") as usize;
    println!("{name}: {} of {counted} requests", responses.len());
    assert!(responses.len().abs_diff(counted) <= bounds.count, "{name}: {}", responses.len());
    let ms = |ns: u64| ns as f64 / 1e6;
    let mean = ms(responses.iter().sum()) / responses.len() as f64;
    let per_mille = |p: usize| ms(responses[(responses.len() * p).div_ceil(1000) - 1]);
    for (what, found, bound) in [
        ("mean", mean, bounds.mean),
        ("p50", per_mille(500), bounds.percentiles),
        ("p90", per_mille(900), bounds.percentiles),
        ("p95", per_mille(950), bounds.percentiles),
        ("p99", per_mille(990), f64::INFINITY),
        ("p999", per_mille(999), f64::INFINITY),
    ] {
        let expected = expected[what].as_f64().expect("a number");
        let off = found / expected - 1.0;
        println!("{name} {what}: {found:.6} against {expected:.6} ms, {:+.4} %", off * 100.0);
        assert!(off.abs() <= bound, "{name} {what}: {found} against {expected} ms");
    }
}
