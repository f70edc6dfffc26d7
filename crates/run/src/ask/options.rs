//! The options of a comparison.

use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::sync::Arc;

use penstock_live::Pace;

use crate::ask::candidate::Candidate;
use crate::ask::target_options::TargetOptions;
use crate::failure::Failure;
use crate::result::Requests;

/// The options of a comparison: all that its job does not say.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Who decides, in the order in which they run; none: the usual policies. `all` is every one.
    pub policies: Vec<Candidate>,
    /// Where they run, and what they may do there.
    pub target: TargetOptions,
    /// Where to record the run; for one policy only.
    pub record: Option<PathBuf>,
    /// How often each policy runs, in rounds of all of them; once if not given. Each round has the
    /// next seed.
    pub repeat: Option<u32>,
    /// Processors that modelled runs use at most; all if not given.
    pub workers: Option<NonZeroUsize>,
    /// Whether results carry whole distributions and the course over time.
    pub detail: bool,
    /// Where the stretch of the run begins of which the detail has the arm; with the run if not given.
    pub arm_from: Option<String>,
    /// How long that stretch is; two seconds if not given.
    pub arm_for: Option<String>,
    /// Takes every request of each run, if they are wanted.
    pub requests: Option<RequestSink>,
    /// How the requests of a class vary is measured, for the length of a cycle of `fairio`.
    pub survey: Option<Survey>,
    /// What a run that fails does to the others.
    pub failures: Failures,
    /// A person watches: steps report how the run goes, and a model keeps step with real time,
    /// until this lets it pause.
    pub watch: Option<Arc<Pace>>,
    /// How much faster than real time a watched model goes: a number, or `max`; 1 if not given.
    pub speed: Option<String>,
}

/// What a run that fails does to the other runs of its session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Failures {
    /// It ends the session.
    #[default]
    Raise,
    /// It is a result with a `failure`, and the others run.
    Keep,
}

/// How a run measures how stable the requests of each class are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Survey {
    /// Requests that are at the device at once, at most, in place of what the job says; 2 for each
    /// disk if not given.
    pub load: Option<NonZeroU32>,
}

/// Takes the requests of each run once it has ended, in the order of the runs. They are in memory
/// only until then.
#[derive(Clone)]
pub struct RequestSink(Arc<TakeRequests>);

/// Gets the number of a run, from 0, and its requests.
type TakeRequests = dyn Fn(usize, Requests) -> Result<(), Failure> + Send + Sync;

impl RequestSink {
    /// Calls `take` with the number of each run and its requests. Its failure ends the session.
    pub fn new(
        take: impl Fn(usize, Requests) -> Result<(), Failure> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(take))
    }

    /// Hands over the requests of the run `number`.
    pub(crate) fn take(&self, number: usize, requests: Requests) -> Result<(), Failure> {
        self.0(number, requests)
    }
}

impl fmt::Debug for RequestSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RequestSink")
    }
}
