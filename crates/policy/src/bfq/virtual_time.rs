//! B-WF2Q+: the order of queues in which each gets service in proportion to its weight, whatever
//! its budgets are.
//!
//! A queue with requests has a start and a finish in virtual time: the finish is later by its
//! budget divided by its weight. A queue is eligible when its start is not in the future; of the
//! eligible ones the earliest finish goes first. If a queue did not use exactly its budget, its
//! finish is set by the bytes that it used. Virtual time advances by the service divided by the sum
//! of the weights, and jumps to the earliest start when no queue is eligible. O(log n) for each
//! change of a queue.
//!
//! Exactness: 128-bit integers in units of 2^-40 byte. Each division rounds down by less than one
//! unit, so after a million services the error of a queue is less than a millionth of a byte
//! divided by its weight. 2^64 bytes are 2^104 units, so nothing overflows.

use crate::queue::Tournament;

/// Units of virtual time in a byte.
const PARTS: u128 = 1 << 40;

/// A queue's place in virtual time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamps {
    start: u128,
    finish: u128,
    /// The weight with which it counts in the sums while it is a member.
    weight: u64,
}

/// The queues of one class of I/O priorities.
#[derive(Debug, Default)]
pub(super) struct FairOrder {
    now: u128,
    /// Waiting queues by lane: eligible ones by finish, the others by start, with their finish.
    /// Ties go by arrival.
    eligible: Tournament<(u128, u64)>,
    future: Tournament<(u128, u64, u128)>,
    arrivals: u64,
    members: u64,
    /// Sums of the members' weights and of their squares, including the member in service.
    weights: u128,
    squares: u128,
}

impl FairOrder {
    /// Whether no queue waits for service.
    pub(super) fn is_empty(&self) -> bool {
        self.eligible.first().is_none() && self.future.first().is_none()
    }

    /// Whether all members have the same weight. By the Cauchy-Schwarz inequality this holds if the
    /// square of the sum equals the sum of the squares times the number of members.
    pub(super) fn is_symmetric(&self) -> bool {
        self.weights * self.weights == self.squares * u128::from(self.members)
    }

    /// An idle queue becomes a member. It gets no credit for its idle time.
    pub(super) fn join(&mut self, stamps: &mut Stamps, weight: u64) {
        stamps.start = stamps.finish.max(self.now);
        self.count(stamps, weight);
    }

    /// A queue that was idle for a moment becomes a member again, as if it had not been idle.
    pub(super) fn rejoin(&mut self, stamps: &mut Stamps, weight: u64) {
        self.count(stamps, weight);
    }

    /// Changes the weight of a member that is not waiting for service.
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

    /// A queue is no longer a member.
    pub(super) fn leave(&mut self, stamps: &Stamps) {
        self.members -= 1;
        self.weights -= u128::from(stamps.weight);
        self.squares -= u128::from(stamps.weight).pow(2);
    }

    /// A member begins to wait for service, with a budget in bytes.
    pub(super) fn wait(&mut self, lane: u32, stamps: &mut Stamps, budget: u64) {
        stamps.finish = stamps.start + length(budget, stamps.weight);
        self.arrivals += 1;
        if stamps.start <= self.now {
            self.eligible.set(lane, Some((stamps.finish, self.arrivals)));
        } else {
            self.future.set(lane, Some((stamps.start, self.arrivals, stamps.finish)));
        }
    }

    /// Chooses the queue that is served next and removes it from the waiting ones.
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

    /// Charges `bytes` to the queue in service, whatever its budget was.
    pub(super) fn charge(&mut self, stamps: &mut Stamps, bytes: u64) {
        self.now += u128::from(bytes) * PARTS / self.weights.max(1);
        stamps.finish = stamps.start + length(bytes, stamps.weight);
        stamps.start = stamps.finish;
    }
}

/// Returns the length in virtual time of `bytes` at `weight`.
fn length(bytes: u64, weight: u64) -> u128 {
    u128::from(bytes) * PARTS / u128::from(weight.max(1))
}

#[cfg(test)]
mod tests {
    use super::{FairOrder, Stamps};
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        /// Busy queues get service by weight, whatever their budgets, up to a few budgets.
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
                // `used` is in percent of the budget.
                let bytes = (budget * used[turn % used.len()]).div_ceil(100);
                order.charge(&mut stamps[lane], bytes);
                order.wait(lane as u32, &mut stamps[lane], budget);
                got[lane] += bytes;
                all += bytes;
                for (&got, &(own_weight, budget)) in got.iter().zip(&queues) {
                    let fair = all as f64 * own_weight as f64 / weights as f64;
                    // Ahead of the ideal by its own budget and one more; behind by all budgets.
                    prop_assert!(got as f64 <= fair + budget as f64 + most, "{got} of {fair}");
                    let behind = 2.0 * most * queues.len() as f64;
                    prop_assert!(got as f64 >= fair - behind, "{got} of {fair}, weight {weight}");
                }
            }
        }
    }

    #[test]
    fn an_idle_queue_gets_no_credit() {
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
