//! One merge: its runs, its output, how far it is.

use std::collections::VecDeque;
use std::mem;

use penstock_core::Time;

use super::run::{BadRun, NextRecord, ReadGroup, RunReader};
use super::tree::LoserTree;

/// What a merge does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MergePhase {
    /// It begins at this time.
    Begins(Time),
    /// It waits for the first groups of so many runs.
    Fills(u32),
    /// It merges, or waits to.
    Merges,
    /// Everything is merged; the last writes are on their way.
    Writes,
    /// Everything is written.
    Over,
}

/// What a merge waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MergeWait {
    /// A group that it has asked for.
    Read,
    /// Memory for so many bytes.
    Memory(u64),
}

/// One merge.
#[derive(Debug)]
pub(super) struct Merging {
    pub(super) phase: MergePhase,
    pub(super) waits: Option<(MergeWait, Time)>,
    /// The latest that anything happened to it: models that were late all at once are not handled in
    /// the order of their completions.
    pub(super) latest: Time,
    pub(super) runs: Vec<RunReader>,
    /// Made when the first groups of all runs are there.
    tree: Option<LoserTree>,
    /// The winner's next record has not been read as a whole.
    lacks: bool,
    /// Runs whose next group is to be asked for.
    ahead: VecDeque<usize>,
    /// Merged, and not yet on its way.
    out: Vec<u8>,
    /// Bytes of a write.
    write: usize,
    /// Bytes of the output: all, those on their way, and those that are written.
    pub(super) bytes: u64,
    sent: u64,
    written: u64,
    /// Buffers to be used again.
    spare: Vec<Vec<u8>>,
}

/// Why merging stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MergeStop {
    /// There is enough for a write, or no more memory for it; or a group is to be asked for.
    Pause,
    /// The next record of a run has not been read.
    Lacks,
    /// Everything is merged.
    Over,
}

impl Merging {
    /// A merge of `runs` that begins at `begins` and writes so many bytes at once.
    pub(super) fn new(runs: Vec<RunReader>, write: usize, begins: Time) -> Self {
        Self {
            phase: MergePhase::Begins(begins),
            waits: None,
            latest: begins,
            tree: None,
            lacks: false,
            ahead: VecDeque::with_capacity(runs.len()),
            out: Vec::new(),
            write,
            bytes: runs.iter().map(RunReader::len).sum(),
            sent: 0,
            written: 0,
            spare: Vec::new(),
            runs,
        }
    }

    /// A buffer of `len` bytes with any content.
    pub(super) fn buffer(&mut self, len: usize) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.resize(len, 0);
        buffer
    }

    /// A buffer that is not needed any more.
    pub(super) fn spare(&mut self, buffer: Vec<u8>) {
        self.spare.push(buffer);
    }

    /// The first run whose next group is to be asked for.
    pub(super) fn wanted(&self) -> Option<(usize, ReadGroup)> {
        self.ahead.front().map(|&run| (run, self.runs[run].group()))
    }

    /// The group of [`wanted`](Self::wanted) was asked for.
    pub(super) fn asked(&mut self) {
        self.ahead.pop_front();
    }

    /// Whether `run` is the one whose next record is missing.
    pub(super) fn lacks_of(&self, run: usize) -> bool {
        self.lacks && self.tree.as_ref().is_some_and(|tree| tree.winner == run)
    }

    /// Whether a group of the run whose record is missing is on its way.
    pub(super) fn is_reading(&self) -> bool {
        self.tree.as_ref().is_some_and(|tree| self.runs[tree.winner].is_reading())
    }

    /// The first groups of all runs are there, or so many that a first record may be found.
    ///
    /// # Errors
    /// A run is not sorted, or has changed.
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

    /// Whether merging has begun.
    pub(super) fn is_filled(&self) -> bool {
        self.tree.is_some()
    }

    /// Merges until a write is full, `most` bytes of the output are in memory, a group is to be asked
    /// for, or a record is missing.
    ///
    /// # Errors
    /// A run is not sorted, or has changed.
    pub(super) fn merge(&mut self, most: usize) -> Result<MergeStop, BadRun> {
        let Self { runs, tree, out, ahead, write, .. } = self;
        let tree = tree.as_mut().expect("it is filled before");
        let full = (*write).min(most);
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
                NextRecord::Over => tree.end(runs),
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
                NextRecord::Over => tree.end(runs),
            }
            if pause || out.len() >= full {
                return Ok(MergeStop::Pause);
            }
            if lacks {
                return Ok(MergeStop::Lacks);
            }
        }
        Ok(MergeStop::Over)
    }

    /// Buffers of groups that are used up can be used again.
    pub(super) fn collect_spent(&mut self) {
        for run in &mut self.runs {
            self.spare.append(&mut run.spent);
        }
    }

    /// Whether everything is merged.
    pub(super) fn is_merged(&self) -> bool {
        self.tree.as_ref().is_some_and(LoserTree::is_over)
    }

    /// What is to be written next, and where in the output: a whole write, or with `all` what there is.
    pub(super) fn next_write(&mut self, all: bool) -> Option<(u64, Vec<u8>)> {
        let enough = if all { 1 } else { self.write };
        if self.out.len() < enough {
            return None;
        }
        let mut left = self.spare.pop().unwrap_or_default();
        left.clear();
        left.reserve(self.write);
        let len = self.out.len().min(self.write);
        left.extend_from_slice(&self.out[len..]);
        let mut bytes = mem::replace(&mut self.out, left);
        bytes.truncate(len);
        let at = self.sent;
        self.sent += len as u64;
        Some((at, bytes))
    }

    /// So many bytes are written.
    pub(super) fn wrote(&mut self, bytes: u64) {
        self.written += bytes;
    }

    /// Bytes of the output that are in memory.
    pub(super) fn unwritten(&self) -> u64 {
        self.sent - self.written + self.out.len() as u64
    }

    /// Bytes of the output that are on their way.
    pub(super) fn on_their_way(&self) -> u64 {
        self.sent - self.written
    }

    /// Whether everything is written.
    pub(super) fn is_written(&self) -> bool {
        self.is_merged() && self.unwritten() == 0
    }

    /// Which part of its records is merged.
    pub(super) fn progress(&self) -> f64 {
        if self.bytes == 0 {
            return if self.phase == MergePhase::Over { 1.0 } else { 0.0 };
        }
        (self.sent + self.out.len() as u64) as f64 / self.bytes as f64
    }

    /// Bytes of its runs that are in memory, or on their way there.
    pub(super) fn held(&self) -> u64 {
        self.runs.iter().map(RunReader::held).sum()
    }
}
