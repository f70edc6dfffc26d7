//! The requests of the agents of a job, without a device, as a trace.
//!
//! Every request completes at the instant at which it is issued: a closed loop issues the next after its think
//! time. Nothing else is random, so equal jobs with equal seeds make equal traces.

use std::path::Path;

use penstock_core::{Done, ReqId, Seed, Source, Span, Time};
use penstock_jobs::{Extent, Job, Stop};
use penstock_live::NewFile;
use penstock_workload::trace::{DeviceId, ProcessId, Record, Requests, Trace, TraceError};
use penstock_workload::{Agent, Agents, Arrivals};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::foresee::amounts::{only_agents, place};
use crate::traces::trace_tools::{self, writer};

/// Largest number of requests: a longer trace is a slip, its text has gigabytes.
const REQUESTS_MOST: usize = 100_000_000;
/// The device of a job without files.
const TARGET: &str = "target";

/// Writes the requests of the job at `path`, changed by `sets`, on a device as large as `on`, or on
/// its own, to `to`, which must not exist, in the format called `into`.
///
/// # Errors
/// When the job or the device cannot be read, when the requests have no end, when the format cannot
/// be written, or the file cannot.
pub fn make(
    path: &Path,
    sets: &[String],
    on: Option<&str>,
    to: &Path,
    into: &str,
) -> Result<Value, Failure> {
    let write = writer(into)?;
    NewFile::check(to).map_err(|error| Failure::unwritable(to, &error))?;
    let job = Job::load(path, sets)?;
    only_agents(&job)?;
    let place = place(&job, on)?;
    let names = job.workload.lane_names();
    let devices = place.extents(names.len())?;
    let agents = job.agents_over(&devices)?;
    let trace = requests(&job, agents, &devices)?;
    let trace = if names.is_empty() { trace } else { Trace { devices: names, ..trace } };
    let written = trace_tools::write_new(&trace, write, to)?;
    Ok(json!({
        "job": path.display().to_string(), "file": to.display().to_string(), "into": into,
        "requests": written.requests, "left_out": written.left_out,
    }))
}

/// Returns the requests of `agents` of `job` to `devices` as a trace.
fn requests(job: &Job, agents: Vec<Agent>, devices: &[Extent]) -> Result<Trace, Failure> {
    if let Some(agent) = agents.iter().find(|agent| is_endless(agent)) {
        let class = &job.classes[agent.class.index()].name;
        let message =
            format!("an agent of class {class} asks without end on a device that takes no time");
        return Err(Failure::wrong(
            message,
            "give it a `count`, a `total` or `passes`, or a think time",
        ));
    }
    let until = if let Stop::At(at) = job.stop { Time::ZERO + at } else { Time::NEVER };
    let mut source = Agents::new(agents, Seed(job.seed));
    let mut records = Requests::new();
    let kept = |source| Failure::run_over(Path::new(&job.name), &TraceError::Kept { source });
    let (mut first, mut issued) = (None, Vec::new());
    loop {
        let now = source.next_due();
        if now >= until {
            break;
        }
        issued.extend(std::iter::from_fn(|| source.take(now)));
        for io in issued.drain(..) {
            let first = *first.get_or_insert(io.due);
            let device = devices.partition_point(|device| device.base <= io.start) - 1;
            let (at, start) = (Time::ZERO + io.due.since(first), io.start - devices[device].base);
            let mut record = Record::new(at, io.op, start, io.len);
            record.device = DeviceId(device as u16);
            record.flags = io.flags;
            record.pid = io.stream.0 + 1;
            record.process = ProcessId(io.class.0 + 1);
            records.push(record).map_err(kept)?;
            let id = ReqId::new(0, 0);
            let done =
                Done { id, at: now, begun: now, service: Span::ZERO, len: io.len, error: None };
            source.finished(now, &io.with(id), &done);
        }
        if records.len() > REQUESTS_MOST {
            let at = now.since(Time::ZERO).ns() as f64 / 1e9;
            let message =
                format!("the job asks for more than {REQUESTS_MOST} requests in {at:.3} s");
            return Err(Failure::wrong(
                message,
                "give its agents a `count`, or a shorter `duration`",
            ));
        }
    }
    let names = job.classes.iter().map(|class| class.name.clone());
    Ok(Trace {
        records,
        processes: [String::new()].into_iter().chain(names).collect(),
        devices: vec![TARGET.into()],
        origin_ns: first.map_or(0, Time::ns),
        tells_sync: true,
        ..Trace::default()
    })
}

/// Returns whether `agent` asks without end where nothing takes time.
fn is_endless(agent: &Agent) -> bool {
    let at_once = match &agent.arrivals {
        Arrivals::Closed { think, .. } => think.mean() == Span::ZERO,
        Arrivals::Turns => true,
        Arrivals::Open { .. } => false,
    };
    at_once && !agent.is_limited()
}
