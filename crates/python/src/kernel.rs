//! Settings of the kernel for Python: of the queues of disks, and of threads.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use penstock_core::IoPrio;
use penstock_run::Failure;
use penstock_run::doctor::HeldDisk;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::answer::{heeding, raise};
use crate::text::Text;

/// Returns the block devices of this machine, or the one called `name`, and the settings of their queues,
/// as JSON.
#[pyfunction]
#[pyo3(signature = (name=None))]
pub(crate) fn disks(py: Python<'_>, name: Option<Text>) -> PyResult<String> {
    heeding(py, move || penstock_run::doctor::disks(name.as_ref().map(|name| &*name.0)))
}

/// Sets the disk called `name` to `scheduler` with `sets`, as `read_expire=50`, and returns what it had
/// and has, as JSON.
#[pyfunction]
pub(crate) fn set_disk(
    py: Python<'_>,
    name: Text,
    scheduler: Text,
    sets: Vec<Text>,
) -> PyResult<String> {
    let sets: Vec<String> = sets.into_iter().map(|set| set.0).collect();
    heeding(py, move || penstock_run::doctor::set_disk(&name.0, &scheduler.0, &sets))
}

/// Mounts tracefs in no folder, and returns a descriptor of it, which the caller closes.
#[pyfunction]
pub(crate) fn tracefs() -> PyResult<i32> {
    let mounted = penstock_run::Tracefs::mount().map_err(|error| os_error(&error))?;
    Ok(std::os::fd::IntoRawFd::into_raw_fd(mounted.into_descriptor()))
}

/// Returns the I/O priority of a thread, as `be:4`; `none` if none was set.
#[pyfunction]
pub(crate) fn io_priority(thread: u32) -> PyResult<String> {
    let ioprio = penstock_run::io_priority(thread).map_err(|error| os_error(&error))?;
    Ok(ioprio.map_or_else(|| NO_PRIORITY.into(), |ioprio| ioprio.to_string()))
}

/// Gives a thread an I/O priority, as `idle`; `none` takes it back.
#[pyfunction]
pub(crate) fn set_io_priority(py: Python<'_>, thread: u32, text: &str) -> PyResult<()> {
    let ioprio = if text == NO_PRIORITY {
        None
    } else {
        Some(text.parse::<IoPrio>().map_err(|_| {
            let message = format!("found the I/O priority {text:?}; expected `rt:0` to `rt:7`, `be:0` to `be:7`, `idle` or `none`");
            raise(py, &Failure::wrong(message, "`idle` is served when nothing else has requests"))
        })?)
    };
    penstock_run::set_io_priority(thread, ioprio).map_err(|error| os_error(&error))
}

/// The priority of a thread that has none.
const NO_PRIORITY: &str = "none";

/// The exception for an error of the system, with its number, by which Python chooses the class.
fn os_error(error: &io::Error) -> PyErr {
    let text = error.to_string();
    let number = error.raw_os_error();
    let reason = text.split(" (os error").next().unwrap_or_default().to_owned();
    PyOSError::new_err((number, reason))
}

/// Settings of a disk's queue, which are put back when this is closed or dropped.
#[pyclass(frozen, module = "penstock._native")]
pub(crate) struct HeldQueues(Mutex<Option<HeldDisk>>);

#[pymethods]
impl HeldQueues {
    /// Sets the disk called `disk` to `scheduler`, or leaves it the one that it has, with `settings`.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "converted arguments are owned")]
    fn new(
        py: Python<'_>,
        disk: Text,
        scheduler: Option<Text>,
        settings: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let scheduler = scheduler.as_ref().map(|Text(name)| name.as_str());
        let held = py.detach(|| HeldDisk::new(&disk.0, scheduler, settings));
        held.map(|held| Self(Mutex::new(Some(held)))).map_err(|error| raise(py, &error))
    }

    /// Returns the schedulers and the values that the kernel took, in the order in which they were set.
    fn settings(&self) -> Vec<(String, String)> {
        self.lock().as_ref().map(HeldDisk::settings).unwrap_or_default()
    }

    /// Puts the disk's own settings back. A second call does nothing.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.lock().take()));
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, pyo3::types::PyTuple>) {
        self.close(py);
    }
}

impl HeldQueues {
    fn lock(&self) -> MutexGuard<'_, Option<HeldDisk>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
