//! Modelled disks compared with an independent simulator, DiskSim 4.0, with the rules of another,
//! and with measured real drives.
//!
//! Every check has a bound that was set before it was run; none was fitted. `make validate` writes
//! the results to `docs/validation.md` and its pictures. A test checks that every check passes, and
//! that the page and the pictures are current.

pub mod arithmetic;
mod arrays;
pub mod cache;
pub mod chips;
pub mod disksim;
pub mod drives;
mod mechanics;
pub mod page;
mod plot;
mod policies;

use std::path::PathBuf;

use arithmetic::Sum;
use chips::ReadRate;
use disksim::Answer;
use drives::RealDrive;

/// Checks of one kind.
#[derive(Debug)]
pub struct Section {
    /// Title of the comparison.
    pub title: &'static str,
    /// The method, for readers of the page.
    pub about: &'static str,
    /// The cases.
    pub cases: Vec<Case>,
}

/// A case: the model's result and the expected one.
#[derive(Debug)]
pub struct Case {
    /// The name of the case in the data.
    pub name: &'static str,
    /// Its description.
    pub what: &'static str,
    /// Allowed errors of the mean and the percentiles up to the 95th, as shares of the expected
    /// value.
    pub bounds: Bounds,
    /// Result of the model.
    pub found: Answer,
    /// The expected result.
    pub expected: Answer,
}

/// The allowed errors of a case.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Error of the number of finished requests, as a share.
    pub count: f64,
    /// Error of the mean response, as a share.
    pub mean: f64,
    /// Error of the 50th, 90th and 95th percentile, as a share; `None`: they are only reported.
    pub percentiles: Option<f64>,
}

impl Case {
    /// Returns the error of the mean response, as a share.
    pub fn mean_off(&self) -> f64 {
        self.found.mean / self.expected.mean - 1.0
    }

    /// Returns the errors of the 50th, 90th and 95th percentile, as shares.
    pub fn percentiles_off(&self) -> [f64; 3] {
        let pairs = self.found.percentiles.iter().zip(&self.expected.percentiles);
        let off: Vec<f64> = pairs.map(|(found, expected)| found / expected - 1.0).collect();
        [off[0], off[1], off[2]]
    }

    /// Returns the largest error of these percentiles.
    pub fn worst_percentile(&self) -> f64 {
        let farther = |a: f64, b: f64| if b.abs() > a.abs() { b } else { a };
        self.percentiles_off().into_iter().fold(0.0, farther)
    }

    /// Whether all bounds hold.
    pub fn holds(&self) -> bool {
        let Bounds { count, mean, percentiles } = self.bounds;
        let (found, expected) = (self.found.count as f64, self.expected.count as f64);
        // One request more or less may finish at the very end.
        let counted = (found - expected).abs() <= (count * expected).max(1.0);
        let within = percentiles.is_none_or(|bound| self.worst_percentile().abs() <= bound);
        counted && self.mean_off().abs() <= mean && within
    }
}

/// All checks.
#[derive(Debug)]
pub struct Checks {
    /// Comparisons with `DiskSim`.
    pub sections: Vec<Section>,
    /// Comparisons with sums.
    pub sums: Vec<Sum>,
    /// Comparisons with the rules of `MQSim`.
    pub rates: Vec<ReadRate>,
    /// Comparisons with real drives.
    pub drives: Vec<RealDrive>,
}

impl Checks {
    /// Runs every check.
    pub fn run() -> Self {
        Self {
            sections: vec![
                mechanics::section(),
                policies::section(),
                arrays::section(),
                cache::section(),
            ],
            sums: arithmetic::sums(),
            rates: chips::rates(),
            drives: drives::real_drives(),
        }
    }

    /// Describes the checks that fail.
    pub fn failed(&self) -> Vec<String> {
        let cases = self.sections.iter().flat_map(|section| &section.cases);
        let cases = cases.filter(|case| !case.holds()).map(|case| format!("{case:#?}"));
        let sums = self.sums.iter().filter(|sum| !sum.holds()).map(|sum| format!("{sum:#?}"));
        let rates = self.rates.iter().filter(|rate| !rate.holds()).map(|rate| format!("{rate:#?}"));
        cases.chain(sums).chain(rates).collect()
    }

    /// Returns the path and the text of each file with results.
    pub fn files(&self) -> Vec<(PathBuf, String)> {
        let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs");
        let picture = |drive: &RealDrive| {
            (docs.join(format!("validation/{}.svg", drive.name)), plot::svg(drive))
        };
        let page = (docs.join("validation.md"), page::page(self));
        std::iter::once(page).chain(self.drives.iter().map(picture)).collect()
    }
}
