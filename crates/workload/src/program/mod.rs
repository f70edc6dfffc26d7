//! Programs on processors: each computes, asks for I/O, waits for it, and computes again.
//!
//! Use it where processors decide when requests come: online transactions beside batch jobs, say.
//! A program is a list of phases, done over as often as it repeats; each of its arrivals is a task
//! that goes through them. [`Cpus`] says how tasks share the processors.
//!
//! Order at one instant: completions, as the loop hands them over; processors whose slice or burst
//! ends, by number; arrivals, in the order of the programs; then idle processors are given out.
//! What tasks ask for goes out in the order in which they came to it.
//!
//! Source: the model of Tanabe and others, "Disk I/O Control Mechanism for Online and Batch
//! Processing" (2019), section V; what it leaves open are options here.

mod arrivals;
mod cpus;
mod phases;
mod source;
#[cfg(test)]
mod tests;

pub use self::arrivals::Starts;
pub use self::cpus::{Cpus, Order, Pick};
pub use self::phases::{Phase, Program};
pub use self::source::{Event, Programs};
