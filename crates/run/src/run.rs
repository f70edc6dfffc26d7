//! From a job to results: one workload under each policy, on a model or on a real target.

use std::path::Path;

use penstock_live::Engine;
use penstock_spec::Job;

use crate::bench::Bench;
use crate::candidate::{self, Chosen};
use crate::cells::{self, Cell, Report};
use crate::failure::Failure;
use crate::independent;
use crate::load::Load;
use crate::machine::machine;
use crate::options::Options;
use crate::place::Place;
use crate::record::Recorder;
use crate::result::{Comparison, JobResult, RunResult};
use crate::snapshot::Watch;
use crate::stats::Progress;
use crate::step::{Patience, Step};
use crate::weights;

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
/// it names lies in the folder of `name`.
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
    if options.target.read_only && load.writes() {
        let message = "the job writes, and the target is only to be read";
        return Err(Failure::wrong(message, "leave --read-only out, or name a job that reads"));
    }
    // The whole configuration: the device too, and what depends on it.
    let job = &place.configure(job);
    let policies = Chosen::all(job, &options.policies)?;
    let watch = Watch::new(options.watch.as_deref(), options.speed.as_deref())?;
    let mut comparison = Comparison {
        penstock: crate::version::VERSION,
        job: JobResult { file: job.name.clone(), text: job.text(), set: sets.to_vec() },
        seed: job.seed,
        world: place.world(),
        device: place.name().into(),
        machine: machine(place.is_real(), place.engine().map(Engine::name)),
        remarks: weights::without_effect(job, &policies).into_iter().collect(),
        runs: Vec::new(),
    };
    let cells = cells::cells(&policies, options.repeat.unwrap_or(1));
    let mut report = Report {
        of: cells.len(),
        rounds: options.repeat.is_some(),
        device: place.name(),
        world: place.world(),
        patience: match place.live() {
            Some(_) => Patience::Target(job.live.timeout),
            None => Patience::Model,
        },
        progress,
    };
    let run = |cell: Cell<'_>, progress: &mut dyn Progress| {
        let seed = job.seed.wrapping_add(cell.round.into());
        let bench = Bench {
            job,
            policy: cell.policy,
            load: &load,
            seed,
            record: options.record.as_deref(),
            detail: options.detail,
            watch,
        };
        let result = one_run(&bench, place, progress)?;
        let round = options.repeat.map(|_| cell.round);
        Ok(RunResult { round, seed: round.map(|_| seed), ..result })
    };
    // A watched run is shown alone, and one interpreter runs all policies in Python.
    let parallel = matches!(place, Place::Modelled(_)) && watch.is_none();
    comparison.runs = if parallel && !policies.iter().any(Chosen::is_foreign) {
        cells::in_parallel(&cells, &mut report, run)?
    } else {
        cells::in_sequence(&cells, &mut report, run)?
    };
    Ok(comparison)
}

/// The run of `bench` at `place`: of all classes over one stack, of one class alone, or of each on a
/// thread of its own under a scheduler of the kernel.
fn one_run(
    bench: &Bench<'_>,
    place: &Place,
    progress: &mut dyn Progress,
) -> Result<RunResult, Failure> {
    match (bench.policy, place) {
        (Chosen::Kernel(_), Place::Live(live)) => {
            let scheduler = bench.policy.kernel().expect("it is one");
            independent::run(bench, place, live, scheduler, progress)
        }
        (Chosen::Alone(class, _), _) => {
            let alone = bench.load.only(*class);
            let result = Bench { load: &alone, ..*bench }.run_whole(place, progress)?;
            Ok(result.only(*class))
        }
        _ => bench.run_whole(place, progress),
    }
}
