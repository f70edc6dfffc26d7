//! Memory for blocks: its limits, its division among jobs, and the amount that is enough.
//!
//! A block takes memory from its read request until it is written: an input block that is used up
//! becomes an output block. So [`Memory::Partition`] and [`Memory::Pool`] bound read-ahead and
//! pending writes together.

use std::collections::VecDeque;

use super::shape::Shape;

/// The limit on blocks in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// No limit.
    Unlimited,
    /// This many blocks for each job.
    Partition(u32),
    /// This many blocks for all jobs together; the job that has waited longest goes first.
    Pool(u32),
    /// This many output blocks for each job, and no limit on input blocks. At the limit a job uses
    /// up no further block.
    Writes(u32),
}

/// The behaviour of a job whose memory is full when it wants to read ahead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhenFull {
    /// It waits.
    Block,
    /// It continues with the blocks that it has, and reads ahead when there is memory.
    Defer,
}

impl Memory {
    /// Blocks with which `jobs` jobs of `shape` always finish; `None` if any number is enough.
    ///
    /// A job that waits for memory for a group, with no write pending, holds at most a group and
    /// the rest of another one of every run, and output blocks that do not fill a write.
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

    /// Fewest blocks with which a job can reach its first write, in any order of depletion.
    ///
    /// The first groups of all runs must have been read, and the blocks used up before the first
    /// write stay in memory. With [`WhenFull::Block`] a job also reads groups ahead meanwhile, the
    /// fewest if all blocks come from a single run.
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

/// The free memory of each job, in blocks or in other units of equal size.
#[derive(Debug)]
pub struct Accounts {
    /// Free units of each job, or of the pool.
    free: Vec<u64>,
    /// Jobs that wait for memory of the pool; `None` without a pool.
    waiting: Option<VecDeque<u32>>,
}

impl Accounts {
    /// Creates accounts for `jobs` jobs in which all of `memory` is free. A block has `units`
    /// units.
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

    /// Takes `units` for `job`. Returns `false` if they are not free; the job then waits in line
    /// for the pool.
    pub fn take(&mut self, job: u32, units: u64) -> bool {
        let Some(waiting) = &mut self.waiting else {
            return take(&mut self.free[job as usize], units);
        };
        if waiting.front().is_none_or(|first| *first == job) && take(&mut self.free[0], units) {
            waiting.pop_front();
            return true;
        }
        if !waiting.contains(&job) {
            waiting.push_back(job);
        }
        false
    }

    /// Gives `units` of `job` back.
    pub fn give(&mut self, job: u32, units: u64) {
        let account = if self.waiting.is_some() { 0 } else { job as usize };
        self.free[account] = self.free[account].saturating_add(units);
    }

    /// The first job that waits for the pool, if any.
    pub fn first_waiting(&self) -> Option<u32> {
        self.waiting.as_ref()?.front().copied()
    }
}

fn take(free: &mut u64, units: u64) -> bool {
    let left = free.checked_sub(units);
    if let Some(left) = left {
        *free = left;
    }
    left.is_some()
}
