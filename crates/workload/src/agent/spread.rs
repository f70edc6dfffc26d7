//! Distributions of random requests over the places of a region.
//!
//! A place is a multiple of the alignment at which the longest request fits. Some distributions are
//! over places (`Normal`, `Poisson`, `Zoned`: neighbours are alike), others over ranks, of which
//! the first is the most frequent (`Zipf`, `Pareto`). Ranks are scattered: consecutive ranks lie
//! far apart, and each has a place of its own.
//!
//! Ranks of Zipf's law are drawn by rejection, so every rank has its exact frequency. (fio inverts a
//! continuous distribution, by which only the first two are exact.) The self-similar law is that of
//! J. Gray et al., "Quickly Generating Billion-Record Synthetic Databases" (SIGMOD 1994), which fio
//! uses too: the first fraction `h` of all ranks gets the fraction `1 - h` of all requests.

use penstock_core::{Rng, Seed};
use rand::RngExt;
use rand_distr::{Distribution, Normal, Poisson, Zipf};

use super::weighted::Weighted;

/// The length of a region, in the unit of [`Spread::Zoned`].
pub const WHOLE_REGION: u32 = 1_000_000_000;

/// Distance from 1 below which an exponent of Zipf's law is taken for 1.
const NEAR_ONE: f64 = 1e-6;

/// The distribution of random requests over a region. Bytes are counted from its first byte.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Spread {
    /// All places are equally likely.
    #[default]
    Uniform,
    /// Each place comes once, in random order, and then again in another order.
    Once,
    /// The frequency of rank `i` is in proportion to `i` to the power of `-theta`.
    Zipf {
        /// The exponent: above zero, and at most 10.
        theta: f64,
    },
    /// The first fraction `h` of the ranks gets the fraction `1 - h` of the requests.
    Pareto {
        /// The fraction, between zero and one.
        h: f64,
    },
    /// Normally distributed around a byte. Places outside the region are drawn again.
    Normal {
        /// The byte of the mean, within the region.
        mean: f64,
        /// Standard deviation in bytes, at most the region's length.
        dev: f64,
    },
    /// The number of the place is a Poisson variate. Places outside the region are drawn again.
    Poisson {
        /// The byte of the mean, within the region and above zero.
        mean: f64,
    },
    /// Zones with weights, uniform within each. A zone is given by its beginning and end in
    /// billionths of the region.
    Zoned(Weighted<(u32, u32)>),
}

/// The places of a region, with the distribution by which they are drawn.
pub(super) struct SpreadPlaces {
    count: u64,
    law: Law,
}

enum Law {
    Uniform,
    Once(Shuffle),
    Zipf { scatter: Scatter, ranks: Zipf<f64> },
    Pareto { scatter: Scatter, power: f64 },
    Normal { bytes: Normal<f64>, step: f64 },
    Poisson(Poisson<f64>),
    Zoned(Weighted<(u64, u64)>),
}

impl SpreadPlaces {
    /// Creates `count` places that are `step` bytes apart. The places of ranks derive from `seed`
    /// and are the same for every agent; the order of [`Spread::Once`] derives from `seed` and
    /// `agent`.
    ///
    /// # Panics
    /// If a parameter is outside of its bounds.
    pub(super) fn new(spread: &Spread, count: u64, step: u64, seed: Seed, agent: u32) -> Self {
        let n = count as f64;
        let law = match *spread {
            Spread::Uniform => Law::Uniform,
            Spread::Once => Law::Once(Shuffle::new(count, seed, agent)),
            Spread::Zipf { theta } => {
                // The law divides by the distance from 1, which must leave it enough digits.
                let theta = if (theta - 1.0).abs() < NEAR_ONE { 1.0 } else { theta };
                let ranks = Zipf::new(n, theta).expect("a place, and a theta above zero");
                Law::Zipf { scatter: Scatter::new(count, seed), ranks }
            }
            Spread::Pareto { h } => {
                Law::Pareto { scatter: Scatter::new(count, seed), power: h.ln() / (1.0 - h).ln() }
            }
            Spread::Normal { mean, dev } => {
                let bytes = Normal::new(mean, dev).expect("a finite deviation");
                Law::Normal { bytes, step: step as f64 }
            }
            Spread::Poisson { mean } => {
                Law::Poisson(Poisson::new(mean / step as f64).expect("a mean above zero"))
            }
            Spread::Zoned(ref zones) => {
                let at = |part: u32| {
                    (u128::from(count) * u128::from(part) / u128::from(WHOLE_REGION)) as u64
                };
                let places = zones.iter().map(|((from, to), weight)| {
                    let (from, to) = (at(from), at(to));
                    assert!(weight == 0 || from < to, "a zone without a place");
                    ((from, to), weight as u32)
                });
                Law::Zoned(Weighted::new(places).expect("a weight above zero"))
            }
        };
        Self { count, law }
    }

    /// Draws the number of a place, for the request numbered `request`.
    pub(super) fn draw(&self, rng: &mut Rng, request: u64) -> u64 {
        let n = self.count as f64;
        match &self.law {
            Law::Uniform => rng.random_range(0..self.count),
            Law::Once(shuffle) => shuffle.place(request),
            Law::Zipf { scatter, ranks } => {
                // The casts of floats to integers saturate.
                let rank = ranks.sample(rng) as u64 - 1;
                scatter.place(rank.min(self.count - 1))
            }
            Law::Pareto { scatter, power } => {
                let rank = (n * rng.random::<f64>().powf(*power)) as u64;
                scatter.place(rank.min(self.count - 1))
            }
            Law::Normal { bytes, step } => loop {
                let at = bytes.sample(rng) / step;
                if (0.0..n).contains(&at) {
                    return (at as u64).min(self.count - 1);
                }
            },
            Law::Poisson(number) => loop {
                let at: f64 = number.sample(rng);
                if at < n {
                    return at as u64;
                }
            },
            Law::Zoned(zones) => {
                let (from, to) = zones.draw(rng);
                rng.random_range(from..to)
            }
        }
    }
}

/// The places of ranks: each rank has its own, and consecutive ranks lie far apart.
struct Scatter {
    count: u64,
    /// The place of the first rank.
    first: u64,
    /// Distance from a rank to the next: about the golden section of `count`, and coprime to it.
    step: u64,
}

impl Scatter {
    fn new(count: u64, seed: Seed) -> Self {
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        let golden = (count as f64 * GOLDEN) as u64;
        let step = (golden.max(1)..=count)
            .find(|step| greatest_common_divisor(*step, count) == 1)
            .expect("one less than the count, if no other");
        Self { count, first: seed.stream("spread", 0).random_range(0..count), step }
    }

    fn place(&self, rank: u64) -> u64 {
        let steps = u128::from(rank) * u128::from(self.step);
        ((steps + u128::from(self.first)) % u128::from(self.count)) as u64
    }
}

/// Places in random order, each once, without a list of them: a Feistel network over the next power
/// of four, applied until the result is a place ("cycle walking": J. Black and P. Rogaway, "Ciphers
/// with Arbitrary Finite Domains", CT-RSA 2002).
struct Shuffle {
    count: u64,
    /// Number of bits in each half of a number.
    half: u32,
    keys: [u64; ROUNDS],
}

/// Number of rounds of the network.
const ROUNDS: usize = 6;

impl Shuffle {
    fn new(count: u64, seed: Seed, agent: u32) -> Self {
        let half = (u64::BITS - (count - 1).leading_zeros()).div_ceil(2).max(1);
        let mut rng = seed.stream("agent's order of places", u64::from(agent));
        Self { count, half, keys: rng.random() }
    }

    /// The place of the request numbered `request`.
    fn place(&self, request: u64) -> u64 {
        let (pass, mut number) = (request / self.count, request % self.count);
        loop {
            number = self.network(pass, number);
            if number < self.count {
                return number;
            }
        }
    }

    /// Applies the network to `number`. It permutes the numbers of `2 · half` bits.
    fn network(&self, pass: u64, number: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        let (mut left, mut right) = (number >> self.half, number & mask);
        for key in self.keys {
            (left, right) = (right, left ^ scramble(right ^ key ^ scramble(pass)) & mask);
        }
        left << self.half | right
    }
}

/// Mixes a number, bijectively, so that each bit depends on all (the finaliser of `MurmurHash3`, by
/// A. Appleby).
fn scramble(mut number: u64) -> u64 {
    number = (number ^ number >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    number = (number ^ number >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    number ^ number >> 33
}

/// Returns the greatest common divisor of `a` and `b`.
fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests;
