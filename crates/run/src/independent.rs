//! Classes side by side without a policy of ours: what an unscheduled machine gives to programs
//! that share its disk, under a scheduler of the kernel.
//!
//! Each class has a thread, an engine and a clock of its own, as independent processes have: to the
//! block layer a thread is a process, with an I/O context of its own, which is what the kernel's
//! fair schedulers share by. Nothing of one class waits for the other above the kernel.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use penstock_core::ClassId;
use penstock_live::scheduler;

use crate::below::Seen;
use crate::failure::Failure;
use crate::measures::values::ratio;
use crate::place::{Live, Place};
use crate::progress::Progress;
use crate::result::RunResult;
use crate::runner::Runner;
use crate::snapshot::Snapshot;

/// Bytes of the buffers of all engines together, as of one by itself.
const BUFFERS_MOST: u64 = 4 << 30;

/// What a result says of its device time.
const REMARK: &str = "each class ran at the same time as the others on a thread and an engine of its own: device time is what each of \
                      them saw, and counts twice where both had something at the disk";

/// The run of `runner` on `live` with the disks below under the kernel's scheduler `name`.
pub(crate) fn run(
    runner: &Runner<'_>,
    place: &Place,
    live: &Live,
    name: &str,
    progress: &mut dyn Progress,
) -> Result<RunResult, Failure> {
    let classes = runner.load.classes.len();
    check_buffers(classes, runner.job.live.target_depth(), runner.load.longest)?;
    let switched = scheduler::switch(&live.target, name)?;
    let seen = Seen::now(&live.target);
    let remark = runner.cold(live)?;
    let (start, stop) = (Start::new(classes), AtomicBool::new(false));
    let results = thread::scope(|scope| {
        let (sender, words) = channel();
        for class in 0..classes {
            let (from, class) = (sender.clone(), ClassId(class as u16));
            let (start, stop) = (&start, &stop);
            let alone = move || {
                let result = one(runner, place, live, class, start, stop, from.clone());
                // Without one class the others' figures would be of another load.
                stop.fetch_or(result.is_err(), Ordering::Relaxed);
                let _ = from.send(Word::Ended(class, Box::new(result)));
            };
            // Its result comes as a word: a join waits until the thread has returned from the
            // kernel, and it cannot return while a ring of its own was given up there.
            if let Err(error) = thread::Builder::new().spawn_scoped(scope, alone) {
                let failure = Failure::here("start a thread for each class", &error);
                stop.store(true, Ordering::Relaxed);
                start.arrive();
                let _ = sender.send(Word::Ended(class, Box::new(Err(failure))));
            }
        }
        drop(sender);
        let mut results: Vec<Option<Result<RunResult, Failure>>> = vec![];
        results.resize_with(classes, || None);
        for word in words {
            match word {
                Word::Ended(class, result) => results[class.index()] = Some(*result),
                Word::Over(fraction) => {
                    if !progress.update(fraction, None) {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
            }
        }
        results.into_iter().flatten().collect::<Result<Vec<_>, _>>()
    })?;
    let mut all = seen.written_to(joined(runner, results));
    all.remarks.extend(remark);
    if let Err(changed) = switched.check() {
        all.failure.get_or_insert(changed.to_string());
    }
    Ok(all)
}

/// What comes from the thread of a class.
enum Word {
    /// This share of its run is over.
    Over(f64),
    /// Its run has ended.
    Ended(ClassId, Box<Result<RunResult, Failure>>),
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

/// That the engines of all classes have no more buffers than one may have.
fn check_buffers(classes: usize, depth: u32, longest: u32) -> Result<(), Failure> {
    let needed = classes as u64 * u64::from(depth) * u64::from(longest);
    if needed <= BUFFERS_MOST {
        return Ok(());
    }
    let (needed, most) = (needed.div_ceil(1 << 20), BUFFERS_MOST >> 20);
    Err(Failure::wrong(
        format!(
            "{classes} engines of {depth} commands need {needed} MiB of buffers; at most {most} MiB may be"
        ),
        "each class has an engine of its own: lower `live.depth`, or name fewer classes",
    ))
}

/// The run of one class.
fn one(
    runner: &Runner<'_>,
    place: &Place,
    live: &Live,
    class: ClassId,
    start: &Start,
    stop: &AtomicBool,
    words: Sender<Word>,
) -> Result<RunResult, Failure> {
    let staged = runner.load.only(class).and_then(|load| {
        let stage = Runner { load: &load, ..*runner }.stage(live, runner.caching())?;
        Ok((load, stage))
    });
    // Every thread comes here, whether its stage failed or not.
    start.wait();
    let (load, (mut clock, device)) = staged?;
    // The progress of a run is that of all its classes.
    let runner = Runner { load: &load, watch: None, ..*runner };
    let mut member = Member { first: class == ClassId(0), stop, words };
    let result = runner.run_live(place, device, &mut clock, &mut member)?;
    Ok(result.only(class))
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

/// One result of all classes.
fn joined(runner: &Runner<'_>, results: Vec<RunResult>) -> RunResult {
    let mut results = results.into_iter();
    let mut all = results.next().expect("a job has a class");
    // What was held is known of each class by itself.
    all.schedule = None;
    // A run of one class knows of its own merge alone.
    all.merge = all.merge.filter(|_| runner.load.classes.len() == 1);
    for mut result in results {
        all.classes.append(&mut result.classes);
        all.duration_s = all.duration_s.max(result.duration_s);
        all.device_busy = all.device_busy.max(result.device_busy);
        all.asked = all.asked.and(result.asked);
        all.interrupted |= result.interrupted;
        all.ended = all.ended.or(result.ended);
        all.failure = all.failure.or(result.failure);
        all.remarks.append(&mut result.remarks);
        if let (Some(all), Some(other)) = (&mut all.requests, result.requests) {
            all.append(other);
        }
        all.detail = all.detail.zip(result.detail).and_then(|(all, other)| all.join(other));
    }
    let whole: f64 = all.classes.iter().map(|class| class.device_time_s).sum();
    for class in &mut all.classes {
        class.share = ratio(class.device_time_s, whole);
    }
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
        assert!(check_buffers(4, 1024, 1 << 20).is_ok());
        let refused = check_buffers(256, 4096, 1 << 20).unwrap_err();
        assert!(refused.to_string().contains("need 1048576 MiB of buffers"), "{refused}");
        assert_eq!(refused.exit_code(), 2);
    }
}
