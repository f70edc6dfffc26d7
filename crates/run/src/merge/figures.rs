//! Measurements of merges while they run.

use penstock_core::{Span, Time};

/// The reason why a merge waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MergeWait {
    /// A group of a run that is being read.
    Read,
    /// Memory.
    Memory,
}

/// The figures of all merges.
#[derive(Debug)]
pub(super) struct MergeTimes {
    pub(super) merges: Vec<MergeTime>,
    /// The largest difference between the progress of two merges, as a part of an output.
    pub(super) divergence_max: f64,
    /// Writes at each disk, and the largest number at one disk so far.
    writes: Vec<u64>,
    pub(super) writes_max: u64,
}

/// The figures of one merge.
#[derive(Clone, Debug, Default)]
pub(super) struct MergeTime {
    pub(super) finished: Option<Time>,
    pub(super) for_reads: Span,
    pub(super) for_memory: Span,
    /// Processor time of merging.
    pub(super) processor: Span,
}

impl MergeTimes {
    pub(super) fn new(merges: usize, disks: usize) -> Self {
        Self {
            merges: vec![MergeTime::default(); merges],
            divergence_max: 0.0,
            writes: vec![0; disks],
            writes_max: 0,
        }
    }

    /// Adds a wait of merge `job` from `since` to `now`.
    pub(super) fn add_wait(&mut self, job: usize, wait: MergeWait, since: Time, now: Time) {
        let merge = &mut self.merges[job];
        let waited = match wait {
            MergeWait::Read => &mut merge.for_reads,
            MergeWait::Memory => &mut merge.for_memory,
        };
        *waited += now.since(since);
    }

    /// Compares the progress of all merges, each a part of its output.
    pub(super) fn compare_progress(&mut self, progress: impl Iterator<Item = f64>) {
        let (least, most) = progress
            .fold((1.0_f64, 0.0_f64), |(least, most), part| (least.min(part), most.max(part)));
        self.divergence_max = self.divergence_max.max(most - least);
    }

    /// Counts a write that is sent to `disk`.
    pub(super) fn add_write(&mut self, disk: usize) {
        self.writes[disk] += 1;
        self.writes_max = self.writes_max.max(self.writes[disk]);
    }

    /// Counts a write that `disk` has done.
    pub(super) fn remove_write(&mut self, disk: usize) {
        self.writes[disk] -= 1;
    }
}
