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
use pyo3::types::PyDict;

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
            let told = board.lock().told.take();
            raised = py.check_signals().and_then(|()| tell(py, progress, told)).err();
            if raised.is_some() {
                board.lock().stop = true;
            }
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
                tell(py, progress.as_ref().map(|progress| progress.bind(py)), Some(step.into()))
            });
            raised = raised.take().or(told.err());
            raised.is_none()
        })
    });
    Watched { result, raised }
}

fn tell(py: Python<'_>, progress: Option<&Bound<'_, PyAny>>, told: Option<Told>) -> PyResult<()> {
    let (Some(progress), Some(told)) = (progress, told) else { return Ok(()) };
    progress.call1((told.to_dict(py)?,))?;
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
    told: Option<Told>,
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
        let state = &mut *self.lock();
        state.told = Some(Told::from(step));
        !state.stop
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

/// A [`Step`] that outlives the call.
enum Told {
    Creating { path: String, fraction: f64 },
    Running { policy: String, number: usize, of: usize, fraction: f64 },
}

impl From<Step<'_>> for Told {
    fn from(step: Step<'_>) -> Self {
        match step {
            Step::Creating { path, fraction } => Self::Creating { path: path.into(), fraction },
            Step::Running { policy, number, of, fraction } => {
                Self::Running { policy: policy.into(), number, of, fraction }
            }
        }
    }
}

impl Told {
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        match self {
            Self::Creating { path, fraction } => {
                dict.set_item("step", "creating")?;
                dict.set_item("path", path)?;
                dict.set_item("fraction", fraction)?;
            }
            Self::Running { policy, number, of, fraction } => {
                dict.set_item("step", "running")?;
                dict.set_item("policy", policy)?;
                dict.set_item("number", number)?;
                dict.set_item("of", of)?;
                dict.set_item("fraction", fraction)?;
            }
        }
        Ok(dict)
    }
}
