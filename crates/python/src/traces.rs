//! Traces for Python: their contents, conversion to another format, captures, and meters.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use penstock_run::traces::capture::Capture;
use penstock_run::traces::meter;
use penstock_run::traces::{agreement, races, trace_tools};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::answer::{heeding, json, raise};

/// Returns every format of traces, as JSON.
#[pyfunction]
pub(crate) fn trace_formats() -> String {
    json(&trace_tools::formats())
}

/// Describes the trace at `path`, as JSON: by class with the rules of the job at `classes`; with
/// `drawn` also by time, place and size.
#[pyfunction]
#[pyo3(signature = (path, *, format=None, classes=None, drawn=false))]
pub(crate) fn trace_describe(
    py: Python<'_>,
    path: PathBuf,
    format: Option<String>,
    classes: Option<PathBuf>,
    drawn: bool,
) -> PyResult<String> {
    heeding(py, move || trace_tools::describe(&path, format.as_deref(), classes.as_deref(), drawn))
}

/// Writes the trace at `path` to `to` in the format `into` and returns the result as JSON.
#[pyfunction]
#[pyo3(signature = (path, to, *, into, format=None))]
pub(crate) fn trace_convert(
    py: Python<'_>,
    path: PathBuf,
    to: PathBuf,
    into: String,
    format: Option<String>,
) -> PyResult<String> {
    heeding(py, move || trace_tools::convert(&path, format.as_deref(), &to, &into))
}

/// Finds the races in the trace or record at `path` and returns them as JSON; with classes by the rules of
/// the job at `classes`.
#[pyfunction]
#[pyo3(signature = (path, *, format=None, classes=None))]
pub(crate) fn trace_races(
    py: Python<'_>,
    path: PathBuf,
    format: Option<String>,
    classes: Option<PathBuf>,
) -> PyResult<String> {
    heeding(py, move || races::races(&path, format.as_deref(), classes.as_deref()))
}

/// Holds the policy `model` against the decisions of the kernel's `scheduler` in the capture at `path`
/// and returns the result as JSON. `sets` are its parameters, as `fifo_batch=1`.
#[pyfunction]
pub(crate) fn scheduler_agreement(
    py: Python<'_>,
    path: PathBuf,
    scheduler: String,
    model: String,
    sets: Vec<String>,
) -> PyResult<String> {
    heeding(py, move || agreement::agreement(&path, &scheduler, &model, &sets))
}

/// A capture of the kernel's block events while it is made.
#[pyclass(frozen, module = "penstock._native")]
pub(crate) struct Recorder(Mutex<Capture>);

#[pymethods]
impl Recorder {
    /// Creates a recorder of the disk `name`, whose events the tracefs at `tracefs` has.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "converted arguments are owned")]
    fn new(py: Python<'_>, tracefs: PathBuf, name: String, numbers: Vec<u32>) -> PyResult<Self> {
        let capture = Capture::new(&tracefs, name, numbers);
        capture.map(|it| Self(Mutex::new(it))).map_err(|error| raise(py, &error))
    }

    /// Names of the kernel's events to switch on.
    #[getter]
    fn events(&self) -> Vec<&'static str> {
        self.lock().events().to_owned()
    }

    /// Adds a page of events of the processor `cpu`.
    fn add(&self, py: Python<'_>, cpu: u32, page: &[u8]) -> PyResult<()> {
        self.lock().add(cpu, page).map_err(|error| raise(py, &error))
    }

    /// Notes that the kernel lost events.
    fn lose(&self, events: u64) {
        self.lock().lose(events);
    }

    /// Returns the next bytes of the file: events before `before_ns`, or all.
    #[pyo3(signature = (before_ns=None))]
    fn take<'py>(&self, py: Python<'py>, before_ns: Option<u64>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.lock().take(before_ns.unwrap_or(u64::MAX)))
    }

    /// Returns the counts of what `take` returned, as JSON.
    fn counts(&self) -> String {
        json(&self.lock().counts())
    }
}

impl Recorder {
    fn lock(&self) -> MutexGuard<'_, Capture> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A meter of the latencies of a disk's requests, by classes of threads.
#[pyclass(frozen, module = "penstock._native")]
pub(crate) struct Meter(Mutex<meter::Meter>);

#[pymethods]
impl Meter {
    /// Creates a meter of the disk `name`, whose events the tracefs at `tracefs` has. The first window
    /// begins at `begun_ns`.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "converted arguments are owned")]
    fn new(
        py: Python<'_>,
        tracefs: PathBuf,
        name: String,
        numbers: Vec<u32>,
        begun_ns: u64,
    ) -> PyResult<Self> {
        let meter = meter::Meter::new(&tracefs, name, numbers, begun_ns);
        meter.map(|it| Self(Mutex::new(it))).map_err(|error| raise(py, &error))
    }

    /// Names of the kernel's events to switch on.
    #[getter]
    fn events(&self) -> Vec<&'static str> {
        self.lock().events().to_owned()
    }

    /// Adds a page of events of the processor `cpu`.
    fn add(&self, py: Python<'_>, cpu: u32, page: &[u8]) -> PyResult<()> {
        self.lock().add(cpu, page).map_err(|error| raise(py, &error))
    }

    /// Notes that the kernel lost events.
    fn lose(&self, events: u64) {
        self.lock().lose(events);
    }

    /// Assigns threads to classes, and all others to the class `default`, from now on.
    #[pyo3(signature = (threads, default="others"))]
    fn assign(
        &self,
        py: Python<'_>,
        threads: BTreeMap<u32, String>,
        default: &str,
    ) -> PyResult<()> {
        let assigned = self.lock().assign(threads, default);
        assigned.map_err(|error| raise(py, &error))
    }

    /// Counts the events before `before_ns`.
    fn take(&self, py: Python<'_>, before_ns: u64) {
        py.detach(|| self.lock().take(before_ns));
    }

    /// Closes the window at `now_ns` and returns its figures, as JSON.
    fn window(&self, py: Python<'_>, now_ns: u64) -> String {
        json(&py.detach(|| self.lock().window(now_ns)))
    }
}

impl Meter {
    fn lock(&self) -> MutexGuard<'_, meter::Meter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
