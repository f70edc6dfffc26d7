//! Kinds of the keys of merges: the length of a run, the placement of runs and outputs, the memory,
//! and the order of depletion.

use std::num::NonZeroU32;

use penstock_workload::merge::{Depletion, JobDisks, Memory, Placement};
use serde_json::Value as Json;

use crate::amount::{Count, SIZE};
use crate::describe::{any, matching, one_of, some};
use crate::diagnose::JobError;
use crate::keys::{Key, Keys, keys, table};
use crate::kinds::{Each, Kind, Own, list, value_of, word_of, words};
use crate::nearest::suggest;
use crate::reader::Reader;
use crate::rows::Rows;
use crate::text::quoted;
use crate::tree::{Node, Table, Value};
use crate::units::size_text;

/// Unit of a number of blocks.
const UNIT: &str = "blocks";

/// Words for memory.
const MEMORY_WORDS: &[(&str, Memory)] = &[("unlimited", Memory::Unlimited)];

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
const DEPLETION_WORDS: &[(&str, Depletion)] = &[("random-block", Depletion::RandomBlock)];

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

/// Words that are replaced by a table if `--set` names a key of it.
pub(crate) const GIVE_WAY: [&str; 2] = [MEMORY_WORDS[0].0, DEPLETION_WORDS[0].0];

/// Kind of the length of a run.
pub(super) const LENGTHS: Own<Length> =
    Own { read: length, text: Length::text, schema: Length::schema };

/// Kind of the disks of runs and outputs.
pub(super) const PLACEMENTS: Own<Placement> = Own {
    read: placement,
    text: placement_text,
    schema: || any([words(PLACEMENT_WORDS), some(&table(DISKS_KEYS))]),
};

/// Kind of the blocks in memory.
pub(super) const MEMORIES: Own<Memory> = Own {
    read: |node| one_of_keys(node, MEMORY_WORDS, MEMORY_KEYS, "memory for merges", memory),
    text: |memory| memory_text(*memory),
    schema: || any([words(MEMORY_WORDS), one_of(table(MEMORY_KEYS))]),
};

/// Kind of the order in which runs are used up.
pub(super) const DEPLETIONS: Own<Depletion> = Own {
    read: |node| {
        one_of_keys(node, DEPLETION_WORDS, DEPLETION_KEYS, "an order of depletion", depletion)
    },
    text: |depletion| depletion_text(*depletion),
    schema: || any([words(DEPLETION_WORDS), one_of(table(DEPLETION_KEYS))]),
};

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
    pub(super) fn blocks(self, block: NonZeroU32) -> u64 {
        match self {
            Self::Blocks(count) => count.get().into(),
            Self::Size(bytes) => bytes.div_ceil(block.get().into()),
        }
    }
}

/// Words for the four placements of the paper, its cases 1 to 4.
const PLACEMENT_WORDS: &[(&str, Placement)] = &[
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
    let has_usual_classes = || PLACEMENT_WORDS.iter().map(|(word, _)| *word);
    let Some(word) = node.word() else {
        let expected = node.expected("a placement, or a list of the disks of each job");
        return Err(expected.hint(example));
    };
    if has_usual_classes().any(|known| known == word) {
        return Ok(value_of(PLACEMENT_WORDS, word));
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
        word => quoted(word_of(PLACEMENT_WORDS, word).expect("every other has a word")),
    }
}

/// Reads one of the `known` words, or a table with one of `keys`, which `read_table` converts.
/// `title` names the value in messages. A key that an argument sets overrides those of the file.
fn one_of_keys<T: Clone>(
    node: &Node,
    known: &'static [(&'static str, T)],
    keys: Keys,
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
        Memory::Unlimited => quoted(word_of(MEMORY_WORDS, &memory).expect("it has a word")),
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
        Depletion::RandomBlock => {
            quoted(word_of(DEPLETION_WORDS, &depletion).expect("it has a word"))
        }
        Depletion::Keys(keys) => Rows::of(&[DEPLETION_KEYS]).put(&KEYS_OF_BLOCK, &keys).inline(),
    }
}
