//! How merges have ended.

use super::figures::MergeTimes;
use super::run_reader::BadRun;

/// How merges have ended.
#[derive(Debug)]
pub(super) struct MergeOutcome {
    pub(super) times: MergeTimes,
    /// The part of each output that is merged.
    pub(super) progress: Vec<f64>,
    /// Why they ended early, if they did.
    pub(super) failed: Option<MergeFailed>,
    /// The merges that wait for memory.
    pub(super) starved: Vec<StarvedMerge>,
}

/// Why merges ended early.
#[derive(Clone, Debug)]
pub(super) enum MergeFailed {
    /// A run is not sorted.
    Input(String),
    /// A disk answered with an error, or with other bytes than before.
    Disk(String),
}

impl From<BadRun> for MergeFailed {
    fn from(run: BadRun) -> Self {
        match run {
            BadRun::Unsorted(message) => Self::Input(message),
            BadRun::Changed(message) => Self::Disk(message),
        }
    }
}

/// The memory of a merge that waits for more, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct StarvedMerge {
    pub(super) job: usize,
    /// Bytes of its runs.
    pub(super) read: u64,
    /// Bytes of its output.
    pub(super) output: u64,
    /// Bytes for which it waits.
    pub(super) needs: u64,
}
