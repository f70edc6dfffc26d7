//! The disk and place of each run and output.
//!
//! Every run and every output lies on one disk. The first four placements are cases 1 to 4 of the
//! paper; each distributes the runs of a job in turn over the disks that the job may read. On a
//! disk the runs are in order of job and number, without gaps, and the outputs before, between or
//! behind them.

use std::fmt;

/// The assignment of disks to the runs and outputs of jobs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Placement {
    /// The first disks have only an output each; all jobs read the other disks.
    Dedicated,
    /// Job `k` writes disk `k` and reads all others.
    Separate,
    /// A variant of `Separate`: the runs that job `k` would have on disk `k − 1` are on disk `k`. Each
    /// disk that is written has runs of the job that writes it.
    Shared,
    /// Job `k` writes disk `k` and reads all disks.
    All,
    /// The disks are listed for each job.
    Listed(Vec<JobDisks>),
}

/// The disks of a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JobDisks {
    /// Disks of its runs, which are distributed over them in this order.
    pub inputs: Vec<u32>,
    /// The disk of its output.
    pub output: u32,
}

/// The place of outputs among the runs of their disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OutputAt {
    /// Behind all runs.
    #[default]
    Last,
    /// Before all runs.
    First,
    /// Behind the first half of the runs.
    Middle,
}

/// A disk and a block on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The disk, from 0.
    pub disk: u32,
    /// The first block.
    pub block: u64,
}

/// The places of a job's data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JobLayout {
    /// Places of its runs.
    pub runs: Vec<Place>,
    /// Place of its output.
    pub output: Place,
}

/// The places of the data of all jobs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The places of each job.
    pub jobs: Vec<JobLayout>,
    /// Number of blocks used on each disk.
    pub used: Vec<u64>,
}

/// The reason why jobs cannot be placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlacementError {
    /// There are fewer disks than jobs, and each job needs one for its output.
    Outputs {
        /// Number of jobs.
        jobs: u32,
        /// Number of disks.
        disks: u32,
    },
    /// No disk is left to read from.
    NothingToRead {
        /// Fewest disks for this placement.
        needed: u32,
        /// Number of disks.
        disks: u32,
    },
    /// The list has another number of jobs.
    Listed {
        /// Number of jobs.
        jobs: u32,
        /// Number of jobs in the list.
        listed: u32,
    },
    /// The list names a disk that does not exist, or no disk to read from.
    Missing {
        /// The job in the list.
        job: u32,
        /// The disk; `None` if the job has no disk to read from.
        disk: Option<u32>,
        /// Number of disks.
        disks: u32,
    },
}

impl fmt::Display for PlacementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = |disks: u32| match disks {
            1 => "there is 1 disk".to_owned(),
            several => format!("there are {several} disks"),
        };
        match *self {
            Self::Outputs { jobs, disks } => {
                write!(f, "{jobs} jobs have a disk for the output of each, and {}", there(disks))
            }
            Self::NothingToRead { needed, disks } => {
                write!(f, "no disk is left to read from: it takes {needed}, and {}", there(disks))
            }
            Self::Listed { jobs, listed } => {
                let listed = if listed == 1 { "1 job" } else { &format!("{listed} jobs") };
                write!(f, "the placement lists the disks of {listed}; the number of jobs is {jobs}")
            }
            Self::Missing { job, disk: None, .. } => {
                write!(f, "job {job} has no disk to read from")
            }
            Self::Missing { job, disk: Some(disk), disks } => {
                write!(f, "job {job} is to use disk {disk}, and {}, counted from 0", there(disks))
            }
        }
    }
}

impl std::error::Error for PlacementError {}

impl Placement {
    /// Returns the disk of each run and of the output of each job, for `jobs` jobs of `runs` runs
    /// on `disks` disks.
    ///
    /// # Errors
    /// [`PlacementError`]: there are too few disks.
    pub fn disks(&self, jobs: u32, disks: u32, runs: u32) -> Result<Vec<JobDisks>, PlacementError> {
        if let Self::Listed(listed) = self {
            return listed_disks(listed, jobs, disks, runs);
        }
        if jobs > disks {
            return Err(PlacementError::Outputs { jobs, disks });
        }
        let needed = match self {
            Self::Dedicated => jobs + 1,
            Self::Separate | Self::Shared => 2,
            Self::All | Self::Listed(_) => 1,
        };
        if disks < needed {
            return Err(PlacementError::NothingToRead { needed, disks });
        }
        Ok((0..jobs)
            .map(|job| JobDisks { inputs: self.inputs(job, jobs, disks, runs), output: job })
            .collect())
    }

    /// The disk of each run of `job`.
    fn inputs(&self, job: u32, jobs: u32, disks: u32, runs: u32) -> Vec<u32> {
        let reads = |disk: &u32| match self {
            Self::Dedicated => *disk >= jobs,
            Self::Separate | Self::Shared => *disk != job,
            Self::All | Self::Listed(_) => true,
        };
        let read: Vec<u32> = (0..disks).filter(reads).collect();
        let count = read.len() as u32;
        // If the disks do not get equally many runs of a job, those that get one more differ from
        // job to job.
        let first = match self {
            Self::Dedicated => (job * (runs % count)) % count,
            _ => read.iter().position(|disk| *disk > job).unwrap_or(0) as u32,
        };
        let before = (job + jobs - 1) % jobs;
        let moved = |disk: u32| if *self == Self::Shared && disk == before { job } else { disk };
        (0..runs).map(|run| moved(read[((run + first) % count) as usize])).collect()
    }

    /// Lays out `jobs` jobs of `runs` runs of `run` blocks on `disks` disks.
    ///
    /// # Errors
    /// [`PlacementError`]: there are too few disks, or one is missing.
    pub fn layout(
        &self,
        jobs: u32,
        disks: u32,
        (runs, run): (u32, u32),
        output: OutputAt,
    ) -> Result<Layout, PlacementError> {
        let placed = self.disks(jobs, disks, runs)?;
        let mut parts = vec![DiskParts::default(); disks as usize];
        for job in &placed {
            job.inputs.iter().for_each(|disk| parts[*disk as usize].runs += u64::from(run));
            parts[job.output as usize].outputs += u64::from(runs) * u64::from(run);
        }
        for part in &mut parts {
            let before = match output {
                OutputAt::Last => part.runs,
                OutputAt::First => 0,
                OutputAt::Middle => part.runs / u64::from(run) / 2 * u64::from(run),
            };
            (part.next_run, part.next_output, part.output_at) = (0, before, before);
        }
        let used = parts.iter().map(|part| part.runs + part.outputs).collect();
        let mut place = |job: &JobDisks| JobLayout {
            runs: job.inputs.iter().map(|&disk| parts[disk as usize].run(disk, run)).collect(),
            output: parts[job.output as usize].output(job.output, runs, run),
        };
        Ok(Layout { jobs: placed.iter().map(&mut place).collect(), used })
    }
}

/// The layout of a disk, in blocks: the sums of its runs and outputs, and the next free places.
#[derive(Clone, Copy, Default)]
struct DiskParts {
    runs: u64,
    outputs: u64,
    /// The first block of the outputs.
    output_at: u64,
    next_run: u64,
    next_output: u64,
}

impl DiskParts {
    fn run(&mut self, disk: u32, blocks: u32) -> Place {
        let behind = if self.next_run < self.output_at { 0 } else { self.outputs };
        let block = self.next_run + behind;
        self.next_run += u64::from(blocks);
        Place { disk, block }
    }

    fn output(&mut self, disk: u32, runs: u32, run: u32) -> Place {
        let block = self.next_output;
        self.next_output += u64::from(runs) * u64::from(run);
        Place { disk, block }
    }
}

/// Checks the disks that are `listed` for each job, and repeats them to a disk for each run.
fn listed_disks(
    listed: &[JobDisks],
    jobs: u32,
    disks: u32,
    runs: u32,
) -> Result<Vec<JobDisks>, PlacementError> {
    if listed.len() != jobs as usize {
        return Err(PlacementError::Listed { jobs, listed: listed.len() as u32 });
    }
    let disks_of = |(job, listed): (u32, &JobDisks)| {
        let mut all = listed.inputs.iter().chain([&listed.output]).copied();
        if let Some(disk) = all.find(|disk| *disk >= disks) {
            return Err(PlacementError::Missing { job, disk: Some(disk), disks });
        }
        if listed.inputs.is_empty() {
            return Err(PlacementError::Missing { job, disk: None, disks });
        }
        let inputs = listed.inputs.iter().copied().cycle().take(runs as usize).collect();
        Ok(JobDisks { inputs, output: listed.output })
    };
    (0..).zip(listed).map(disks_of).collect()
}
