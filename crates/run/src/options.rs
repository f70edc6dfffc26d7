//! The options of a comparison.

use std::path::PathBuf;
use std::sync::Arc;

use penstock_live::Pace;

use crate::candidate::Candidate;

/// The options of a comparison: all that its job does not say.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Who decides, in the order in which they run; none: every policy of the registry.
    pub policies: Vec<Candidate>,
    /// A device's name, a device file, a target (its path, or `loop:` and the path of a file),
    /// `emulated:DEVICE[@SPEED][:PATH]` or `null`; the job's device if not given.
    pub on: Option<String>,
    /// Size of the owned file to create at the path, if it is missing.
    pub create: Option<String>,
    /// The block device of `on` once more, by serial number or path: what is on it may be lost.
    pub i_will_lose_data: Option<String>,
    /// The block device may hold data that no format announces.
    pub even_if_not_empty: bool,
    /// The target is only read: it may be anybody's, and the job may not write.
    pub read_only: bool,
    /// How a target is driven; the first engine that works if not given.
    pub engine: Option<String>,
    /// Where to record the run; for one policy only.
    pub record: Option<PathBuf>,
    /// How often each policy runs, in rounds of all of them; once if not given. Each round has the
    /// next seed.
    pub repeat: Option<u32>,
    /// Whether results carry whole distributions and the course over time.
    pub detail: bool,
    /// Somebody watches: steps tell how the run goes, and a model keeps step with real time, until
    /// this lets it pause.
    pub watch: Option<Arc<Pace>>,
    /// How much faster than real time a watched model goes: a number, or `max`; 1 if not given.
    pub speed: Option<String>,
}
