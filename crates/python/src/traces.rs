//! Traces for Python: their contents, and conversion to another format.

use std::path::PathBuf;

use penstock_run::traces::{races, trace_tools};
use pyo3::prelude::*;

use crate::answer::{json, raise};

/// Returns every format of traces, as JSON.
#[pyfunction]
pub(crate) fn trace_formats() -> String {
    json(&trace_tools::formats())
}

/// Describes the trace at `path`, as JSON: by class with the rules of the job at `classes`; with
/// `drawn` also by time, place and size.
#[pyfunction]
#[pyo3(signature = (path, *, format=None, classes=None, drawn=false))]
#[expect(clippy::needless_pass_by_value, reason = "converted arguments are owned")]
pub(crate) fn trace_describe(
    py: Python<'_>,
    path: PathBuf,
    format: Option<String>,
    classes: Option<PathBuf>,
    drawn: bool,
) -> PyResult<String> {
    let (format, classes) = (format.as_deref(), classes.as_deref());
    let described = py.detach(|| trace_tools::describe(&path, format, classes, drawn));
    described.map(|described| json(&described)).map_err(|failure| raise(py, &failure))
}

/// Writes the trace at `path` to `to` in the format `into` and returns the result as JSON.
#[pyfunction]
#[pyo3(signature = (path, to, *, into, format=None))]
#[expect(clippy::needless_pass_by_value, reason = "converted arguments are owned")]
pub(crate) fn trace_convert(
    py: Python<'_>,
    path: PathBuf,
    to: PathBuf,
    into: String,
    format: Option<String>,
) -> PyResult<String> {
    let converted = py.detach(|| trace_tools::convert(&path, format.as_deref(), &to, &into));
    converted.map(|converted| json(&converted)).map_err(|failure| raise(py, &failure))
}

/// Finds the races in the trace or record at `path` and returns them as JSON; with classes by the rules of
/// the job at `classes`.
#[pyfunction]
#[pyo3(signature = (path, *, format=None, classes=None))]
#[expect(clippy::needless_pass_by_value, reason = "converted arguments are owned")]
pub(crate) fn trace_races(
    py: Python<'_>,
    path: PathBuf,
    format: Option<String>,
    classes: Option<PathBuf>,
) -> PyResult<String> {
    let found = py.detach(|| races::races(&path, format.as_deref(), classes.as_deref()));
    found.map(|found| json(&found)).map_err(|failure| raise(py, &failure))
}
