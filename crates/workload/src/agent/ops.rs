//! The operations of an agent's requests.

use penstock_core::{Op, Rng};
use rand::RngExt;

/// The share of all requests, in the unit of [`Ops::Mix`].
pub const ALL_REQUESTS: u32 = 1_000_000_000;

/// The operations of an agent's requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ops {
    /// A single operation for all requests.
    Only(Op),
    /// A read or a write for each request, drawn independently.
    Mix {
        /// Share of reads in billionths, at most [`ALL_REQUESTS`].
        reads: u32,
    },
}

impl Ops {
    /// Whether any request is not a read.
    pub fn writes(self) -> bool {
        self != Self::Only(Op::Read)
    }

    /// Draws the operation of a request.
    pub(super) fn draw(self, rng: &mut Rng) -> Op {
        match self {
            Self::Only(op) => op,
            Self::Mix { reads } if rng.random_range(0..ALL_REQUESTS) < reads => Op::Read,
            Self::Mix { .. } => Op::Write,
        }
    }
}
