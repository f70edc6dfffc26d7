//! Merges of files, for Python.

use std::path::PathBuf;

use penstock_run::merge::{MergeOptions, MergeSession as Opened};
use pyo3::prelude::*;

use crate::answer::{heeding_signals, interruptible, json_with_paths};
use crate::text::{Text, strings};

/// A `penstock.merging.Files`.
#[derive(FromPyObject)]
pub(crate) struct Files {
    runs: Vec<PathBuf>,
    jobs: Option<PathBuf>,
    to: Vec<PathBuf>,
    on: Option<Text>,
    policy: String,
    sets: Vec<Text>,
    placement: Option<String>,
    record: Option<(u32, u32, u32)>,
    make: bool,
    engine: Option<String>,
}

impl From<Files> for MergeOptions {
    fn from(files: Files) -> Self {
        let Files { runs, jobs, to, on, policy, sets, placement, record, make, engine } = files;
        let (on, sets) = (on.map(|on| on.0), strings(sets));
        Self { runs, jobs, to, on, policy, sets, placement, record, make, engine }
    }
}

/// Merges whose options are checked.
#[pyclass(frozen, module = "penstock._native")]
pub(crate) struct MergeSession(Opened);

#[pymethods]
impl MergeSession {
    /// Checks `files` and finds their folders.
    #[new]
    fn new(py: Python<'_>, files: Files) -> PyResult<Self> {
        heeding_signals(py, move || Opened::open(files.into())).map(Self)
    }

    /// Returns what has to be known before the merges begin, if anything.
    fn foreseen(&self) -> Option<String> {
        self.0.foreseen()
    }

    /// Runs round `number`, and returns its result as JSON. If a signal handler raises, the merges end.
    fn merge(&self, py: Python<'_>, number: u32) -> PyResult<String> {
        interruptible(py, |go_on| {
            self.0.merge(number, go_on).map(|result| json_with_paths(&result))
        })
    }
}
