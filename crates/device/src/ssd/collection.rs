//! The cost of random writes in addition to the writes themselves.
//!
//! Flash is erased in blocks and written in pages, so a drive writes elsewhere and collects later:
//! the valid pages of a block are written again, then the block is erased. Assume random writes
//! over the whole drive and greedy collection (the block with the least valid data goes first).
//! Then the valid part `u` of that block satisfies `u = e^(-a(1-u))`, where `a` is flash over
//! capacity, and each page written by the host costs `1/(1-u)` in all.
//!
//! Source: Xiang and Kurkoski, "An Improved Analytical Expression for Write Amplification in NAND
//! Flash", ICNC 2012 (arXiv 1110.4245); Desnoyers, "Analytic Modeling of SSD Write Performance",
//! SYSTOR 2012, has the same result for large blocks.
//!
//! Floating point appears only here, when a drive is built, and only in operations that IEEE 754
//! rounds exactly, so that every machine builds the same drive.

/// The number one in the fixed-point numbers in which the drive counts pages.
pub(super) const ONE: u64 = 1 << 16;

/// The work of collection for each page of random writes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Collection {
    /// The valid part of the block that is collected.
    valid: f64,
}

impl Collection {
    /// Returns greedy collection with spare flash of `over_provisioning` times the capacity.
    pub(super) fn greedy(over_provisioning: f64) -> Self {
        assert!(over_provisioning > 0.0, "without spare flash there is nothing to write to");
        let a = 1.0 + over_provisioning;
        let mut valid = 0.0;
        // Converges from below: 10,000 steps are enough for half a per cent of spare flash.
        for _ in 0..10_000 {
            let next = exp(-a * (1.0 - valid));
            if next <= valid {
                break;
            }
            valid = next;
        }
        Self { valid }
    }

    /// Returns the pages written again for each page of the host, in parts of [`ONE`].
    pub(super) fn rewritten(self) -> u64 {
        (self.valid / (1.0 - self.valid) * ONE as f64).round() as u64
    }

    /// Returns the pages read to fill one that is written again, in parts of [`ONE`]. The rest of
    /// the read pages is no longer valid.
    pub(super) fn reads(self) -> u64 {
        (ONE as f64 / self.valid).round() as u64
    }
}

/// Returns `e^x` for `x` from -2 to 0, by its series, within 1e-15.
fn exp(x: f64) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    for n in 1..=24 {
        term *= x / f64::from(n);
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amplification(over_provisioning: f64) -> f64 {
        1.0 + Collection::greedy(over_provisioning).rewritten() as f64 / ONE as f64
    }

    #[test]
    fn it_is_the_published_figure() {
        // The paper's own example; its simulation gave 2.35.
        assert!((amplification(0.3) - 2.36).abs() < 0.005, "{}", amplification(0.3));
    }

    #[test]
    fn more_spare_flash_costs_less() {
        let all = [0.07, 0.1, 0.28, 0.5, 1.0].map(amplification);
        assert!(all.windows(2).all(|pair| pair[0] > pair[1]), "{all:?}");
        assert!(all[0] > 7.0 && all[4] < 1.3, "{all:?}");
    }
}
