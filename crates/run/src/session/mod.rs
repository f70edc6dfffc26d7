//! A session: a target that stays open and locked while jobs run on it.

mod bottom;
mod cells;
mod class_groups;
mod design;
mod drive;
mod independent;
mod observer;
mod outcome;
mod preparation;
mod run_errors;
mod runner;
mod served_policy;
mod side_by_side;
mod single_stack;
mod stack;
mod threads;
mod verify;

pub(crate) mod run;

use penstock_jobs::Job;
use penstock_jobs::diagnose::JobError;
use std::path::Path;

use penstock_live::{Engine, queue_settings};

use self::cells::Report;
use self::design::{Cell, Task};
use self::preparation::Stopped;
use self::verify::Verification;
use crate::ask::candidate::{self, Candidate, Chosen};
use crate::ask::loops;
use crate::ask::options::{Failures, Options, Survey};
use crate::ask::target_options::{EMULATED, TargetOptions};
use crate::ask::without_effect;
use crate::failure::Failure;
use crate::foresee::law;
use crate::measures::arm::Stretch;
use crate::measures::machine::machine;
use crate::measures::shares;
use crate::measures::stability::survey;
use crate::place::refusals::Asked;
use crate::place::{Place, block};
use crate::progress::report::Progress;
use crate::progress::snapshot::Watch;
use crate::progress::step::Step;
use crate::record::Recorder;
use crate::result::{Comparison, Ended, JobResult, Machine, RunResult, SurveyResult};
use crate::session::runner::Runner;
use crate::workload;

/// A job that a session runs.
pub struct Variant {
    /// The job.
    pub job: Job,
    /// Changes of it, as results list them.
    pub sets: Vec<String>,
    /// Policies, in the order in which they run; those of the session if there is none.
    pub policies: Vec<Candidate>,
    /// Whether the job runs on the model that it names, even if the session has another.
    pub on_own_device: bool,
}

impl From<Job> for Variant {
    fn from(job: Job) -> Self {
        Self { job, sets: Vec::new(), policies: Vec::new(), on_own_device: false }
    }
}

impl Variant {
    /// The job in the file at `path`, changed by `sets`, for a session on `target`.
    ///
    /// # Errors
    /// [`Failure`]: a file that cannot be read, or what is wrong in it.
    pub fn load(path: &Path, sets: &[String], target: &TargetOptions) -> Result<Self, Failure> {
        Self::changed(sets, target, |changes| Job::load(path, changes))
    }

    /// The job `text`, changed by `sets`, for a session on `target`. Messages and results call it
    /// `name`, and a device file that it names lies in the folder of `name`.
    ///
    /// # Errors
    /// [`Failure`]: what is wrong in the job.
    pub fn parse(
        name: &str,
        text: &str,
        sets: &[String],
        target: &TargetOptions,
    ) -> Result<Self, Failure> {
        Self::changed(sets, target, |changes| Job::parse(name, text, changes))
    }

    /// Changes of a device are changes of the device that runs: where the model of `target` takes the
    /// place of the job's, it becomes the job's first. So does a machine, on whose devices the job's
    /// files lie.
    fn changed(
        sets: &[String],
        target: &TargetOptions,
        job: impl FnOnce(&[String]) -> Result<Job, JobError>,
    ) -> Result<Self, Failure> {
        let on = target.on.as_deref();
        let emulated = on.filter(|on| on.starts_with(EMULATED));
        let changes_device = sets.iter().any(|set| set.trim_start().starts_with("device."));
        if let Some(on) = emulated.filter(|_| changes_device) {
            let message = format!("--set changes no part of {on}");
            let hint = "change a device file: `penstock show device NAME` prints one";
            return Err(Failure::wrong(message, hint));
        }
        let becomes_own = changes_device || target.machine()?;
        let device = target.clone().take_device().filter(|_| becomes_own);
        let on_own_device = device.is_some();
        let changes: Vec<String> = device.into_iter().chain(sets.iter().cloned()).collect();
        let job = job(&changes)?;
        Ok(Self { job, sets: sets.to_vec(), policies: Vec::new(), on_own_device })
    }

    fn candidates<'a>(&'a self, options: &'a Options) -> &'a [Candidate] {
        if self.policies.is_empty() { &options.policies } else { &self.policies }
    }

    fn asked(&self, options: &Options) -> Result<Asked<'_>, Failure> {
        let policies = Chosen::all(&self.job, self.candidates(options))?;
        Ok(Asked { job: &self.job, policies })
    }
}

/// The state that stays while jobs run on one target: the target itself, open and locked, how it is
/// driven, and a description of the machine.
pub struct Session {
    options: Options,
    /// `None` if each job runs on its own device, a model.
    place: Option<Place>,
    machine: Machine,
}

impl Session {
    /// Opens the target of `options`. A missing file is created only if `variants`, which run
    /// first, can run on it.
    ///
    /// # Errors
    /// [`Failure`]: wrong input, an unsafe target, or a machine that cannot.
    pub fn open(
        mut options: Options,
        variants: &[Variant],
        progress: &mut dyn FnMut(Step<'_>) -> bool,
    ) -> Result<Self, Failure> {
        let asked = variants
            .iter()
            .map(|variant| variant.asked(&options))
            .collect::<Result<Vec<_>, Failure>>()?;
        if let Some(record) = &options.record {
            asked.iter().try_for_each(|asked| {
                candidate::can_be_recorded(&asked.policies, options.repeat)
            })?;
            Recorder::check(record).map_err(|error| Failure::unwritable(record, &error))?;
        }
        if options.target.machine()? {
            // A job's files lie on the devices of its machine.
            options.target.on = None;
        }
        let creation = &mut |path: &str, fraction| progress(Step::Creating { path, fraction });
        let place = Place::open(&asked, &options, creation)?;
        let real = place.as_ref().is_some_and(Place::is_real);
        let engine = place.as_ref().and_then(Place::engine);
        Ok(Self { place, machine: machine(real, engine.map(Engine::name)), options })
    }

    /// Runs each of `variants` under each of its candidates, in rounds of all of them: modelled
    /// cells in parallel on all cores, those of a real target one after another. Returns the
    /// session and the result of each variant.
    ///
    /// `progress` is called with each step, several times a second. If it returns `false` the run
    /// ends and the results so far are returned, the last of them marked as interrupted; variants
    /// that were not reached have no runs.
    ///
    /// # Errors
    /// [`Failure`]: wrong input, a machine that cannot, or a run that failed. Then the session is
    /// over, and a file that was made for it is gone if nothing else has run on it.
    pub fn run(
        mut self,
        variants: &[Variant],
        progress: &mut dyn FnMut(Step<'_>) -> bool,
    ) -> Result<(Self, Vec<Comparison>), Failure> {
        match self.measure(variants, progress) {
            Ok(comparisons) => {
                self.place.iter_mut().for_each(Place::keep);
                Ok((self, comparisons))
            }
            Err(failure) => {
                self.place.iter().for_each(Place::discard);
                Err(failure)
            }
        }
    }

    /// Finds what would be wrong with each of `variants` before any runs, and returns what is known
    /// about each without a run.
    ///
    /// # Errors
    /// [`Failure`]: wrong input, or a machine that cannot.
    pub fn check(&self, variants: &[Variant]) -> Result<Vec<Comparison>, Failure> {
        variants.iter().map(|variant| Ok(self.comparison(&self.task(variant)?))).collect()
    }

    fn measure(
        &self,
        variants: &[Variant],
        progress: &mut dyn FnMut(Step<'_>) -> bool,
    ) -> Result<Vec<Comparison>, Failure> {
        let Options { repeat, .. } = self.options;
        let Options { arm_from, arm_for, .. } = &self.options;
        let stretch = Stretch::new(arm_from.as_deref(), arm_for.as_deref())?;
        let detail = self.options.detail.then_some(stretch);
        let tasks =
            variants.iter().map(|variant| self.task(variant)).collect::<Result<Vec<_>, _>>()?;
        let watch = Watch::new(self.options.watch.as_deref(), self.options.speed.as_deref())?;
        let cells = design::cells(&tasks, repeat.unwrap_or(1));
        let requests = self.options.requests.as_ref();
        let mut report = Report { of: cells.len(), rounds: repeat.is_some(), requests, progress };
        let run =
            |cell: Cell<'_>, progress: &mut dyn Progress| self.cell(cell, detail, watch, progress);
        // A watched run is shown alone, and one interpreter runs all policies in Python.
        let alone = |cell: &Cell<'_>| cell.task.place.is_real() || cell.policy.is_foreign();
        let results = if watch.is_some() || cells.iter().any(alone) {
            cells::in_sequence(&cells, &mut report, run)?
        } else {
            cells::in_parallel(&cells, self.options.workers, &mut report, run)?
        };
        let mut comparisons: Vec<_> = tasks.iter().map(|task| self.comparison(task)).collect();
        for (cell, mut result) in cells.iter().zip(results) {
            shares::write(&cell.task.load.classes, &cell.task.job.classes, &mut result);
            let Task { place, load, .. } = cell.task;
            place.locate(&load.lanes, &load.files, &mut result.files);
            comparisons[cell.task_number].runs.push(result);
        }
        for (task, comparison) in tasks.iter().zip(&mut comparisons) {
            for round in comparison.runs.chunks_mut(task.policies.len()) {
                let alone = task.policies.iter().map(|policy| matches!(policy, Chosen::Alone(..)));
                served_policy::price(&task.policies, round);
                shares::against_alone(&mut alone.zip(round).collect::<Vec<_>>());
            }
        }
        Ok(comparisons)
    }

    /// Runs `cell`. With `detail`, collects details, with the arm in that stretch.
    fn cell(
        &self,
        cell: Cell<'_>,
        detail: Option<Stretch>,
        watch: Option<Watch<'_>>,
        progress: &mut dyn Progress,
    ) -> Result<RunResult, Failure> {
        let Task { job, load, place, .. } = cell.task;
        let (seed, policy) = (cell.seed(), cell.policy);
        let verification = verify::of_run(job, place, load.workload.writes(), seed)?;
        let runner = Runner {
            job,
            policy,
            load,
            seed,
            record: self.options.record.as_deref(),
            detail,
            requests: self.options.requests.is_some(),
            stability: self.options.survey.is_some(),
            watch,
            is_part: false,
            verification: &verification,
        };
        let mut result = match prepared_run(&runner, place, progress) {
            Err(failure) if self.keeps(&failure) => failed(policy, &failure),
            result => result?,
        };
        if let Verification::Targets(verifiers) = &verification {
            result = verify::finished(verifiers, job, place, result, progress)?;
        }
        if let Some(classes) = result.stability.take() {
            let classes =
                classes.map_err(|error| Failure::here("keep the times of requests", &error))?;
            let (disks, load) = (place.geometry().disks, job.live.target_depth());
            result.survey = Some(SurveyResult { disks, load, classes });
        }
        let round = self.options.repeat.map(|_| cell.round);
        Ok(RunResult { round, seed: round.map(|_| seed), ..result })
    }

    /// Whether a run that ended with this `failure` is kept as a result; wrong input and an
    /// unsuitable machine never are.
    fn keeps(&self, failure: &Failure) -> bool {
        self.options.failures == Failures::Keep && failure.is_of_the_run()
    }

    /// Why a run may have only one queue; `None` if it may have several.
    fn of_one_queue(&self) -> Option<&'static str> {
        self.options.survey.map(|_| "a cycle is of one queue")
    }

    /// Checks `variant` and prepares what all its runs have in common.
    fn task(&self, variant: &Variant) -> Result<Task, Failure> {
        let asked = variant.asked(&self.options)?;
        let job = asked.job;
        let place = match &self.place {
            Some(place) if !variant.on_own_device => place.viewed(job)?,
            _ => Place::own(job)?,
        };
        place.check(&asked, self.options.speed.as_deref())?;
        if place.is_real() && job.workload.lane_names().len() > 1 {
            loops::check(job, &self.options)?;
        }
        place.check_schedulers(&asked.policies)?;
        place.check_units(job)?;
        verify::check(job, &place, self.options.target.read_only)?;
        let load = workload::load(job, &place)?;
        let place = place.playing(&load.lanes);
        let lanes = load.lanes.len();
        place.check_queues(&asked, lanes, self.of_one_queue())?;
        if self.options.target.read_only && load.workload.writes() {
            let message = "the job writes, and the target is only to be read";
            return Err(Failure::wrong(message, "leave --read-only out, or name a job that reads"));
        }
        // The whole configuration: the device too, and what depends on it.
        let mut job = job.clone();
        if let Some(Survey { load }) = self.options.survey {
            job.live.depth =
                Some(load.map_or_else(|| survey::load_of(place.geometry().disks), u32::from));
        }
        let mut job = place.configure(&job);
        law::state(&mut job, &asked.policies, &place)?;
        let policies = Chosen::all(&job, variant.candidates(&self.options))?;
        Ok(Task { job, sets: variant.sets.clone(), policies, place, load })
    }

    /// The result of `task` without its runs.
    fn comparison(&self, task: &Task) -> Comparison {
        let Task { job, sets, policies, place, load } = task;
        // Stability is measured for another policy than the one that runs.
        let heeded = || without_effect::remarks(job, policies);
        let unused = if self.options.survey.is_some() { Vec::new() } else { heeded() };
        Comparison {
            verdict: None,
            penstock: crate::result::version::VERSION,
            job: JobResult { file: job.name.clone(), text: job.text(), set: sets.clone() },
            seed: job.seed,
            world: place.world(),
            device: place.name().into(),
            machine: self.machine.clone(),
            remarks: unused.into_iter().chain(load.remarks.iter().cloned()).collect(),
            runs: Vec::new(),
        }
    }
}

/// The result of a run of `policy` that ended with `failure`.
fn failed(policy: &Chosen, failure: &Failure) -> RunResult {
    RunResult {
        ended: failure.is_deadlock().then_some(Ended::Deadlock),
        failure: Some(failure.text().into()),
        ..RunResult::new(policy.name(), policy.params_json())
    }
}

/// Prepares the targets of `place` and runs `runner` there. If it is stopped meanwhile, the run ends as soon
/// as it has begun.
fn prepared_run(
    runner: &Runner<'_>,
    place: &Place,
    progress: &mut dyn Progress,
) -> Result<RunResult, Failure> {
    let Some(remarks) = preparation::prepare(runner.job, place, progress)? else {
        return one_run(runner, place, &mut Stopped);
    };
    let mut result = one_run(runner, place, progress)?;
    result.remarks.extend(remarks);
    Ok(result)
}

/// Runs `runner` at `place`, and reports how late a served model was.
fn one_run(
    runner: &Runner<'_>,
    place: &Place,
    progress: &mut dyn Progress,
) -> Result<RunResult, Failure> {
    let Some(server) = place.targets().first().and_then(|live| live.server.as_ref()) else {
        return under_policy(runner, place, progress);
    };
    let depth = block::depth(runner.job.block_depth);
    // A run under a scheduler of the kernel sets the depth itself, before the scheduler.
    let targets = [&place.targets()[0].target];
    let own = runner.policy.kernel().is_none();
    let held = own.then(|| queue_settings::hold(&targets, &[depth])).transpose()?;
    server.reset()?;
    let mut result = under_policy(runner, place, progress)?;
    let report = server.report()?;
    drop(held);
    if let Some(depth) = runner.job.block_depth.filter(|depth| *depth < report.most_at_once) {
        result.remarks.push(format!(
            "block.depth is {depth}, and the device had {} requests at once",
            report.most_at_once
        ));
    }
    Ok(RunResult { emulation: Some(report.emulation), ..result })
}

/// Runs `runner` at `place`: all classes over one stack, one class alone, or each class on threads
/// of its own under a scheduler of the kernel.
fn under_policy(
    runner: &Runner<'_>,
    place: &Place,
    progress: &mut dyn Progress,
) -> Result<RunResult, Failure> {
    match (runner.policy, place) {
        (Chosen::Kernel(..), _) => {
            let scheduler = runner.policy.kernel().expect("it is one");
            independent::run(runner, place, scheduler, progress)
        }
        (Chosen::Served(entry, params, _), _) => {
            served_policy::run(runner, place, (entry, params), progress)
        }
        (Chosen::Alone(class, _), _) => {
            let alone = runner.load.only(*class)?;
            let result = over_targets(&Runner { load: &alone, ..*runner }, place, progress)?;
            Ok(result.only(*class))
        }
        _ => over_targets(runner, place, progress),
    }
}

/// Runs `runner` at `place` under a policy: over one stack, or over one stack for each file in real
/// time.
fn over_targets(
    runner: &Runner<'_>,
    place: &Place,
    progress: &mut dyn Progress,
) -> Result<RunResult, Failure> {
    if place.is_real() && runner.load.lanes.len() > 1 {
        return side_by_side::run(runner, place, progress);
    }
    runner.run_single_stack(place, progress)
}
