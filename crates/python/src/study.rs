//! Studies for Python.

use std::path::PathBuf;

use penstock_jobs::Study;
use penstock_run::Failure;
use pyo3::prelude::*;

use crate::answer::{json, raise};

/// Returns the contents of the study file at `path`, as JSON.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "converted arguments are owned")]
pub(crate) fn study(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let found = Study::load(&path).map_err(Failure::from);
    found.map(|study| json(&study.facts())).map_err(|failure| raise(py, &failure))
}

/// A number for each of `count` runs of a study with this seed, from the streams called `label`.
#[pyfunction]
pub(crate) fn drawn(seed: u64, label: &str, count: u64) -> Vec<u64> {
    penstock_jobs::study::drawn(seed, label, count)
}
