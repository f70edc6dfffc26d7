//! Load on threads without a policy of ours: what an unscheduled machine gives to programs that share its
//! disk, under a scheduler of the kernel.
//!
//! Each class has threads of its own, and each thread an engine and a clock, as independent processes have: to
//! the block layer a thread is a process, with an I/O context of its own, which is what the kernel's
//! fair schedulers share by. Nothing of one class waits for the other above the kernel. A class has one thread;
//! with an engine that blocks, one for each of its agents. What threads have measured is joined at the end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use penstock_core::{ClassId, Time};
use penstock_live::{Engine, scheduler};

use crate::below::Seen;
use crate::candidate::AS_IS;
use crate::failure::Failure;
use crate::measures;
use crate::place::{Live, Place};
use crate::progress::Progress;
use crate::result::RunResult;
use crate::runner::Runner;
use crate::snapshot::Snapshot;
use crate::workload::Load;

/// Bytes of the buffers of all engines together, as of one by itself.
const BUFFERS_MOST: u64 = 4 << 30;
/// Threads of a run.
const THREADS_MOST: usize = 4096;

/// What a result says of its device time.
const REMARK: &str = "each class ran at the same time as the others on threads and engines of its own: device time is what each of \
                      them saw, and counts twice where both had something at the disk";

/// The run of `runner` at `place` with the disks below under the kernel's scheduler `name`.
pub(crate) fn run(
    runner: &Runner<'_>,
    place: &Place,
    name: &str,
    progress: &mut dyn Progress,
) -> Result<RunResult, Failure> {
    let loads = loads(runner, place)?;
    if let Some(live) = place.live() {
        let depths = loads.iter().map(|load| runner.depth(live, live.engine_of(load.engine())));
        check_buffers(loads.len(), depths.map(u64::from).sum(), runner.load.longest)?;
    }
    let Place::Live(live) = place else { return threads(runner, place, &loads, progress) };
    let switched = if name == AS_IS { None } else { Some(scheduler::switch(&live.target, name)?) };
    let seen = Seen::now(&live.target);
    let remark = runner.cold(live)?;
    let mut all = seen.written_to(threads(runner, place, &loads, progress)?);
    all.remarks.extend(remark);
    all.remarks.extend(engines(live, &loads));
    if let Some(Err(changed)) = switched.map(|switched| switched.check()) {
        all.failure.get_or_insert(changed.to_string());
    }
    Ok(all)
}

/// What each thread asks for.
fn loads(runner: &Runner<'_>, place: &Place) -> Result<Vec<Load>, Failure> {
    let threads = |engine: Option<Engine>| {
        let blocks = place.live().is_some_and(|live| live.engine_of(engine).is_blocking());
        let usual = if blocks { usize::MAX } else { 1 };
        runner.job.live.threads.map_or(usual, |threads| threads as usize)
    };
    let mut loads = Vec::new();
    for class in 0..runner.load.classes.len() {
        loads.extend(runner.load.split(ClassId(class as u16), &threads)?);
    }
    if loads.len() > THREADS_MOST {
        let message = format!("found {} threads; at most {THREADS_MOST} may be", loads.len());
        return Err(Failure::wrong(message, "set `live.threads`, or let fewer agents ask"));
    }
    Ok(loads)
}

/// How many threads have which engine, if that is another than the run's.
fn engines(live: &Live, loads: &[Load]) -> Option<String> {
    let engines: Vec<Engine> = loads.iter().map(|load| live.engine_of(load.engine())).collect();
    if engines.iter().all(|engine| *engine == live.engine) {
        return None;
    }
    let count = |engine: &Engine| engines.iter().filter(|other| *other == engine).count();
    let used = Engine::ALL.iter().filter(|engine| count(engine) > 0);
    let used: Vec<String> =
        used.map(|engine| format!("{} of {}", count(engine), engine.name())).collect();
    Some(format!("engines of the threads: {}", used.join(", ")))
}

/// The run of `runner` with a thread for each of `loads`.
fn threads(
    runner: &Runner<'_>,
    place: &Place,
    loads: &[Load],
    progress: &mut dyn Progress,
) -> Result<RunResult, Failure> {
    let (start, stop) = (Start::new(loads.len()), AtomicBool::new(false));
    let results = thread::scope(|scope| {
        let (sender, words) = channel();
        for (number, load) in loads.iter().enumerate() {
            let from = sender.clone();
            let (start, stop) = (&start, &stop);
            let alone = move || {
                let member = Member { first: number == 0, stop, words: from.clone() };
                let result = one(runner, place, load, start, member);
                // Without one thread the others' figures would be of another load.
                stop.fetch_or(result.is_err(), Ordering::Relaxed);
                let _ = from.send(Word::Ended(number, Box::new(result)));
            };
            // Its result comes as a word: a join waits until the thread has returned from the
            // kernel, and it cannot return while a ring of its own was given up there.
            if let Err(error) = thread::Builder::new().spawn_scoped(scope, alone) {
                let failure = Failure::here("start a thread for each part of the load", &error);
                stop.store(true, Ordering::Relaxed);
                start.arrive();
                let _ = sender.send(Word::Ended(number, Box::new(Err(failure))));
            }
        }
        drop(sender);
        let mut results: Vec<Option<Result<RunResult, Failure>>> = vec![];
        results.resize_with(loads.len(), || None);
        for word in words {
            match word {
                Word::Ended(number, result) => results[number] = Some(*result),
                Word::Over(fraction) => {
                    if !progress.update(fraction, None) {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
            }
        }
        results.into_iter().flatten().collect::<Result<Vec<_>, _>>()
    })?;
    Ok(joined(runner, results))
}

/// What comes from a thread.
enum Word {
    /// This share of its run is over.
    Over(f64),
    /// The run of the thread with this number has ended.
    Ended(usize, Box<Result<RunResult, Failure>>),
}

/// Where the threads wait for each other before they begin.
struct Start {
    missing: Mutex<usize>,
    complete: Condvar,
}

impl Start {
    /// For `threads` of them.
    fn new(threads: usize) -> Self {
        Self { missing: Mutex::new(threads), complete: Condvar::new() }
    }

    /// One is here, or will never be.
    fn arrive(&self) {
        *self.missing.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.complete.notify_all();
    }

    /// Waits for the others.
    fn wait(&self) {
        self.arrive();
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.complete.wait_while(missing, |missing| *missing > 0));
    }
}

/// That the engines of so many `threads`, of so many commands together, have no more buffers than one may have.
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

/// The run of the thread that asks for `load`.
fn one(
    runner: &Runner<'_>,
    place: &Place,
    load: &Load,
    start: &Start,
    mut member: Member<'_>,
) -> Result<RunResult, Failure> {
    // The progress of a run is that of all its threads.
    let runner = Runner { load, watch: None, is_part: true, ..*runner };
    let Place::Live(live) = place else {
        start.wait();
        return runner.run_null(place, &mut member);
    };
    let (engine, caching) = (live.engine_of(load.engine()), load.workload.caching());
    let staged = runner.stage(live, engine, caching);
    // Every thread comes here, whether its stage failed or not.
    start.wait();
    let (mut clock, device) = staged?;
    runner.run_live(place, device, &mut clock, &mut member)
}

/// The progress of one of the threads: only the first of them reports it.
struct Member<'a> {
    first: bool,
    stop: &'a AtomicBool,
    words: Sender<Word>,
}

impl Progress for Member<'_> {
    fn update(&mut self, fraction: f64, _: Option<&Snapshot>) -> bool {
        if self.first {
            // The receiver is gone if the run is over.
            let _ = self.words.send(Word::Over(fraction));
        }
        !self.stop.load(Ordering::Relaxed)
    }
}

/// One result of all threads.
fn joined(runner: &Runner<'_>, results: Vec<RunResult>) -> RunResult {
    let subject = runner.subject(true);
    let mut measures = measures::all(&subject);
    let mut end = Time::ZERO;
    let mut all: Option<RunResult> = None;
    for mut result in results {
        let parts = result.parts.take().expect("each thread hands over what it has measured");
        end = end.max(parts.end);
        for (measure, part) in measures.iter_mut().zip(parts.measures) {
            if let Some(part) = part {
                measure.join(part);
            }
        }
        let Some(all) = &mut all else {
            all = Some(result);
            continue;
        };
        all.device_busy = all.device_busy.max(result.device_busy);
        all.interrupted |= result.interrupted;
        all.ended = all.ended.or(result.ended);
        all.failure = all.failure.take().or(result.failure);
        all.remarks.append(&mut result.remarks);
    }
    let mut all = all.expect("a job has a class");
    for measure in &mut measures {
        measure.write(end, &mut all);
    }
    // A run of one class knows of its own merge alone.
    all.merge = all.merge.filter(|_| runner.load.classes.len() == 1);
    all.remarks.sort_unstable();
    all.remarks.dedup();
    if runner.load.classes.len() > 1 {
        all.remarks.push(REMARK.into());
    }
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
