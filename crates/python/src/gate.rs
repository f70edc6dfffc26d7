//! The gate, for Python.

use std::cell::RefCell;
use std::io::ErrorKind;
use std::path::PathBuf;

use penstock_core::Errno;
use penstock_run::gate::{Gate as Opened, GateError, GateFile, GateOptions};
use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::answer::{json, raise};
use crate::target::Target;
use crate::text::Text;

/// A policy before an application's own reads and writes.
#[pyclass(frozen, module = "penstock._native")]
pub(crate) struct Gate(Opened);

#[pymethods]
impl Gate {
    #[new]
    #[pyo3(signature = (paths, *, target, adopt, policy, sets, emulate=None, depth=32, timeout=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        target: Target,
        adopt: bool,
        policy: String,
        sets: Vec<String>,
        emulate: Option<Text>,
        depth: u32,
        timeout: Option<String>,
    ) -> PyResult<Self> {
        let Target(target) = target;
        let file = |path| GateFile { adopt, ..GateFile::at(path, &target) };
        let files = paths.into_iter().map(file).collect::<Vec<_>>();
        let (engine, emulate) = (target.engine, emulate.map(|device| device.0));
        let interrupted = Some(interrupted as fn() -> bool);
        let classes = Vec::new();
        let options = GateOptions {
            files,
            policy,
            sets,
            emulate,
            engine,
            depth,
            timeout,
            classes,
            interrupted,
        };
        let opened = py.detach(|| Opened::open(&options));
        opened.map(Self).map_err(|failure| raise(py, &failure))
    }

    /// Writes `data` from byte `offset` of a file on.
    fn write(
        &self,
        py: Python<'_>,
        file: u32,
        offset: u64,
        data: &[u8],
        sync: bool,
    ) -> PyResult<()> {
        py.detach(|| self.0.write(file, offset, data, sync)).map_err(|error| failed(py, &error))
    }

    /// Reads up to `len` bytes from byte `offset` of a file on.
    fn read<'py>(
        &self,
        py: Python<'py>,
        file: u32,
        offset: u64,
        len: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let read = py.detach(|| self.0.read(file, offset, len));
        let bytes = read.map_err(|error| failed(py, &error))?;
        PyBytes::new_with(py, bytes.len(), |buffer| {
            buffer.copy_from_slice(&bytes);
            Ok(())
        })
    }

    /// Flushes answered writes to a file to stable media.
    fn flush(&self, py: Python<'_>, file: u32) -> PyResult<()> {
        py.detach(|| self.0.flush(file)).map_err(|error| failed(py, &error))
    }

    /// Returns the statistics so far, as JSON.
    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        self.0.stats().map(|stats| json(&stats)).map_err(|error| failed(py, &error))
    }

    /// Carries out earlier requests, and ends.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.close());
        RAISED.take().map_or(Ok(()), Err)
    }
}

thread_local! {
    /// The exception of a signal handler, raised while this thread waited for a gate.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Whether a signal handler raised: Python runs them on its main thread alone.
fn interrupted() -> bool {
    #[expect(clippy::redundant_closure_for_method_calls, reason = "of any lifetime")]
    let raised = Python::attach(|py| py.check_signals()).err();
    let any = raised.is_some();
    if any {
        RAISED.set(raised);
    }
    any
}

/// The exception for `error`, as Python's own files raise it: wrong use as such, all else with the
/// system's error number, or with the number of a device that fails or does not answer.
fn failed(py: Python<'_>, error: &GateError) -> PyErr {
    let message = error.to_string();
    let code = match (error.error.raw_os_error(), error.error.kind()) {
        (Some(code), _) => code,
        (None, ErrorKind::InvalidInput | ErrorKind::NotFound | ErrorKind::BrokenPipe) => {
            return PyValueError::new_err(message);
        }
        (None, ErrorKind::Unsupported) => return PyRuntimeError::new_err(message),
        (None, ErrorKind::OutOfMemory) => return PyMemoryError::new_err(message),
        (None, ErrorKind::Interrupted) => {
            return RAISED.take().expect("a handler's error ended the wait");
        }
        (None, ErrorKind::TimedOut) => Errno::ETIMEDOUT.code(),
        (None, _) => Errno::EIO.code(),
    };
    let raised = PyOSError::new_err((code, message));
    match raised.value(py).setattr("done", error.done) {
        Ok(()) => raised,
        Err(other) => other,
    }
}
