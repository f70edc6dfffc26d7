//! Tests of files call by call, for Python.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use penstock_run::Failure as RunFailure;
use penstock_run::passes::{FileTestOptions, FileTestSession, PassSettings as Settings};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::answer::{interruptible, json, raise};
use crate::target::Target;

/// A `penstock.passes.PassSettings`.
#[derive(FromPyObject)]
#[expect(clippy::struct_excessive_bools, reason = "as Python names them")]
pub(crate) struct PassSettings {
    tests: Vec<String>,
    threads: u32,
    size: u64,
    records: Vec<u64>,
    files: Vec<PathBuf>,
    target: Target,
    starts: Vec<u64>,
    form: String,
    depth: u32,
    copies: bool,
    stride: u64,
    read_percent: u32,
    scheduler: Option<String>,
    tunables: Vec<(String, String)>,
    direct: bool,
    sync: bool,
    include_flush: bool,
    include_close: bool,
    stonewall: bool,
    verify: bool,
    drop_cache: bool,
    keep: bool,
    seed: u64,
}

impl PassSettings {
    fn options(self) -> Result<FileTestOptions, RunFailure> {
        let form = FileTestOptions::form(&self.form, self.depth, self.copies)?;
        Ok(FileTestOptions {
            tests: self.tests,
            threads: self.threads,
            size: self.size,
            records: self.records,
            files: self.files,
            target: self.target.0,
            starts: self.starts,
            keep: self.keep,
            read_percent: self.read_percent,
            scheduler: self.scheduler.map(|name| FileTestOptions::scheduler(name, self.tunables)),
            settings: Settings {
                form,
                stride: self.stride,
                direct: self.direct,
                sync: self.sync,
                include_flush: self.include_flush,
                include_close: self.include_close,
                stonewall: self.stonewall,
                verify: self.verify,
                drop_cache: self.drop_cache,
                seed: self.seed,
            },
        })
    }
}

/// The files of the passes of a plan, which threads read and write call by call.
#[pyclass(frozen, module = "penstock._native")]
pub(crate) struct PassSession(Mutex<Option<FileTestSession>>);

impl PassSession {
    fn take(&self) -> PyResult<FileTestSession> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.ok_or_else(|| PyRuntimeError::new_err("the session has ended, or runs already"))
    }
}

#[pymethods]
impl PassSession {
    /// Checks all files, then creates those that are missing.
    #[new]
    fn new(py: Python<'_>, settings: PassSettings) -> PyResult<Self> {
        let options = settings.options().map_err(|failure| raise(py, &failure))?;
        let opened = interruptible(py, |go_on| FileTestSession::open(options, go_on));
        Ok(Self(Mutex::new(Some(opened?))))
    }

    /// Runs a test on the first files, and returns its result as JSON. `progress` is called with the fraction
    /// that is done. After a failure, and an exception of `progress` or of a signal's handler, the session has ended,
    /// and the files that it made are removed.
    #[pyo3(signature = (test, *, threads, record, size, progress=None))]
    #[expect(clippy::needless_pass_by_value, reason = "converted arguments are owned")]
    fn run(
        &self,
        py: Python<'_>,
        test: &str,
        threads: u32,
        record: u64,
        size: u64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let mut session = self.take()?;
        let mut raised = None;
        let result = interruptible(py, |go_on| {
            session.run(test, threads, (record, size), &mut |fraction| {
                let call = |progress: &Py<PyAny>| {
                    Python::attach(|py| progress.call1(py, (fraction,)).map(drop))
                };
                raised = progress.as_ref().and_then(|progress| call(progress).err());
                raised.is_none() && go_on()
            })
        });
        if let Some(raised) = raised {
            return Err(raised);
        }
        let result = result?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
        Ok(json(&result))
    }

    /// Removes the files that it made, or marks them as owned files if they are kept. If the session has ended, it
    /// does nothing.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let session = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let finish = |session: FileTestSession| py.detach(|| session.finish());
        session.map_or(Ok(()), finish).map_err(|failure| raise(py, &failure))
    }
}
