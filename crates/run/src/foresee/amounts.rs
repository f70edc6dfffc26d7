//! The size of a job before it runs: its agents, their requests and bytes, and its length.
//! `penstock job show` prints it.

use std::ops::Range;
use std::path::Path;

use penstock_core::{Span, Time};
use penstock_jobs::{AgentSpec, Extent, FileTarget, Job, devices};
use penstock_workload::{Agent, Arrivals};
use serde::Serialize;

use crate::failure::Failure;
use crate::place::Place;

/// Bytes of an unknown target: as many as any target may have, so that every region fits.
const ANY_TARGET: u64 = 1 << 50;

/// The size of a job.
#[derive(Debug, Serialize)]
pub struct JobAmounts {
    /// The job's file.
    pub job: String,
    /// The device that it runs on; null if it names none.
    pub device: Option<String>,
    /// How long it lasts: its `duration`, or until the last arrival of agents on a schedule; null if
    /// that depends on the device.
    pub seconds: Option<f64>,
    /// Requests that may be outstanding at once.
    pub max_outstanding: u32,
    /// Size of all agents together.
    pub all: Amounts,
    /// Size of each class.
    pub classes: Vec<ClassAmounts>,
    /// Its files and where they lie; empty if it has none.
    pub files: Vec<FileAmounts>,
}

/// A file of a job and its place.
#[derive(Debug, Serialize)]
pub struct FileAmounts {
    /// Name of the file.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// First byte on its device; null if that depends on the device.
    pub at: Option<u64>,
    /// The model or the real target that it lies on; null if `--on` must name it.
    pub device: Option<String>,
    /// Name of the device that it shares with other files, or of the first file on the target; null
    /// if it shares none.
    pub shared: Option<String>,
}

/// The size of one class of a job.
#[derive(Debug, Serialize)]
pub struct ClassAmounts {
    /// Name of the class.
    pub name: String,
    /// Its weight, relative to the weights of the other classes.
    pub weight: u32,
    /// Its I/O priority; null if the job gives none.
    pub ioprio: Option<String>,
    /// Size of its agents.
    #[serde(flatten)]
    pub amounts: Amounts,
}

/// The size of agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Amounts {
    /// Number of agents.
    pub agents: u64,
    /// Requests that they have in flight at most; null if arrivals on a schedule have no bound.
    pub in_flight: Option<u64>,
    /// Requests, without flushes; null if that depends on the device. A run that ends early has
    /// fewer. For random arrivals and weighted sizes it is the mean.
    pub requests: Option<u64>,
    /// Bytes of these requests.
    pub bytes: Option<u64>,
}

/// Computes the size of the job at `path`, changed by `sets`, on the device `on`, or on its own.
///
/// # Errors
/// If the job or the device cannot be read, if they do not fit, and if it has no agents.
pub fn amounts(path: &Path, sets: &[String], on: Option<&str>) -> Result<JobAmounts, Failure> {
    let job = Job::load(path, sets)?;
    only_agents(&job)?;
    // Without a name for its device the job runs on any.
    let place = if on.is_some() { Some(place(&job, on)?) } else { Place::own(&job).ok() };
    let targets = if on.is_some() { Vec::new() } else { job.workload.file_targets()? };
    let lanes = job.workload.lane_names().len();
    let devices = match &place {
        Some(place) => place.extents(lanes)?,
        None => (0..lanes.max(1) as u64).map(any_target).collect(),
    };
    let agents = job.agents_over(&devices)?;
    let known = |spec: &AgentSpec| place.is_some() || lanes > 0 || !spec.depends_on_target();
    let copies = |spec| std::iter::repeat_n(known(spec), spec.agents() as usize);
    let known = job.workload.agents().iter().flat_map(copies);
    let each: Vec<(usize, Amounts)> = agents
        .iter()
        .zip(known)
        .map(|(agent, known)| (agent.class.index(), of_agent(agent, known)))
        .collect();
    let turns = agents.iter().filter(|agent| agent.arrivals == Arrivals::Turns).count() as u64;
    let all = sum(each.iter().map(|(_, one)| *one));
    let class = |(index, class): (usize, &penstock_jobs::Class)| ClassAmounts {
        name: class.name.clone(),
        weight: class.weight(),
        ioprio: class.has_ioprio().then(|| class.ioprio.to_string()),
        amounts: sum(each.iter().filter(|(of, _)| *of == index).map(|(_, one)| *one)),
    };
    Ok(JobAmounts {
        job: path.display().to_string(),
        device: place.as_ref().map(|place| place.name().to_owned()),
        seconds: seconds(&job, &agents),
        max_outstanding: job.max_outstanding,
        // Agents that take turns have one request together.
        all: Amounts { in_flight: all.in_flight.map(|all| all - turns.saturating_sub(1)), ..all },
        classes: job.classes.iter().enumerate().map(class).collect(),
        files: files(&job, place.as_ref(), &devices, &targets)?,
    })
}

/// Returns the files of `job` and where they lie: on `place`, or else on `targets`. `devices` are
/// those of its lanes.
fn files(
    job: &Job,
    place: Option<&Place>,
    devices: &[Extent],
    targets: &[FileTarget],
) -> Result<Vec<FileAmounts>, Failure> {
    let (lanes, lane_names) = (job.workload.file_lanes(), job.workload.lane_names());
    let models = place.map(|place| place.models(lane_names.len())).unwrap_or_default();
    let mut on_lane = vec![0; lane_names.len()];
    for lane in &lanes {
        on_lane[*lane] += 1;
    }
    let names = job.workload.file_names().into_iter().zip(job.files_over(devices)?);
    let file = |((number, (name, bytes)), &lane): ((usize, (String, Range<u64>)), &usize)| {
        let at = bytes.start - devices[lane].base;
        let target = targets.get(number).map(|target| target.path.clone());
        FileAmounts {
            name,
            bytes: bytes.end - bytes.start,
            at: (place.is_some() || !job.workload.place_is_share(number)).then_some(at),
            device: models.get(lane).map(|spec| spec.name.clone()).or(target),
            shared: (on_lane[lane] > 1).then(|| lane_names[lane].clone()),
        }
    };
    Ok(names.enumerate().zip(&lanes).map(file).collect())
}

/// Returns an unknown device, after `number` others like it.
fn any_target(number: u64) -> Extent {
    Extent { base: number * ANY_TARGET, ..Extent::whole(ANY_TARGET, 1) }
}

/// Returns the modelled device `on`, or the one that `job` names.
pub(crate) fn place(job: &Job, on: Option<&str>) -> Result<Place, Failure> {
    match on {
        Some(on) => Ok(Place::modelled(devices::find(on)?)),
        None => Place::own(job),
    }
}

/// Checks that the requests of `job` are known without a device.
///
/// # Errors
/// If the job has requests of anything but agents.
pub(crate) fn only_agents(job: &Job) -> Result<(), Failure> {
    if !job.workload.agents().is_empty() {
        return Ok(());
    }
    let (workload, hint) = if job.workload.trace().is_some() {
        ("plays a trace", "describe the trace: `penstock trace stats`")
    } else if job.workload.merges().is_some() {
        ("has merges", "run it: what merges ask for follows from what they have read")
    } else {
        ("has programs", "run it: what programs ask for follows from when they compute")
    };
    Err(Failure::wrong(format!("{} {workload}, and no agents", job.name), hint))
}

/// Computes the size of `agent`; its requests and bytes only if those are `known`.
fn of_agent(agent: &Agent, known: bool) -> Amounts {
    let in_flight = match &agent.arrivals {
        Arrivals::Closed { depth, .. } => Some(u64::from(*depth)),
        Arrivals::Open { buffers, .. } => buffers.map(|buffers| buffers.get().into()),
        Arrivals::Turns => Some(1),
    };
    let quota = agent.requests();
    let requests = match (quota, scheduled(agent)) {
        (Some(quota), Some(scheduled)) => Some(quota.min(scheduled)),
        (quota, scheduled) => quota.or(scheduled),
    };
    let requests = requests.filter(|_| known);
    let mean_bytes = |requests: u64| (requests as f64 * agent.mean_size()).round() as u64;
    let grows = agent.spacing.growth.is_some();
    let bytes = requests.filter(|_| !grows).map(|requests| agent.bytes.min(mean_bytes(requests)));
    Amounts { agents: 1, in_flight, requests, bytes }
}

/// Returns the number of arrivals on a schedule while `agent` is active.
fn scheduled(agent: &Agent) -> Option<u64> {
    let Arrivals::Open { rate, curve, .. } = &agent.arrivals else { return None };
    if agent.active.end == Time::NEVER {
        return None;
    }
    let seconds = agent.active.end.since(agent.active.start).ns() as f64 / 1e9;
    let mean = if curve.is_empty() { 1.0 } else { curve.iter().sum::<f64>() / curve.len() as f64 };
    Some((rate * mean * seconds).round() as u64)
}

/// Returns how long `job` lasts with these `agents`, if that does not depend on the device.
fn seconds(job: &Job, agents: &[Agent]) -> Option<f64> {
    if job.duration < Span::MAX {
        return Some(job.duration.ns() as f64 / 1e9);
    }
    let lasts = |agent: &Agent| match &agent.arrivals {
        Arrivals::Open { rate, buffers: None, curve, .. }
            if curve.is_empty() && agent.is_limited() =>
        {
            let start = agent.active.start.since(Time::ZERO).ns() as f64 / 1e9;
            agent.requests().map(|requests| start + requests as f64 / rate)
        }
        _ if !agent.is_limited() => Some(agent.active.end.since(Time::ZERO).ns() as f64 / 1e9),
        _ => None,
    };
    agents
        .iter()
        .map(lasts)
        .try_fold(0.0, |longest: f64, lasts| lasts.map(|seconds| longest.max(seconds)))
}

/// Adds up `all`; an amount that is unknown for one of them is unknown for the sum.
fn sum(all: impl Iterator<Item = Amounts>) -> Amounts {
    let add = |amount: Option<u64>, other: Option<u64>| Some(amount?.saturating_add(other?));
    let none = Amounts { agents: 0, in_flight: Some(0), requests: Some(0), bytes: Some(0) };
    all.fold(none, |sum, amounts| Amounts {
        agents: sum.agents + amounts.agents,
        in_flight: add(sum.in_flight, amounts.in_flight),
        requests: add(sum.requests, amounts.requests),
        bytes: add(sum.bytes, amounts.bytes),
    })
}
