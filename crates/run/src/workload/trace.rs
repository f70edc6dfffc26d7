//! A recorded trace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use penstock_core::{ClassId, ClassInfo, Prio, Seed, Source, Span, StreamId, Time};
use penstock_jobs::traces::{OTHER, TraceSpec};
use penstock_jobs::{Job, LaneDevice};
use penstock_workload::trace::{
    ClassOf, DeviceId, Places, Replay, ReplayError, Timing, Trace, TraceError,
};

use super::load::{Load, SourceEvents, Workload, classes};
use super::trace_devices;
use crate::failure::Failure;
use crate::place::lane::Lane;
use crate::traces::trace_file;

/// A trace that is played.
struct PlayedTrace {
    replay: Replay,
    /// Whether it keeps the times of its requests.
    planned: bool,
    /// Path of its file.
    file: PathBuf,
}

/// Loads the workload of a `job` with the trace `spec` on devices of `capacity` bytes, or each on
/// its own of the devices `on`.
pub(super) fn load(
    job: &Job,
    spec: &TraceSpec,
    capacity: u64,
    on: &[LaneDevice],
) -> Result<Load, Failure> {
    let (mut trace, _) = trace_file::load(&spec.file, spec.format)?;
    keep(&mut trace, spec)?;
    let sizes = trace_devices::sizes(&trace, spec, on)?;
    let capacity =
        |device: DeviceId| sizes.get(device.index()).copied().flatten().unwrap_or(capacity);
    let mut classes = classes(job);
    let other = ClassId(classes.len() as u16);
    let failed = |error: &_| failure(&spec.file, error);
    let places = Places::new(&trace, spec.layout, capacity, spec.fit);
    let places = places.map_err(|error| failed(&error))?;
    trace_devices::check(&trace, spec, on, places.lanes())?;
    let mut end: u64 = 0;
    let mut lane = |device: &DeviceId| {
        let behind = end.saturating_add(capacity(*device));
        let base = std::mem::replace(&mut end, behind);
        Lane { name: device_name(&trace, *device), base }
    };
    let lanes: Vec<Lane> = places.lanes().iter().map(&mut lane).collect();
    let remarks = std::mem::take(&mut trace.remarks);
    let trace = Arc::new(trace);
    let class = class_of(spec, &trace, &classes, other);
    let replay = Replay::new(Arc::clone(&trace), places, spec.timing, class);
    let replay = replay.map_err(|error| {
        let failure = failed(&error);
        let past = matches!(error, ReplayError::Past { .. });
        if past { failure.hint(spec.fit_hint()) } else { failure }
    })?;
    if replay.has(other) {
        classes.push(ClassInfo::new(OTHER));
    }
    let planned = replay.last_due();
    // A trace that waits for the device takes as long as that does: perhaps as long as when it was
    // recorded.
    let fast = matches!(spec.timing, Timing::Afap { .. });
    let waits = if fast { Span::ZERO } else { trace.span() };
    if planned.unwrap_or(Time::ZERO + waits) >= Time::LAST {
        let error = "its last request is due after more than a hundred years\n\
                     hint: no run lasts so long; are its times in the unit of its format?";
        return Err(Failure::wrong_in(&spec.file, &error));
    }
    Ok(Load {
        classes,
        duration: planned.map_or(waits, |last| last.since(Time::ZERO)).max(Span::from_ms(1)),
        // The last request belongs to the run, which ends just behind it.
        last: planned.unwrap_or(Time::NEVER) + Span::from_ns(1),
        asks_until: planned,
        files: lanes.iter().zip(0..).map(|(lane, number)| lane.as_file(number)).collect(),
        lanes,
        lane: None,
        below_cache: None,
        longest: trace.longest(),
        measured_ns: (trace.one_by_one && !fast).then(|| response_times(&trace)),
        remarks,
        workload: Box::new(PlayedTrace {
            replay,
            planned: planned.is_some(),
            file: spec.file.clone(),
        }),
    })
}

/// Returns the class and priority of each request of `trace`: by the rules of `spec` one of
/// `classes`, or the class `other`.
fn class_of(
    spec: &TraceSpec,
    trace: &Arc<Trace>,
    classes: &[ClassInfo],
    other: ClassId,
) -> ClassOf {
    let prios: Vec<Prio> = classes.iter().map(|class| class.prio).collect();
    let with_prio =
        move |class: ClassId| (class, prios.get(class.index()).copied().unwrap_or(Prio(0)));
    if let Some(class) = spec.only_class(other) {
        let (class, prio) = with_prio(class);
        return ClassOf::One(class, prio);
    }
    let (spec, trace) = (spec.clone(), Arc::clone(trace));
    ClassOf::each(move |record| with_prio(spec.class(&trace, record, other)))
}

/// Returns the name of `device` in `trace`; empty if its format has no names.
fn device_name(trace: &Trace, device: DeviceId) -> String {
    trace.devices.get(device.index()).cloned().unwrap_or_default()
}

/// Keeps the requests to the devices that `spec` names, if it names any.
fn keep(trace: &mut Trace, spec: &TraceSpec) -> Result<(), Failure> {
    if spec.device.is_empty() {
        return Ok(());
    }
    let number = |name: &String| trace_devices::number(trace, spec, name);
    let kept = spec.device.iter().map(number).collect::<Result<Vec<_>, _>>()?;
    let kept = trace.keep(&kept).map_err(|source| TraceError::Kept { source });
    kept.map_err(|error| Failure::run_over(&spec.file, &error))
}

/// Returns the failure that the trace in `file` cannot be played.
fn failure(file: &Path, error: &ReplayError) -> Failure {
    if error.is_machine_error() {
        return Failure::run_over(file, error);
    }
    Failure::wrong_in(file, error)
}

/// Returns the response times of the requests of `trace` where it was recorded, in nanoseconds and
/// in ascending order.
fn response_times(trace: &Trace) -> Vec<u64> {
    let mut took: Vec<u64> =
        trace.records.iter().filter_map(|record| record.latency()).map(Span::ns).collect();
    took.sort_unstable();
    took
}

impl Workload for PlayedTrace {
    fn source(&self, _: Seed, _: u32, _: SourceEvents) -> Box<dyn Source> {
        Box::new(self.replay.clone())
    }

    fn writes(&self) -> bool {
        self.replay.writes()
    }

    fn only(&self, class: ClassId) -> Result<Box<dyn Workload>, Failure> {
        let replay = self.replay.only(class).map_err(|error| failure(&self.file, &error))?;
        Ok(Box::new(Self { replay, planned: self.planned, file: self.file.clone() }))
    }

    fn is_planned(&self, _: StreamId) -> bool {
        self.planned
    }

    fn is_open(&self, _: ClassId) -> bool {
        self.planned
    }

    fn check(&self) -> Result<(), Failure> {
        self.replay.check().map_err(|error| failure(&self.file, &error))
    }
}
