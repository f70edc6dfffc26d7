//! The sizes that all jobs share.

/// Sizes of a job: its runs, and the blocks read and written at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Number of runs of a job.
    pub runs: u32,
    /// Number of blocks in a run.
    pub run: u32,
    /// Bytes in a block.
    pub block: u32,
    /// Number of blocks in a group, which is read at once.
    pub read: u32,
    /// Number of blocks written at once.
    pub write: u32,
}

impl Shape {
    /// Number of blocks in all runs of a job, and in its output.
    pub const fn blocks(&self) -> u64 {
        self.runs as u64 * self.run as u64
    }

    /// Number of blocks in the first group of a run.
    pub(super) const fn first_group(&self) -> u32 {
        if self.read < self.run { self.read } else { self.run }
    }

    /// Number of blocks in the first groups of all runs, without which a job does not begin.
    pub(super) const fn first_groups(&self) -> u64 {
        self.runs as u64 * self.first_group() as u64
    }

    /// Number of requests of a job.
    pub const fn requests(&self) -> u64 {
        let reads = self.runs as u64 * self.run.div_ceil(self.read) as u64;
        reads + self.blocks().div_ceil(self.write as u64)
    }
}
