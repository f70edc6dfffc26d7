//! Traces for Python: their contents, and conversion to another format.

use std::path::PathBuf;

use penstock_run::traces::{agreement, races, trace_tools};
use pyo3::prelude::*;

use crate::answer::{heeding, json};

/// Returns every format of traces, as JSON.
#[pyfunction]
pub(crate) fn trace_formats() -> String {
    json(&trace_tools::formats())
}

/// Describes the trace at `path`, as JSON: by class with the rules of the job at `classes`; with
/// `drawn` also by time, place and size.
#[pyfunction]
#[pyo3(signature = (path, *, format=None, classes=None, drawn=false))]
pub(crate) fn trace_describe(
    py: Python<'_>,
    path: PathBuf,
    format: Option<String>,
    classes: Option<PathBuf>,
    drawn: bool,
) -> PyResult<String> {
    heeding(py, move || trace_tools::describe(&path, format.as_deref(), classes.as_deref(), drawn))
}

/// Writes the trace at `path` to `to` in the format `into` and returns the result as JSON.
#[pyfunction]
#[pyo3(signature = (path, to, *, into, format=None))]
pub(crate) fn trace_convert(
    py: Python<'_>,
    path: PathBuf,
    to: PathBuf,
    into: String,
    format: Option<String>,
) -> PyResult<String> {
    heeding(py, move || trace_tools::convert(&path, format.as_deref(), &to, &into))
}

/// Finds the races in the trace or record at `path` and returns them as JSON; with classes by the rules of
/// the job at `classes`.
#[pyfunction]
#[pyo3(signature = (path, *, format=None, classes=None))]
pub(crate) fn trace_races(
    py: Python<'_>,
    path: PathBuf,
    format: Option<String>,
    classes: Option<PathBuf>,
) -> PyResult<String> {
    heeding(py, move || races::races(&path, format.as_deref(), classes.as_deref()))
}

/// Holds the policy `model` against the decisions of a scheduler in the file at `path` and returns
/// the result as JSON. `sets` are its parameters, as `fifo_batch=1`.
#[pyfunction]
pub(crate) fn scheduler_agreement(
    py: Python<'_>,
    path: PathBuf,
    model: String,
    sets: Vec<String>,
) -> PyResult<String> {
    heeding(py, move || agreement::agreement(&path, &model, &sets))
}
