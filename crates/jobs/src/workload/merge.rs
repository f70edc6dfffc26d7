//! Reads `[merge]`: merges side by side.

use std::num::NonZeroU32;

use penstock_core::{Prio, Span};
use penstock_workload::Merge;
use penstock_workload::merge::{
    Depletion, Memory, OutputAt, Placement, PlacementError, Shape, WhenFull,
};

use crate::amount::{Amount, Count, TIME};
use crate::classes::{CLASSES, Class};
use crate::diagnose::{JobError, Origin};
use crate::keys::{Key, keys, table};
use crate::kinds::{Choice, section};
use crate::reader::Reader;
use crate::rows::Rows;
use crate::text::Lines;
use crate::tree::Node;
use crate::units::size_text;
use crate::workload::merge_kinds::{DEPLETIONS, LENGTHS, Length, MEMORIES, PLACEMENTS};
use crate::workload::region::multiples_near;
use crate::workload::sizes::REQUEST;

/// Most runs of a merge: more take several passes.
pub const RUNS: u64 = 4096;
/// Most blocks of all jobs together.
const BLOCKS: u64 = 1 << 32;

keys! {
    /// Merges in parallel, in place of agents.
    MERGE merge: Node = section(|| table(KEYS));
}

keys! {
    /// Keys of merges. The usual ones are those of J. B. Sinclair and others, "Impact of data placement on parallel I/O systems", 1993.
    KEYS:
    /// Number of merges in parallel, each with a class of its own: `job0`, `job1` and so on, unless
    /// the job names as many classes.
    JOBS jobs: u32 = Count(1, CLASSES as u64), needs "5";
    /// Runs of each merge.
    RUNS_OF_JOB runs: NonZeroU32 = Count(1, RUNS), or number(20);
    /// Length of a run: a number of blocks, or a size.
    RUN run: Length = LENGTHS, or Length::Blocks(number(1000));
    /// Bytes of a block.
    BLOCK block: NonZeroU32 = BLOCK_BYTES, or number(4096);
    /// Blocks that are read at once.
    READ read: NonZeroU32 = Count(1, u32::MAX as u64), or number(12);
    /// Blocks that are written at once.
    WRITE write: NonZeroU32 = Count(1, u32::MAX as u64), or number(40);
    /// Disks of the runs and outputs: outputs on disks of their own (`dedicated`); the runs on
    /// every disk except that of the own output (`separate`); the same, with the runs of the disk
    /// before it on that of the output (`shared`); runs on every disk (`all`); or a list of the
    /// disks of each job.
    PLACEMENT placement: Placement = PLACEMENTS, or Placement::Separate;
    /// Place of the outputs among the runs of their disk.
    LAYOUT layout: OutputAt = Choice(&[
        ("output-last", OutputAt::Last),
        ("output-first", OutputAt::First),
        ("output-middle", OutputAt::Middle),
    ]), or OutputAt::Last;
    /// Most blocks in memory.
    MEMORY memory: Memory = MEMORIES, or Memory::Unlimited;
    /// Behaviour of a job that has no memory for read-ahead: it waits, or continues and reads ahead
    /// later.
    WHEN_FULL when_full: WhenFull =
        Choice(&[("block", WhenFull::Block), ("defer", WhenFull::Defer)]), or WhenFull::Block;
    /// Order in which runs are used up.
    DEPLETION depletion: Depletion = DEPLETIONS, or Depletion::RandomBlock;
    /// Time between the starts of two jobs.
    STAGGER stagger: Span = TIME, or Span::ZERO;
    /// Processor time of each block.
    COMPUTE cpu: Span = TIME, or Span::ZERO;
}

/// Kind of the bytes of a block.
const BLOCK_BYTES: Amount = REQUEST;

fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).expect("above zero")
}

/// Merges, checked as far as possible without the target.
#[derive(Clone, PartialEq, Debug)]
pub struct MergeSpec {
    /// Number of jobs.
    pub jobs: u32,
    /// The sizes that all jobs share.
    pub shape: Shape,
    /// Disks of the runs and outputs.
    pub placement: Placement,
    /// Place of outputs among the runs of their disk.
    pub output: OutputAt,
    /// Bound of the blocks in memory.
    pub memory: Memory,
    /// Behaviour of a job whose memory is full.
    pub when_full: WhenFull,
    /// Order in which runs are used up.
    pub depletion: Depletion,
    /// Time from the beginning of one job to that of the next.
    pub stagger: Span,
    /// Processor time of each block.
    pub cpu: Span,
    run: Length,
    jobs_origin: Origin,
    placement_origin: Origin,
    block_origin: Origin,
}

/// Returns the classes of a job that names none: one for each merge.
pub(crate) fn classes(job: &Reader<'_>) -> Result<Vec<Class>, JobError> {
    let node = job.node(&MERGE).expect("a job with merges");
    let jobs = Reader::new(node, MERGE.name, &[KEYS])?.get(&JOBS)?;
    Ok(usual_classes(jobs))
}

fn usual_classes(jobs: u32) -> Vec<Class> {
    (0..jobs).map(|job| Class::named(format!("job{job}"))).collect()
}

impl MergeSpec {
    pub(crate) fn read(job: &Reader<'_>, classes: &[Class]) -> Result<Self, JobError> {
        let node = job.node(&MERGE).expect("a job with merges");
        let reader = Reader::new(node, MERGE.name, &[KEYS])?;
        let (jobs, runs) = (reader.get(&JOBS)?, reader.get(&RUNS_OF_JOB)?);
        if classes.len() != jobs as usize {
            let named = match classes.len() {
                1 => "1 class is".into(),
                several => format!("{several} classes are"),
            };
            let message = format!("{jobs} jobs, and {named} named: each job has one of its own");
            let hint = "leave the classes out, and they are `job0`, `job1` and so on";
            return Err(JobError::new(message).at(reader.place(&JOBS)).hint(hint));
        }
        let (run, block) = (reader.get(&RUN)?, reader.get(&BLOCK)?);
        let blocks = run.blocks(block);
        if blocks.saturating_mul(runs.get().into()).saturating_mul(jobs.into()) > BLOCKS {
            let message = format!(
                "{jobs} jobs of {runs} runs of {blocks} blocks; at most {BLOCKS} blocks may be"
            );
            let hint = "make blocks larger, or runs shorter";
            return Err(JobError::new(message).at(reader.place(&RUN)).hint(hint));
        }
        let at_once = |key: &Key<NonZeroU32>, verb: &str| {
            let count: NonZeroU32 = reader.get(key)?;
            let bytes = u64::from(count.get()) * u64::from(block.get());
            let wrong = |message: String, hint: &str| {
                Err(JobError::new(message).at(reader.place(key)).hint(hint))
            };
            if u64::from(count.get()) > blocks {
                let message = format!("{count} blocks are {verb} at once, and a run has {blocks}");
                return wrong(message, "a run is longer than that: lower it, or make runs longer");
            }
            if bytes > 1 << 30 {
                let message = format!("{count} blocks are {verb} at once: more than 1GiB");
                return wrong(message, "no disk takes so much as one request");
            }
            Ok(count.get())
        };
        let (read, write) = (at_once(&READ, "read")?, at_once(&WRITE, "written")?);
        let shape = Shape { runs: runs.get(), run: blocks as u32, block: block.get(), read, write };
        let spec = Self {
            jobs,
            shape,
            placement: reader.get(&PLACEMENT)?,
            output: reader.get(&LAYOUT)?,
            memory: reader.get(&MEMORY)?,
            when_full: reader.get(&WHEN_FULL)?,
            depletion: reader.get(&DEPLETION)?,
            stagger: reader.get(&STAGGER)?,
            cpu: reader.get(&COMPUTE)?,
            run,
            jobs_origin: reader.place(&JOBS).clone(),
            placement_origin: reader.place(&PLACEMENT).clone(),
            block_origin: reader.place(&BLOCK).clone(),
        };
        spec.check_memory(reader.place(&MEMORY))?;
        Ok(spec)
    }

    /// Checks that the memory suffices for at least one order of blocks.
    fn check_memory(&self, origin: &Origin) -> Result<(), JobError> {
        let Self { memory, shape, jobs, .. } = self;
        let least = memory.least(shape, self.when_full);
        let (Some(blocks), Some(least)) = (memory.blocks(), least) else { return Ok(()) };
        if u64::from(blocks) >= least {
            return Ok(());
        }
        let message = format!("with {blocks} blocks of memory no job can end: it takes {least}");
        let enough = memory.always_enough(shape, *jobs).unwrap_or(least);
        Err(JobError::new(message).at(origin).hint(format!("{enough} blocks are always enough")))
    }

    /// Returns a remark if the memory may be too small.
    pub fn may_deadlock(&self) -> Option<String> {
        let (blocks, enough) =
            (self.memory.blocks()?, self.memory.always_enough(&self.shape, self.jobs)?);
        (u64::from(blocks) < enough).then(|| {
            format!(
                "with {blocks} blocks of memory a merge may wait for memory for ever \
                 (deadlock); {enough} are always enough"
            )
        })
    }

    /// Places the merges on `disks` disks side by side of `bytes` each; `target` names them in
    /// messages.
    ///
    /// # Errors
    /// There are too few disks, or they are too small.
    pub fn on(
        &self,
        disks: NonZeroU32,
        bytes: u64,
        target: &str,
        classes: &[Class],
    ) -> Result<Merge, JobError> {
        let Shape { runs, run, block, .. } = self.shape;
        let layout = self.placement.layout(self.jobs, disks.get(), (runs, run), self.output);
        let layout = layout.map_err(|error| self.placement_error(&error, target))?;
        let used = layout.used.iter().copied().enumerate().max_by_key(|(_, blocks)| *blocks);
        let (disk, blocks) = used.unwrap_or_default();
        let laid_out = blocks.saturating_mul(block.into());
        if laid_out > bytes {
            let (laid_out, holds) = (size_text(laid_out), size_text(bytes));
            let message =
                format!("{laid_out} are to lie on disk {disk} of {target}, which holds {holds}");
            let hint = "take larger disks (`device.capacity`), more of them, or shorter runs";
            return Err(JobError::new(message).at(&self.placement_origin).hint(hint));
        }
        let prio = |class: &Class| Prio(class.prio);
        Ok(Merge {
            shape: self.shape,
            layout,
            disk: bytes,
            memory: self.memory,
            when_full: self.when_full,
            depletion: self.depletion,
            stagger: self.stagger,
            cpu: self.cpu,
            prios: classes.iter().map(prio).collect(),
            only: None,
        })
    }

    /// Returns the error for jobs that cannot be placed on `target`.
    fn placement_error(&self, error: &PlacementError, target: &str) -> JobError {
        let row = "disks are those of an array of level `jbod`; any other device is one disk";
        let (origin, hint) = match error {
            PlacementError::Outputs { .. } => (&self.jobs_origin, format!("lower `jobs`: {row}")),
            PlacementError::NothingToRead { .. } => {
                (&self.placement_origin, format!("lower `jobs`, or take more disks: {row}"))
            }
            PlacementError::Missing { disk: Some(_), .. } => (&self.placement_origin, row.into()),
            PlacementError::Missing { .. } | PlacementError::Listed { .. } => {
                let hint = "list the disks of each job, as `{ inputs = [1, 2], output = 0 }`";
                return JobError::new(error.to_string()).at(&self.placement_origin).hint(hint);
            }
        };
        JobError::new(format!("on {target} {error}")).at(origin).hint(hint)
    }

    /// Checks that blocks are whole units of `unit` bytes, as direct I/O on `target` requires.
    ///
    /// # Errors
    /// A block is not a whole number of units.
    pub fn fits_units(&self, unit: u32, target: &str) -> Result<(), JobError> {
        if self.shape.block.is_multiple_of(unit) {
            return Ok(());
        }
        let [block, step] = [self.shape.block, unit].map(|bytes| size_text(bytes.into()));
        let message =
            format!("blocks of {block}; direct I/O on {target} moves whole units of {step}");
        let hint = multiples_near(self.shape.block.into(), unit.into());
        Err(JobError::new(message).at(&self.block_origin).hint(hint))
    }

    /// Whether `classes` are those of a job that names none.
    pub(crate) fn has_usual_classes(&self, classes: &[Class]) -> bool {
        classes == usual_classes(self.jobs)
    }

    /// Writes the section with every default in place.
    pub(crate) fn write(&self, out: &mut Lines) {
        let Shape { runs, block, read, write, .. } = self.shape;
        Rows::of(&[KEYS])
            .put(&JOBS, &self.jobs)
            .put(&RUNS_OF_JOB, &number(runs))
            .put(&RUN, &self.run)
            .put(&BLOCK, &number(block))
            .put(&READ, &number(read))
            .put(&WRITE, &number(write))
            .put(&PLACEMENT, &self.placement)
            .put(&LAYOUT, &self.output)
            .put(&MEMORY, &self.memory)
            .put(&WHEN_FULL, &self.when_full)
            .put(&DEPLETION, &self.depletion)
            .put(&STAGGER, &self.stagger)
            .put(&COMPUTE, &self.cpu)
            .section(Some(&format!("[{}]", MERGE.name)), out);
    }
}
