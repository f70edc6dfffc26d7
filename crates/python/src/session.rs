//! Sessions for Python.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use penstock_jobs::Job;
use penstock_run::papers::merge_placement::MergeCell;
use penstock_run::{
    Candidate, Failure as RunFailure, Options, Session as Opened, TargetOptions,
    Variant as OfASession,
};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;

use crate::answer::{json, raise};
use crate::target::Target;
use crate::watch;

/// A `penstock.session.Variant`.
#[derive(FromPyObject)]
pub(crate) struct Variant {
    name: String,
    /// None: `name` is the path of a file.
    text: Option<String>,
    sets: Vec<String>,
    policies: Vec<String>,
}

impl Variant {
    /// The same with merges, under its first policy.
    pub(crate) fn merge_cell(self) -> MergeCell {
        let Self { name, text, sets, policies } = self;
        let policy = policies.into_iter().next().unwrap_or_default();
        MergeCell { name, text: text.unwrap_or_default(), sets, policy }
    }
}

fn parsed(variants: &[Variant], device: Option<&String>) -> Result<Vec<OfASession>, RunFailure> {
    let variant = |one: &Variant| {
        let sets: Vec<String> = device.into_iter().chain(&one.sets).cloned().collect();
        let job = match &one.text {
            Some(text) => Job::parse(&one.name, text, &sets),
            None => Job::load(Path::new(&one.name), &sets),
        };
        Ok(OfASession { job: job.map_err(RunFailure::from)?, policies: named(&one.policies) })
    };
    variants.iter().map(variant).collect()
}

fn named(policies: &[String]) -> Vec<Candidate> {
    policies.iter().cloned().map(Candidate::Named).collect()
}

/// A target that stays open and locked while jobs run on it.
#[pyclass(frozen, module = "penstock._native")]
pub(crate) struct Session {
    opened: Mutex<Option<Opened>>,
    /// The argument that makes the modelled device on which jobs run their own.
    device: Option<String>,
}

impl Session {
    /// Takes it out, or puts one in its place.
    fn replace(&self, session: Option<Opened>) -> Option<Opened> {
        std::mem::replace(&mut *self.opened.lock().unwrap_or_else(PoisonError::into_inner), session)
    }
}

fn ended() -> PyErr {
    PyRuntimeError::new_err("the session has ended, or runs already")
}

#[pymethods]
impl Session {
    /// Opens `target`. A missing file is made only if `variants` can run on it. With `repeat` each
    /// variant runs so often, in rounds of all of them, each with the next seed. Modelled runs use `workers`
    /// processors at most.
    #[new]
    #[pyo3(signature = (variants, *, policies, target, detail=false, repeat=None, workers=None))]
    #[expect(clippy::needless_pass_by_value, reason = "converted arguments are owned")]
    fn new(
        py: Python<'_>,
        variants: Vec<Variant>,
        policies: Vec<String>,
        target: Target,
        detail: bool,
        repeat: Option<u32>,
        workers: Option<NonZeroUsize>,
    ) -> PyResult<Self> {
        let policies = named(&policies);
        let mut target: TargetOptions = target.into();
        let device = target.take_device();
        let options = Options { policies, target, detail, repeat, workers, ..Options::default() };
        let model = device.clone();
        let watched = watch::run(py, None, move |progress| {
            Opened::open(options, &parsed(&variants, model.as_ref())?, progress)
        });
        let opened = Mutex::new(Some(watched.whole(py)?));
        Ok(Self { opened, device })
    }

    /// Runs each of `variants` under each of its policies, and returns a comparison as JSON for each.
    /// What fails or is interrupted ends the session, unless the result may be `partial`.
    #[pyo3(signature = (variants, *, progress=None, partial=false))]
    fn run(
        &self,
        py: Python<'_>,
        variants: Vec<Variant>,
        progress: Option<&Bound<'_, PyAny>>,
        partial: bool,
    ) -> PyResult<Vec<String>> {
        let session = self.replace(None).ok_or_else(ended)?;
        let device = self.device.clone();
        let watched = watch::run(py, progress, move |progress| {
            let (session, comparisons) =
                session.run(&parsed(&variants, device.as_ref())?, progress)?;
            Ok((session, comparisons.iter().map(json).collect()))
        });
        let (session, comparisons) = match watched.ended(py, None)? {
            (result, None) => result,
            (result, Some(raised))
                if partial && raised.is_instance_of::<PyKeyboardInterrupt>(py) =>
            {
                result
            }
            (_, Some(raised)) => return Err(raised),
        };
        self.replace(Some(session));
        Ok(comparisons)
    }

    /// What is known of each of `variants` before it runs, as a comparison without runs; what is wrong with one is
    /// raised.
    #[expect(clippy::needless_pass_by_value, reason = "converted arguments are owned")]
    fn check(&self, py: Python<'_>, variants: Vec<Variant>) -> PyResult<Vec<String>> {
        let found = py.detach(|| {
            let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            let session = opened.as_ref().ok_or(None)?;
            let parsed = parsed(&variants, self.device.as_ref()).map_err(Some)?;
            let known = session.check(&parsed).map_err(Some)?;
            Ok(known.iter().map(json).collect())
        });
        found.map_err(|failure: Option<RunFailure>| {
            failure.map_or_else(ended, |failure| raise(py, &failure))
        })
    }

    /// Lets its target go. A second time is no error.
    fn close(&self) {
        self.replace(None);
    }
}
