//! Reads `[merge]`: merges side by side.

use std::num::NonZeroU32;

use penstock_core::{Prio, Span};
use penstock_workload::Merge;
use penstock_workload::merge::{
    Depletion, JobDisks, Memory, OutputAt, Placement, PlacementError, Shape, WhenFull,
};
use serde_json::Value as Json;

use crate::amount::{Amount, Count, SIZE, TIME};
use crate::classes::{CLASSES, Class};
use crate::describe::{any, matching, one_of, some};
use crate::diagnose::{JobError, Origin};
use crate::keys::{Key, keys, table};
use crate::kinds::{Choice, Each, Kind, Own, list, section, value_of, word_of, words};
use crate::nearest::suggest;
use crate::reader::Reader;
use crate::rows::Rows;
use crate::text::{Lines, quoted};
use crate::tree::{Node, Table, Value};
use crate::units::size_text;
use crate::workload::region::multiples_near;
use crate::workload::sizes::REQUEST;

/// Most runs of a job: a merge of more takes several passes.
const RUNS: u64 = 4096;
/// Most blocks of all jobs together.
const BLOCKS: u64 = 1 << 32;
/// Unit of a number of blocks.
const UNIT: &str = "blocks";

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
    RUN run: Length = Own { read: length, text: Length::text, schema: Length::schema },
        or Length::Blocks(number(1000));
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
    PLACEMENT placement: Placement =
        Own { read: placement, text: placement_text, schema: placement_schema },
        or Placement::Separate;
    /// Place of the outputs among the runs of their disk.
    LAYOUT layout: OutputAt = Choice(&[
        ("output-last", OutputAt::Last),
        ("output-first", OutputAt::First),
        ("output-middle", OutputAt::Middle),
    ]), or OutputAt::Last;
    /// Most blocks in memory.
    MEMORY memory: Memory = Own {
        read: |node| one_of_keys(node, MEMORIES, MEMORY_KEYS, "memory for merges", memory),
        text: |memory| memory_text(*memory),
        schema: || any([words(MEMORIES), one_of(table(MEMORY_KEYS))]),
    }, or Memory::Unlimited;
    /// Behaviour of a job that has no memory for read-ahead: it waits, or continues and reads ahead
    /// later.
    WHEN_FULL when_full: WhenFull =
        Choice(&[("block", WhenFull::Block), ("defer", WhenFull::Defer)]), or WhenFull::Block;
    /// Order in which runs are used up.
    DEPLETION depletion: Depletion = Own {
        read: |node| one_of_keys(node, DEPLETIONS, DEPLETION_KEYS, "an order of depletion", depletion),
        text: |depletion| depletion_text(*depletion),
        schema: || any([words(DEPLETIONS), one_of(table(DEPLETION_KEYS))]),
    }, or Depletion::RandomBlock;
    /// Time between the starts of two jobs.
    STAGGER stagger: Span = TIME, or Span::ZERO;
    /// Processor time of each block.
    COMPUTE cpu: Span = TIME, or Span::ZERO;
}

/// Words for memory.
const MEMORIES: &[(&str, Memory)] = &[("unlimited", Memory::Unlimited)];

keys! {
    /// Blocks that may be in memory: one of these.
    MEMORY_KEYS:
    /// Blocks of each job.
    PARTITION partition: u32 = Count(1, u32::MAX as u64);
    /// Blocks of all jobs together.
    POOL pool: u32 = Count(1, u32::MAX as u64);
    /// Blocks for the output of each job; reads have no limit.
    WRITES writes: u32 = Count(1, u32::MAX as u64);
}

/// Words for an order of depletion.
const DEPLETIONS: &[(&str, Depletion)] = &[("random-block", Depletion::RandomBlock)];

keys! {
    /// The order in which blocks are used up: this.
    DEPLETION_KEYS:
    /// Number of keys in a block; blocks are used up in the order of random keys.
    KEYS_OF_BLOCK keys: u32 = Count(1, 1 << 20);
}

keys! {
    /// The disks of a job, by number from 0.
    DISKS_KEYS:
    /// Disks with the job's runs, which are assigned to them in this order.
    INPUTS inputs: Vec<u32> = Each(&DISK), needs "[1, 2]";
    /// Disk with the job's output.
    OUTPUT output: u32 = DISK, needs "0";
}

/// Kind of the number of a disk.
const DISK: Count = Count(0, 255);

/// Kind of the bytes of a block.
const BLOCK_BYTES: Amount = REQUEST;

/// Words that are replaced by a table if `--set` names a key of it.
pub(crate) const GIVE_WAY: [&str; 2] = [MEMORIES[0].0, DEPLETIONS[0].0];

fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).expect("above zero")
}

/// Length of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Length {
    Blocks(NonZeroU32),
    /// Bytes.
    Size(u64),
}

fn length(node: &Node) -> Result<Length, JobError> {
    let hint = "for example `\"1000blocks\"` or `\"4MiB\"`";
    let text = node.text("a number of blocks or a size").map_err(|error| error.hint(hint))?;
    let Some(count) = text.trim().strip_suffix(UNIT) else {
        let bytes: u64 = SIZE.above_zero().hint("a run holds something").read(node)?;
        return Ok(Length::Size(bytes));
    };
    let count = count.trim().parse().ok().and_then(NonZeroU32::new);
    let expected = || node.expected("a number of blocks above zero").hint(hint);
    count.map(Length::Blocks).ok_or_else(expected)
}

impl Length {
    fn text(&self) -> String {
        match self {
            Self::Blocks(count) => quoted(&format!("{count}{UNIT}")),
            Self::Size(bytes) => quoted(&size_text(*bytes)),
        }
    }

    fn schema() -> Json {
        any([
            matching(&format!("^ *0*[1-9][0-9]{{0,8}} *{UNIT} *$")),
            SIZE.above_zero().reference(),
        ])
    }

    /// Returns the length in blocks of `block` bytes.
    fn blocks(self, block: NonZeroU32) -> u64 {
        match self {
            Self::Blocks(count) => count.get().into(),
            Self::Size(bytes) => bytes.div_ceil(block.get().into()),
        }
    }
}

/// Words for the four placements of the paper, its cases 1 to 4.
const PLACEMENTS: &[(&str, Placement)] = &[
    ("dedicated", Placement::Dedicated),
    ("separate", Placement::Separate),
    ("shared", Placement::Shared),
    ("all", Placement::All),
];

fn placement(node: &Node) -> Result<Placement, JobError> {
    let example = "as `[{ inputs = [1, 2], output = 0 }]`";
    if let Value::List(jobs) = &node.value {
        if jobs.is_empty() {
            return Err(node.expected("the disks of each job").hint(example));
        }
        return jobs.iter().map(disks_of_job).collect::<Result<_, _>>().map(Placement::Listed);
    }
    let has_usual_classes = || PLACEMENTS.iter().map(|(word, _)| *word);
    let Some(word) = node.word() else {
        let expected = node.expected("a placement, or a list of the disks of each job");
        return Err(expected.hint(example));
    };
    if has_usual_classes().any(|known| known == word) {
        return Ok(value_of(PLACEMENTS, word));
    }
    Err(node.expected("a placement").hint(suggest(word, has_usual_classes())))
}

fn disks_of_job(node: &Node) -> Result<JobDisks, JobError> {
    let reader = Reader::new(node, "the disks of a job", &[DISKS_KEYS])?;
    Ok(JobDisks { inputs: reader.get(&INPUTS)?, output: reader.get(&OUTPUT)? })
}

fn placement_text(placement: &Placement) -> String {
    let disks = |job: &JobDisks| {
        Rows::of(&[DISKS_KEYS]).put(&INPUTS, &job.inputs).put(&OUTPUT, &job.output).inline()
    };
    match placement {
        Placement::Listed(jobs) => list(jobs, disks),
        word => quoted(word_of(PLACEMENTS, word).expect("every other has a word")),
    }
}

fn placement_schema() -> Json {
    any([words(PLACEMENTS), some(&table(DISKS_KEYS))])
}

/// Reads one of the `known` words, or a table with one of `keys`, which `read_table` converts.
/// `title` names the value in messages. A key that an argument sets overrides those of the file.
fn one_of_keys<T: Clone>(
    node: &Node,
    known: &'static [(&'static str, T)],
    keys: crate::keys::Keys,
    title: &str,
    read_table: fn(&Reader<'_>) -> Result<Option<T>, JobError>,
) -> Result<T, JobError> {
    let has_usual_classes: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
    let example = || {
        let words = has_usual_classes.iter().map(|word| format!("`\"{word}\"`"));
        let keys = keys.iter().map(|key| format!("`{{ {} = 600 }}`", key.name()));
        format!("it is {}", words.chain(keys).collect::<Vec<_>>().join(" or "))
    };
    let Value::Table(written) = &node.value else {
        let word = node.word().filter(|word| has_usual_classes.contains(word));
        let expected = || node.expected(title).hint(example());
        return word.map(|word| value_of(known, word)).ok_or_else(expected);
    };
    let set = written.entries.iter().rev().find(|entry| entry.origin.is_set());
    let entries = set.map_or_else(|| written.entries.clone(), |entry| vec![entry.clone()]);
    let node = Node { value: Value::Table(Table { entries }), origin: node.origin.clone() };
    let reader = Reader::new(&node, title, &[keys])?;
    let Value::Table(Table { entries }) = &node.value else { unreachable!("it was just made") };
    let value = if entries.len() == 1 { read_table(&reader)? } else { None };
    value.ok_or_else(|| {
        let message = format!("expected one key in {title}, found {}", entries.len());
        JobError::new(message).at(&node.origin).hint(example())
    })
}

fn memory(reader: &Reader<'_>) -> Result<Option<Memory>, JobError> {
    let [partition, pool, writes] =
        [&PARTITION, &POOL, &WRITES].map(|key: &Key<u32, _>| reader.find(key));
    let (partition, pool) = (partition?.map(Memory::Partition), pool?.map(Memory::Pool));
    Ok(partition.or(pool).or(writes?.map(Memory::Writes)))
}

fn memory_text(memory: Memory) -> String {
    let rows = Rows::of(&[MEMORY_KEYS]);
    match memory {
        Memory::Unlimited => quoted(word_of(MEMORIES, &memory).expect("it has a word")),
        Memory::Partition(blocks) => rows.put(&PARTITION, &blocks).inline(),
        Memory::Pool(blocks) => rows.put(&POOL, &blocks).inline(),
        Memory::Writes(blocks) => rows.put(&WRITES, &blocks).inline(),
    }
}

fn depletion(reader: &Reader<'_>) -> Result<Option<Depletion>, JobError> {
    Ok(reader.find(&KEYS_OF_BLOCK)?.map(Depletion::Keys))
}

fn depletion_text(depletion: Depletion) -> String {
    match depletion {
        Depletion::RandomBlock => quoted(word_of(DEPLETIONS, &depletion).expect("it has a word")),
        Depletion::Keys(keys) => Rows::of(&[DEPLETION_KEYS]).put(&KEYS_OF_BLOCK, &keys).inline(),
    }
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
