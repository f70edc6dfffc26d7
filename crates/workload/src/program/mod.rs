//! Programs on processors: each computes, requests I/O, waits for it, and computes again.
//!
//! Use it if the times of requests depend on processors, for example for online transactions next
//! to batch jobs. A program is a list of phases with a number of repetitions. Each of its arrivals
//! is a task that goes through them. [`Cpus`] sets how tasks share the processors.
//!
//! Order at one instant: completions, as the loop hands them over; processors whose slice or burst
//! ends, by number; arrivals, in the order of the programs; then the allocation of idle processors.
//! Requests of tasks go out in the order in which the tasks came to them.
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
