//! One job: its runs, its output, and what it waits for.

use std::collections::VecDeque;

use penstock_core::{Op, Time};

use super::depletion::DepletionOrder;
use super::placement::JobLayout;
use super::shape::Shape;

/// What a job waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Blocks that it has asked for.
    Read,
    /// Memory for so many blocks.
    Memory {
        /// Blocks that it would ask for, or write.
        needs: u32,
        /// What it has in memory.
        holds: Held,
    },
}

/// Blocks that a job has in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// Read, or asked for.
    pub read: u64,
    /// Of the output, not yet written.
    pub output: u64,
}

/// What a job does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MergePhase {
    /// It begins at this time.
    Begins(Time),
    /// It waits for the first groups of so many runs.
    Fills(u32),
    /// It merges, or waits to.
    Merges,
    /// It computes until then.
    Computes(Time),
    /// Everything is used up; the last writes are on their way.
    Writes,
    /// Everything is written, or it does not take part.
    Over,
}

/// Blocks of a run: `used ≤ arrived ≤ asked`.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    used: u32,
    arrived: u32,
    asked: u32,
}

/// Blocks that a job asks for, or writes: neighbours on one disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Transfer {
    pub(super) op: Op,
    pub(super) disk: u32,
    pub(super) block: u64,
    pub(super) blocks: u32,
}

/// One job.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) phase: MergePhase,
    pub(super) waits: Option<Wait>,
    /// Blocks that are used up.
    pub(super) used: u64,
    shape: Shape,
    layout: JobLayout,
    order: DepletionOrder,
    runs: Vec<Run>,
    /// The runs by the place of their first block.
    by_place: Vec<(u32, u64, u32)>,
    /// The run of the block that was used up last.
    last: Option<u32>,
    /// Runs whose next group is to be asked for.
    ahead: VecDeque<u32>,
    /// Blocks of the output that do not yet make a write.
    gathered: u32,
    /// Blocks of the output that are on their way.
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

    /// The next group of `run`.
    fn group(&self, run: u32) -> u32 {
        self.shape.read.min(self.shape.run - self.runs[run as usize].asked)
    }

    /// Asks for the next group of `run`.
    pub(super) fn ask(&mut self, run: u32) -> Transfer {
        let blocks = self.group(run);
        let place = self.layout.runs[run as usize];
        let block = place.block + u64::from(self.runs[run as usize].asked);
        self.runs[run as usize].asked += blocks;
        Transfer { op: Op::Read, disk: place.disk, block, blocks }
    }

    /// The run whose next group is to be asked for first, and how many blocks that is: the one that the
    /// job waits for, or the one that has waited longest.
    pub(super) fn wanted(&self) -> Option<(u32, u32)> {
        let needed = self.lacks().filter(|run| self.puts_off(*run));
        let run = needed.or_else(|| self.ahead.front().copied())?;
        Some((run, self.group(run)))
    }

    /// The next group of `run` was asked for.
    pub(super) fn asked(&mut self, run: u32) {
        let at = self.ahead.iter().position(|one| *one == run);
        self.ahead.remove(at.expect("it was wanted"));
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

    /// The run that must have a block before anything else is used up: the last one, if it has more.
    pub(super) fn lacks(&self) -> Option<u32> {
        let last = self.last?;
        let run = self.runs[last as usize];
        (run.used == run.arrived && run.used < self.shape.run).then_some(last)
    }

    /// Whether the next group of `run` is still to be asked for.
    pub(super) fn puts_off(&self, run: u32) -> bool {
        self.ahead.contains(&run)
    }

    /// Whether all runs are used up.
    pub(super) fn is_used_up(&self) -> bool {
        self.order.is_over()
    }

    /// Uses up the next block. Returns the write that this makes complete.
    pub(super) fn use_up(&mut self) -> Option<Transfer> {
        let number = self.order.next_run();
        let run = &mut self.runs[number as usize];
        if run.used.is_multiple_of(self.shape.read) && run.asked < self.shape.run {
            self.ahead.push_back(number);
        }
        run.used += 1;
        self.last = Some(number);
        self.used += 1;
        self.gathered += 1;
        (self.gathered == self.shape.write).then(|| self.write())
    }

    /// Writes what is gathered, if there is anything.
    pub(super) fn flush(&mut self) -> Option<Transfer> {
        (self.gathered > 0).then(|| self.write())
    }

    fn write(&mut self) -> Transfer {
        let blocks = std::mem::take(&mut self.gathered);
        let block = self.layout.output.block + self.written + self.sent;
        self.sent += u64::from(blocks);
        Transfer { op: Op::Write, disk: self.layout.output.disk, block, blocks }
    }

    /// So many blocks are written.
    pub(super) fn wrote(&mut self, blocks: u32) {
        self.sent -= u64::from(blocks);
        self.written += u64::from(blocks);
    }

    /// Blocks of the output that are in memory.
    pub(super) fn unwritten(&self) -> u64 {
        u64::from(self.gathered) + self.sent
    }

    /// Whether everything is used up and written.
    pub(super) fn is_over(&self) -> bool {
        self.order.is_over() && self.unwritten() == 0
    }

    /// What it has in memory.
    pub(super) fn holds(&self) -> Held {
        let read = self.runs.iter().map(|run| u64::from(run.asked - run.used)).sum();
        Held { read, output: self.unwritten() }
    }
}
