//! The experiments of the merge-placement paper: merges side by side in many settings, and its model of
//! a race, jobs that read from one disk and write to the next.
//!
//! Use `cells` to run many jobs with merges, each at some seeds, where one that waits for memory for good is
//! a result and no failure; `layout` for where the runs of a job lie; `ring` for the model.
//!
//! Source: J. B. Sinclair, J. Tang, P. J. Varman and B. R. Iyer, "Impact of data placement on parallel
//! I/O systems", ICPP 1993. A ring of more than three disks is ours.

mod cells;
mod layout;
mod parallel;
mod ring;

pub use cells::{MergeCell, MergeCellResult, merges};
pub use layout::layout;
pub use ring::{Peak, Ring, RingRun, Service, rings};
