//! What papers published, and jobs that model it: the files below `papers`.

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

const FILES: &[(&str, &str)] = &[
    ("online-batch/job.toml", include_str!("../../../papers/online-batch/job.toml")),
    ("online-batch/published.toml", include_str!("../../../papers/online-batch/published.toml")),
];

/// The text of the file of this name below `papers`.
#[pyfunction]
pub(crate) fn paper(file: &str) -> PyResult<&'static str> {
    let found = FILES.iter().find(|(name, _)| *name == file);
    found.map(|(_, text)| *text).ok_or_else(|| PyKeyError::new_err(file.to_owned()))
}
