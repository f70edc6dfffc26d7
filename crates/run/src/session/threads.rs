//! Runs on several threads, each with its own engine, clock and loop, and joins their results.
//!
//! Threads wait for each other before they begin. The first that fails ends the others. Their
//! measurements are joined at the end.

use std::sync::atomic::{AtomicUsize, Ordering};

use penstock_core::{ClassId, Time};
use penstock_jobs::Class;
use penstock_live::{ControlGroups, Engine, set_io_priority};

use crate::failure::Failure;
use crate::measures;
use crate::measures::below::DiskSnapshot;
use crate::measures::policy_series;
use crate::measures::values::ratio;
use crate::place::Place;
use crate::place::live_target::Live;
use crate::pool::{self, Message, Reports, StartLine, Ticket};
use crate::progress::report::Progress;
use crate::progress::snapshot::Snapshot;
use crate::result::RunResult;
use crate::session::runner::Runner;
use crate::workload::Load;

/// Maximum bytes of the buffers of all engines together; the same as for a single engine.
const BUFFERS_MOST: u64 = 4 << 30;
/// Maximum number of threads of a run.
const THREADS_MOST: usize = 4096;

/// The task of a thread.
pub(crate) struct ThreadTask<'a> {
    load: Load,
    /// The target that this thread reads and writes; `None` for `--on null`.
    live: Option<&'a Live>,
    /// The class whose load it is, if it runs without a Penstock policy.
    alone: Option<ClassId>,
    /// The control groups of all classes, if they have some.
    pub(crate) groups: Option<&'a ControlGroups>,
}

impl<'a> ThreadTask<'a> {
    /// Creates a task that runs `load` at `place`: on the target of its file, if there are several.
    pub(crate) fn new(load: Load, place: &'a Place) -> Self {
        let live = place.targets().get(load.lane.unwrap_or(0));
        Self { load, live, alone: None, groups: None }
    }

    /// Creates a task that runs `load`, of `class`, at `place` without a Penstock policy.
    pub(crate) fn alone(class: ClassId, load: Load, place: &'a Place) -> Self {
        Self { alone: Some(class), ..Self::new(load, place) }
    }

    /// The engine that drives `live`; an agent without a Penstock policy may name its own.
    fn engine(&self, live: &Live) -> Engine {
        if self.alone.is_some() { live.engine_of(self.load.engine()) } else { live.engine() }
    }
}

/// The remark on how many of `tasks` use which engine; `None` if all use the run's.
pub(crate) fn engines(tasks: &[ThreadTask<'_>]) -> Option<String> {
    let engines = tasks.iter().filter_map(|task| Some((task.live?, task.engine(task.live?))));
    let engines: Vec<(&Live, Engine)> = engines.collect();
    if engines.iter().all(|(live, engine)| *engine == live.engine()) {
        return None;
    }
    let count = |engine: Engine| engines.iter().filter(|(_, used)| *used == engine).count();
    let used = Engine::ALL.into_iter().filter(|engine| count(*engine) > 0);
    let used: Vec<String> =
        used.map(|engine| format!("{} of {}", count(engine), engine.name())).collect();
    Some(format!("engines of the threads: {}", used.join(", ")))
}

/// Checks that the tasks stay within the limits on threads and on buffer memory.
///
/// # Errors
/// Too many threads, or too large buffers.
pub(crate) fn check(runner: &Runner<'_>, tasks: &[ThreadTask<'_>]) -> Result<(), Failure> {
    check_threads(tasks.len())?;
    let depth = |task: &ThreadTask<'_>| match task.live {
        Some(live) => runner.depth(live, task.engine(live)),
        None => runner.job.live.target_depth(),
    };
    let commands = tasks.iter().map(|task| u64::from(depth(task))).sum();
    check_buffers(tasks.len(), commands, runner.load.longest)
}

/// Runs `runner` at `place` with a thread for each of `tasks`.
pub(crate) fn run(
    runner: &Runner<'_>,
    place: &Place,
    tasks: &[ThreadTask<'_>],
    progress: &mut dyn Progress,
) -> Result<RunResult, Failure> {
    let targets = place.targets();
    if targets.is_empty() {
        return threads(runner, place, tasks, progress);
    }
    let seen = DiskSnapshot::take_all(targets.iter().map(|live| &live.target));
    let (mut remarks, mut dropped) = (Vec::new(), Vec::new());
    for ThreadTask { load, live, .. } in tasks {
        let Some(live) = live.filter(|_| !dropped.contains(&load.lane)) else { continue };
        dropped.push(load.lane);
        remarks.extend(Runner { load, ..*runner }.drop_page_cache(live)?);
    }
    let mut all = seen.written_to(threads(runner, place, tasks, progress)?);
    all.remarks.extend(remarks);
    Ok(all)
}

/// Checks that `count` threads are allowed.
fn check_threads(count: usize) -> Result<(), Failure> {
    if count <= THREADS_MOST {
        return Ok(());
    }
    let message = format!("found {count} threads; at most {THREADS_MOST} may be");
    Err(Failure::wrong(message, "set `live.threads`, or let fewer agents ask"))
}

/// Runs the threads and joins their results; adds no remarks of its own.
fn threads(
    runner: &Runner<'_>,
    place: &Place,
    tasks: &[ThreadTask<'_>],
    progress: &mut dyn Progress,
) -> Result<RunResult, Failure> {
    let (line, reports) = (StartLine::default(), AtomicUsize::new(0));
    let mut results: Vec<Option<Result<RunResult, Failure>>> = vec![];
    results.resize_with(tasks.len(), || None);
    let mut watched = vec![None; tasks.len()];
    let mut failed = false;
    let work =
        |number: usize, ticket: Ticket<'_>, outlet: &Reports<'_, ThreadProgress, ThreadResult>| {
            let reporter = ThreadReporter { number, reports: &reports, outlet };
            let named = |failure: Failure| match tasks[number].live {
                Some(live) if place.targets().len() > 1 => failure.at(&live.path),
                _ => failure,
            };
            Box::new(run_task(runner, place, &tasks[number], ticket, reporter).map_err(named))
        };
    let refused =
        |error| Box::new(Err(Failure::here("start a thread for each part of the load", &error)));
    // Results come as messages: a join waits until the thread has returned from the kernel, and it
    // cannot return while a ring of its own was given up there.
    pool::one_each(tasks.len(), &line, work, refused, |message| {
        match message {
            Message::Done(number, result) => {
                // Without one thread the others' figures would belong to another load.
                failed |= result.as_ref().as_ref().map_or(true, |run| run.failure.is_some());
                results[number] = Some(*result);
                watched[number] = watched[number].take().map(Snapshot::ended);
                let next = results.iter().position(Option::is_none);
                reports.store(next.unwrap_or(tasks.len()), Ordering::Relaxed);
            }
            Message::Progress(number, ThreadProgress { fraction, now }) => {
                if let Some(now) = now {
                    watched[number] = Some(*now);
                }
                if let Some(fraction) = fraction {
                    let now = Snapshot::joined(watched.iter().flatten());
                    failed |= !progress.update(fraction, now.as_ref());
                }
            }
            Message::Beat => {}
        }
        !failed
    });
    let results = results.into_iter().flatten().collect::<Result<Vec<_>, _>>()?;
    Ok(joined(runner, place, tasks, results))
}

/// The result of a thread, or why it failed.
type ThreadResult = Box<Result<RunResult, Failure>>;

/// Progress of a thread.
struct ThreadProgress {
    /// Share of the run that is over, from the thread that reports for all.
    fraction: Option<f64>,
    /// State of the thread's run, if a person watches.
    now: Option<Box<Snapshot>>,
}

/// Checks that the buffers of all engines together take at most [`BUFFERS_MOST`] bytes.
fn check_buffers(threads: usize, commands: u64, longest: u32) -> Result<(), Failure> {
    let needed = commands * u64::from(longest);
    if needed <= BUFFERS_MOST {
        return Ok(());
    }
    let (needed, most) = (needed.div_ceil(1 << 20), BUFFERS_MOST >> 20);
    Err(Failure::wrong(
        format!(
            "{threads} engines of {commands} commands together need {needed} MiB of buffers; at most {most} MiB may be"
        ),
        "each thread has an engine of its own: lower `live.depth`, or let fewer ask",
    ))
}

/// Runs `task` on the current thread.
fn run_task(
    runner: &Runner<'_>,
    place: &Place,
    task: &ThreadTask<'_>,
    start: Ticket<'_>,
    mut reporter: ThreadReporter<'_>,
) -> Result<RunResult, Failure> {
    let runner = Runner { load: &task.load, is_part: true, ..*runner };
    let Some(live) = task.live else {
        start.wait();
        return runner.run_null(place, &mut reporter);
    };
    let refused = task.alone.and_then(|class| {
        set_own_priority(&runner.job.classes[class.index()])
            .and_then(|()| enter_own_group(class, task.groups))
            .err()
    });
    let staged = runner.stage(live, task.engine(live), task.load.workload.caching());
    // Every thread comes here, whether its stage failed or not.
    start.wait();
    let mut result = runner.run_live(place, staged?, &mut reporter)?;
    result.remarks.extend(refused);
    Ok(result)
}

/// Gives this thread the I/O priority of `class`, if it has one of its own. Fails with a remark if the
/// kernel refuses.
fn set_own_priority(class: &Class) -> Result<(), String> {
    if !class.has_ioprio() {
        return Ok(());
    }
    set_io_priority(0, Some(class.ioprio)).map_err(|error| {
        format!("{} runs without its ioprio {}: {error}", class.name, class.ioprio)
    })
}

/// Puts this thread, and those that its engine starts, into the control group of `class`, if it has one.
fn enter_own_group(class: ClassId, groups: Option<&ControlGroups>) -> Result<(), String> {
    groups.map_or(Ok(()), |groups| groups.enter(class.index())).map_err(|error| {
        format!("the weights of classes did not apply: a thread cannot enter its group: {error}")
    })
}

/// The progress of one of the threads.
struct ThreadReporter<'a> {
    number: usize,
    /// Number of the thread that reports: the first that is still running.
    reports: &'a AtomicUsize,
    outlet: &'a Reports<'a, ThreadProgress, ThreadResult>,
}

impl Progress for ThreadReporter<'_> {
    fn update(&mut self, fraction: f64, now: Option<&Snapshot>) -> bool {
        let reports = self.number == self.reports.load(Ordering::Relaxed);
        if reports || now.is_some() {
            let now = now.map(|now| Box::new(now.clone()));
            self.outlet.offer(ThreadProgress { fraction: reports.then_some(fraction), now });
        }
        !self.outlet.stopped()
    }
}

/// Joins the results of all threads.
fn joined(
    runner: &Runner<'_>,
    place: &Place,
    tasks: &[ThreadTask<'_>],
    results: Vec<RunResult>,
) -> RunResult {
    let subject = runner.subject(true);
    let mut measures = measures::all(&subject);
    let several = runner.load.lanes.len() > 1 && place.is_real();
    let lasted_s = |end: Time| end.since(subject.warmup).ns() as f64 / 1e9;
    // The busy time of each target in seconds.
    let mut busy_s = vec![0.0_f64; if several { runner.load.lanes.len() } else { 1 }];
    // A thread that finished early counts until the end of its load's time; not if another was
    // interrupted.
    let early = results.iter().any(|result| result.interrupted);
    let mut end = Time::ZERO;
    let mut series = Vec::new();
    let mut all = RunResult::new(runner.policy.name(), runner.policy.params_json());
    for (task, mut result) in tasks.iter().zip(results) {
        let lane = task.load.lane.unwrap_or(0);
        let parts = result.parts.take().expect("each thread hands over what it has measured");
        if result.interrupted || !early {
            end = end.max(parts.end);
        }
        // Threads of one target measure the same device.
        busy_s[lane] = busy_s[lane].max(result.device_busy * lasted_s(parts.end));
        for (measure, part) in measures.iter_mut().zip(parts.measures) {
            if let Some(part) = part {
                measure.join(part);
            }
        }
        if several {
            series.extend(result.detail.take().map(|detail| policy_series::of_disk(detail, lane)));
            let of_disk = |(name, value)| (format!("disk{lane}.{name}"), value);
            result.policy_stats = result.policy_stats.into_iter().map(of_disk).collect();
        }
        all.absorb(result);
    }
    for measure in &mut measures {
        measure.write(end, &mut all);
    }
    let lasted_s = lasted_s(end);
    all.device_busy = ratio(busy_s.iter().sum::<f64>() / busy_s.len() as f64, lasted_s);
    if place.targets().len() > 1 {
        for (file, on) in all.files.iter_mut().zip(&runner.load.files) {
            file.device_busy = Some(ratio(busy_s[on.lane], lasted_s));
        }
    }
    if let Some(detail) = &mut all.detail {
        let windows = detail.classes.first().map_or(0, |class| class.series.len());
        detail.policy = policy_series::joined(series, detail.window_s, windows);
    }
    // A run of one class has only its own merge.
    all.merge = all.merge.filter(|_| runner.load.classes.len() == 1);
    all.remarks.sort_unstable();
    all.remarks.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_of_many_classes_have_no_more_buffers_than_one() {
        assert!(check_buffers(4, 4 * 1024, 1 << 20).is_ok());
        let refused = check_buffers(256, 256 * 4096, 1 << 20).unwrap_err();
        assert!(refused.to_string().contains("need 1048576 MiB of buffers"), "{refused}");
        assert_eq!(refused.exit_code(), 2);
    }
}
