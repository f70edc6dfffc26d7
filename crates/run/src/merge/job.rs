//! A merge: its runs, its output, and its state.

use std::collections::VecDeque;
use std::mem;

use penstock_core::Time;

use super::figures::MergeWait;
use super::run_reader::{BadRun, NextRecord, ReadGroup, RunReader};
use super::tree::LoserTree;

/// The state of a merge.
///
/// ```text
/// Starting ──────→ Filling ──→ Merging ──→ Draining ──→ Done
///     └→ WaitsToFill ─┘        │  ↑  └───→ Failed
///                              ↓  │
///          WaitsForGroups, WaitsForRead, WaitsForMemory
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MergeState {
    /// It starts at this time.
    Starting(Time),
    /// It waits for `needs` bytes of memory for the first groups of its runs.
    WaitsToFill { needs: u64 },
    /// It waits for the first groups of `missing` runs.
    Filling { missing: u32 },
    /// It merges records.
    Merging,
    /// It waits for a group of any run: the first record of some run lies across groups.
    WaitsForGroups,
    /// It waits for the next group of `run`, whose record comes next.
    WaitsForRead { run: usize },
    /// It waits for `needs` bytes of memory.
    WaitsForMemory { needs: u64 },
    /// All records are merged; the last writes are in flight.
    Draining,
    /// All of the output is written.
    Done,
    /// A run cannot be merged.
    Failed,
}

impl MergeState {
    /// Returns what the merge waits for, if it waits.
    pub(super) fn wait(self) -> Option<MergeWait> {
        match self {
            Self::Filling { .. } | Self::WaitsForGroups | Self::WaitsForRead { .. } => {
                Some(MergeWait::Read)
            }
            Self::WaitsToFill { .. } | Self::WaitsForMemory { .. } => Some(MergeWait::Memory),
            Self::Starting(_) | Self::Merging | Self::Draining | Self::Done | Self::Failed => None,
        }
    }

    /// Returns whether a merge in this state may go to the state `next`.
    fn leads_to(self, next: Self) -> bool {
        match self {
            Self::Starting(_) | Self::WaitsToFill { .. } => {
                matches!(next, Self::WaitsToFill { .. } | Self::Filling { .. })
            }
            Self::Filling { missing: 0 } => next == Self::Merging,
            Self::Filling { missing } => next == Self::Filling { missing: missing - 1 },
            Self::Merging => {
                let waits = next.wait().is_some();
                let fills = matches!(next, Self::WaitsToFill { .. } | Self::Filling { .. });
                waits && !fills || matches!(next, Self::Draining | Self::Failed)
            }
            Self::WaitsForGroups | Self::WaitsForRead { .. } | Self::WaitsForMemory { .. } => {
                next == Self::Merging
            }
            Self::Draining => next == Self::Done,
            Self::Done | Self::Failed => false,
        }
    }
}

/// A merge.
#[derive(Debug)]
pub(super) struct Merging {
    state: MergeState,
    /// Time since which it is in its state, if it waits.
    pub(super) waits_since: Time,
    /// Time of its latest event. Completions of models that were late at the same time are not handled in
    /// their order.
    pub(super) latest: Time,
    pub(super) runs: Vec<RunReader>,
    /// The tree of runs, once the first record of each is there.
    tree: Option<LoserTree>,
    /// Whether part of the winner's next record has not arrived.
    lacks: bool,
    /// Runs whose next group is to be requested.
    ahead: VecDeque<usize>,
    /// Merged records of which no write has been sent.
    out: Vec<u8>,
    /// The first bytes of `out` that have been taken: a long record is many writes.
    taken: usize,
    /// Bytes of a write.
    write: usize,
    /// Bytes of the whole output.
    pub(super) bytes: u64,
    /// Bytes of the runs that have been requested.
    requested: u64,
    /// Bytes of the output for which writes have been sent, and bytes that are written.
    sent: u64,
    written: u64,
    /// Buffers to be used again.
    spare: Vec<Vec<u8>>,
}

/// Why [`Merging::merge`] has stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MergeStop {
    /// There is enough for a write, or no memory for more output; or a group is to be requested.
    Pause,
    /// The next record of a run has not arrived.
    Lacks,
    /// All records are merged.
    Over,
}

impl Merging {
    /// Creates a merge of `runs` that starts at `start` and writes `write` bytes at once.
    pub(super) fn new(runs: Vec<RunReader>, write: usize, start: Time) -> Self {
        Self {
            state: MergeState::Starting(start),
            waits_since: start,
            latest: start,
            tree: None,
            lacks: false,
            ahead: VecDeque::with_capacity(runs.len()),
            out: Vec::new(),
            taken: 0,
            write,
            bytes: runs.iter().map(RunReader::len).sum(),
            requested: 0,
            sent: 0,
            written: 0,
            spare: Vec::new(),
            runs,
        }
    }

    pub(super) fn state(&self) -> MergeState {
        self.state
    }

    /// Goes to the state `next`.
    pub(super) fn enter(&mut self, next: MergeState) {
        assert!(self.state.leads_to(next), "from {:?} to {next:?}", self.state);
        self.state = next;
    }

    /// Returns a buffer of `len` bytes with any content.
    pub(super) fn buffer(&mut self, len: usize) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.resize(len, 0);
        buffer
    }

    /// Keeps `buffer` to be used again.
    pub(super) fn spare(&mut self, buffer: Vec<u8>) {
        self.spare.push(buffer);
    }

    /// Requests the next group of `run`, and returns it.
    pub(super) fn request(&mut self, run: usize) -> ReadGroup {
        let group = self.runs[run].next_group();
        self.runs[run].request();
        self.requested += group.bytes;
        group
    }

    /// Returns the first run whose next group is to be requested, and that group.
    pub(super) fn wanted(&self) -> Option<(usize, ReadGroup)> {
        self.ahead.front().map(|&run| (run, self.runs[run].next_group()))
    }

    /// Notes that the group of [`wanted`](Self::wanted) was requested.
    pub(super) fn pop_wanted(&mut self) {
        self.ahead.pop_front();
    }

    /// Returns whether merging cannot go on without the next group of `run`.
    pub(super) fn lacks_group_of(&self, run: usize) -> bool {
        self.lacks && self.tree.as_ref().is_some_and(|tree| tree.winner == run)
    }

    /// Returns the run whose record comes next, if a group of it is being read.
    pub(super) fn reads_winner(&self) -> Option<usize> {
        let winner = self.tree.as_ref()?.winner;
        self.runs[winner].is_reading().then_some(winner)
    }

    /// Loads the first record of each run as far as groups have arrived. Returns whether all first records
    /// are there.
    ///
    /// # Errors
    /// [`BadRun`]: a run is not sorted, or has changed.
    pub(super) fn fill(&mut self) -> Result<bool, BadRun> {
        let mut all = true;
        for (number, run) in self.runs.iter_mut().enumerate() {
            if run.is_over() || run.has_record() {
                continue;
            }
            if run.load()? == NextRecord::Lacks {
                all = false;
                if run.wants_more(true) && !self.ahead.contains(&number) {
                    self.ahead.push_back(number);
                }
            }
        }
        if all && self.tree.is_none() {
            self.tree = Some(LoserTree::new(&self.runs));
        }
        Ok(all)
    }

    /// Returns whether the first records of all runs have been there.
    pub(super) fn is_filled(&self) -> bool {
        self.tree.is_some()
    }

    /// Merges until there is enough for a write, `limit` bytes of the output are in memory, a group is to
    /// be requested, or a record is missing.
    ///
    /// # Errors
    /// [`BadRun`]: a run is not sorted, or has changed.
    pub(super) fn merge(&mut self, limit: usize) -> Result<MergeStop, BadRun> {
        let Self { runs, tree, out, taken, ahead, write, .. } = self;
        let tree = tree.as_mut().expect("it is filled before");
        let full = (*write).min(limit);
        if mem::take(&mut self.lacks) {
            match runs[tree.winner].load()? {
                NextRecord::Record(prefix) => {
                    tree.prefixes[tree.winner] = prefix;
                    tree.replay(runs);
                }
                NextRecord::Lacks => {
                    self.lacks = true;
                    if runs[tree.winner].wants_more(true) && !ahead.contains(&tree.winner) {
                        ahead.push_back(tree.winner);
                    }
                    return Ok(MergeStop::Lacks);
                }
                NextRecord::Over => tree.remove_winner(runs),
            }
        }
        while !tree.is_over() {
            let winner = tree.winner;
            let run = &mut runs[winner];
            out.extend_from_slice(run.record());
            let next = run.step(tree.prefixes[winner])?;
            let lacks = next == NextRecord::Lacks;
            let wants = (run.used() >= run.mark() || lacks) && run.wants_more(lacks);
            let pause = wants && !ahead.contains(&winner);
            if pause {
                ahead.push_back(winner);
            }
            match next {
                NextRecord::Record(prefix) => {
                    tree.prefixes[winner] = prefix;
                    tree.replay(runs);
                }
                NextRecord::Lacks => self.lacks = true,
                NextRecord::Over => tree.remove_winner(runs),
            }
            if pause || out.len() - *taken >= full {
                return Ok(MergeStop::Pause);
            }
            if lacks {
                return Ok(MergeStop::Lacks);
            }
        }
        Ok(MergeStop::Over)
    }

    /// Collects the buffers of groups that are used up.
    pub(super) fn collect_spent(&mut self) {
        for run in &mut self.runs {
            self.spare.append(&mut run.spent);
        }
    }

    /// Takes the bytes of the next write, and its place in the output: a whole write, or with `all` also
    /// the shorter last one.
    pub(super) fn next_write(&mut self, all: bool) -> Option<(u64, Vec<u8>)> {
        let enough = if all { 1 } else { self.write };
        let merged = self.merged();
        if merged < enough {
            self.out.drain(..mem::take(&mut self.taken));
            self.out.shrink_to(2 * self.write);
            return None;
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.reserve(self.write);
        let len = merged.min(self.write);
        if self.taken == 0 && merged < 2 * len {
            // The usual case: the few bytes behind this write move, not the write.
            bytes.extend_from_slice(&self.out[len..]);
            mem::swap(&mut self.out, &mut bytes);
            bytes.truncate(len);
        } else {
            bytes.extend_from_slice(&self.out[self.taken..][..len]);
            self.taken += len;
        }
        let at = self.sent;
        self.sent += len as u64;
        Some((at, bytes))
    }

    /// Bytes of the output that wait for their write.
    fn merged(&self) -> usize {
        self.out.len() - self.taken
    }

    /// Notes that a write of `bytes` bytes is done.
    pub(super) fn wrote(&mut self, bytes: u64) {
        self.written += bytes;
        assert!(self.written <= self.sent && self.sent <= self.requested);
    }

    /// Bytes of the output in memory.
    pub(super) fn unwritten(&self) -> u64 {
        self.in_flight() + self.merged() as u64
    }

    /// Bytes of the output in writes that are not done.
    pub(super) fn in_flight(&self) -> u64 {
        self.sent - self.written
    }

    /// Bytes of its runs in memory, with those that are being read.
    pub(super) fn held(&self) -> u64 {
        self.runs.iter().map(RunReader::held).sum()
    }

    /// Bytes in memory: of its runs and of its output.
    pub(super) fn in_memory(&self) -> u64 {
        self.requested - self.written
    }

    /// Returns the part of the output that is merged.
    pub(super) fn progress(&self) -> f64 {
        if self.bytes == 0 {
            return if self.state == MergeState::Done { 1.0 } else { 0.0 };
        }
        (self.sent + self.merged() as u64) as f64 / self.bytes as f64
    }
}
