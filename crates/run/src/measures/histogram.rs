//! Counts of values, in buckets of three significant digits.
//!
//! The buckets are those of an HDR histogram: below 2,048 one for each value, above it 1,024 for each
//! power of two. A run adds some ten values for each request, so adding is a shift and a sum.

use std::iter::zip;

/// Base-2 logarithm of the number of buckets for each power of two: more than a thousand buckets.
const BITS: u32 = 10;

/// Largest value, in nanoseconds, for which there is room from the beginning, 17 seconds; a greater
/// value makes more room.
const USUAL: u64 = 1 << 34;

/// Number of values in each bucket.
#[derive(Clone)]
pub(crate) struct Histogram(Vec<u64>);

impl Histogram {
    pub(crate) fn new() -> Self {
        Self(vec![0; bucket(USUAL)])
    }

    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        let bucket = bucket(value);
        match self.0.get_mut(bucket) {
            Some(count) => *count += 1,
            None => self.add_beyond(bucket),
        }
    }

    /// Adds a value for whose bucket there is no room yet.
    #[cold]
    fn add_beyond(&mut self, bucket: usize) {
        self.0.resize(bucket + 1, 0);
        self.0[bucket] = 1;
    }

    /// Adds the values of `other`.
    pub(crate) fn join(&mut self, other: &Self) {
        let buckets = self.0.len().max(other.0.len());
        self.0.resize(buckets, 0);
        zip(&mut self.0, &other.0).for_each(|(ours, theirs)| *ours += theirs);
    }

    /// Returns, for each of `ranks`, the greatest value in the bucket of the value of that rank, at
    /// most a thousandth above that value; 0 if there are fewer values. Ranks ascend and count from
    /// 1, the least value. No value is below `least`.
    pub(crate) fn at_ranks<const N: usize>(&self, least: u64, ranks: [u64; N]) -> [u64; N] {
        let mut buckets = self.0.iter().enumerate().skip(bucket(least));
        let (mut upto, mut reached) = (0, 0);
        ranks.map(|rank| {
            while upto < rank {
                let Some((bucket, count)) = buckets.next() else { return 0 };
                (upto, reached) = (upto + count, greatest(bucket));
            }
            reached
        })
    }
}

/// The bucket of `value`.
fn bucket(value: u64) -> usize {
    let shift = (value >> BITS | 1).ilog2();
    ((shift as usize) << BITS) + (value >> shift) as usize
}

/// The greatest value in `bucket`.
fn greatest(bucket: usize) -> u64 {
    let shift = (bucket >> BITS).saturating_sub(1);
    let least = (bucket - (shift << BITS)) as u64;
    ((least + 1) << shift).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_a_thousandth_wide_and_leave_no_gap() {
        let mut next = 0;
        for at in 0..=bucket(u64::MAX) {
            assert_eq!(bucket(next), at);
            let last = greatest(at);
            assert_eq!(bucket(last), at);
            assert!((last - next) as f64 <= next as f64 / 1000.0, "{next} to {last}");
            next = last.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bucket ends with the greatest number");
    }

    /// They have been published with its digits.
    #[test]
    fn answers_like_an_hdr_histogram() {
        let mut ours = Histogram::new();
        let mut theirs = hdrhistogram::Histogram::<u64>::new(3).unwrap();
        for step in 0..64 * 100_u64 {
            let value = (step.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (step % 63)).max(1);
            ours.add(value);
            theirs.record(value).unwrap();
        }
        // Parts of 64, which floating point has exactly.
        for part in 1..=64_u64 {
            let quantile = part as f64 / 64.0;
            let [ours] = ours.at_ranks(1, [100 * part]);
            assert_eq!(ours, theirs.value_at_quantile(quantile), "{quantile}");
        }
        let [half, same, all, more] = ours.at_ranks(1, [3200, 3200, 6400, 6401]);
        assert_eq!(
            [half, same, all, more],
            [3200, 3200, 6400, 6401].map(|rank| ours.at_ranks(1, [rank])[0])
        );
        assert_eq!((half, more), (theirs.value_at_quantile(0.5), 0));
    }
}
