//! Served devices, for Python.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use penstock_run::gate::{ServedDevice, ServedOptions};
use pyo3::prelude::*;

use crate::answer::{json, raise};
use crate::text::Text;

/// A modelled disk as a block device.
#[pyclass(frozen, module = "penstock._native")]
pub(crate) struct Served(Mutex<Option<ServedDevice>>);

#[pymethods]
impl Served {
    #[new]
    #[pyo3(signature = (device, *, size=None, depth=None, keep=None))]
    fn new(
        py: Python<'_>,
        device: Text,
        size: Option<String>,
        depth: Option<u32>,
        keep: Option<PathBuf>,
    ) -> PyResult<Self> {
        let options = ServedOptions { device: device.0, size, depth, keep };
        let served = py.detach(|| ServedDevice::new(&options));
        served.map(|served| Self(Mutex::new(Some(served)))).map_err(|error| raise(py, &error))
    }

    /// The device's node, and the file with its report.
    #[getter]
    fn places(&self) -> Option<(PathBuf, PathBuf)> {
        self.with(|served| (served.node().to_owned(), served.report_file()))
    }

    /// Returns how many requests it has answered, and how late, as JSON.
    fn report(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let report = py.detach(|| self.with(ServedDevice::report)).transpose();
        report.map(|report| report.map(|it| json(&it))).map_err(|error| raise(py, &error))
    }

    /// Whether a file system on it is mounted, or another device holds it.
    fn is_in_use(&self, py: Python<'_>) -> bool {
        py.detach(|| self.with(ServedDevice::is_in_use)).unwrap_or_default()
    }

    /// Takes it down. A second call does nothing.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.lock().take()));
    }
}

impl Served {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<ServedDevice>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, ask: impl FnOnce(&ServedDevice) -> T) -> Option<T> {
        self.lock().as_ref().map(ask)
    }
}
