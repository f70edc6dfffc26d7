"""Drift of a target while a study ran, estimated by runs of one reference cell, or by its blocks.

A reference cell is run again every so many runs: what it gives later and earlier differs by drift
and noise alone. Blocks hold every cell once, so their means differ by drift and noise too. Blocks
are a term of the model, which takes their differences out of all others; runs of the reference cell
only show the drift.
"""

from typing import Literal, NamedTuple

import numpy as np

from penstock.study.fit import BLOCK, Fit
from penstock.study.noise import SIGNIFICANT

FEWEST = 3
"""Runs of the reference cell from which a line has an interval."""


class Drift(NamedTuple):
    """The change of the response over the whole study, in per cent, with a 95 % interval."""

    by: Literal["reference", "blocks"]
    runs: int
    """Runs of the reference cell, or blocks."""
    percent: float
    low: float
    high: float

    @property
    def seen(self) -> bool:
        """Whether it is more than noise."""
        return not self.low <= 0 <= self.high


def drift(fit: Fit) -> Drift | None:
    """Returns the drift by the reference cell if it ran often enough, else by blocks, if any."""
    return _by_reference(fit) or _by_blocks(fit)


def _by_reference(fit: Fit) -> Drift | None:
    from scipy import stats

    rows = fit.table.references
    if rows.height < FEWEST or "order" not in rows.columns:
        return None
    at = rows["order"].cast(float).to_numpy()
    values = rows[fit.table.response].cast(float).to_numpy()
    if fit.transform == "log":
        if values.min() <= 0:
            return None
        values = np.log(values)
    from statsmodels.regression.linear_model import OLS

    orders = fit.table.frame["order"].cast(float).to_numpy() if fit.table.ordered else at
    span = max(at.max(), orders.max()) - min(at.min(), orders.min())
    x = np.stack([np.ones(len(at)), (at - at.mean()) / span], axis=1)
    line = OLS(values - values[0], x).fit()
    reach = float(stats.t.ppf(1 - SIGNIFICANT / 2, line.df_resid)) * float(line.bse[1])
    slope = float(line.params[1])
    ends = [fit.percent(slope_ns) for slope_ns in (slope, slope - reach, slope + reach)]
    return Drift("reference", rows.height, *ends)


def _by_blocks(fit: Fit) -> Drift | None:
    if (BLOCK,) not in fit.terms:
        return None
    where = fit.slices[(BLOCK,)]
    every = fit.coded((BLOCK,))
    contrast = every[-1][1] - every[0][1]
    difference = float(contrast @ fit.beta[where])
    half = fit.half_width(contrast, where)
    if np.isnan(half):
        return None
    ends = [fit.percent(value) for value in (difference, difference - half, difference + half)]
    return Drift("blocks", len(every), *ends)
