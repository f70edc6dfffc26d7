//! The pause of a closed loop between a completion and the next request.

use penstock_core::{Rng, Span};
use rand_distr::{Distribution, Exp1};

/// How long a closed loop pauses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Think {
    /// Always as long.
    Fixed(Span),
    /// Exponentially distributed, with this mean.
    Exponential(Span),
}

impl Think {
    /// It does not pause.
    pub const NONE: Self = Self::Fixed(Span::ZERO);

    /// Its mean.
    pub const fn mean(self) -> Span {
        match self {
            Self::Fixed(span) | Self::Exponential(span) => span,
        }
    }

    /// A pause.
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
