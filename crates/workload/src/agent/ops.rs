//! What the requests of an agent ask for.

use penstock_core::{Op, Rng};
use rand::RngExt;

/// All requests, in the unit of [`Ops::Mix`].
pub const ALL_REQUESTS: u32 = 1_000_000_000;

/// What the requests of an agent ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ops {
    /// All for the same.
    Only(Op),
    /// Each for a read or a write, independently of the others.
    Mix {
        /// How many of a billion are reads, at most all.
        reads: u32,
    },
}

impl Ops {
    /// Whether any is no read.
    pub fn writes(self) -> bool {
        self != Self::Only(Op::Read)
    }

    /// What a request asks for.
    pub(super) fn draw(self, rng: &mut Rng) -> Op {
        match self {
            Self::Only(op) => op,
            Self::Mix { reads } if rng.random_range(0..ALL_REQUESTS) < reads => Op::Read,
            Self::Mix { .. } => Op::Write,
        }
    }
}
