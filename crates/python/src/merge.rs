//! Merges of files, for Python.

use std::path::PathBuf;

use penstock_run::merge::{MergeOptions, MergeSession as Opened};
use pyo3::prelude::*;

use crate::answer::{interruptible, json};

/// A `penstock.merging.Files`.
#[derive(FromPyObject)]
pub(crate) struct Files {
    runs: Vec<PathBuf>,
    jobs: Option<PathBuf>,
    to: Vec<PathBuf>,
    create: Option<String>,
    i_will_lose_data: Vec<String>,
    even_if_not_empty: bool,
    on: Option<String>,
    policy: String,
    sets: Vec<String>,
    placement: Option<String>,
    record: Option<(u32, u32, u32)>,
    make: bool,
    engine: Option<String>,
}

impl From<Files> for MergeOptions {
    fn from(files: Files) -> Self {
        let Files { runs, jobs, to, on, policy, sets, placement, record, make, engine, .. } = files;
        let Files { create, i_will_lose_data, even_if_not_empty, .. } = files;
        Self {
            runs,
            jobs,
            to,
            create,
            i_will_lose_data,
            even_if_not_empty,
            on,
            policy,
            sets,
            placement,
            record,
            make,
            engine,
        }
    }
}

/// Merges whose disks are open; targets stay locked as long as it lives.
#[pyclass(frozen, module = "penstock._native")]
pub(crate) struct MergeSession(Opened);

#[pymethods]
impl MergeSession {
    /// Opens the disks of `files`. A missing target is made only if the merges fit it.
    #[new]
    fn new(py: Python<'_>, files: Files) -> PyResult<Self> {
        interruptible(py, |go_on| Opened::open(files.into(), go_on)).map(Self)
    }

    /// What other programs open to use each target; empty if disks are folders.
    #[getter]
    fn nodes(&self) -> Vec<PathBuf> {
        self.0.nodes()
    }

    /// Merges once, as round `number`, and returns what came of it, as JSON. A signal's handler that
    /// raises ends it.
    fn merge(&self, py: Python<'_>, number: u32) -> PyResult<String> {
        interruptible(py, |go_on| self.0.merge(number, go_on).map(|result| json(&result)))
    }
}
