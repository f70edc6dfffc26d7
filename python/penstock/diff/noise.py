"""Noise of measured results: the variation of their rounds.

Rounds of the same name are pairs: those of one result with the same seed serve the same requests,
and sessions of one name were measured one after the other. Rounds of different names are compared
by Welch's test. Differences are of logarithms, and so ratios. Of many figures some seem to differ
by chance, so their p values are adjusted by the method of Holm (1979): it needs no assumption on
how figures depend on each other, as the percentiles of a class do.
"""

from collections.abc import Collection, Mapping, Sequence
from math import log
from statistics import fmean, variance
from typing import NamedTuple

from penstock.diff.figures import SESSION, FigureName
from penstock.errors import needs
from penstock.study.difference import FittedValue, WelchDifference, holm_p, welch
from penstock.study.noise import Uncertainty

LEVEL = 0.001
"""Probability that a comparison of equal results finds any change.

It is small because a gate compares often, and because noise also has causes that last longer than
a result, which its own rounds cannot show.
"""

BUCKET = 2**-10
"""Width of a bucket of latencies, as a share of them: a smaller difference is none."""


class FigurePair(NamedTuple):
    """A figure of both sides by round."""

    result: str
    name: FigureName
    first: Mapping[str, float]
    second: Mapping[str, float]
    exact: bool
    """Whether it has no noise."""

    @property
    def paired(self) -> bool:
        """Whether the rounds of both sides belong together."""
        return self.first.keys() == self.second.keys()

    @property
    def sessions(self) -> bool:
        """Whether each round is a session."""
        return all(key.startswith(SESSION) for key in (*self.first, *self.second))

    @property
    def rounds(self) -> tuple[int, int]:
        """Number of rounds of each side."""
        return len(self.first), len(self.second)

    @property
    def logs(self) -> bool:
        """Whether logarithms are compared: no value is zero."""
        return min((*self.first.values(), *self.second.values())) > 0


class _Estimate(NamedTuple):
    """The means that are compared, and the difference up to which there is none."""

    first: FittedValue
    second: FittedValue
    rounding: float


def differences(pairs: Sequence[FigurePair]) -> list[WelchDifference | None]:
    """Return the difference of each figure, `None` without noise, or without rounds to show it.

    The p values are adjusted. Figures that did not change share `LEVEL` between their intervals,
    so an interval leaves out zero just where the figure changed by the method of Holm.
    """
    estimates = {
        at: _estimate(pair)
        for at, pair in enumerate(pairs)
        if not pair.exact and min(pair.rounds) > 1
    }
    if estimates:
        needs("scipy", feature="a comparison of measured results")
    p_values = holm_p([welch(*estimate).p or 0.0 for estimate in estimates.values()])
    level = LEVEL / max(1, sum(p >= LEVEL for p in p_values))
    judged = {
        at: welch(*estimate, level)._replace(p=p)
        for (at, estimate), p in zip(estimates.items(), p_values, strict=True)
    }
    return [judged.get(at) for at in range(len(pairs))]


def _estimate(pair: FigurePair) -> _Estimate:
    rounding = BUCKET if pair.logs else 0.0
    first, second = (
        {key: log(value) if pair.logs else value for key, value in side.items()}
        for side in (pair.first, pair.second)
    )
    if not pair.paired:
        values = first.values(), second.values()
        return _Estimate(_fitted(values[0], rounding), _fitted(values[1], rounding), rounding)
    change = _fitted([second[key] - first[key] for key in first], 2**0.5 * rounding)
    return _Estimate(FittedValue(0.0, Uncertainty(0.0, 1.0)), change, rounding)


def _fitted(values: Collection[float], rounding: float) -> FittedValue:
    """Return the mean of rounds; that values are rounded adds to its variance."""
    spread = variance(values) + rounding**2 / 12
    return FittedValue(fmean(values), Uncertainty(spread / len(values), len(values) - 1))
