//! Work on a thread of its own, watched by the interpreter's thread; or on that thread, if the work
//! itself calls Python.
//!
//! On its own, the work never waits for the interpreter: a live run would be late whenever a
//! progress bar is being drawn. It leaves word of how far it has come and goes on; the watcher looks
//! from time to time, sees to signals, and tells Python.

use std::panic::resume_unwind;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use penstock_job::Step;
use pyo3::prelude::*;

use crate::json;

/// How often the watcher looks: soon enough that Ctrl-C feels immediate.
const BEAT: Duration = Duration::from_millis(50);

/// What became of the work.
pub(crate) struct Watched<T> {
    /// What it returned.
    pub(crate) result: T,
    /// Why it was asked to end early, if it was.
    pub(crate) raised: Option<PyErr>,
}

/// Does `work`, and tells `progress` of its steps until something is raised.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(Step<'_>) -> bool) -> T + Send,
) -> Watched<T> {
    let board = Board::default();
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let _end = End(&board);
            work(&mut |step| board.post(step))
        });
        let mut raised = None;
        while py.detach(|| board.wait()) {
            if raised.is_some() {
                continue;
            }
            raised = py.check_signals().and_then(|()| tell(py, progress, board.take())).err();
            if raised.is_some() {
                board.lock().stop = true;
            }
        }
        if raised.is_none() {
            raised = tell(py, progress, board.take()).err();
        }
        // It has ended, or is about to return.
        let result = py.detach(|| worker.join());
        Watched { result: result.unwrap_or_else(|panic| resume_unwind(panic)), raised }
    })
}

/// Does `work` that calls Python, on this thread: signals reach what it calls, and whoever watches
/// need not wait for it.
pub(crate) fn run_here<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(Step<'_>) -> bool) -> T + Send,
) -> Watched<T> {
    let progress = progress.map(|progress| progress.clone().unbind());
    let mut raised = None;
    let result = py.detach(|| {
        work(&mut |step| {
            let told = Python::attach(|py| {
                py.check_signals()?;
                tell(py, progress.as_ref().map(|progress| progress.bind(py)), [json(&step)])
            });
            raised = raised.take().or(told.err());
            raised.is_none()
        })
    });
    Watched { result, raised }
}

/// Passes `steps` on.
fn tell(
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

/// Where the work leaves word and the watcher looks.
#[derive(Default)]
struct Board {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// Steps that are told even if the watcher looks late: one a policy.
    lasting: Vec<String>,
    /// How far it has come since; the next such step takes its place.
    latest: Option<String>,
    stop: bool,
    ended: bool,
}

impl Board {
    /// Whoever held the lock and panicked left plain values behind.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves word; whether to go on.
    fn post(&self, step: Step<'_>) -> bool {
        let told = json(&step);
        let state = &mut *self.lock();
        if matches!(step, Step::Finished { .. }) {
            state.latest = None;
            state.lasting.push(told);
        } else {
            state.latest = Some(told);
        }
        !state.stop
    }

    /// What was left since this was asked last, in order.
    fn take(&self) -> Vec<String> {
        let state = &mut *self.lock();
        let mut steps = std::mem::take(&mut state.lasting);
        steps.extend(state.latest.take());
        steps
    }

    /// Waits for the end of the work, but not for long; whether it still goes on.
    fn wait(&self) -> bool {
        let going = |state: &mut State| !state.ended;
        let waited = self.ended.wait_timeout_while(self.lock(), BEAT, going);
        !waited.unwrap_or_else(PoisonError::into_inner).0.ended
    }
}

/// Says that the work has ended, however it did.
struct End<'a>(&'a Board);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.ended.notify_all();
    }
}
