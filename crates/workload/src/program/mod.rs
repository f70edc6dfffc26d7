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
mod source;
#[cfg(test)]
mod tests;

use std::ops::Range;

use penstock_core::{ClassId, Flags, Op, Prio, Span, Time};

pub use self::arrivals::Starts;
pub use self::source::{Event, Programs};
use crate::Pattern;

/// What a kind of program does.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// The class of its requests.
    pub class: ClassId,
    /// Priority of that class, at the device and for processors that know priorities.
    pub prio: Prio,
    /// What a task does, one after the other.
    pub phases: Vec<Phase>,
    /// How often it does all of that.
    pub repeat: u32,
    /// Where its next request begins.
    pub pattern: Pattern,
    /// Bytes of the target that it uses.
    pub region: Range<u64>,
    /// When tasks arrive.
    pub starts: Starts,
    /// When the first may arrive, and when no more do.
    pub active: Range<Time>,
}

/// One thing that a task does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// It computes for so long.
    Cpu(Span),
    /// It asks for this and waits until it is done.
    Io {
        /// What it asks for.
        op: Op,
        /// As an agent's.
        flags: Flags,
        /// Bytes.
        len: u32,
    },
}

/// The processors and how they are given out. A task stays on the processor that it is given first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cpus {
    /// How many there are.
    pub count: u32,
    /// So long a task computes at most before the next has its turn.
    pub slice: Span,
    /// Who goes first.
    pub order: Order,
    /// Under [`Order::Priority`]: who finds no idle processor takes one from a task of lower
    /// priority at once, and not when its slice ends.
    pub preempt: bool,
    /// Which idle processor a task is given first.
    pub pick: Pick,
}

/// Who goes first among tasks that wait for a processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Who has waited longest.
    Fifo,
    /// The class with the lower `prio`; among equals who has waited longest.
    Priority,
}

/// Which idle processor a task is given first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pick {
    /// The next one behind the last that was given so.
    RoundRobin,
    /// That with the lowest number.
    Lowest,
}

impl Program {
    /// Whether it asks for anything but reads.
    pub fn writes(&self) -> bool {
        self.phases.iter().any(|phase| matches!(phase, Phase::Io { op, .. } if *op != Op::Read))
    }

    /// Bytes of its largest request; 0 if it asks for nothing.
    pub fn longest(&self) -> u32 {
        let len = |phase: &Phase| match phase {
            Phase::Cpu(_) => 0,
            Phase::Io { len, .. } => *len,
        };
        self.phases.iter().map(len).max().unwrap_or(0)
    }
}
