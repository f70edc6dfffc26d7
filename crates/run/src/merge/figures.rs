//! What is measured of merges while they go on.

use penstock_core::{Span, Time};

use super::job::MergeWait;

/// What all merges of a run have met.
#[derive(Debug)]
pub(super) struct MergeTimes {
    pub(super) merges: Vec<MergeTime>,
    /// The most that any two were apart, as a part of their outputs.
    pub(super) apart_most: f64,
    /// Writes at each disk, and the most there ever were.
    writes: Vec<u64>,
    pub(super) most_writes: u64,
}

/// What one has met.
#[derive(Clone, Debug, Default)]
pub(super) struct MergeTime {
    pub(super) finished: Option<Time>,
    pub(super) for_reads: Span,
    pub(super) for_memory: Span,
    /// Time of a processor.
    pub(super) processor: Span,
}

impl MergeTimes {
    pub(super) fn new(merges: usize, disks: usize) -> Self {
        Self {
            merges: vec![MergeTime::default(); merges],
            apart_most: 0.0,
            writes: vec![0; disks],
            most_writes: 0,
        }
    }

    /// Merge `job` has waited like this until `now`.
    pub(super) fn waited(&mut self, job: usize, (wait, since): (MergeWait, Time), now: Time) {
        let merge = &mut self.merges[job];
        let of = match wait {
            MergeWait::Read => &mut merge.for_reads,
            MergeWait::Memory(_) => &mut merge.for_memory,
        };
        *of += now.since(since);
    }

    /// How far each merge is, as a part of its output.
    pub(super) fn progress(&mut self, parts: impl Iterator<Item = f64>) {
        let (least, most) =
            parts.fold((1.0_f64, 0.0_f64), |(least, most), part| (least.min(part), most.max(part)));
        self.apart_most = self.apart_most.max(most - least);
    }

    /// A write is sent to `disk`.
    pub(super) fn writes(&mut self, disk: usize) {
        self.writes[disk] += 1;
        self.most_writes = self.most_writes.max(self.writes[disk]);
    }

    /// A write of `disk` has ended.
    pub(super) fn wrote(&mut self, disk: usize) {
        self.writes[disk] -= 1;
    }
}
