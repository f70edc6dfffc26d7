//! Merges of real files side by side: sorted runs become one sorted file each.
//!
//! Use it for what `sort -m` does where several such merges share disks: each disk has a queue with a
//! policy before it, each merge reads ahead and writes in groups of blocks, and its memory has a bound.
//! The output is that of `LC_ALL=C sort -m`, byte for byte; of records it is that of a stable sort by
//! the key. A model that answers in real time may stand for each disk.
//!
//! Always true: runs are only read; there is room for all outputs before anything of them is written; an
//! output is a new file and has its name when it is whole.
//!
//! | file | what it is |
//! |---|---|
//! | `options` | what is asked for |
//! | `folders` | what `--to` names |
//! | `plan` | which file lies in which folder; all of them opened |
//! | `make` | runs, where there are none |
//! | `record`, `run`, `tree` | records, a run of them, and the run whose record comes next |
//! | `job` | one merge |
//! | `source` | all of them as a source of requests |
//! | `disk` | the files of a disk as a device |
//! | `below` | what lies below these disks |
//! | `figures`, `result` | what is measured |
//!
//! Source: as `penstock_workload::merge`, whose rules for reading ahead, writing and memory these are.
//! There a block is used up as a whole; here it is when the last record that begins in it has been
//! merged.

pub(crate) mod facts;

mod below;
mod disk;
mod figures;
mod folders;
mod job;
mod make;
mod options;
mod plan;
mod record;
mod result;
mod run;
mod source;
mod tree;

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
use penstock_jobs::{DeviceSpec, params};
use penstock_live::{
    Answers, Cargo, Emulated, Engine, EngineError, Guard, Handover, LiveClock, LiveDevice,
    Settings, Speed, Stage, process_time,
};
use penstock_policy::{Entry, Params};

use self::disk::FilesOfDisk;
use self::options::AskedMerges;
pub use self::options::MergeOptions;
use self::plan::{MergePlan, PlannedDisk, PlannedMerge};
pub use self::result::{
    MergedResult, MergesResult, ModelsResult, OtherProgramResult, RoundOfMerges,
};
use self::source::{MemoryBounds, MergeFailed, MergeOutcome, MergeSource, Shared, Timekeeper};
use crate::ask::engines;
use crate::failure::Failure;
use crate::foresee::law;
use crate::measures::below::Schedulers;
use crate::result::{BlockedResult, World};

/// How often the caller is asked whether to go on.
const BEAT: Duration = Duration::from_millis(50);
/// Commands at a disk at once: enough that it always has one.
const DEPTH: u32 = 4;
/// The same below a model with room for any number.
const MOST: u32 = 32;
/// Requests that may wait: as many as there can be blocks in memory.
const OUTSTANDING: u32 = 1 << 24;

/// Merges whose folders are there: they may go on once or in rounds.
pub struct MergeSession {
    options: MergeOptions,
    asked: AskedMerges,
    folders: Vec<PathBuf>,
}

impl MergeSession {
    /// Checks `options` and finds the folders that they name.
    ///
    /// # Errors
    /// [`Failure`]: options that do not go together; a folder that is not there.
    pub fn open(options: MergeOptions) -> Result<Self, Failure> {
        let asked = AskedMerges::new(&options)?;
        let folders = folders::open(&asked, &options)?;
        Ok(Self { options, asked, folders })
    }

    /// Merges once, as round `round`, counted from 0: each has the next seed, and the first makes the runs.
    /// `go_on` is asked some times a second; `false` ends the merges, and no output is complete.
    ///
    /// # Errors
    /// [`Failure`]: a file that cannot be used; a run that is not sorted; too little memory; no room for an
    /// output; a disk that answers with an error, or not at all.
    pub fn merge(
        &self,
        round: u32,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<MergesResult, Failure> {
        let Self { options, asked, folders } = self;
        let parts = MergeParts::new(asked, options, round)?;
        let plan = plan::plan(asked, options, folders, round, go_on)?;
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

/// What the stack of merges is made of.
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
    fn new(asked: &AskedMerges, options: &MergeOptions, round: u32) -> Result<Self, Failure> {
        let entry = params::policy(&options.policy)?;
        let params = law::of_device(asked.job.params(&options.policy)?, asked.seed(round))?;
        let params = if asked.model.is_none() { entry.real(params) } else { params };
        // Each request carries its own data; a merged command would carry that of its first request.
        let params = entry.unmerged(params);
        // A model goes on while its last commands are still at their files.
        let room = asked.model.as_ref().map(|(spec, ..)| spec.build(Seed(0)).room());
        let usual = room.map_or(DEPTH, |room| room.clamp(DEPTH, MOST));
        let live = &asked.job.live;
        let depth = live.depth.unwrap_or(usual);
        let spec = asked.spec();
        let shape = spec.shape;
        let longest = shape.read.max(shape.write) * shape.block;
        let (memory, when_full, block) = (spec.memory, spec.when_full, shape.block);
        let class = |class: &penstock_jobs::Class| ClassInfo::new(class.name.clone());
        Ok(Self {
            entry,
            params,
            model: asked.model.clone(),
            engine: engines::named_or_usual(options.engine.as_deref())?,
            depth,
            settings: Settings { timeout: live.timeout, ..Settings::new(depth, longest) },
            seed: asked.seed(round),
            bounds: MemoryBounds { memory, when_full, block },
            classes: asked.job.classes.iter().map(class).collect(),
            remarks: spec.may_deadlock().into_iter().collect(),
        })
    }

    /// A queue with its policy before each of `disks`, and the clock of all of them.
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
                    // As in virtual time: the same disks for the same seed.
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

/// Where merges run.
struct MergeStage {
    rack: Rack<MergeDisk>,
    clock: LiveClock,
    /// What the model of each disk answers, if there are models.
    answers: Vec<Rc<Answers>>,
}

/// Merges, on the thread that does them.
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
            if parts.model.is_none() { below::below(&disks) } else { Default::default() };
        let mut base = 0;
        for (number, disk) in (0..).zip(rack.devices()) {
            for file in &mut files {
                file.places.move_disk(number, base);
            }
            base += disk.capacity();
        }
        let places = files.iter().map(|file| file.places.clone()).collect();
        let mut source = MergeSource::new(jobs, places, disks.len(), parts.bounds, (cargo, time));
        let outcome = source.outcome();
        let guard = clock.guard();
        let mut watch = MergeWatch { guard: &guard, outcome: &outcome, stop: &stop };
        let limits = Limits { until: Time::NEVER, max_outstanding: OUTSTANDING };
        let end = penstock_core::run(&mut source, &mut rack, &mut clock, &mut watch, limits);
        let at = end.as_ref().map_or(Time::ZERO, |end| end.at);
        let trouble = guard.end(at, None).map(ToString::to_string);
        let remarks = clock.remarks().to_vec();
        drop((source, rack));
        let outcome = outcome.borrow();
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

/// Why merges failed, if they did, whose loop `ended` and met `trouble`.
fn failure(
    (outcome, parts, files): (&MergeOutcome, &MergeParts, &[PlannedMerge]),
    trouble: Option<String>,
    ended: Result<bool, RunError>,
) -> Option<Failure> {
    let run = |what: &str| Some(Failure::run(states(what, outcome, files)));
    match (&outcome.failed, trouble, ended) {
        // What became of a target explains what was read from it.
        (_, Some(what), _) => run(&what),
        (Some(MergeFailed::Input(what)), ..) => {
            let hint = "sort it, with `LC_ALL=C sort` if it has lines";
            Some(Failure::wrong(what, format!("{hint}; {NO_OUTPUT}")))
        }
        (Some(MergeFailed::Disk(what)), ..) => run(what),
        (None, _, Err(RunError::Deadlock { .. })) => Some(deadlock(outcome, parts)),
        (None, _, Err(error)) => run(&error.to_string()),
        (None, _, Ok(true)) => run("the merges were ended"),
        (None, _, Ok(false)) => None,
    }
}

/// What a failure says of outputs.
const NO_OUTPUT: &str = "no output is complete";

/// `what` went wrong, and how far each merge was.
fn states(what: &str, outcome: &MergeOutcome, files: &[PlannedMerge]) -> String {
    let state = |(progress, file): (&f64, &PlannedMerge)| {
        let (part, path) = (100.0 * progress, file.output.path().display());
        format!("\n  {path}: {part:.0} % merged; it was not made")
    };
    let states: String = outcome.progress.iter().zip(files).map(state).collect();
    format!("{what}{states}")
}

/// The memory is too small.
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

/// Ends the loop when something has failed, a disk does not answer, or the caller says so.
struct MergeWatch<'a> {
    guard: &'a Guard,
    outcome: &'a Shared,
    stop: &'a AtomicBool,
}

impl Observer for MergeWatch<'_> {
    fn turn(&mut self, now: Time) -> bool {
        let goes_on = self.guard.look(now) && !self.stop.load(Ordering::Relaxed);
        goes_on && self.outcome.borrow().failed.is_none()
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
        divergence_max: outcome.times.apart_most,
        max_queued_writes: outcome.times.most_writes,
        cpu_s: 0.0,
        direct: true,
        emulation: None,
        schedulers: Schedulers::new(),
        remarks: Vec::new(),
        beside: Vec::new(),
        rounds: Vec::new(),
    }
}
