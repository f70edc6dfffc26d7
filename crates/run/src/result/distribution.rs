//! Distributions: moments, extremes and percentiles.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// A distribution of nanoseconds; all zero if there was nothing to measure.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Distribution {
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation.
    pub stddev: f64,
    /// Smallest value.
    pub min: u64,
    /// Largest value.
    pub max: u64,
    /// Percentiles, by percent with six decimals as fio writes them.
    pub percentile: BTreeMap<String, u64>,
}

impl Distribution {
    /// The percentiles that results have.
    pub const PERCENTS: [f64; 4] = [50.0, 95.0, 99.0, 99.9];
}

impl Default for Distribution {
    fn default() -> Self {
        let percentile = Self::PERCENTS.map(|percent| (format!("{percent:.6}"), 0));
        Self { mean: 0.0, stddev: 0.0, min: 0, max: 0, percentile: percentile.into() }
    }
}

/// A distribution of milliseconds; all zero if there was nothing to measure.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Milliseconds {
    /// Number of values.
    pub n: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation.
    pub stddev: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Percentiles, by percent with six decimals.
    pub percentile: BTreeMap<String, f64>,
}

impl Milliseconds {
    /// Converts the distribution `ns` of `n` values from nanoseconds.
    pub(crate) fn new(n: u64, ns: &Distribution) -> Self {
        let ms = |ns: u64| ns as f64 / 1e6;
        Self {
            n,
            mean: ns.mean / 1e6,
            stddev: ns.stddev / 1e6,
            min: ms(ns.min),
            max: ms(ns.max),
            percentile: ns.percentile.iter().map(|(at, &ns)| (at.clone(), ms(ns))).collect(),
        }
    }
}
