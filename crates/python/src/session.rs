//! Sessions for Python.

use std::sync::{Mutex, PoisonError};

use penstock_run::{Candidate, Failure as RunFailure, Options, Session as Opened};
use penstock_spec::Job;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::answer::json;
use crate::target::Target;
use crate::watch::{self, Watched};

/// A `penstock.Job`.
#[derive(FromPyObject)]
pub(crate) struct Text {
    name: String,
    text: String,
}

fn parsed(jobs: &[Text]) -> Result<Vec<Job>, RunFailure> {
    let job = |job: &Text| Job::parse(&job.name, &job.text, &[]).map_err(RunFailure::from);
    jobs.iter().map(job).collect()
}

/// A target that stays open and locked while jobs run on it.
#[pyclass(frozen, module = "penstock._native")]
pub(crate) struct Session(Mutex<Option<Opened>>);

impl Session {
    /// Takes it out, or puts one in its place.
    fn replace(&self, session: Option<Opened>) -> Option<Opened> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), session)
    }
}

#[pymethods]
impl Session {
    /// Opens `target`. A missing file is made only if `jobs` can run on it.
    #[new]
    #[pyo3(signature = (jobs, *, policies, target, detail=false))]
    fn new(
        py: Python<'_>,
        jobs: Vec<Text>,
        policies: Vec<String>,
        target: Target,
        detail: bool,
    ) -> PyResult<Self> {
        let policies = policies.into_iter().map(Candidate::Named).collect();
        let options = Options { policies, target: target.into(), detail, ..Options::default() };
        let watched =
            watch::run(py, None, move |progress| Opened::open(options, &parsed(&jobs)?, progress));
        Ok(Self(Mutex::new(Some(whole(py, watched)?))))
    }

    /// Runs each of `jobs` under each policy, and returns a comparison as JSON for each. What fails
    /// or is interrupted ends the session.
    #[pyo3(signature = (jobs, *, progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        jobs: Vec<Text>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<String>> {
        let ended = || PyRuntimeError::new_err("the session has ended, or runs already");
        let session = self.replace(None).ok_or_else(ended)?;
        let watched = watch::run(py, progress, move |progress| {
            let (session, comparisons) = session.run(&parsed(&jobs)?, progress)?;
            Ok((session, comparisons.iter().map(json).collect()))
        });
        let (session, comparisons) = whole(py, watched)?;
        self.replace(Some(session));
        Ok(comparisons)
    }

    /// Lets its target go. A second time is no error.
    fn close(&self) {
        self.replace(None);
    }
}

/// The result of work that was not asked to end early.
fn whole<T>(py: Python<'_>, watched: Watched<T>) -> PyResult<T> {
    match watched.ended(py, None)? {
        (result, None) => Ok(result),
        (_, Some(raised)) => Err(raised),
    }
}
