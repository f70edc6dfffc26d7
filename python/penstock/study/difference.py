"""Differences of two estimates: intervals by Welch, p values by Holm, and rank correlations."""

from collections.abc import Iterable, Sequence
from math import atanh, sqrt, tanh
from typing import NamedTuple

from penstock.study.noise import SIGNIFICANT, Uncertainty

NORMAL = 1.959963984540054
"""Standard errors that a 95 % interval reaches to each side."""

FEWEST = 4
"""Cells from which a rank correlation has an interval."""


class Ranks(NamedTuple):
    """Spearman's rank correlation, with a 95 % interval."""

    rho: float
    low: float
    high: float
    p: float


class FittedValue(NamedTuple):
    """A value that was estimated from runs."""

    value: float
    uncertainty: Uncertainty | None
    """`None` if nothing says what is noise."""


class WelchDifference(NamedTuple):
    """Difference of two estimates, as they are fitted, with an interval."""

    value: float
    low: float | None
    high: float | None
    p: float | None
    """`None` if nothing says what is noise."""
    alike: bool = False
    """Whether the interval holds only differences that do not matter."""

    @property
    def differs(self) -> bool:
        """Whether the difference is more than noise, and not surely too small to matter."""
        return self.p is not None and self.p < SIGNIFICANT and not self.alike


def welch(
    first: FittedValue, second: FittedValue, rounding: float, level: float = SIGNIFICANT
) -> WelchDifference:
    """The second value less the first, by Welch's test; up to `rounding` that is no difference.

    Variances add up; the degrees of freedom are those of Welch (1947). The interval misses the
    difference with the probability `level`.
    """
    from scipy import special

    value = second.value - first.value
    if abs(value) <= rounding:
        value = 0.0
    if first.uncertainty is None or second.uncertainty is None:
        return WelchDifference(value, None, None, None)
    uncertainties = (first.uncertainty, second.uncertainty)
    variance = sum(uncertainty.variance for uncertainty in uncertainties)
    if not variance:
        return WelchDifference(value, value, value, 0.0 if value else 1.0)
    parts = sum(uncertainty.variance**2 / uncertainty.df for uncertainty in uncertainties)
    whole = Uncertainty(variance, variance**2 / parts)
    p = 2 * float(special.stdtr(whole.df, -abs(value) / sqrt(variance)))
    reach = whole.reach(level)
    return WelchDifference(value, value - reach, value + reach, p)


def holm(differences: Iterable[WelchDifference]) -> list[WelchDifference]:
    """The differences with p values adjusted for their number, by the method of Holm (1979)."""
    every = list(differences)
    adjusted = iter(holm_p([difference.p for difference in every if difference.p is not None]))
    return [
        difference if difference.p is None else difference._replace(p=next(adjusted))
        for difference in every
    ]


def holm_p(p_values: Sequence[float]) -> list[float]:
    """The p values adjusted for their number, by the method of Holm (1979)."""
    adjusted, largest = list(p_values), 0.0
    ascending = sorted(range(len(adjusted)), key=adjusted.__getitem__)
    for smaller, at in enumerate(ascending):
        largest = max(largest, min(1.0, p_values[at] * (len(ascending) - smaller)))
        adjusted[at] = largest
    return adjusted


def ranks(first: Sequence[float], second: Sequence[float]) -> Ranks | None:
    """Rank correlation of the same cells; `None` for too few cells, or if all of a side are equal.

    The interval is Fisher's, with the standard error of Bonett and Wright (2000).
    """
    from scipy import stats

    if len(first) < FEWEST or min(first) == max(first) or min(second) == max(second):
        return None
    result = stats.spearmanr(first, second)
    rho, p = float(result.statistic), float(result.pvalue)
    if abs(rho) >= 1:
        return Ranks(rho, rho, rho, p)
    reach = NORMAL * sqrt((1 + rho * rho / 2) / (len(first) - 3))
    return Ranks(rho, tanh(atanh(rho) - reach), tanh(atanh(rho) + reach), p)
