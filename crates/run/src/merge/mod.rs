//! Merges of real files side by side: sorted runs become one sorted file each.
//!
//! Use it in place of `sort -m` where several merges share disks: each disk has a queue with a policy
//! before it, each merge reads ahead and writes in groups of blocks, and its memory has a limit. The
//! output is that of `LC_ALL=C sort -m`, byte for byte; of records it is that of a stable sort by the
//! key. Each disk may be replaced by a model that answers in real time.
//!
//! Always true: runs are only read; space for all outputs is reserved before any is written; an output is
//! a new file and gets its name when it is complete.
//!
//! | file | what it is |
//! |---|---|
//! | `options` | the options, and the job that follows from them |
//! | `folders` | the folders that `--to` names |
//! | `layout` | opens all files and gives each a place on a disk |
//! | `make` | makes runs |
//! | `one_pass` | a merge of as many runs as can be open at once |
//! | `passes` | the session: one pass, or several if there are more runs than can be open at once |
//! | `record`, `run_reader`, `tree` | records, a run of them, and the run whose record comes next |
//! | `job` | one merge and its states |
//! | `source` | all merges as a source of requests |
//! | `disk` | the files of a disk as a device |
//! | `timekeeper` | real time, or the time of models |
//! | `below` | the disks below the folders |
//! | `figures`, `outcome`, `result` | what is measured, how it ended, and the JSON |
//!
//! Source: the rules for reading ahead, writing and memory are those of `penstock_workload::merge`. There a
//! block is used up at once; here it is used up when the last record that begins in it has been merged.

pub(crate) mod facts;

mod below;
mod disk;
mod figures;
mod folders;
mod job;
mod layout;
mod make;
mod one_pass;
mod options;
mod outcome;
mod passes;
mod record;
mod result;
mod run_reader;
mod source;
mod timekeeper;
mod tree;

pub use self::options::MergeOptions;
pub use self::passes::MergeSession;
pub use self::result::{
    MergedResult, MergesResult, ModelsResult, OtherProgramResult, RoundOfMerges,
};
