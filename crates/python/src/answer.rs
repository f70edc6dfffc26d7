//! Return values of all functions: JSON, or an exception.

use penstock_run::Failure as RunFailure;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use serde::Serialize;

pyo3::create_exception!(
    penstock._native,
    Failure,
    PyException,
    "A command failed; the message says why, `exit_code` what the command exits with. `stuck` is \
     true if a thread was left in a system call: the process ends when that returns."
);

/// Returns `value` as JSON.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("results have nothing that JSON cannot say")
}

/// The exception for `failure`.
pub(crate) fn raise(py: Python<'_>, failure: &RunFailure) -> PyErr {
    let error = Failure::new_err(failure.to_string());
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
