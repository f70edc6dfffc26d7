//! A choice among values with weights.

use penstock_core::Rng;
use rand::RngExt;

/// Values, each drawn in proportion to its weight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Weighted<T> {
    /// Each value with the sum of the weights up to it.
    values: Vec<(T, u64)>,
}

impl<T: Copy> Weighted<T> {
    /// A single value, which needs no random numbers.
    pub fn always(value: T) -> Self {
        Self { values: vec![(value, 1)] }
    }

    /// Creates a choice among values with weights; `None` if all weights are zero.
    pub fn new(values: impl IntoIterator<Item = (T, u32)>) -> Option<Self> {
        let mut sum = 0;
        let values: Vec<(T, u64)> = values
            .into_iter()
            .map(|(value, weight)| {
                sum += u64::from(weight);
                (value, sum)
            })
            .collect();
        (sum > 0).then_some(Self { values })
    }

    /// The values with their weights.
    pub fn iter(&self) -> impl Iterator<Item = (T, u64)> {
        let mut before = 0;
        self.values.iter().map(move |&(value, sum)| {
            let weight = sum - before;
            before = sum;
            (value, weight)
        })
    }

    /// The values that can be drawn.
    pub fn possible(&self) -> impl Iterator<Item = T> {
        self.iter().filter(|&(_, weight)| weight > 0).map(|(value, _)| value)
    }

    /// The value, if there is only one.
    pub fn single(&self) -> Option<T> {
        if let [(value, _)] = self.values[..] { Some(value) } else { None }
    }

    /// Draws a value.
    pub(super) fn draw(&self, rng: &mut Rng) -> T {
        if let Some(value) = self.single() {
            return value;
        }
        let all = self.values.last().expect("there is one").1;
        let point = rng.random_range(0..all);
        self.values[self.values.partition_point(|&(_, sum)| sum <= point)].0
    }
}
