//! The order in which a pass visits the records of a file.
//!
//! Every order but [`RecordOrder::OneSpot`] visits each record once. A step takes some nanoseconds and no memory.

use crate::record::stamp::mix;

/// An order of records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RecordOrder {
    /// From the first to the last.
    Forward,
    /// From the last to the first.
    Backward,
    /// In strides from the first, then from the second, and so on.
    Strided,
    /// A permutation that depends on the seed.
    Random,
    /// The first record as often as the file has records.
    OneSpot,
}

/// The records of a pass, by their numbers in the file.
#[derive(Clone, Debug)]
pub(crate) struct Records {
    count: u64,
    visited: u64,
    path: RecordPath,
}

#[derive(Clone, Debug)]
enum RecordPath {
    Forward,
    Backward,
    Strided { stride: u64, first: u64, next: u64 },
    Random(Permutation),
    OneSpot,
}

impl Records {
    /// Visits `count` records in `order`, with a stride of `stride` records or a permutation of `seed`.
    pub(crate) fn new(order: RecordOrder, count: u64, stride: u64, seed: u64) -> Self {
        let path = match order {
            RecordOrder::Forward => RecordPath::Forward,
            RecordOrder::Backward => RecordPath::Backward,
            RecordOrder::Strided => RecordPath::Strided { stride, first: 0, next: 0 },
            RecordOrder::Random => RecordPath::Random(Permutation::new(count, seed)),
            RecordOrder::OneSpot => RecordPath::OneSpot,
        };
        Self { count, visited: 0, path }
    }
}

impl Iterator for Records {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let number = self.visited;
        if number >= self.count {
            return None;
        }
        self.visited += 1;
        Some(match &mut self.path {
            RecordPath::Forward => number,
            RecordPath::Backward => self.count - 1 - number,
            RecordPath::Strided { stride, first, next } => {
                let at = *next;
                *next = next.saturating_add(*stride);
                if *next >= self.count {
                    *first += 1;
                    *next = *first;
                }
                at
            }
            RecordPath::Random(permutation) => permutation.at(number),
            RecordPath::OneSpot => 0,
        })
    }
}

/// Rounds of the permutation.
const ROUNDS: usize = 4;

/// A permutation of the numbers below `count`: a Feistel network over the next power of two, repeated until the
/// result is below `count` (Luby and Rackoff, 1988; Black and Rogaway, 2002).
#[derive(Clone, Debug)]
struct Permutation {
    count: u64,
    /// Bits of the lower and of the upper part of a number.
    low: u32,
    high: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    fn new(count: u64, seed: u64) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let keys = std::array::from_fn(|round| mix(seed ^ mix(round as u64)));
        Self { count, low: bits / 2, high: bits - bits / 2, keys }
    }

    #[inline]
    fn at(&self, number: u64) -> u64 {
        let mut at = self.once(number);
        while at >= self.count {
            at = self.once(at);
        }
        at
    }

    #[inline]
    fn once(&self, number: u64) -> u64 {
        let mask = |bits: u32| (1_u64 << bits) - 1;
        let (mut low, mut high) = (number & mask(self.low), number >> self.low);
        for pair in self.keys.chunks_exact(2) {
            low ^= mix(high ^ pair[0]) & mask(self.low);
            high ^= mix(low ^ pair[1]) & mask(self.high);
        }
        high << self.low | low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [RecordOrder; 4] =
        [RecordOrder::Forward, RecordOrder::Backward, RecordOrder::Strided, RecordOrder::Random];

    #[test]
    fn every_record_is_visited_once() {
        for order in ALL {
            for count in (0..70).chain([1000, 1024, 4097]) {
                for stride in [1, 2, 17, 64, 5000] {
                    let mut visited: Vec<u64> = Records::new(order, count, stride, 7).collect();
                    visited.sort_unstable();
                    assert!(visited.into_iter().eq(0..count), "{order:?} of {count} by {stride}");
                }
            }
        }
    }

    #[test]
    fn the_orders_are_what_their_names_say() {
        let records = |order| Records::new(order, 5, 2, 1).collect::<Vec<_>>();
        assert_eq!(records(RecordOrder::Forward), [0, 1, 2, 3, 4]);
        assert_eq!(records(RecordOrder::Backward), [4, 3, 2, 1, 0]);
        assert_eq!(records(RecordOrder::Strided), [0, 2, 4, 1, 3]);
        assert_eq!(records(RecordOrder::OneSpot), [0; 5]);
    }

    #[test]
    fn a_permutation_depends_on_its_seed_and_goes_far() {
        let records =
            |seed| Records::new(RecordOrder::Random, 1 << 16, 1, seed).collect::<Vec<_>>();
        assert_eq!(records(3), records(3));
        assert_ne!(records(3), records(4));
        let order = records(3);
        let steps = order.windows(2).map(|pair| pair[0].abs_diff(pair[1]));
        let mean = steps.sum::<u64>() as f64 / (order.len() - 1) as f64;
        // Two independent places are a third of the file apart.
        assert!((mean * 3.0 / 65536.0 - 1.0).abs() < 0.02, "{mean}");
    }
}
