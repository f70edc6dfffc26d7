//! Means of blocks of numbers: how much they vary beyond sampling noise, and whether they drift.
//!
//! Only sums are kept, so a sequence of any length takes a few words.

/// Number of values in a block.
pub(crate) const BLOCK: u64 = 100;

/// How much the means of blocks vary.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Variation {
    /// Mean of all blocks.
    pub(crate) mean: f64,
    /// Standard deviation of the means of blocks, less what independent numbers have by chance.
    pub(crate) excess: f64,
    /// Correlation of each block with the next: near 1 in a drift, near 0 or below in bursts. `None`
    /// if all are equal.
    pub(crate) lag1: Option<f64>,
}

/// A sequence of numbers in blocks; an incomplete block does not count.
#[derive(Default)]
pub(crate) struct Blocks {
    current: Moments,
    means: BlockMeans,
    /// Sum of the variances within blocks.
    within: f64,
}

impl Blocks {
    pub(crate) fn add(&mut self, number: f64) {
        self.current.add(number);
        if self.current.count == BLOCK {
            self.means.add(self.current.mean);
            self.within += self.current.variance();
            self.current = Moments::default();
        }
    }

    /// Returns the number of complete blocks.
    pub(crate) fn count(&self) -> u64 {
        self.means.count()
    }

    /// Returns how much the blocks vary; `None` for a single one.
    pub(crate) fn variation(&self) -> Option<Variation> {
        self.means.variation(self.within / self.count() as f64 / BLOCK as f64)
    }
}

/// Means of blocks, or counts of bins.
#[derive(Default)]
pub(crate) struct BlockMeans {
    moments: Moments,
    /// The first mean. The sums that follow are of differences from it, which are more exact.
    first: f64,
    last: f64,
    sum: f64,
    /// Sum of the products of each difference and the next.
    products: f64,
}

impl BlockMeans {
    pub(crate) fn add(&mut self, mean: f64) {
        if self.moments.count == 0 {
            self.first = mean;
        }
        let off = mean - self.first;
        self.products += self.last * off;
        self.sum += off;
        self.last = off;
        self.moments.add(mean);
    }

    pub(crate) fn count(&self) -> u64 {
        self.moments.count
    }

    /// Returns the mean of all.
    pub(crate) fn mean(&self) -> f64 {
        self.moments.mean
    }

    /// Returns how much they vary beyond `noise`, the variance that chance gives them; `None` for a
    /// single one.
    pub(crate) fn variation(&self, noise: f64) -> Option<Variation> {
        (self.count() > 1).then(|| Variation {
            mean: self.mean(),
            excess: (self.moments.variance() - noise).max(0.0).sqrt(),
            lag1: self.lag1(),
        })
    }

    fn lag1(&self) -> Option<f64> {
        let count = self.count() as f64;
        let mean = self.sum / count;
        let together =
            self.products - mean * (2.0 * self.sum - self.last) + (count - 1.0) * mean * mean;
        (self.moments.squares > 0.0).then(|| together / self.moments.squares)
    }
}

/// Count, mean and spread of numbers, by Welford's method.
#[derive(Default)]
struct Moments {
    count: u64,
    mean: f64,
    /// Sum of the squared differences from the mean.
    squares: f64,
}

impl Moments {
    fn add(&mut self, number: f64) {
        self.count += 1;
        let off = number - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (number - self.mean);
    }

    /// Estimates the variance of the population that the numbers are a sample of.
    fn variance(&self) -> f64 {
        if self.count < 2 { 0.0 } else { self.squares / (self.count - 1) as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: impl IntoIterator<Item = f64>) -> Variation {
        let mut blocks = Blocks::default();
        numbers.into_iter().for_each(|number| blocks.add(number));
        blocks.variation().expect("several blocks")
    }

    /// Numbers from 0 to 1 that look random.
    fn noise(count: u64) -> impl Iterator<Item = f64> {
        let mixed = |n: u64| {
            let x = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 11
        };
        (0..count).map(move |n| mixed(n) as f64 / (1_u64 << 53) as f64)
    }

    #[test]
    fn equal_numbers_do_not_vary_and_chance_hardly_does() {
        let equal = of((0..1000).map(|_| 65_536.0));
        assert_eq!(equal, Variation { mean: 65_536.0, excess: 0.0, lag1: None });
        let chance = of(noise(10_000));
        assert!(chance.excess < 0.015 && (chance.mean - 0.5).abs() < 0.02, "{chance:?}");
        assert!(chance.lag1.unwrap().abs() < 0.3, "{chance:?}");
    }

    #[test]
    fn a_drift_is_seen_by_how_each_block_resembles_the_next() {
        let drift = of((0..10_000).map(|n| f64::from(n / 100)));
        // The standard deviation of 0 to 99.
        assert!((drift.excess - 29.011).abs() < 0.001, "{drift:?}");
        assert!((drift.lag1.unwrap() - 0.97).abs() < 0.001, "{drift:?}");
        let alternating = of((0..10_000).map(|n| f64::from(n / 100 % 2)));
        assert!((alternating.lag1.unwrap() + 0.99).abs() < 0.001, "{alternating:?}");
    }

    #[test]
    fn what_varies_within_every_block_alike_is_noise() {
        let shuffled = of((0..10_000).map(|n| f64::from(n * 7919 % 100)));
        assert!(shuffled.excess < 1e-9, "{shuffled:?}");
        let shifted = of(noise(10_000).zip(0..).map(|(x, n)| x + f64::from(n / 5000 * 3)));
        assert!((shifted.excess - 1.507).abs() < 0.03, "{shifted:?}");
    }

    #[test]
    fn an_incomplete_block_does_not_count() {
        let mut blocks = Blocks::default();
        (0..199).for_each(|n| blocks.add(f64::from(n)));
        assert_eq!((blocks.count(), blocks.variation()), (1, None));
    }
}
