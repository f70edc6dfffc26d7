//! Studies for Python.

use std::path::PathBuf;

use penstock_jobs::Study;
use penstock_run::Failure;
use pyo3::prelude::*;

use crate::answer::{heeding_signals, json_with_paths};

/// Returns the contents of the study file at `path`, as JSON.
#[pyfunction]
pub(crate) fn study(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    heeding_signals(py, move || {
        let study = Study::load(&path).map_err(Failure::from);
        study.map(|study| json_with_paths(&study.facts()))
    })
}

/// A number for each of `count` runs of a study with this seed, from the streams called `label`.
#[pyfunction]
pub(crate) fn drawn(seed: u64, label: &str, count: u64) -> Vec<u64> {
    penstock_jobs::study::drawn(seed, label, count)
}
