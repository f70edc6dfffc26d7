//! Runs work on its own thread, watched by the interpreter's thread; or on the interpreter's
//! thread, if the work itself calls Python.
//!
//! On its own thread, the work never waits for the interpreter: a live run would be late whenever a
//! progress bar is being drawn. It posts its progress and continues. The watcher looks at regular
//! intervals, handles signals, and calls Python.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use penstock_run::{Failure, Handover, Patience, Step, stoppable};
use pyo3::prelude::*;

use crate::answer::{json, raise};

/// Interval at which the watcher looks: short enough that Ctrl-C feels immediate.
const BEAT: Duration = Duration::from_millis(50);

/// Time after its time-out in which a live run must report why it ended. It waits for commands in
/// flight, for 2 s if it was asked to end.
const LAST_WORD: Duration = Duration::from_secs(4);

/// Time in which work must end that is asked to before a run begins: it may read a pipe in which nothing comes.
const BEFORE_THE_RUN: Duration = Duration::from_secs(1);

/// The outcome of the work.
pub(crate) struct Watched<T> {
    /// The result of the work.
    result: Result<T, Failure>,
    /// The exception that ended it early, if there is one.
    raised: Option<PyErr>,
    /// Whether it was given up, in a system call that does not return.
    stuck: bool,
}

impl<T> Watched<T> {
    /// Returns the result, and the exception that the watcher raised, or that the work's own calls
    /// left in `thrown`.
    ///
    /// # Errors
    /// The failure of the work; if an exception was raised, that one with the failure as its cause.
    pub(crate) fn ended(
        self,
        py: Python<'_>,
        thrown: Option<PyErr>,
    ) -> PyResult<(T, Option<PyErr>)> {
        let Self { result, raised, stuck } = self;
        let failure = match result {
            Ok(result) => return Ok((result, raised.or(thrown))),
            Err(failure) => raise(py, &failure),
        };
        failure.value(py).setattr("stuck", stuck)?;
        let Some(raised) = raised else {
            failure.set_cause(py, thrown);
            return Err(failure);
        };
        raised.set_cause(py, Some(failure));
        Err(raised)
    }

    /// The result of work that was not asked to end early.
    ///
    /// # Errors
    /// The same failures as of [`ended`](Self::ended), and the exception that was raised.
    pub(crate) fn whole(self, py: Python<'_>) -> PyResult<T> {
        match self.ended(py, None)? {
            (result, None) => Ok(result),
            (_, Some(raised)) => Err(raised),
        }
    }
}

/// Runs `work`, and calls `progress` with its steps until an exception is raised.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(Step<'_>) -> bool) -> Result<T, Failure> + Send + 'static,
) -> Watched<T> {
    let board = Arc::new(Board::default());
    let posted = Arc::clone(&board);
    let asked = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&asked);
    let worker = Handover::spawn("penstock-run", move || {
        stoppable(flag, || work(&mut |step| posted.post(step)))
    });
    let mut worker = match worker {
        Ok(worker) => worker,
        Err(error) => {
            let result = Err(Failure::here("start a thread for the run", &error));
            return Watched { result, raised: None, stuck: false };
        }
    };
    let mut raised = None;
    let mut silence = Silence::default();
    let result = loop {
        match py.detach(|| worker.wait(BEAT)) {
            Ok(Some(result)) => break result,
            Ok(None) => {}
            Err(panic) => resume_unwind(panic),
        }
        if let Some(failure) = silence.broken(&board, raised.is_some()) {
            return Watched { result: Err(failure), raised, stuck: true };
        }
        if raised.is_none() {
            raised = py.check_signals().and_then(|()| pass(py, progress, board.take())).err();
            let state = &mut *board.lock();
            state.stop = raised.is_some();
            // A run that has begun ends with what there is of it, and may read its trace until then.
            asked.store(state.stop && state.words == 0, Ordering::Relaxed);
        }
    };
    if raised.is_none() {
        raised = pass(py, progress, board.take()).err();
    }
    Watched { result, raised, stuck: false }
}

/// Time for which the work has posted nothing. It counts looks and not seconds, so that a process
/// that was stopped and continues does not count as stuck.
#[derive(Default)]
struct Silence {
    words: u64,
    looks: u32,
    /// Looks since the work was asked to end.
    asked: u32,
}

impl Silence {
    /// Why the work is given up: it is live, and has posted nothing for longer than the target may
    /// take to answer. `None` if it goes on.
    fn broken(&mut self, board: &Board, asked: bool) -> Option<Failure> {
        let state = board.lock();
        self.asked = if asked { self.asked + 1 } else { 0 };
        if state.words == 0 && BEAT * self.asked > BEFORE_THE_RUN {
            return Some(Failure::run("interrupted before a run began"));
        }
        self.looks = if state.words == self.words { self.looks + 1 } else { 0 };
        self.words = state.words;
        let longest = match state.patience {
            Patience::Model => return None,
            Patience::Target(_) if asked => Duration::ZERO,
            Patience::Target(timeout) => Duration::from_nanos(timeout?.ns()),
        };
        let silent = BEAT * self.looks;
        (silent > longest + LAST_WORD).then(|| {
            Failure::run(format_args!(
                "{}found a system call that has not returned for {:.1} s; expected an answer",
                state.target,
                silent.as_secs_f64()
            ))
            .hint(
                "look at the kernel's log (`dmesg`) and at the disk: its file system may be \
                 frozen. The figures of this run are lost; the engines io_uring and threads keep \
                 them",
            )
        })
    }
}

/// Runs `work` that calls Python, on this thread: signals reach what it calls, and no watcher waits
/// for it.
pub(crate) fn run_here<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(Step<'_>) -> bool) -> Result<T, Failure> + Send,
) -> Watched<T> {
    let progress = progress.map(|progress| progress.clone().unbind());
    let mut raised = None;
    let result = py.detach(|| {
        work(&mut |step| {
            let passed = Python::attach(|py| {
                py.check_signals()?;
                pass(py, progress.as_ref().map(|progress| progress.bind(py)), [json(&step)])
            });
            raised = raised.take().or(passed.err());
            raised.is_none()
        })
    });
    Watched { result, raised, stuck: false }
}

/// Passes `steps` on to `progress`.
fn pass(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    steps: impl IntoIterator<Item = String>,
) -> PyResult<()> {
    let Some(progress) = progress else { return Ok(()) };
    let loads = py.import("json")?.getattr("loads")?;
    for step in steps {
        progress.call1((loads.call1((step,))?,))?;
    }
    Ok(())
}

/// The place where the work posts its steps and the watcher looks.
#[derive(Default)]
struct Board(Mutex<State>);

struct State {
    /// Steps that are passed on even if the watcher looks late: one for each finished run.
    lasting: Vec<String>,
    /// The latest progress since then; the next such step replaces it.
    latest: Option<String>,
    /// Number of steps posted so far.
    words: u64,
    /// The target that the work waits for, as a message begins; empty if it is not known yet.
    target: String,
    patience: Patience,
    stop: bool,
}

impl Default for State {
    fn default() -> Self {
        let (lasting, latest, target) = (Vec::new(), None, String::new());
        // Before the first step a target may be opened.
        Self { lasting, latest, words: 0, target, patience: Patience::Target(None), stop: false }
    }
}

impl Board {
    /// A holder of the lock that panicked left plain values behind.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Posts a step; returns whether to continue.
    fn post(&self, step: Step<'_>) -> bool {
        let text = json(&step);
        let state = &mut *self.lock();
        state.words += 1;
        let waits_for = match step {
            Step::Creating { path, .. } => Some((path, Patience::Target(None))),
            Step::Running { device, patience, .. } => Some((device, patience)),
            Step::Finished { .. } => None,
        };
        let Some((target, patience)) = waits_for else {
            state.latest = None;
            state.lasting.push(text);
            return !state.stop;
        };
        state.patience = patience;
        state.target.clear();
        state.target.extend([target, ": "]);
        state.latest = Some(text);
        !state.stop
    }

    /// Takes the steps posted since the last call, in order.
    fn take(&self) -> Vec<String> {
        let state = &mut *self.lock();
        let mut steps = std::mem::take(&mut state.lasting);
        steps.extend(state.latest.take());
        steps
    }
}
