//! What every function gives back: JSON, or an exception.

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

/// `value` as JSON.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("results have nothing that JSON cannot say")
}

/// The exception that says `failure`.
pub(crate) fn raise(py: Python<'_>, failure: &RunFailure) -> PyErr {
    let error = Failure::new_err(failure.to_string());
    let value = error.value(py);
    match value.setattr("exit_code", failure.exit_code()).and(value.setattr("stuck", false)) {
        Ok(()) => error,
        Err(other) => other,
    }
}
