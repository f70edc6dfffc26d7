//! The pause of a closed loop between a completion and the next request.

use penstock_core::{Rng, Span};
use rand_distr::{Distribution, Exp1};

/// The think time of a closed loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Think {
    /// Always this long.
    Fixed(Span),
    /// Exponentially distributed with this mean.
    Exponential(Span),
}

impl Think {
    /// No think time.
    pub const NONE: Self = Self::Fixed(Span::ZERO);

    /// The mean.
    pub const fn mean(self) -> Span {
        match self {
            Self::Fixed(span) | Self::Exponential(span) => span,
        }
    }

    /// Draws a think time.
    pub(super) fn draw(self, rng: &mut Rng) -> Span {
        match self {
            Self::Fixed(span) => span,
            Self::Exponential(mean) => {
                let factor: f64 = Exp1.sample(rng);
                Span::from_ns((mean.ns() as f64 * factor).round() as u64)
            }
        }
    }
}
