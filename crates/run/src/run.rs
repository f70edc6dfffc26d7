//! From a job to results: one workload under each policy, on a model or on a real target.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use penstock_core::Span;
use penstock_live::{Engine, Pace};
use penstock_spec::Job;
use serde::Serialize;

use crate::bench::Bench;
use crate::candidate::{self, Candidate, Chosen};
use crate::failure::Failure;
use crate::load::Load;
use crate::machine::machine;
use crate::place::Place;
use crate::record::Recorder;
use crate::result::{ClassResult, Comparison, JobResult, RunResult, World};
use crate::snapshot::{Snapshot, Watch};
use crate::stats::Progress;

/// What a comparison is asked for beside its job.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Who decides, in the order in which they run; none: every policy of the registry.
    pub policies: Vec<Candidate>,
    /// A device's name, a device file, a target (its path, or `loop:` and the path of a file),
    /// `emulated:DEVICE[@SPEED][:PATH]` or `null`; the job's device if not given.
    pub on: Option<String>,
    /// Size of the owned file to create at the path, if it is missing.
    pub create: Option<String>,
    /// The block device of `on` once more, by serial number or path: what is on it may be lost.
    pub i_will_lose_data: Option<String>,
    /// The block device may hold data that no format announces.
    pub even_if_not_empty: bool,
    /// The target is only read: it may be anybody's, and the job may not write.
    pub read_only: bool,
    /// How a target is driven; the first engine that works if not given.
    pub engine: Option<String>,
    /// Where to record the run; for one policy only.
    pub record: Option<PathBuf>,
    /// How often each policy runs, in rounds of all of them; once if not given. Each round has the
    /// next seed.
    pub repeat: Option<u32>,
    /// Whether results carry whole distributions and the course over time.
    pub detail: bool,
    /// Somebody watches: steps tell how the run goes, and a model keeps step with real time, until
    /// this lets it pause.
    pub watch: Option<Arc<Pace>>,
    /// How much faster than real time a watched model goes: a number, or `max`; 1 if not given.
    pub speed: Option<String>,
}

/// How far long work has come.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "step", rename_all = "lowercase")]
pub enum Step<'a> {
    /// An owned file is being written.
    Creating {
        /// Its path.
        path: &'a str,
        /// Share that is written.
        fraction: f64,
    },
    /// A policy runs.
    Running {
        /// Its name.
        policy: &'a str,
        /// Its round, from 0, if there are rounds.
        #[serde(skip_serializing_if = "Option::is_none")]
        round: Option<u32>,
        /// Number of the run, from 0.
        number: usize,
        /// How many there are.
        of: usize,
        /// Share of the run's time that is over.
        fraction: f64,
        /// Name of the modelled device, or path of the target.
        device: &'a str,
        /// Whether it is a model.
        world: World,
        /// What it waits for.
        #[serde(skip)]
        patience: Patience,
        /// How it goes, if somebody watches.
        #[serde(skip_serializing_if = "Option::is_none")]
        now: Option<&'a Snapshot>,
    },
    /// A policy's run has ended.
    Finished {
        /// Its name.
        policy: &'a str,
        /// Its round, from 0, if there are rounds.
        #[serde(skip_serializing_if = "Option::is_none")]
        round: Option<u32>,
        /// Number of the run, from 0.
        number: usize,
        /// How many there are.
        of: usize,
        /// What each class got.
        classes: &'a [ClassResult],
    },
}

/// What a run waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Patience {
    /// A model, which always answers.
    Model,
    /// A real target, for as long as its commands may be in flight; without a limit, for ever.
    Target(Option<Span>),
}

/// Runs the job at `path`, changed by `sets`, under each policy of `options`.
///
/// `progress` hears of each step some times a second; when it says `false` the run ends there and
/// the result so far is returned, marked as interrupted.
///
/// # Errors
/// [`Failure`]: wrong input, an unsafe target, a machine that cannot, or a run that failed.
pub fn compare(
    path: &Path,
    sets: &[String],
    options: &Options,
    progress: &mut dyn FnMut(Step<'_>) -> bool,
) -> Result<Comparison, Failure> {
    compare_job(&Job::load(path, sets)?, sets, options, progress)
}

/// The same with the job's text at hand: errors and results call it `name`, and a device file that
/// it names lies beside `name`.
///
/// # Errors
/// [`Failure`], as from [`compare`].
pub fn compare_text(
    name: &str,
    text: &str,
    sets: &[String],
    options: &Options,
    progress: &mut dyn FnMut(Step<'_>) -> bool,
) -> Result<Comparison, Failure> {
    compare_job(&Job::parse(name, text, sets)?, sets, options, progress)
}

fn compare_job(
    job: &Job,
    sets: &[String],
    options: &Options,
    progress: &mut dyn FnMut(Step<'_>) -> bool,
) -> Result<Comparison, Failure> {
    let policies = Chosen::all(job, &options.policies)?;
    if let Some(record) = &options.record {
        candidate::can_be_recorded(&policies, options.repeat)?;
        Recorder::check(record).map_err(|error| Failure::unwritable(record, &error))?;
    }
    let place = Place::find(job, &policies, options, progress)?;
    let comparison = compare_on(&place, job, sets, options, progress);
    if comparison.is_err() {
        place.leave();
    }
    comparison
}

/// Runs `job` at `place` under each policy, in rounds.
fn compare_on(
    place: &Place,
    job: &Job,
    sets: &[String],
    options: &Options,
    progress: &mut dyn FnMut(Step<'_>) -> bool,
) -> Result<Comparison, Failure> {
    let load = Load::new(job, place.capacity(), place.block())?;
    if options.read_only && load.writes() {
        let message = "the job writes, and the target is only to be read";
        return Err(Failure::wrong(message, "leave --read-only out, or name a job that reads"));
    }
    // The whole configuration: the device too, and what depends on it.
    let job = &place.configure(job);
    let policies = Chosen::all(job, &options.policies)?;
    let watch = Watch::new(options.watch.as_deref(), options.speed.as_deref())?;
    let rounds = options.repeat.unwrap_or(1);
    let mut comparison = Comparison {
        penstock: crate::VERSION,
        job: JobResult { file: job.name.clone(), text: job.text(), set: sets.to_vec() },
        seed: job.seed,
        world: place.world(),
        device: place.name().into(),
        machine: machine(place.is_real(), place.engine().map(Engine::name)),
        runs: Vec::new(),
    };
    let of = policies.len() * rounds as usize;
    let (device, world) = (place.name(), place.world());
    let patience = match place.live() {
        Some(_) => Patience::Target(job.live.timeout),
        None => Patience::Model,
    };
    let runs = (0..rounds).flat_map(|round| policies.iter().map(move |policy| (round, policy)));
    for (number, (round, policy)) in runs.enumerate() {
        let told_round = options.repeat.map(|_| round);
        let mut told = Told {
            policy: policy.name(),
            round: told_round,
            number,
            of,
            device,
            world,
            patience,
            progress,
        };
        let bench = Bench {
            job,
            policy,
            load: &load,
            seed: job.seed.wrapping_add(round.into()),
            record: options.record.as_deref(),
            detail: options.detail,
            watch,
        };
        let result = bench.run_at(place, &mut told)?;
        let (round, seed) = (told_round, told_round.map(|_| bench.seed));
        let result = RunResult { round, seed, ..result };
        let interrupted = result.interrupted;
        if !interrupted {
            told.finished(&result.classes);
        }
        comparison.runs.push(result);
        if interrupted {
            break;
        }
    }
    Ok(comparison)
}

/// Passes the progress of one policy's run on.
struct Told<'a, 'p> {
    policy: &'a str,
    round: Option<u32>,
    number: usize,
    of: usize,
    device: &'a str,
    world: World,
    patience: Patience,
    progress: &'a mut (dyn FnMut(Step<'_>) -> bool + 'p),
}

impl Told<'_, '_> {
    /// The run has ended so. Whoever wants no more is heard in the next run, which says that it was
    /// interrupted.
    fn finished(&mut self, classes: &[ClassResult]) {
        let Self { policy, round, number, of, .. } = *self;
        (self.progress)(Step::Finished { policy, round, number, of, classes });
    }
}

impl Progress for Told<'_, '_> {
    fn update(&mut self, fraction: f64, now: Option<&Snapshot>) -> bool {
        let Self { policy, round, number, of, device, world, patience, .. } = *self;
        let step =
            Step::Running { policy, round, number, of, fraction, device, world, patience, now };
        (self.progress)(step)
    }
}
