//! Division by a number known beforehand, as a multiplication.

/// A precomputed divisor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Divisor {
    pub(super) by: u64,
    /// 2^64 / by, rounded up.
    inverse: u64,
}

impl Divisor {
    /// Creates a divisor that is exact for every `x` with `x · by < 2^64`: the reciprocal is too
    /// large by less than `by / 2^64`, so the quotient by less than `x · by / 2^64 / by < 1 / by`,
    /// which never carries over.
    pub(super) fn new(by: u64) -> Self {
        debug_assert!(by >= 2, "the reciprocal of 1 does not fit");
        Self { by, inverse: u64::MAX / by + 1 }
    }

    /// Returns remainder and quotient.
    pub(super) const fn split(self, x: u64) -> (u64, u64) {
        let quotient = ((x as u128 * self.inverse as u128) >> 64) as u64;
        (x - quotient * self.by, quotient)
    }
}
