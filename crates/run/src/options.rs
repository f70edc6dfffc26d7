//! The options of a comparison.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use penstock_live::Pace;

use crate::candidate::Candidate;
use crate::target_options::TargetOptions;

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
    /// Whether results carry every request.
    pub requests: bool,
    /// Whether results carry how stable the requests of each class are.
    pub stability: bool,
    /// A person watches: steps report how the run goes, and a model keeps step with real time,
    /// until this lets it pause.
    pub watch: Option<Arc<Pace>>,
    /// How much faster than real time a watched model goes: a number, or `max`; 1 if not given.
    pub speed: Option<String>,
}
