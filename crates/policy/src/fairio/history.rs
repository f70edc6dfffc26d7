//! The use of each class in the last cycles.
//!
//! A record is a cycle or several successive short ones: cycles are added to a record until it is a
//! twentieth of a full cycle long (in a window of more than 20 full cycles, a four-hundredth of the
//! window). So a window has at most about 400 records, 3.2 kB per class, however many cycles it has
//! and however early they end. All of this memory is allocated at the beginning.

use alloc::vec;
use alloc::vec::Vec;

/// Most records for each full cycle of a window.
const RECORDS: usize = 20;

/// Most records of a window: there may be 65,536 classes with a row of records each.
const MOST: usize = 400;

/// A ring of records, and their sums.
#[derive(Debug)]
pub(super) struct History {
    /// Length of the window in full cycles.
    cycles: u64,
    /// Sum of all weights.
    weights: u64,
    /// Length of each record in nanoseconds.
    elapsed: Vec<u64>,
    /// Use of all classes in each record.
    totals: Vec<u64>,
    /// Use of each class in each record.
    used: Vec<Vec<u64>>,
    /// Index of the oldest record.
    front: usize,
    len: usize,
    /// Sum of the lengths of all records.
    span: u64,
    /// Use of each class in all records.
    sums: Vec<u64>,
}

impl History {
    /// Creates an empty window of `cycles` full cycles; a window of 0 keeps no records.
    pub(super) fn new(cycles: u32) -> Self {
        // Plus one that is being filled, and one that is about to leave.
        let records = if cycles == 0 { 0 } else { MOST.min(cycles as usize * RECORDS) + 2 };
        Self {
            cycles: cycles.into(),
            weights: 0,
            elapsed: vec![0; records],
            totals: vec![0; records],
            used: Vec::new(),
            front: 0,
            len: 0,
            span: 0,
            sums: Vec::new(),
        }
    }

    /// Adds a class. It counts as if it had used its part of every record, so that it is owed
    /// nothing.
    pub(super) fn add_class(&mut self, weight: u64) {
        let mut used = vec![0; self.elapsed.len()];
        let mut sum = 0;
        for n in 0..self.len {
            let record = self.index(n);
            let share = part(self.totals[record], weight, self.weights);
            used[record] = share;
            self.totals[record] = self.totals[record].saturating_add(share);
            sum = u64::saturating_add(sum, share);
        }
        self.weights += weight;
        self.used.push(used);
        self.sums.push(sum);
    }

    /// Use of `class` in the window.
    pub(super) fn sum(&self, class: usize) -> u64 {
        self.sums[class]
    }

    /// Length of a full window if full cycles take `cycle`.
    pub(super) fn full(&self, cycle: u64) -> u64 {
        self.cycles.saturating_mul(cycle)
    }

    /// Removes all records.
    pub(super) fn clear(&mut self) {
        (self.len, self.span) = (0, 0);
        self.sums.fill(0);
    }

    /// Adds a cycle that ended after `elapsed`, with the use of each class. Full cycles take
    /// `cycle`.
    pub(super) fn push(&mut self, elapsed: u64, cycle: u64, used: impl Iterator<Item = u64>) {
        if self.cycles == 0 {
            return;
        }
        let least = (cycle / RECORDS as u64).max(self.full(cycle) / MOST as u64);
        let joins = self.len > 0 && self.elapsed[self.index(self.len - 1)] < least;
        if !joins {
            if self.len == self.elapsed.len() {
                self.pop();
            }
            self.len += 1;
            let new = self.index(self.len - 1);
            (self.elapsed[new], self.totals[new]) = (0, 0);
            self.used.iter_mut().for_each(|class| class[new] = 0);
        }
        let last = self.index(self.len - 1);
        self.elapsed[last] = self.elapsed[last].saturating_add(elapsed);
        self.span = self.span.saturating_add(elapsed);
        for ((used, sum), class) in used.zip(&mut self.sums).zip(&mut self.used) {
            class[last] = class[last].saturating_add(used);
            *sum = sum.saturating_add(used);
            self.totals[last] = self.totals[last].saturating_add(used);
        }
        while self.len > 1 && self.span - self.elapsed[self.front] >= self.full(cycle) {
            self.pop();
        }
    }

    fn pop(&mut self) {
        let front = self.front;
        self.span -= self.elapsed[front];
        for (sum, class) in self.sums.iter_mut().zip(&self.used) {
            *sum -= class[front];
        }
        self.front = (front + 1) % self.elapsed.len();
        self.len -= 1;
    }

    /// Index of the `n`-th record from the oldest.
    fn index(&self, n: usize) -> usize {
        (self.front + n) % self.elapsed.len()
    }
}

/// Returns `sum · weight / weights`, rounded down: the part of `weight` if `sum` belongs to all
/// `weights`. A sum below 2^64 times a weight below 2^32 is below 2^96.
pub(super) fn part(sum: u64, weight: u64, weights: u64) -> u64 {
    (u128::from(sum) * u128::from(weight) / u128::from(weights.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a queue of cycles that are summed anew each time.
        #[test]
        fn sums_are_those_of_the_records(
            cycles in prop::collection::vec((0_u64..3_000, 0_u64..500, 0_u64..500), 1..400),
            length in prop_oneof![1_u32..5, 18_u32..23, 100_u32..300],
        ) {
            // The least length of a record: in a window of up to 20 cycles a twentieth of a cycle.
            let least = if length <= 20 { 50 } else { u64::from(length) * 1_000 / 400 };
            let mut window = History::new(length);
            window.add_class(1);
            window.add_class(2);
            let mut model: VecDeque<(u64, [u64; 2])> = VecDeque::new();
            for (elapsed, a, b) in cycles {
                window.push(elapsed, 1_000, [a, b].into_iter());
                match model.back_mut().filter(|(elapsed, _)| *elapsed < least) {
                    Some(last) => *last = (last.0 + elapsed, [last.1[0] + a, last.1[1] + b]),
                    None => model.push_back((elapsed, [a, b])),
                }
                let span = |model: &VecDeque<(u64, _)>| model.iter().map(|r| r.0).sum::<u64>();
                while model.len() > 1 && span(&model) - model[0].0 >= u64::from(length) * 1_000 {
                    model.pop_front();
                }
                for class in 0..2 {
                    let sum: u64 = model.iter().map(|record| record.1[class]).sum();
                    prop_assert_eq!(window.sum(class), sum);
                }
                prop_assert!(window.len <= window.elapsed.len());
            }
        }
    }

    #[test]
    fn memory_is_bounded_however_early_cycles_end() {
        for cycles in [20, 1_000] {
            let mut window = History::new(cycles);
            window.add_class(1);
            let memory =
                |history: &History| (history.elapsed.capacity(), history.used[0].capacity());
            let before = memory(&window);
            for n in 0..100_000 {
                window.push(n % 7, 1_000_000, core::iter::once(1));
            }
            assert_eq!(memory(&window), before);
            assert_eq!(window.sum(0), 100_000, "0.3 ms fit the window");
        }
    }

    /// Regression: a window of 1,000 cycles with tens of thousands of classes took gigabytes.
    #[test]
    fn a_long_window_costs_a_class_no_more_than_the_usual_one() {
        let records = |cycles| History::new(cycles).elapsed.len();
        assert_eq!(records(1_000), records(20));
        let mut window = History::new(1_000);
        window.add_class(1);
        (0..5_000).for_each(|_| window.push(1_000, 1_000, core::iter::once(10)));
        assert!((10_000..10_040).contains(&window.sum(0)), "{}", window.sum(0));
    }

    #[test]
    fn a_class_that_comes_later_is_owed_nothing() {
        let mut window = History::new(4);
        window.add_class(100);
        window.add_class(300);
        window.push(1_000, 1_000, [250, 750].into_iter());
        window.push(1_000, 1_000, [150, 450].into_iter());
        window.add_class(200);
        assert_eq!([0, 1, 2].map(|class| window.sum(class)), [400, 1_200, 800]);
        (0..4).for_each(|_| window.push(1_000, 1_000, [0; 3].into_iter()));
        assert_eq!(window.sum(2), 0, "it leaves with the records");
    }
}
