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
    /// Policies, in the order in which they run; the usual ones if empty. `all` stands for every
    /// policy.
    pub policies: Vec<Candidate>,
    /// Where they run, and what they may do there.
    pub target: TargetOptions,
    /// Path of the record of the run; for one policy only.
    pub record: Option<PathBuf>,
    /// Number of rounds, in each of which every policy runs once; one if not given. Each round has
    /// the next seed.
    pub repeat: Option<u32>,
    /// Maximum number of processors for modelled runs; all if not given.
    pub workers: Option<NonZeroUsize>,
    /// Whether results carry full distributions and the series over time.
    pub detail: bool,
    /// Begin of the stretch of the run for which the detail has the arm; the begin of the run if
    /// not given.
    pub arm_from: Option<String>,
    /// Length of that stretch; two seconds if not given.
    pub arm_for: Option<String>,
    /// Gets every request of each run, if they are wanted.
    pub requests: Option<RequestSink>,
    /// Measures how the requests of a class vary, for the length of a cycle of `fairio`.
    pub survey: Option<Survey>,
    /// The effect of a failed run on the others.
    pub failures: Failures,
    /// Set if a person watches: steps report the state of the run, and a model keeps step with real
    /// time, until this lets it pause.
    pub watch: Option<Arc<Pace>>,
    /// Speed of a watched model relative to real time: a number, or `max`; 1 if not given.
    pub speed: Option<String>,
}

/// The effect of a failed run on the other runs of its session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Failures {
    /// Ends the session.
    #[default]
    Raise,
    /// Keeps the run as a result with a `failure`, and continues with the others.
    Keep,
}

/// Options of the measurement of how stable the requests of each class are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Survey {
    /// Maximum number of requests at the device at once, in place of the job's; 2 for each disk if
    /// not given.
    pub load: Option<NonZeroU32>,
}

/// Gets the requests of each run once it has ended, in the order of the runs. They are in memory
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
