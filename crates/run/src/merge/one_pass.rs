//! Merges of as many runs as can be open at once: the stack of layers, the thread, and the result.

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use penstock_core::{
    ClassInfo, Device, Limits, Observer, Policy, Queued, RunError, Seed, Served, Time,
};
use penstock_device::Rack;
use penstock_jobs::{DeviceSpec, MergeFiles, params};
use penstock_live::{
    Answers, Cargo, Emulated, Engine, EngineError, Guard, Handover, LiveClock, LiveDevice,
    Settings, Speed, Stage, process_time,
};
use penstock_policy::{Entry, Params};

use super::disk::FilesOfDisk;
use super::layout::{MergePlan, PlannedDisk, PlannedMerge};
use super::options::{CheckedMerges, MergeOptions};
use super::outcome::{MergeFailed, MergeOutcome};
use super::result::{MergedResult, MergesResult, ModelsResult};
use super::source::{MemoryBounds, MergeSource};
use super::timekeeper::Timekeeper;
use crate::ask::engines;
use crate::failure::Failure;
use crate::foresee::law;
use crate::measures::below::Schedulers;
use crate::result::{BlockedResult, World};

/// Interval at which the caller is asked whether to continue.
const BEAT: Duration = Duration::from_millis(50);
/// Commands at a disk at one time: enough that it always has one.
const DEPTH: u32 = 4;
/// Most commands at the files of a model at one time, if the model takes any number.
const MODEL_DEPTH_MAX: u32 = 32;
/// Most requests that may be outstanding: as many as there can be blocks in memory.
const OUTSTANDING: u32 = 1 << 24;

/// Merges of as many runs as can be open at once, whose options are checked.
pub(super) struct OnePass {
    options: MergeOptions,
    checked: CheckedMerges,
    /// Folders of the outputs.
    pub(super) folders: Vec<PathBuf>,
}

impl OnePass {
    /// Checks `options` of `merges` and finds their folders.
    ///
    /// # Errors
    /// [`Failure`]: options that do not go together; a folder that does not exist.
    pub(super) fn open(options: MergeOptions, merges: Vec<MergeFiles>) -> Result<Self, Failure> {
        let checked = CheckedMerges::new(&options, merges)?;
        let folders = super::folders::open(&checked, &options)?;
        Ok(Self { options, checked, folders })
    }

    /// Runs round `round` of the merges, as [`MergeSession::merge`](super::MergeSession::merge) says.
    pub(super) fn merge(
        &self,
        round: u32,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<MergesResult, Failure> {
        let Self { options, checked, folders } = self;
        let parts = MergeParts::new(checked, options, round)?;
        let plan = super::layout::plan(checked, options, folders, round, go_on)?;
        let stop = Arc::new(AtomicBool::new(false));
        let work = MergeWork { parts, plan, stop: Arc::clone(&stop) };
        // Never joined: a disk that does not answer may hold its thread.
        let mut work = Handover::spawn("penstock-merge", move || work.run())
            .map_err(|error| Failure::here("start a thread", &error))?;
        loop {
            match work.wait(BEAT) {
                Ok(Some(result)) => return result,
                Ok(None) if !go_on() => stop.store(true, Ordering::Relaxed),
                Ok(None) => {}
                Err(panic) => resume_unwind(panic),
            }
        }
    }
}

/// The settings of the stack of layers.
struct MergeParts {
    entry: &'static Entry,
    params: Params,
    model: Option<(DeviceSpec, Speed, String)>,
    engine: Engine,
    depth: u32,
    settings: Settings,
    seed: Seed,
    bounds: MemoryBounds,
    classes: Vec<ClassInfo>,
    remarks: Vec<String>,
}

impl MergeParts {
    fn new(checked: &CheckedMerges, options: &MergeOptions, round: u32) -> Result<Self, Failure> {
        let entry = params::policy(&options.policy)?;
        let params = law::with_costs(checked.job.params(&options.policy)?, checked.seed(round))?;
        let params = if checked.model.is_none() { entry.real(params) } else { params };
        // Each request carries its own data; a merged command would carry that of its first request.
        let params = entry.unmerged(params);
        // A model starts further commands while the files of earlier ones are still accessed.
        let room = checked.model.as_ref().map(|(spec, ..)| spec.build(Seed(0)).room());
        let default_depth = room.map_or(DEPTH, |room| room.clamp(DEPTH, MODEL_DEPTH_MAX));
        let live = &checked.job.live;
        let depth = live.depth.unwrap_or(default_depth);
        let spec = checked.spec();
        let shape = spec.shape;
        let longest = shape.read.max(shape.write) * shape.block;
        let (memory, when_full, block) = (spec.memory, spec.when_full, shape.block);
        let class = |class: &penstock_jobs::Class| ClassInfo::new(class.name.clone());
        Ok(Self {
            entry,
            params,
            model: checked.model.clone(),
            engine: engines::named_or_usual(options.engine.as_deref())?,
            depth,
            settings: Settings { timeout: live.timeout, ..Settings::new(depth, longest) },
            seed: checked.seed(round),
            bounds: MemoryBounds { memory, when_full, block },
            classes: checked.job.classes.iter().map(class).collect(),
            remarks: spec.may_deadlock().into_iter().collect(),
        })
    }

    /// Builds a queue with a policy before each of `disks`, and the clock of all of them.
    fn build(&self, disks: &[PlannedDisk], cargo: &Cargo) -> Result<MergeStage, EngineError> {
        let targets: Vec<_> =
            disks.iter().flat_map(|disk| &disk.files).map(|(_, target)| target.clone()).collect();
        let (clock, devices) = if targets.is_empty() {
            (LiveClock::bare(), Vec::new())
        } else {
            let stage = Stage::carrying(self.engine, targets, self.settings, cargo.clone())?;
            (stage.clock, stage.devices)
        };
        let mut devices = devices.into_iter();
        let mut answers = Vec::new();
        let mut disk = |planned: &PlannedDisk| {
            let starts = planned.files.iter().map(|(start, _)| *start);
            let files: Vec<(u64, LiveDevice)> = starts.zip(devices.by_ref()).collect();
            let files = FilesOfDisk::new(files, planned.capacity.max(1), self.depth);
            let device: Box<dyn Device> = match &self.model {
                None => Box::new(files),
                Some((spec, speed, _)) => {
                    // The same disks for the same seed as in virtual time.
                    let first = answers.len() as u32 * spec.disks();
                    let model = spec.build_behind(self.seed, first);
                    let model = Emulated::new(model, *speed, Some(files)).answers_are_due();
                    answers.push(Rc::clone(model.answers()));
                    Box::new(model)
                }
            };
            let served = Served { classes: &self.classes, ..Served::ONE_DISK };
            Queued::new((self.entry.build)(&self.params, &served), device)
        };
        let rack = Rack::new(disks.iter().map(&mut disk).collect());
        Ok(MergeStage { rack, clock, answers })
    }
}

/// A queue with its policy before a disk.
type MergeDisk = Queued<Box<dyn Policy>, Box<dyn Device>>;

/// The layers below the merges, and their clock.
struct MergeStage {
    rack: Rack<MergeDisk>,
    clock: LiveClock,
    /// The answers of the model of each disk; empty without models.
    answers: Vec<Rc<Answers>>,
}

/// A round of merges, run on a thread of its own.
struct MergeWork {
    parts: MergeParts,
    plan: MergePlan,
    stop: Arc<AtomicBool>,
}

impl MergeWork {
    fn run(self) -> Result<MergesResult, Failure> {
        let Self { parts, plan, stop } = self;
        let MergePlan { jobs, mut files, disks, direct } = plan;
        let began = process_time();
        let cargo = Cargo::default();
        let MergeStage { mut rack, mut clock, answers } = parts.build(&disks, &cargo)?;
        let time = match &parts.model {
            Some(_) => Timekeeper::Models(answers.clone()),
            None => Timekeeper::Real(clock.stopwatch()),
        };
        let (schedulers, below) =
            if parts.model.is_none() { super::below::below(&disks) } else { Default::default() };
        let mut base = 0;
        for (number, disk) in (0..).zip(rack.devices()) {
            for file in &mut files {
                file.places.move_disk(number, base);
            }
            base += disk.capacity();
        }
        let places = files.iter().map(|file| file.places.clone()).collect();
        let bounds = parts.bounds;
        let mut source =
            MergeSource::new(jobs, places, disks.len(), bounds, (cargo, time), Arc::clone(&stop));
        let guard = clock.guard();
        let mut watch = MergeWatch { guard: &guard, stop: &stop };
        let limits = Limits { until: Time::NEVER, max_outstanding: OUTSTANDING };
        let end = penstock_core::run(&mut source, &mut rack, &mut clock, &mut watch, limits);
        let at = end.as_ref().map_or(Time::ZERO, |end| end.at);
        let trouble = guard.end(at, None).map(ToString::to_string);
        let remarks = clock.remarks().to_vec();
        let outcome = source.into_outcome();
        drop(rack);
        let failed = failure((&outcome, &parts, &files), trouble, end.map(|end| end.interrupted));
        if let Some(failure) = failed {
            return Err(failure);
        }
        let result = result(&parts, &outcome, &files, &disks);
        let emulation = answers.first().map(|_| ModelsResult::from_answers(&answers));
        for file in files {
            file.output.finish()?;
        }
        let remarks = parts.remarks.into_iter().chain(below).chain(remarks).collect();
        let cpu_s = seconds(process_time() - began);
        Ok(MergesResult { cpu_s, direct, emulation, schedulers, remarks, ..result })
    }
}

/// Returns why the merges failed, if they did. `trouble` is what the guard found, and `ended` says whether the
/// loop was interrupted.
fn failure(
    (outcome, parts, files): (&MergeOutcome, &MergeParts, &[PlannedMerge]),
    trouble: Option<String>,
    ended: Result<bool, RunError>,
) -> Option<Failure> {
    let run = |message: &str| Some(Failure::run(with_progress(message, outcome, files)));
    match (&outcome.failed, trouble, ended) {
        // Trouble with a file explains what was read from it.
        (_, Some(trouble), _) => run(&trouble),
        (Some(MergeFailed::Input(message)), ..) => {
            let hint = "lines have to be in the order of their bytes, records in that of their key; if it \
                        is sorted by a field or a number, leave it so: `LC_ALL=C sort -m` merges such \
                        lines, with the keys that they were sorted by, as -k 2 -n";
            Some(Failure::wrong(message, format!("{hint}; {NO_OUTPUT}")))
        }
        (Some(MergeFailed::Disk(message)), ..) => run(message),
        (None, _, Err(RunError::Deadlock { .. })) => Some(deadlock(outcome, parts)),
        (None, _, Err(error)) => run(&error.to_string()),
        (None, _, Ok(true)) => run("the merges were ended"),
        (None, _, Ok(false)) => None,
    }
}

/// The end of the hint of a failure.
const NO_OUTPUT: &str = "no output is complete";

/// Adds the progress of each merge to `message`.
fn with_progress(message: &str, outcome: &MergeOutcome, files: &[PlannedMerge]) -> String {
    let line = |(progress, file): (&f64, &PlannedMerge)| {
        let (part, path) = (100.0 * progress, file.output.path().display());
        format!("\n  {path}: {part:.0} % merged; it was not made")
    };
    let lines: String = outcome.progress.iter().zip(files).map(line).collect();
    format!("{message}{lines}")
}

/// Returns the failure of merges that all wait for memory.
fn deadlock(outcome: &MergeOutcome, parts: &MergeParts) -> Failure {
    let block = f64::from(parts.bounds.block);
    let blocks = |bytes: u64| bytes as f64 / block;
    let states: Vec<String> = outcome
        .starved
        .iter()
        .map(|starved| {
            let [read, output, needs] =
                [starved.read, starved.output, starved.needs].map(blocks);
            format!(
                "merge {} holds {read:.1} blocks of its runs and {output:.1} of its output, and needs \
                 {needs:.1} more",
                starved.job
            )
        })
        .collect();
    let message = format!("the cache is too small (deadlock): {}", states.join("; "));
    let hint = parts.remarks.first().cloned().unwrap_or_else(|| "raise merge.memory".into());
    Failure::run(message).hint(format!("{hint}; {NO_OUTPUT}"))
}

/// Ends the loop when a disk does not answer, or when a merge or the caller asks for it.
struct MergeWatch<'a> {
    guard: &'a Guard,
    stop: &'a AtomicBool,
}

impl Observer for MergeWatch<'_> {
    fn turn(&mut self, now: Time) -> bool {
        self.guard.look(now) && !self.stop.load(Ordering::Relaxed)
    }
}

fn seconds(span: penstock_core::Span) -> f64 {
    span.ns() as f64 / 1e9
}

fn result(
    parts: &MergeParts,
    outcome: &MergeOutcome,
    files: &[PlannedMerge],
    disks: &[PlannedDisk],
) -> MergesResult {
    let speed = parts.model.as_ref().map_or(Speed::ONE, |(_, speed, _)| *speed);
    let of_model = |ns: u64| speed.model(Time::from_ns(ns)).ns() as f64 / 1e9;
    let finished = |job: usize| {
        let at = outcome.times.merges[job].finished.expect("every merge has finished");
        of_model(at.ns())
    };
    let merged = |(job, file): (usize, &PlannedMerge)| {
        let times = &outcome.times.merges[job];
        MergedResult {
            inputs: file.inputs.clone(),
            output: file.output.path().to_owned(),
            disks: file.places.runs.iter().map(|(_, place)| place.disk).collect(),
            output_disk: file.places.output.1.disk,
            bytes: file.bytes,
            finish_s: finished(job),
            cpu_s: seconds(times.processor),
            blocked_s: BlockedResult {
                read: of_model(times.for_reads.ns()),
                memory: of_model(times.for_memory.ns()),
            },
        }
    };
    MergesResult {
        world: if parts.model.is_some() { World::Emulated } else { World::Measured },
        disks: disks.iter().map(|disk| disk.path.clone()).collect(),
        model: parts.model.as_ref().map(|(.., name)| name.clone()),
        policy: parts.entry.name.into(),
        makespan_s: (0..files.len()).map(finished).fold(0.0, f64::max),
        merges: files.iter().enumerate().map(merged).collect(),
        divergence_max: outcome.times.divergence_max,
        max_queued_writes: outcome.times.writes_max,
        cpu_s: 0.0,
        direct: true,
        emulation: None,
        schedulers: Schedulers::new(),
        remarks: Vec::new(),
        beside: Vec::new(),
        rounds: Vec::new(),
    }
}
