//! Programs: alternating phases of computing and I/O.

use std::ops::Range;

use penstock_core::{ClassId, Flags, Op, Prio, Span, Time};

use super::arrivals::Starts;
use crate::agent::Pattern;

/// A kind of program.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// The class of its requests.
    pub class: ClassId,
    /// Priority of that class, at the device and for processors with priorities.
    pub prio: Prio,
    /// Phases of a task, in order.
    pub phases: Vec<Phase>,
    /// Number of times that a task goes through its phases.
    pub repeat: u32,
    /// The pattern of the places of its requests.
    pub pattern: Pattern,
    /// Bytes of the target that it uses.
    pub region: Range<u64>,
    /// Arrivals of its tasks.
    pub starts: Starts,
    /// Time in which tasks may arrive.
    pub active: Range<Time>,
}

/// A phase of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The task computes for this long.
    Cpu(Span),
    /// The task issues a request and waits until it completes.
    Io {
        /// The operation.
        op: Op,
        /// Flags of the request.
        flags: Flags,
        /// Length in bytes.
        len: u32,
    },
}

impl Program {
    /// Whether it issues requests other than reads.
    pub fn writes(&self) -> bool {
        self.phases.iter().any(|phase| matches!(phase, Phase::Io { op, .. } if *op != Op::Read))
    }

    /// Bytes of its largest request; 0 if it issues none.
    pub fn longest(&self) -> u32 {
        let len = |phase: &Phase| match phase {
            Phase::Cpu(_) => 0,
            Phase::Io { len, .. } => *len,
        };
        self.phases.iter().map(len).max().unwrap_or(0)
    }
}
