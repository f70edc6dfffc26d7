//! B-WF2Q+: which queue is next, so that each gets service in proportion to its weight whatever its
//! budgets are.
//!
//! A queue with requests has a start and a finish in virtual time: the finish is later by its budget
//! divided by its weight. A queue is eligible when its start is not in the future; of the eligible
//! ones the earliest finish goes first. A queue that used other than its budget has its finish
//! corrected by what it used. Virtual time advances by the service divided by the sum of the weights,
//! and jumps to the earliest start when no queue is eligible. O(log n) for each change of a queue.
//!
//! Exactness: integers of 128 bits in parts of 2^-40 of a byte. Each division rounds down by less than
//! one part, so after a million services a queue is wrong by less than a millionth of a byte divided
//! by its weight. 2^64 bytes are 2^104 parts, so nothing overflows.

use crate::queue::Tournament;

/// Parts of a byte.
const PARTS: u128 = 1 << 40;

/// A queue's place in virtual time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamps {
    start: u128,
    finish: u128,
    /// While it takes part.
    weight: u64,
}

/// The queues of one class of I/O priorities.
#[derive(Debug, Default)]
pub(super) struct FairOrder {
    now: u128,
    /// By lane: queues that are eligible, by finish, and those that are not yet, by start, with their
    /// finish; of equal ones the one that came first.
    eligible: Tournament<(u128, u64)>,
    future: Tournament<(u128, u64, u128)>,
    arrivals: u64,
    members: u64,
    /// Sums over the members, the one in service among them.
    weights: u128,
    squares: u128,
}

impl FairOrder {
    /// Whether no queue waits for service.
    pub(super) fn is_empty(&self) -> bool {
        self.eligible.first().is_none() && self.future.first().is_none()
    }

    /// Whether all members have the same weight. By Cauchy and Schwarz, that is so if the square of
    /// the sum is as many times the sum of the squares as there are members.
    pub(super) fn is_symmetric(&self) -> bool {
        self.weights * self.weights == self.squares * u128::from(self.members)
    }

    /// A queue that had nothing to do takes part. It has saved nothing up.
    pub(super) fn join(&mut self, stamps: &mut Stamps, weight: u64) {
        stamps.start = stamps.finish.max(self.now);
        self.count(stamps, weight);
    }

    /// A queue that had nothing to do for a moment takes part again, as if that had not been.
    pub(super) fn rejoin(&mut self, stamps: &mut Stamps, weight: u64) {
        self.count(stamps, weight);
    }

    /// A member that is not waiting for service has another weight from now on.
    pub(super) fn reweigh(&mut self, stamps: &mut Stamps, weight: u64) {
        self.leave(stamps);
        self.count(stamps, weight);
    }

    fn count(&mut self, stamps: &mut Stamps, weight: u64) {
        stamps.weight = weight;
        self.members += 1;
        self.weights += u128::from(weight);
        self.squares += u128::from(weight).pow(2);
    }

    /// It takes part no longer.
    pub(super) fn leave(&mut self, stamps: &Stamps) {
        self.members -= 1;
        self.weights -= u128::from(stamps.weight);
        self.squares -= u128::from(stamps.weight).pow(2);
    }

    /// A member that is not in service waits for it, with a budget in bytes.
    pub(super) fn wait(&mut self, lane: u32, stamps: &mut Stamps, budget: u64) {
        stamps.finish = stamps.start + length(budget, stamps.weight);
        self.arrivals += 1;
        if stamps.start <= self.now {
            self.eligible.set(lane, Some((stamps.finish, self.arrivals)));
        } else {
            self.future.set(lane, Some((stamps.start, self.arrivals, stamps.finish)));
        }
    }

    /// The queue that is served next.
    pub(super) fn serve(&mut self) -> Option<u32> {
        while let Some(lane) = self.future.first() {
            let (start, arrival, finish) = self.future.key(lane).expect("it is the first");
            if start > self.now {
                if self.eligible.first().is_some() {
                    break;
                }
                self.now = start;
            }
            self.future.set(lane, None);
            self.eligible.set(lane, Some((finish, arrival)));
        }
        let next = self.eligible.first()?;
        self.eligible.set(next, None);
        Some(next)
    }

    /// The queue in service has been served: it is charged `bytes`, whatever its budget was.
    pub(super) fn charge(&mut self, stamps: &mut Stamps, bytes: u64) {
        self.now += u128::from(bytes) * PARTS / self.weights.max(1);
        stamps.finish = stamps.start + length(bytes, stamps.weight);
        stamps.start = stamps.finish;
    }
}

fn length(bytes: u64, weight: u64) -> u128 {
    u128::from(bytes) * PARTS / u128::from(weight.max(1))
}

#[cfg(test)]
mod tests {
    use super::{FairOrder, Stamps};
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        /// Queues that always have something to do get service by weight, whatever their budgets, up
        /// to a budget and a half.
        #[test]
        fn service_is_by_weight_whatever_the_budgets(
            queues in prop::collection::vec((1_u64..=1_000, 1_u64..100_000), 2..20),
            used in prop::collection::vec(1_u64..=100, 1..50),
        ) {
            let mut order = FairOrder::default();
            let mut stamps: Vec<Stamps> = queues.iter().map(|_| Stamps::default()).collect();
            for (lane, &(weight, budget)) in queues.iter().enumerate() {
                order.join(&mut stamps[lane], weight);
                order.wait(lane as u32, &mut stamps[lane], budget);
            }
            let weights: u64 = queues.iter().map(|(weight, _)| weight).sum();
            let most = queues.iter().map(|(_, budget)| *budget).max().unwrap() as f64;
            let (mut got, mut all) = (alloc::vec![0_u64; queues.len()], 0_u64);
            for turn in 0..2_000 {
                let lane = order.serve().unwrap() as usize;
                let (weight, budget) = queues[lane];
                // What it uses of its budget, in percent.
                let bytes = (budget * used[turn % used.len()]).div_ceil(100);
                order.charge(&mut stamps[lane], bytes);
                order.wait(lane as u32, &mut stamps[lane], budget);
                got[lane] += bytes;
                all += bytes;
                for (&got, &(its, budget)) in got.iter().zip(&queues) {
                    let fair = all as f64 * its as f64 / weights as f64;
                    // Ahead of the ideal by no more than its own budget; behind by the others'.
                    prop_assert!(got as f64 <= fair + budget as f64 + most, "{got} of {fair}");
                    let behind = 2.0 * most * queues.len() as f64;
                    prop_assert!(got as f64 >= fair - behind, "{got} of {fair}, weight {weight}");
                }
            }
        }
    }

    #[test]
    fn idleness_saves_nothing_up() {
        let mut order = FairOrder::default();
        let mut stamps = [Stamps::default(); 2];
        order.join(&mut stamps[0], 100);
        order.wait(0, &mut stamps[0], 1_000);
        for _ in 0..100 {
            assert_eq!(order.serve(), Some(0));
            order.charge(&mut stamps[0], 1_000);
            order.wait(0, &mut stamps[0], 1_000);
        }
        order.join(&mut stamps[1], 100);
        order.wait(1, &mut stamps[1], 1_000);
        let mut served = [0; 2];
        for _ in 0..100 {
            let lane = order.serve().unwrap();
            order.charge(&mut stamps[lane as usize], 1_000);
            order.wait(lane, &mut stamps[lane as usize], 1_000);
            served[lane as usize] += 1;
        }
        assert_eq!(served, [50, 50]);
    }

    #[test]
    fn equal_weights_are_recognised() {
        let mut order = FairOrder::default();
        let mut stamps = [Stamps::default(); 3];
        for (stamps, weight) in stamps.iter_mut().zip([7, 7, 8]) {
            assert!(order.is_symmetric());
            order.join(stamps, weight);
        }
        assert!(!order.is_symmetric());
        order.leave(&stamps[2]);
        assert!(order.is_symmetric());
    }
}
