//! Memory for blocks: how much there is, who has it, and how much is enough.
//!
//! A block takes memory from when it is asked for until it is written: a block that is used up becomes
//! one of the output. So [`Memory::Partition`] and [`Memory::Pool`] bound what is read ahead and what waits
//! to be written together.

use std::collections::VecDeque;

use super::shape::Shape;

/// How many blocks the jobs may have in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// Any number.
    Unlimited,
    /// So many each.
    Partition(u32),
    /// So many together; who waits longest goes first.
    Pool(u32),
    /// Any number that is read, and so many of the output each: with them no block is used up.
    Writes(u32),
}

/// What a job does whose memory is full when it would read ahead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhenFull {
    /// It waits.
    Block,
    /// It goes on with what it has, and reads ahead when there is memory.
    Defer,
}

impl Memory {
    /// Blocks with which `jobs` jobs of `shape` always come to their end; none if any number is enough.
    ///
    /// A job that waits for memory for a group, with nothing to be written, holds at most a group and the
    /// rest of another of every run, and what does not yet make a write.
    pub fn always_enough(self, shape: &Shape, jobs: u32) -> Option<u64> {
        let group = u64::from(shape.first_group());
        let read = u64::from(shape.runs) * (2 * group - 1);
        let each = read + u64::from(shape.write - 1) + group;
        match self {
            Self::Unlimited => None,
            Self::Partition(_) => Some(each),
            Self::Pool(_) => Some(each * u64::from(jobs)),
            Self::Writes(_) => Some(shape.write.into()),
        }
    }

    /// Blocks without which no job can come to its first write, in whatever order blocks are used up.
    ///
    /// The first groups of all runs must have been read, and what is used up until then is still there.
    /// A job that waits reads ahead in groups meanwhile: fewest if a single run is used up.
    pub fn least(self, shape: &Shape, when_full: WhenFull) -> Option<u64> {
        let ahead = match when_full {
            WhenFull::Block => {
                let groups = 1 + u64::from((shape.write - 1).div_ceil(shape.read));
                let ahead = (groups * u64::from(shape.read)).min(shape.run.into());
                ahead - u64::from(shape.first_group())
            }
            WhenFull::Defer => 0,
        };
        match self {
            Self::Unlimited => None,
            Self::Partition(_) | Self::Pool(_) => Some(shape.first_groups() + ahead),
            Self::Writes(_) => Some(shape.write.into()),
        }
    }

    /// The number of blocks, if there is one.
    pub const fn blocks(self) -> Option<u32> {
        match self {
            Self::Unlimited => None,
            Self::Partition(blocks) | Self::Pool(blocks) | Self::Writes(blocks) => Some(blocks),
        }
    }
}

/// How much memory each job has left to read into, in blocks or in other units of equal size.
#[derive(Debug)]
pub struct Accounts {
    /// Free blocks: of each job, or of all.
    free: Vec<u64>,
    /// Of one pool: jobs that wait for blocks of it.
    waiting: Option<VecDeque<u32>>,
}

impl Accounts {
    /// All of `memory` is free, for `jobs` jobs, in units of which a block has so many.
    pub fn new(memory: Memory, jobs: u32, units: u32) -> Self {
        let units_of = |blocks: u32| u64::from(blocks) * u64::from(units);
        let (free, waiting) = match memory {
            Memory::Unlimited | Memory::Writes(_) => (u64::MAX, None),
            Memory::Partition(blocks) => (units_of(blocks), None),
            Memory::Pool(blocks) => (units_of(blocks), Some(VecDeque::new())),
        };
        let accounts = if waiting.is_some() { 1 } else { jobs as usize };
        Self { free: vec![free; accounts], waiting }
    }

    /// Takes so many for `job`, or returns `false`: then the job waits in line for the pool.
    pub fn take(&mut self, job: u32, blocks: u64) -> bool {
        let Some(waiting) = &mut self.waiting else {
            return take(&mut self.free[job as usize], blocks);
        };
        if waiting.front().is_none_or(|first| *first == job) && take(&mut self.free[0], blocks) {
            waiting.pop_front();
            return true;
        }
        if !waiting.contains(&job) {
            waiting.push_back(job);
        }
        false
    }

    /// Gives so many of `job` back.
    pub fn give(&mut self, job: u32, blocks: u64) {
        let account = if self.waiting.is_some() { 0 } else { job as usize };
        self.free[account] = self.free[account].saturating_add(blocks);
    }

    /// The first that waits for the pool, if there is one.
    pub fn first_waiting(&self) -> Option<u32> {
        self.waiting.as_ref()?.front().copied()
    }
}

fn take(free: &mut u64, blocks: u64) -> bool {
    let left = free.checked_sub(blocks);
    if let Some(left) = left {
        *free = left;
    }
    left.is_some()
}
