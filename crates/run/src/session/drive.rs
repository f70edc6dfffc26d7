//! The loop of a run: drives its stack with the requests of its load, and makes its result.

use penstock_core::{Clock, Device, End, Limits, Observer, RunError, Seed, Source, Time, run};
use penstock_device::page_cache::Topology;
use penstock_device::{PageCache, Rack};
use penstock_jobs::{PageCacheSpec, Stop};

use crate::failure::Failure;
use crate::measures;
use crate::measures::durable::{Durable, Flushing};
use crate::measures::ledger::Ledger;
use crate::measures::measure::Measure;
use crate::measures::merge::MergeBook;
use crate::measures::programs::ProgramBook;
use crate::progress::policy_levels::PolicyLevels;
use crate::progress::report::{Progress, Reporter, Rhythm};
use crate::progress::snapshot::{Watch, Watched};
use crate::result::RunResult;
use crate::session::observer::CellObserver;
use crate::session::runner::Runner;
use crate::session::stack::{Queue, Stack, StackRun};
use crate::session::{outcome, run_errors, verify};
use crate::workload::SourceEvents;

impl StackRun<'_> {
    /// Runs over the usual stack, a queue, whose loop is compiled for it where nothing lies between.
    pub(super) fn drive(
        &mut self,
        queue: &mut Queue,
        clock: &mut impl Clock,
    ) -> Result<RunResult, Failure> {
        if self.runner.load.base() > 0 || self.ends.data.is_some() {
            return self.drive_any(queue, clock);
        }
        let result = self.run_loop(queue, clock)?;
        self.counted(&queue.policies(), result)
    }

    /// Runs over any stack, at addresses that begin after the files before it, and verifies the data
    /// on its models if the run does. There is a single loop for all stacks: a loop for each takes
    /// most of the time in which this crate is compiled.
    pub(super) fn drive_any(
        &mut self,
        stack: &mut dyn Stack,
        clock: &mut impl Clock,
    ) -> Result<RunResult, Failure> {
        let result = match self.runner.load.base() {
            0 => self.drive_verified(stack, clock)?,
            base => {
                let stack: &mut dyn Device = &mut *stack;
                self.drive_verified(&mut Rack::behind(base, vec![stack]), clock)?
            }
        };
        self.counted(&stack.policies(), result)
    }

    fn drive_verified(
        &mut self,
        mut stack: &mut dyn Device,
        clock: &mut impl Clock,
    ) -> Result<RunResult, Failure> {
        let Some(data) = self.ends.data.clone() else { return self.run_loop(&mut stack, clock) };
        let mut verified = data.over(stack);
        let mut stack: &mut dyn Device = &mut verified;
        let result = self.run_loop(&mut stack, clock)?;
        Ok(verify::finished_on_models(&data, result))
    }

    fn run_loop(
        &mut self,
        stack: &mut impl Device,
        clock: &mut impl Clock,
    ) -> Result<RunResult, Failure> {
        let Self { runner, ends, levels, recorder, measures: below, progress, .. } = self;
        let Runner { job, load, policy, .. } = **runner;
        let most = job.max_outstanding;
        let merge = load.workload.merges().map(MergeBook::new);
        let events = SourceEvents {
            programs: ends.programs.clone().map(ProgramBook::receiver),
            merges: merge.clone().map(MergeBook::receiver),
        };
        let mut asking = load.workload.source(Seed(runner.seed), most, events);
        let flushing = (job.stop == Stop::Durable).then(Flushing::default);
        let names: Vec<&str> = load.classes.iter().map(|class| class.name.as_str()).collect();
        let cache = job.buffered().zip(load.below_cache.as_ref());
        let cache = cache.map(|(spec, layout)| (spec, layout, Ledger::default()));
        let ledger = cache.as_ref().map(|(.., ledger)| ledger.clone());
        let subject = runner.subject(ends.guard.is_some());
        // First: others ask the source for what did not take place.
        let book = merge.clone().map(|book| Box::new(book) as Box<dyn Measure>);
        let measures = book.into_iter().chain(measures::all(&subject)).collect();
        let reporter = reporter(runner, &names, ends.guard.is_some(), levels.clone(), *progress);
        let mut observer = CellObserver::new(
            subject.warmup,
            measures,
            std::mem::take(below),
            ledger,
            recorder.clone(),
            reporter,
            ends,
        )
        .ending_with(flushing.clone());
        let until = until(runner);
        let limits = Limits { until, max_outstanding: most };
        let flushed = flushing.is_some().then(|| load.byte_of_each_file());
        let mut durable;
        let mut source: &mut dyn Source = match (&flushed, &flushing) {
            (Some(flushed), Some(flushing)) => {
                durable = Durable::new(&mut *asking, flushed, flushing.clone());
                &mut durable
            }
            _ => &mut *asking,
        };
        let end =
            run_cached(cache.as_ref(), flushing, &mut source, stack, clock, &mut observer, limits);
        // The policy's own message says more than how the run ended without it.
        run_errors::quit(ends.quit.get(), policy.name())?;
        load.workload.check()?;
        let under = policy.name();
        let end = end.map_err(|error| {
            run_errors::failed(error, &names, observer.arrivals, merge.as_ref(), under)
        })?;
        if let Some((class, at)) = ends.programs.as_ref().and_then(ProgramBook::full) {
            return Err(run_errors::too_many(names[class.index()], most, at, under));
        }
        Ok(outcome::result(runner, ends, end, &mut observer, &mut *asking, until))
    }
}

/// The reporter of a run of the classes `names`, whose requests at the policies are `levels`; `live`:
/// it runs in real time.
fn reporter<'a>(
    runner: &Runner<'a>,
    names: &[&str],
    live: bool,
    levels: Option<PolicyLevels>,
    progress: &'a mut dyn Progress,
) -> Reporter<'a> {
    let duration = runner.load.duration;
    let watch =
        |watch: Watch<'_>| Watched::new(names, duration, watch.window(duration, live), levels);
    let rhythm = match runner.watch.and_then(Watch::paced) {
        _ if live => Rhythm::Live,
        Some((_, pace)) => Rhythm::Paced(pace),
        None => Rhythm::Model,
    };
    Reporter::new(duration, progress, rhythm, runner.watch.map(watch))
}

/// The time at which the run ends, whatever is outstanding.
fn until(runner: &Runner<'_>) -> Time {
    match runner.job.stop {
        Stop::Drained | Stop::Durable | Stop::Done(_) | Stop::Sent(_) => Time::NEVER,
        Stop::LastArrival => runner.load.last,
        Stop::At(span) => Time::ZERO + span,
    }
}

/// Calls [`run`] with a page cache between the source and `stack`, if there is one; the run may end
/// with the flushes of `flushing`.
fn run_cached(
    cache: Option<&(&PageCacheSpec, &Topology, Ledger)>,
    flushing: Option<Flushing>,
    source: &mut impl Source,
    stack: &mut impl Device,
    clock: &mut impl Clock,
    observer: &mut impl Observer,
    limits: Limits,
) -> Result<End, RunError> {
    let Some((spec, layout, ledger)) = cache else {
        return run(source, stack, clock, observer, limits);
    };
    let stack: &mut dyn Device = stack;
    let mut cache = PageCache::over(&spec.options(), layout, ledger.over(stack, flushing));
    run(source, &mut cache, clock, observer, limits)
}
