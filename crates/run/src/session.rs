//! A session: a target that stays open and locked while jobs run on it.

use penstock_jobs::Job;
use penstock_live::Engine;

use crate::candidate::{self, Candidate, Chosen};
use crate::cells::{self, Report};
use crate::design::{self, Cell, Task};
use crate::failure::Failure;
use crate::independent;
use crate::law;
use crate::loops;
use crate::machine::machine;
use crate::measures::arm::Stretch;
use crate::options::Options;
use crate::place::{Asked, Place};
use crate::progress::Progress;
use crate::record::Recorder;
use crate::result::{Comparison, JobResult, Machine, RunResult};
use crate::runner::Runner;
use crate::shares;
use crate::side_by_side;
use crate::snapshot::Watch;
use crate::stability;
use crate::step::Step;
use crate::verify::{self, Verification};
use crate::without_effect;
use crate::workload;

/// A job that a session runs.
pub struct Variant {
    /// What runs.
    pub job: Job,
    /// Who decides, in the order in which they run; none: the policies of the session.
    pub policies: Vec<Candidate>,
}

impl From<Job> for Variant {
    fn from(job: Job) -> Self {
        Self { job, policies: Vec::new() }
    }
}

impl Variant {
    fn candidates<'a>(&'a self, options: &'a Options) -> &'a [Candidate] {
        if self.policies.is_empty() { &options.policies } else { &self.policies }
    }

    fn asked(&self, options: &Options) -> Result<Asked<'_>, Failure> {
        let policies = Chosen::all(&self.job, self.candidates(options))?;
        Ok(Asked { job: &self.job, policies })
    }
}

/// What stays while jobs run on one target: the target itself, open and locked, how it is driven, and
/// what the machine is.
pub struct Session {
    options: Options,
    /// None: each job runs on its own device, a model.
    place: Option<Place>,
    machine: Machine,
}

impl Session {
    /// Opens the target of `options`; a missing file is made only if `variants` can run on it,
    /// which are those that run first.
    ///
    /// # Errors
    /// [`Failure`]: wrong input, an unsafe target, or a machine that cannot.
    pub fn open(
        options: Options,
        variants: &[Variant],
        progress: &mut dyn FnMut(Step<'_>) -> bool,
    ) -> Result<Self, Failure> {
        let asked =
            variants.iter().map(|one| one.asked(&options)).collect::<Result<Vec<_>, Failure>>()?;
        if let Some(record) = &options.record {
            asked
                .iter()
                .try_for_each(|one| candidate::can_be_recorded(&one.policies, options.repeat))?;
            Recorder::check(record).map_err(|error| Failure::unwritable(record, &error))?;
        }
        let place = Place::open(&asked, &options, progress)?;
        let real = place.as_ref().is_some_and(Place::is_real);
        let engine = place.as_ref().and_then(Place::engine);
        Ok(Self { place, machine: machine(real, engine.map(Engine::name)), options })
    }

    /// Runs each of `variants` under each of its candidates, in rounds of all of them: modelled cells on all
    /// cores, those of a real target one after another. Returns the session and the result
    /// of each variant.
    ///
    /// `progress` is called with each step, some times a second; if it returns `false` the run ends and
    /// the results so far are returned, the last of them marked as interrupted; variants that were
    /// not reached have no runs.
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

    /// Finds what would be wrong with each of `variants` before any runs, and returns what is known of each by
    /// then, without runs.
    ///
    /// # Errors
    /// [`Failure`]: wrong input, or a machine that cannot.
    pub fn check(&self, variants: &[Variant]) -> Result<Vec<Comparison>, Failure> {
        variants.iter().map(|one| Ok(self.comparison(&self.task(one)?))).collect()
    }

    fn measure(
        &self,
        variants: &[Variant],
        progress: &mut dyn FnMut(Step<'_>) -> bool,
    ) -> Result<Vec<Comparison>, Failure> {
        let Options { repeat, requests, stability, .. } = self.options;
        let Options { arm_from, arm_for, .. } = &self.options;
        let stretch = Stretch::new(arm_from.as_deref(), arm_for.as_deref())?;
        let detail = self.options.detail.then_some(stretch);
        let record = self.options.record.as_deref();
        let tasks = variants.iter().map(|one| self.task(one)).collect::<Result<Vec<_>, _>>()?;
        let watch = Watch::new(self.options.watch.as_deref(), self.options.speed.as_deref())?;
        let cells = design::cells(&tasks, repeat.unwrap_or(1));
        let mut report = Report { of: cells.len(), rounds: repeat.is_some(), progress };
        let run = |cell: Cell<'_>, progress: &mut dyn Progress| {
            let Task { job, load, place, .. } = cell.task;
            let (seed, policy) = (cell.seed(), cell.policy);
            let is_part = false;
            let verification = verify::of_run(job, place, load.workload.writes(), seed)?;
            let runner = Runner {
                job,
                policy,
                load,
                seed,
                record,
                detail,
                requests,
                stability,
                watch,
                is_part,
                verification: &verification,
            };
            let mut result = one_run(&runner, place, progress)?;
            if let Verification::Targets(verifiers) = &verification {
                result = verify::finished(verifiers, job, place, result, progress)?;
            }
            let round = repeat.map(|_| cell.round);
            Ok(RunResult { round, seed: round.map(|_| seed), ..result })
        };
        // A watched run is shown alone, and one interpreter runs all policies in Python.
        let alone = |cell: &Cell<'_>| cell.task.place.is_real() || cell.policy.is_foreign();
        let results = if watch.is_some() || cells.iter().any(alone) {
            cells::in_sequence(&cells, &mut report, run)?
        } else {
            cells::in_parallel(&cells, self.options.workers, &mut report, run)?
        };
        let mut comparisons: Vec<_> = tasks.iter().map(|task| self.comparison(task)).collect();
        for (cell, mut result) in cells.iter().zip(results) {
            shares::of_run(&cell.task.load.classes, &mut result);
            cell.task.place.locate(&mut result.files);
            comparisons[cell.of].runs.push(result);
        }
        for (task, comparison) in tasks.iter().zip(&mut comparisons) {
            for round in comparison.runs.chunks_mut(task.policies.len()) {
                let alone = task.policies.iter().map(|policy| matches!(policy, Chosen::Alone(..)));
                shares::against_alone(&mut alone.zip(round).collect::<Vec<_>>());
            }
        }
        Ok(comparisons)
    }

    /// Why a run may have no more than one queue, if it may not.
    fn of_one_queue(&self) -> Option<&'static str> {
        self.options.stability.then_some("a cycle is of one queue")
    }

    /// `variant` with all that its runs have in common.
    fn task(&self, variant: &Variant) -> Result<Task, Failure> {
        let asked = variant.asked(&self.options)?;
        let job = asked.job;
        let place = match &self.place {
            None => Place::own(job)?,
            Some(place) => place.viewed(job)?,
        };
        place.check(&asked, self.options.speed.as_deref())?;
        if place.is_real() && job.workload.file_names().len() > 1 {
            loops::check(job, &self.options)?;
        }
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
        if self.options.stability {
            job.live.depth.get_or_insert(stability::load_of(place.disks()));
        }
        let mut job = place.configure(&job);
        law::state(&mut job, &asked.policies, &place)?;
        let policies = Chosen::all(&job, variant.candidates(&self.options))?;
        Ok(Task { job, policies, place, load })
    }

    /// What is said of `task` before it has run.
    fn comparison(&self, task: &Task) -> Comparison {
        let Task { job, policies, place, load } = task;
        // Stability is measured for another policy than the one that runs.
        let heeded = || without_effect::remarks(job, policies);
        let unused = if self.options.stability { Vec::new() } else { heeded() };
        Comparison {
            verdict: None,
            penstock: crate::version::VERSION,
            job: JobResult { file: job.name.clone(), text: job.text(), set: Vec::new() },
            seed: job.seed,
            world: place.world(),
            device: place.name().into(),
            disks: place.disks(),
            machine: self.machine.clone(),
            remarks: unused.into_iter().chain(load.remarks.iter().cloned()).collect(),
            runs: Vec::new(),
        }
    }
}

/// The run of `runner` at `place`: of all classes over one stack, of one class alone, or of each on a
/// thread of its own under a scheduler of the kernel.
fn one_run(
    runner: &Runner<'_>,
    place: &Place,
    progress: &mut dyn Progress,
) -> Result<RunResult, Failure> {
    match (runner.policy, place) {
        (Chosen::Kernel(_), _) => {
            let scheduler = runner.policy.kernel().expect("it is one");
            independent::run(runner, place, scheduler, progress)
        }
        (Chosen::Alone(class, _), _) => {
            let alone = runner.load.only(*class)?;
            let result = over_targets(&Runner { load: &alone, ..*runner }, place, progress)?;
            Ok(result.only(*class))
        }
        _ => over_targets(runner, place, progress),
    }
}

/// The run of `runner` at `place` under a policy: over one stack, or over one for each file in real time.
fn over_targets(
    runner: &Runner<'_>,
    place: &Place,
    progress: &mut dyn Progress,
) -> Result<RunResult, Failure> {
    if place.is_real() && runner.load.lanes.len() > 1 {
        return side_by_side::run(runner, place, progress);
    }
    runner.run_whole(place, progress)
}
