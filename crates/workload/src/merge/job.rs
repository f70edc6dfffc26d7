//! The state of a job: its runs, its output, and its wait.

use std::collections::VecDeque;

use penstock_core::{Op, Time};

use super::depletion::DepletionOrder;
use super::placement::JobLayout;
use super::shape::Shape;

/// The reason why a job waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// It waits for blocks that it has requested.
    Read,
    /// It waits for memory.
    Memory {
        /// Number of blocks to read or write for which there is no memory.
        needs: u32,
        /// Blocks that it has in memory.
        holds: Held,
    },
}

/// Blocks that a job has in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// Input blocks that were read or requested, and are not used up.
    pub read: u64,
    /// Output blocks that are not written yet.
    pub output: u64,
}

/// The phase of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MergePhase {
    /// It begins at this time.
    Begins(Time),
    /// It waits for the first groups of this many runs.
    Fills(u32),
    /// It merges, or waits to continue.
    Merges,
    /// It computes until this time.
    Computes(Time),
    /// All blocks are used up, and the last writes are in flight.
    Writes,
    /// All blocks are written, or the job does not take part.
    Over,
}

/// Numbers of blocks of a run: `used ≤ arrived ≤ requested`.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    used: u32,
    arrived: u32,
    requested: u32,
}

/// A read or write of a job: successive blocks on one disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Transfer {
    pub(super) op: Op,
    pub(super) disk: u32,
    pub(super) block: u64,
    pub(super) blocks: u32,
}

/// The state of a job.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) phase: MergePhase,
    pub(super) waits: Option<Wait>,
    /// Number of blocks used up.
    pub(super) used: u64,
    shape: Shape,
    layout: JobLayout,
    order: DepletionOrder,
    runs: Vec<Run>,
    /// Disk, first block and number of each run, sorted.
    by_place: Vec<(u32, u64, u32)>,
    /// The run of the block that was used up last.
    last: Option<u32>,
    /// Runs whose next group has to be requested.
    ahead: VecDeque<u32>,
    /// Output blocks that do not fill a write yet.
    gathered: u32,
    /// Output blocks whose writes are in flight.
    sent: u64,
    written: u64,
}

impl Job {
    pub(super) fn new(
        shape: Shape,
        layout: JobLayout,
        order: DepletionOrder,
        phase: MergePhase,
    ) -> Self {
        let place = |(run, place): (u32, &super::placement::Place)| (place.disk, place.block, run);
        let mut by_place: Vec<_> = (0..).zip(&layout.runs).map(place).collect();
        by_place.sort_unstable();
        Self {
            phase,
            waits: None,
            used: 0,
            shape,
            layout,
            order,
            runs: vec![Run::default(); shape.runs as usize],
            by_place,
            last: None,
            ahead: VecDeque::with_capacity(shape.runs as usize),
            gathered: 0,
            sent: 0,
            written: 0,
        }
    }

    /// Number of blocks in the next group of `run`.
    fn group_blocks(&self, run: u32) -> u32 {
        self.shape.read.min(self.shape.run - self.runs[run as usize].requested)
    }

    /// Returns the read of the next group of `run`, and counts it as requested.
    pub(super) fn request_group(&mut self, run: u32) -> Transfer {
        let blocks = self.group_blocks(run);
        let place = self.layout.runs[run as usize];
        let block = place.block + u64::from(self.runs[run as usize].requested);
        self.runs[run as usize].requested += blocks;
        Transfer { op: Op::Read, disk: place.disk, block, blocks }
    }

    /// The run whose next group has to be requested first, and the number of blocks: the run that
    /// the job waits for, otherwise the one that has waited longest.
    pub(super) fn next_group(&self) -> Option<(u32, u32)> {
        let needed = self.blocked_run().filter(|run| self.is_postponed(*run));
        let run = needed.or_else(|| self.ahead.front().copied())?;
        Some((run, self.group_blocks(run)))
    }

    /// The next group of `run` was requested.
    pub(super) fn group_requested(&mut self, run: u32) {
        let at = self.ahead.iter().position(|waiting| *waiting == run);
        self.ahead.remove(at.expect("its group was to be requested"));
    }

    /// Blocks that begin at `block` of `disk` have arrived. Returns whether the job waited for them.
    pub(super) fn arrived(&mut self, disk: u32, block: u64, blocks: u32) -> bool {
        let at = self.by_place.partition_point(|&(d, b, _)| (d, b) <= (disk, block)) - 1;
        let (.., run) = self.by_place[at];
        self.runs[run as usize].arrived += blocks;
        match self.phase {
            MergePhase::Fills(1) => {
                self.phase = MergePhase::Merges;
                true
            }
            MergePhase::Fills(left) => {
                self.phase = MergePhase::Fills(left - 1);
                false
            }
            _ => self.waits.is_some() && self.last == Some(run),
        }
    }

    /// The run that needs a block before any other block is used up: the last used one, if it has
    /// more blocks but none in memory.
    pub(super) fn blocked_run(&self) -> Option<u32> {
        let last = self.last?;
        let run = self.runs[last as usize];
        (run.used == run.arrived && run.used < self.shape.run).then_some(last)
    }

    /// Whether the next group of `run` has not been requested yet.
    pub(super) fn is_postponed(&self, run: u32) -> bool {
        self.ahead.contains(&run)
    }

    /// Whether all runs are used up.
    pub(super) fn is_used_up(&self) -> bool {
        self.order.is_over()
    }

    /// Uses up the next block. Returns the write that this completes, if any.
    pub(super) fn use_up(&mut self) -> Option<Transfer> {
        let number = self.order.next_run();
        let run = &mut self.runs[number as usize];
        if run.used.is_multiple_of(self.shape.read) && run.requested < self.shape.run {
            self.ahead.push_back(number);
        }
        run.used += 1;
        self.last = Some(number);
        self.used += 1;
        self.gathered += 1;
        (self.gathered == self.shape.write).then(|| self.write())
    }

    /// Returns the write of the gathered blocks, if there are any.
    pub(super) fn flush(&mut self) -> Option<Transfer> {
        (self.gathered > 0).then(|| self.write())
    }

    fn write(&mut self) -> Transfer {
        let blocks = std::mem::take(&mut self.gathered);
        let block = self.layout.output.block + self.written + self.sent;
        self.sent += u64::from(blocks);
        Transfer { op: Op::Write, disk: self.layout.output.disk, block, blocks }
    }

    /// A write of `blocks` blocks has completed.
    pub(super) fn blocks_written(&mut self, blocks: u32) {
        self.sent -= u64::from(blocks);
        self.written += u64::from(blocks);
    }

    /// Number of output blocks in memory.
    pub(super) fn unwritten(&self) -> u64 {
        u64::from(self.gathered) + self.sent
    }

    /// Whether all blocks are used up and written.
    pub(super) fn is_over(&self) -> bool {
        self.order.is_over() && self.unwritten() == 0
    }

    /// The blocks that it has in memory.
    pub(super) fn holds(&self) -> Held {
        let read = self.runs.iter().map(|run| u64::from(run.requested - run.used)).sum();
        Held { read, output: self.unwritten() }
    }
}
