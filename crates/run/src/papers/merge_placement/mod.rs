//! The experiments of the merge-placement paper: merges side by side in many settings, and its model of
//! a race, jobs that read from one disk and write to the next.
//!
//! Use `layout` for the places of the runs of a job and `ring` for the model. The merges themselves
//! are jobs, and run in a [`Session`](crate::Session) that keeps failures: a lack of memory is a
//! result.
//!
//! Source: J. B. Sinclair, J. Tang, P. J. Varman and B. R. Iyer, "Impact of data placement on
//! parallel I/O systems", ICPP 1993. Rings of more than three disks are not in the paper.

mod layout;
mod ring;

pub use layout::layout;
pub use ring::{Peak, Ring, RingRun, Service, rings};
