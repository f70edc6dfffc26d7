"""Noise of a table of runs: the pure error, the lack of fit, and the variance of estimates."""

from math import sqrt
from typing import Literal, NamedTuple

SIGNIFICANT = 0.05
"""A p below it counts."""


class Noise(NamedTuple):
    """Variance that intervals are computed from."""

    variance: float
    df: int
    source: Literal["residual", "replicates"]


class Uncertainty(NamedTuple):
    """Variance of an estimate, and the degrees of freedom of that."""

    variance: float
    df: float

    @property
    def half_width(self) -> float:
        """Half-width of the 95 % interval."""
        return self.reach(SIGNIFICANT)

    def reach(self, level: float) -> float:
        """Half-width of the interval that misses the estimate with the probability `level`."""
        # Several times faster than scipy.stats, to import and to call.
        from scipy import special

        return -float(special.stdtrit(self.df, level / 2)) * sqrt(self.variance)


class PureError(NamedTuple):
    """Variation between runs of one cell."""

    sum_sq: float
    df: int

    @property
    def variance(self) -> float:
        """Variance of a single run."""
        return self.sum_sq / self.df


class LackOfFit(NamedTuple):
    """Difference between cells and the model, tested against the pure error."""

    sum_sq: float
    df: int
    f: float
    p: float

    @property
    def there(self) -> bool:
        """Whether it is more than noise explains."""
        return self.p < SIGNIFICANT
