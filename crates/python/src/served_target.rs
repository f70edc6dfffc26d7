//! Served targets, for Python.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use penstock_run::gate::{GateFile, GateOptions, ServedTarget as Opened, ServedTargetOptions};
use pyo3::prelude::*;

use crate::answer::{json, raise};
use crate::target::Target;

/// A real target as block devices, with a policy between.
#[pyclass(frozen, module = "penstock._native")]
pub(crate) struct ServedTarget(Mutex<Option<Opened>>);

#[pymethods]
impl ServedTarget {
    #[new]
    #[pyo3(signature = (target, *, keep_data, policy, sets, volumes, depth=None, in_flight=32, timeout=None, record=None, lent=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        target: Target,
        keep_data: bool,
        policy: String,
        sets: Vec<String>,
        volumes: Vec<String>,
        depth: Option<u32>,
        in_flight: u32,
        timeout: Option<String>,
        record: Option<PathBuf>,
        lent: Option<(PathBuf, u64, u64)>,
    ) -> PyResult<Self> {
        let Target(target) = target;
        let path = target.on.clone().unwrap_or_default();
        let files = vec![GateFile { lent, ..GateFile::at(path, &target) }];
        let engine = target.engine;
        let gate = GateOptions {
            files,
            policy,
            sets,
            engine,
            depth: in_flight,
            timeout,
            ..GateOptions::default()
        };
        let options = ServedTargetOptions { gate, keep_data, volumes, record, depth };
        let opened = py.detach(|| Opened::new(&options));
        opened.map(|opened| Self(Mutex::new(Some(opened)))).map_err(|error| raise(py, &error))
    }

    /// The name and the node of each volume.
    #[getter]
    fn nodes(&self) -> Vec<(String, PathBuf)> {
        let owned = |(name, node): (&str, &std::path::Path)| (name.to_owned(), node.to_owned());
        self.with(|served| served.nodes().into_iter().map(owned).collect()).unwrap_or_default()
    }

    /// Returns the remarks on what this machine does not grant.
    #[getter]
    fn remarks(&self) -> Vec<String> {
        self.with(|served| served.remarks().to_vec()).unwrap_or_default()
    }

    /// Raises what ended it, if it has ended.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.with(Opened::check).unwrap_or(Ok(())).map_err(|error| raise(py, &error))
    }

    /// Returns what each volume was asked for so far, as JSON.
    fn report(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.with(Opened::report)).map(|report| json(&report))
    }

    /// Returns the latencies of each volume since the last call, as JSON.
    fn window(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.with(Opened::window)).map(|window| json(&window))
    }

    /// The nodes that are mounted, or held by another device.
    fn in_use(&self, py: Python<'_>) -> Vec<PathBuf> {
        py.detach(|| self.with(Opened::in_use)).unwrap_or_default()
    }

    /// Takes the devices down after the requests that they have, and finishes the record. A second call
    /// does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let served = self.lock().take();
        let ended = py.detach(|| served.map_or(Ok(()), Opened::end));
        ended.map_err(|error| raise(py, &error))
    }
}

impl ServedTarget {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Opened>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, ask: impl FnOnce(&Opened) -> T) -> Option<T> {
        self.lock().as_ref().map(ask)
    }
}
