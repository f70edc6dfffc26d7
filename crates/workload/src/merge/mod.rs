//! External merges side by side: each job merges sorted runs into one output, all on the same disks.
//!
//! Use it for concurrent sort queries, compactions of an LSM tree, or any other merges that share disks:
//! their total time depends on the places of their runs, on the schedulers of the disks and on the
//! memory for buffers.
//!
//! A job reads groups of [`Shape::read`] blocks ahead: the first of every run before it begins, and
//! the next of a run when the first block of its current group is used up. It uses up block after
//! block, in the order of its keys ([`Depletion`]), and writes [`Shape::write`] blocks at once,
//! without waiting. It waits for a block that it needs, and for [`Memory`].
//!
//! | file | what it is |
//! |---|---|
//! | `shape` | the sizes that all jobs share |
//! | `placement` | the disk and place of each run |
//! | `memory` | the limits on memory, and the amount that is enough |
//! | `depletion` | the order in which runs are used up |
//! | `job` | the state of a job: its runs, its output, its wait |
//! | `source` | all jobs as a source of requests |
//!
//! Source: J. B. Sinclair, J. Tang, P. J. Varman and B. R. Iyer, "Impact of data placement on parallel
//! I/O systems", ICPP 1993; random block depletion is from S. C. Kwan and J. L. Baer, "The I/O
//! performance of multiway mergesort and tag sort", IEEE Transactions on Computers 34(4), 1985.
//!
//! What it leaves out: the data. A read that fails counts as read, and no key is compared.

mod depletion;
mod job;
mod memory;
mod placement;
mod shape;
mod source;

pub use depletion::{Depletion, DepletionOrder};
pub use job::{Held, Wait};
pub use memory::{Accounts, Memory, WhenFull};
pub use placement::{JobDisks, JobLayout, Layout, OutputAt, Place, Placement, PlacementError};
pub use shape::Shape;
pub use source::{Event, Merge, Merges};

#[cfg(test)]
mod tests;
