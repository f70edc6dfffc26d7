//! What a program does: computing and I/O in turn.

use std::ops::Range;

use penstock_core::{ClassId, Flags, Op, Prio, Span, Time};

use super::arrivals::Starts;
use crate::agent::Pattern;

/// A kind of program.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// The class of its requests.
    pub class: ClassId,
    /// Priority of that class, at the device and for processors that know priorities.
    pub prio: Prio,
    /// What a task does, in this order.
    pub phases: Vec<Phase>,
    /// How often a task repeats its phases.
    pub repeat: u32,
    /// Where its next request begins.
    pub pattern: Pattern,
    /// Bytes of the target that it uses.
    pub region: Range<u64>,
    /// When tasks arrive.
    pub starts: Starts,
    /// When the first task may arrive, and when the last.
    pub active: Range<Time>,
}

/// One thing that a task does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// It computes for this long.
    Cpu(Span),
    /// It issues this request and waits until it is done.
    Io {
        /// What it asks for.
        op: Op,
        /// As an agent's.
        flags: Flags,
        /// Bytes.
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
