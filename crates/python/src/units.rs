//! Quantities for Python, read as the engine reads them.

use penstock_core::Span;
use penstock_jobs::diagnose::JobError;
use penstock_jobs::units;
use penstock_run::Failure;
use pyo3::prelude::*;

use crate::answer::raise;

/// Returns a size such as `64KiB` in bytes.
#[pyfunction]
pub(crate) fn size(py: Python<'_>, text: &str) -> PyResult<u64> {
    units::parse_size(text).map_err(|error| wrong(py, error))
}

/// Returns a duration such as `1ms` in nanoseconds.
#[pyfunction]
pub(crate) fn duration(py: Python<'_>, text: &str) -> PyResult<u64> {
    units::parse_duration(text).map(Span::ns).map_err(|error| wrong(py, error))
}

fn wrong(py: Python<'_>, error: JobError) -> PyErr {
    raise(py, &Failure::from(error))
}
