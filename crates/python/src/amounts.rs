//! Facts about a job before it runs, for Python.

use std::path::PathBuf;

use penstock_jobs::from_fio;
use penstock_run::Failure;
use penstock_run::foresee::amounts;
use penstock_run::traces::trace_make;
use pyo3::prelude::*;

use crate::answer::{heeding, heeding_signals};
use crate::text::{Text, strings};

/// Returns what the job at the path `job`, changed by `sets`, amounts to on the device `on` or on
/// its own, as JSON.
#[pyfunction]
#[pyo3(signature = (job, *, sets=Vec::new(), on=None))]
pub(crate) fn job_amounts(
    py: Python<'_>,
    job: PathBuf,
    sets: Vec<Text>,
    on: Option<Text>,
) -> PyResult<String> {
    let (sets, on) = (strings(sets), on.map(|on| on.0));
    heeding(py, move || amounts::amounts(&job, &sets, on.as_deref()))
}

/// Writes the requests of the agents of the job at the path `job`, changed by `sets`, to `to` in
/// the format `into`, and returns what was written as JSON.
#[pyfunction]
#[pyo3(signature = (job, to, *, into, sets=Vec::new(), on=None))]
pub(crate) fn trace_made(
    py: Python<'_>,
    job: PathBuf,
    to: PathBuf,
    into: String,
    sets: Vec<Text>,
    on: Option<Text>,
) -> PyResult<String> {
    let (sets, on) = (strings(sets), on.map(|on| on.0));
    heeding(py, move || trace_make::make(&job, &sets, on.as_deref(), &to, &into))
}

/// A converted job of fio: the job as TOML, the number of its agents, their maximum number of
/// requests in flight, and line, text and reason of what could not be converted.
type OfFio = (String, u64, u64, Vec<(usize, String, String)>);

/// Converts fio's job file at `path`: those of its `sections`, or all if none is named.
#[pyfunction]
#[pyo3(signature = (path, *, sections=Vec::new()))]
pub(crate) fn job_from_fio(
    py: Python<'_>,
    path: PathBuf,
    sections: Vec<String>,
) -> PyResult<OfFio> {
    let made = heeding_signals(py, move || from_fio(&path, &sections).map_err(Failure::from))?;
    let notes = made.notes.into_iter().map(|note| (note.line, note.text, note.why));
    Ok((made.job, made.agents, made.in_flight, notes.collect()))
}
