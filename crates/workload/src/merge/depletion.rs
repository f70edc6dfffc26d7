//! The order in which the blocks of a job's runs are used up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use penstock_core::Rng;
use rand::RngExt;
use rand_distr::{Beta, Distribution};

use super::shape::Shape;

/// The rule that chooses the run whose next block is used up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depletion {
    /// Any run that is not used up, with equal probability, as with one key per block.
    RandomBlock,
    /// The run whose block ends at the lowest key, with this many keys per block. Keys are
    /// uniformly distributed, so the more keys per block, the more evenly runs are used up.
    Keys(u32),
}

/// The order of a job.
#[derive(Debug)]
pub struct DepletionOrder(OrderKind);

#[derive(Debug)]
enum OrderKind {
    Random {
        rng: Rng,
        /// Runs that are not used up, with their remaining blocks.
        left: Vec<(u32, u32)>,
    },
    Keys {
        rng: Rng,
        keys: u32,
        /// Last key of the next block of each run that is not used up, as the bits of a number from
        /// 0 to 1: the bits sort as the numbers do.
        ends: BinaryHeap<Reverse<(u64, u32)>>,
        /// Number of blocks behind the next one, for each run.
        behind: Vec<u32>,
    },
}

impl DepletionOrder {
    /// Creates the order of a job of `shape`.
    pub fn new(depletion: Depletion, shape: &Shape, mut rng: Rng) -> Self {
        match depletion {
            Depletion::RandomBlock => Self(OrderKind::Random {
                rng,
                left: (0..shape.runs).map(|run| (run, shape.run)).collect(),
            }),
            Depletion::Keys(keys) => {
                let behind = vec![shape.run - 1; shape.runs as usize];
                let first = |run| Reverse((end(&mut rng, 0.0, keys, shape.run - 1).to_bits(), run));
                let ends = (0..shape.runs).map(first).collect();
                Self(OrderKind::Keys { rng, keys, ends, behind })
            }
        }
    }

    /// Whether all runs are used up.
    pub fn is_over(&self) -> bool {
        match &self.0 {
            OrderKind::Random { left, .. } => left.is_empty(),
            OrderKind::Keys { ends, .. } => ends.is_empty(),
        }
    }

    /// Chooses the run whose next block is used up. There must be one.
    pub fn next_run(&mut self) -> u32 {
        match &mut self.0 {
            OrderKind::Random { rng, left } => {
                let at = rng.random_range(0..left.len());
                let (run, blocks) = &mut left[at];
                let run = *run;
                *blocks -= 1;
                if *blocks == 0 {
                    left.swap_remove(at);
                }
                run
            }
            OrderKind::Keys { rng, keys, ends, behind } => {
                let Reverse((bits, run)) = ends.pop().expect("a run that is not used up");
                let left = &mut behind[run as usize];
                if *left > 0 {
                    *left -= 1;
                    let end = end(rng, f64::from_bits(bits), *keys, *left);
                    ends.push(Reverse((end.to_bits(), run)));
                }
                run
            }
        }
    }
}

/// Draws the last key of a block of `keys` keys that begins at `from`, with `behind` blocks behind
/// it, if all these keys are uniformly distributed between `from` and 1 and sorted.
fn end(rng: &mut Rng, from: f64, keys: u32, behind: u32) -> f64 {
    let others = f64::from(keys) * f64::from(behind) + 1.0;
    let part = Beta::new(f64::from(keys), others).expect("both are above zero").sample(rng);
    from + (1.0 - from) * part
}
