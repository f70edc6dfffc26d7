//! Sessions for Python.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use penstock_jobs::path_text;
use penstock_run::{
    Candidate, Failure as RunFailure, Failures, Foreign, Options, RequestSink, Session as Opened,
    Step, Survey, TargetOptions, Variant as RunVariant,
};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;

use crate::answer::{json, raise};
use crate::columns;
use crate::policy::{self, Raised};
use crate::target::Target;
use crate::text::Text;
use crate::watch::{self, Watched};

/// A policy as Python names it: the name of a built-in one, or a name and an object.
#[derive(FromPyObject)]
enum PolicyArgument {
    Known(String),
    Script(String, Py<PyAny>),
}

impl PolicyArgument {
    fn candidate(self, thrown: &Raised) -> Candidate {
        match self {
            Self::Known(name) => Candidate::Named(name),
            Self::Script(name, object) => {
                Candidate::Foreign(Foreign { name, build: policy::build(object, thrown.clone()) })
            }
        }
    }
}

/// A `penstock.session.Variant`.
#[derive(FromPyObject)]
struct Variant {
    name: Text,
    /// The job; `None` if `name` is the path of its file.
    text: Option<Text>,
    sets: Vec<Text>,
    policies: Vec<PolicyArgument>,
}

/// Variants from Python, and the exceptions of their policies.
struct Variants {
    jobs: Vec<(Variant, Vec<Candidate>)>,
    thrown: Raised,
    /// Whether one of them has a policy written in Python, which runs on the interpreter's thread.
    scripts: bool,
}

impl Variants {
    fn new(mut variants: Vec<Variant>) -> Self {
        let thrown = Raised::default();
        let mut scripts = false;
        let mut candidates = |variant: &mut Variant| -> Vec<Candidate> {
            let policies = std::mem::take(&mut variant.policies);
            scripts |= policies.iter().any(|policy| matches!(policy, PolicyArgument::Script(..)));
            policies.into_iter().map(|policy| policy.candidate(&thrown)).collect()
        };
        let policies: Vec<_> = variants.iter_mut().map(&mut candidates).collect();
        Self { jobs: variants.into_iter().zip(policies).collect(), thrown, scripts }
    }

    /// The jobs, read and checked, for a session on `target`.
    fn parsed(&self, target: &TargetOptions) -> Result<Vec<RunVariant>, RunFailure> {
        let parsed = |(variant, policies): &(Variant, Vec<Candidate>)| {
            let Variant { name, text, sets, .. } = variant;
            let sets: Vec<String> = sets.iter().map(|set| set.0.clone()).collect();
            let parsed = match text {
                Some(text) => RunVariant::parse(&name.0, &text.0, &sets, target),
                None => RunVariant::load(&path_text::path(&name.0), &sets, target),
            };
            Ok(RunVariant { policies: policies.clone(), ..parsed? })
        };
        self.jobs.iter().map(parsed).collect()
    }
}

/// The options of a session, as `penstock.session.Options` has them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct SessionOptions {
    policies: Vec<String>,
    #[pyo3(default)]
    detail: bool,
    #[pyo3(default)]
    arm_from: Option<String>,
    #[pyo3(default)]
    arm_for: Option<String>,
    #[pyo3(default)]
    repeat: Option<u32>,
    #[pyo3(default)]
    workers: Option<NonZeroUsize>,
    #[pyo3(default)]
    record: Option<PathBuf>,
    #[pyo3(default)]
    requests: Option<Py<PyAny>>,
    #[pyo3(default)]
    survey: bool,
    #[pyo3(default)]
    load: Option<NonZeroU32>,
    #[pyo3(default)]
    watch: Option<Py<Pace>>,
    #[pyo3(default)]
    speed: Option<String>,
    #[pyo3(default)]
    keep_failures: bool,
}

impl SessionOptions {
    /// The engine's options. Exceptions of `requests` go to `thrown`.
    fn options(self, target: TargetOptions, thrown: &Raised) -> Options {
        let take = |take: Py<PyAny>| {
            let thrown = thrown.clone();
            RequestSink::new(move |number, requests| {
                columns::give(&take, number, &requests, &thrown)
            })
        };
        Options {
            policies: self.policies.into_iter().map(Candidate::Named).collect(),
            target,
            record: self.record,
            repeat: self.repeat,
            workers: self.workers,
            detail: self.detail,
            arm_from: self.arm_from,
            arm_for: self.arm_for,
            requests: self.requests.map(take),
            survey: self.survey.then_some(Survey { load: self.load }),
            failures: if self.keep_failures { Failures::Keep } else { Failures::Raise },
            watch: self.watch.map(|pace| Arc::clone(&pace.get().0)),
            speed: self.speed,
        }
    }
}

/// Lets a modelled run that a person watches pause.
#[pyclass(frozen, module = "penstock._native")]
pub(crate) struct Pace(Arc<penstock_run::Pace>);

#[pymethods]
impl Pace {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }

    /// Whether the model's time stands still.
    #[getter]
    fn paused(&self) -> bool {
        self.0.paused()
    }

    #[setter]
    fn set_paused(&self, paused: bool) {
        self.0.pause(paused);
    }
}

/// A target that stays open and locked while jobs run on it.
#[pyclass(frozen, module = "penstock._native")]
pub(crate) struct Session {
    opened: Mutex<Option<Opened>>,
    target: TargetOptions,
    /// Gets the exceptions of `requests`.
    thrown: Raised,
}

impl Session {
    /// Takes the open session out and puts `session` in its place.
    fn replace(&self, session: Option<Opened>) -> Option<Opened> {
        std::mem::replace(&mut *self.opened.lock().unwrap_or_else(PoisonError::into_inner), session)
    }
}

fn ended() -> PyErr {
    PyRuntimeError::new_err("the session has ended, or runs already")
}

#[pymethods]
impl Session {
    /// Opens `target` for runs with `options`. A missing file is created only if `variants` can run
    /// on it; `progress` is called with the steps of its creation.
    #[new]
    #[pyo3(signature = (variants, target, options, progress=None))]
    fn new(
        py: Python<'_>,
        variants: Vec<Variant>,
        target: Target,
        options: SessionOptions,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let Target(target) = target;
        let thrown = Raised::default();
        let options = options.options(target.clone(), &thrown);
        let (variants, on) = (Variants::new(variants), target.clone());
        let watched = watch::run(py, progress, move |progress| {
            Opened::open(options, &variants.parsed(&on)?, progress)
        });
        let opened = Mutex::new(Some(watched.whole(py)?));
        Ok(Self { opened, target, thrown })
    }

    /// Runs each of `variants` under each of its policies, and returns a comparison as JSON for
    /// each. An interrupt ends the session, unless the result may be `partial`; so do an exception,
    /// and a run that fails, unless the session keeps failures.
    #[pyo3(signature = (variants, *, progress=None, partial=false))]
    fn run(
        &self,
        py: Python<'_>,
        variants: Vec<Variant>,
        progress: Option<&Bound<'_, PyAny>>,
        partial: bool,
    ) -> PyResult<Vec<String>> {
        let session = self.replace(None).ok_or_else(ended)?;
        let variants = Variants::new(variants);
        let (target, scripts, raised) =
            (self.target.clone(), variants.scripts, variants.thrown.clone());
        let work = move |progress: &mut dyn FnMut(Step<'_>) -> bool| {
            let (session, comparisons) = session.run(&variants.parsed(&target)?, progress)?;
            Ok((session, comparisons.iter().map(json).collect()))
        };
        let watched: Watched<(Opened, Vec<String>)> = if scripts {
            watch::run_here(py, progress, work)
        } else {
            watch::run(py, progress, work)
        };
        let taken = |raised: &Raised| raised.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(error) = taken(&self.thrown) {
            return Err(error);
        }
        let (session, comparisons) = match watched.ended(py, taken(&raised))? {
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

    /// Checks each of `variants` and returns what is known about it before it runs: a comparison
    /// without runs, as JSON. Raises an exception if one is wrong.
    fn check(&self, py: Python<'_>, variants: Vec<Variant>) -> PyResult<Vec<String>> {
        let variants = Variants::new(variants);
        let checked = py.detach(|| {
            let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            let session = opened.as_ref().ok_or(None)?;
            let parsed = variants.parsed(&self.target).map_err(Some)?;
            let known = session.check(&parsed).map_err(Some)?;
            Ok(known.iter().map(json).collect())
        });
        checked.map_err(|failure: Option<RunFailure>| {
            failure.map_or_else(ended, |failure| raise(py, &failure))
        })
    }

    /// Releases its target. A second call is no error.
    fn close(&self) {
        self.replace(None);
    }
}
