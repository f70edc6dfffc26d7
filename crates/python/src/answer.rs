//! Return values of all functions: JSON, or an exception.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use penstock_jobs::path_text;
use penstock_run::{Failure as RunFailure, Handover, stoppable};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use serde::Serialize;

use crate::text::with_paths;

pyo3::create_exception!(
    penstock._native,
    Failure,
    PyException,
    "A command failed; the message says why, `exit_code` what the command exits with. `stuck` is \
     true if a thread was left in a system call: the process ends when that returns."
);

/// Returns `value` as JSON for the eye: a byte of a path that is not UTF-8 is `U+FFFD`.
pub(crate) fn json(value: &impl Serialize) -> String {
    path_text::shown(&lossless(value)).into_owned()
}

/// Returns `value` as JSON with paths that Python opens.
pub(crate) fn json_with_paths(value: &impl Serialize) -> String {
    with_paths(&lossless(value))
}

fn lossless(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("results have nothing that JSON cannot say")
}

/// The exception for `failure`.
pub(crate) fn raise(py: Python<'_>, failure: &RunFailure) -> PyErr {
    let error = Failure::new_err(path_text::shown(&failure.to_string()).into_owned());
    let value = error.value(py);
    match value.setattr("exit_code", failure.exit_code()).and(value.setattr("stuck", false)) {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// Runs `work` without the interpreter's lock. A signal handler that raises ends it.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T, RunFailure> + Send,
) -> PyResult<T> {
    let mut raised = None;
    let result = py.detach(|| {
        work(&mut || {
            #[expect(clippy::redundant_closure_for_method_calls, reason = "of any lifetime")]
            let signals = Python::attach(|py| py.check_signals());
            raised = raised.take().or(signals.err());
            raised.is_none()
        })
    });
    match raised {
        Some(raised) => Err(raised),
        None => result.map_err(|failure| raise(py, &failure)),
    }
}

/// Interval at which the interpreter's thread looks at signals while another works.
const BEAT: Duration = Duration::from_millis(20);

/// Time in which work that is asked to stop removes what it has begun to write. Work that waits for a quiet
/// pipe does not hear, and is given up.
const PATIENCE: Duration = Duration::from_millis(500);

/// Runs `work`, which reads or writes files, on a thread of its own, and returns its result as JSON. A signal
/// handler that raises ends it.
pub(crate) fn heeding<T: Serialize + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, RunFailure> + Send + 'static,
) -> PyResult<String> {
    heeding_signals(py, move || work().map(|result| json(&result)))
}

/// Runs `work` as [`heeding`] does, and returns its result as it is.
pub(crate) fn heeding_signals<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, RunFailure> + Send + 'static,
) -> PyResult<T> {
    let asked = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&asked);
    let worker = Handover::spawn("penstock-work", move || stoppable(flag, work));
    let mut worker =
        worker.map_err(|error| raise(py, &RunFailure::here("start a thread", &error)))?;
    loop {
        match py.detach(|| worker.wait(BEAT)) {
            Ok(Some(result)) => return result.map_err(|failure| raise(py, &failure)),
            Ok(None) => {}
            Err(panic) => resume_unwind(panic),
        }
        if let Err(raised) = py.check_signals() {
            asked.store(true, Ordering::Relaxed);
            let _ = py.detach(|| worker.wait(PATIENCE));
            return Err(raised);
        }
    }
}
