//! Merges of files, for Python.

use std::path::PathBuf;

use penstock_run::merge::{MergeOptions, merge};
use pyo3::prelude::*;

use crate::answer::{interruptible, json};

/// Merges files once and returns what came of it, as JSON. A signal's handler that raises ends it.
#[pyfunction]
#[pyo3(signature = (
    *, runs, jobs, to, on, policy, sets, placement, record, make, round, engine
))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub(crate) fn merge_files(
    py: Python<'_>,
    runs: Vec<PathBuf>,
    jobs: Option<PathBuf>,
    to: Vec<PathBuf>,
    on: Option<String>,
    policy: String,
    sets: Vec<String>,
    placement: Option<String>,
    record: Option<(u32, u32, u32)>,
    make: bool,
    round: u32,
    engine: Option<String>,
) -> PyResult<String> {
    let options =
        MergeOptions { runs, jobs, to, on, policy, sets, placement, record, make, round, engine };
    interruptible(py, |go_on| merge(&options, go_on).map(|result| json(&result)))
}
