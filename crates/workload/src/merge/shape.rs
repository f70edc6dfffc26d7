//! What the jobs are alike in.

/// The runs of a job, and how much is read and written at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Runs of a job.
    pub runs: u32,
    /// Blocks of a run.
    pub run: u32,
    /// Bytes of a block.
    pub block: u32,
    /// Blocks that are read at once: a group.
    pub read: u32,
    /// Blocks that are written at once.
    pub write: u32,
}

impl Shape {
    /// Blocks of all runs of a job, and of its output.
    pub const fn blocks(&self) -> u64 {
        self.runs as u64 * self.run as u64
    }

    /// Blocks of the first group of a run.
    pub(super) const fn first_group(&self) -> u32 {
        if self.read < self.run { self.read } else { self.run }
    }

    /// Blocks of the first groups of all runs: with fewer a job does not begin.
    pub(super) const fn first_groups(&self) -> u64 {
        self.runs as u64 * self.first_group() as u64
    }

    /// Requests of a job.
    pub const fn requests(&self) -> u64 {
        let reads = self.runs as u64 * self.run.div_ceil(self.read) as u64;
        reads + self.blocks().div_ceil(self.write as u64)
    }
}
