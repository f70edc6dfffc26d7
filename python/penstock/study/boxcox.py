"""The power of the response that a model fits best (Box and Cox 1964, J. R. Stat. Soc. B 26).

A power of 1 is the response as it is, 0 its logarithm. The interval holds every power whose
likelihood is within what chance may cost the right one.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from penstock.study.fit import EXACT, Fit
from penstock.study.noise import SIGNIFICANT

FARTHEST = 5.0
"""No power beyond it is looked for."""


class BoxCox(NamedTuple):
    """The power, with its 95 % interval; an end is none if it lies beyond what was looked for."""

    power: float
    low: float | None
    high: float | None

    def has(self, power: float) -> bool:
        """Whether a power is in the interval."""
        low = -FARTHEST if self.low is None else self.low
        high = FARTHEST if self.high is None else self.high
        return low <= power <= high


def boxcox(fit: Fit) -> BoxCox | None:
    """The power for the terms of a fit; none if values are not positive or nothing is left over."""
    from scipy import optimize, stats

    values = fit.table.frame[fit.table.response].cast(float).to_numpy()
    if values.min() <= 0 or fit.df_resid < 1 or fit.rss <= EXACT * fit.tss:
        return None
    logs = np.log(values) - np.log(values).mean()
    q, _ = np.linalg.qr(fit.x)

    def cost(power: float) -> float:
        """Minus the logarithm of the likelihood, but for a constant."""
        # Of the response over its geometric mean, so that powers can be compared.
        scaled = logs if abs(power) < 1e-8 else np.expm1(power * logs) / power
        scaled = scaled - scaled.mean()
        off = scaled - q @ (q.T @ scaled)
        return float(len(scaled) / 2 * np.log(max(float(off @ off), 1e-300)))

    grid = np.linspace(-FARTHEST, FARTHEST, 81)
    costs = [cost(float(power)) for power in grid]
    at = int(np.argmin(costs))
    bounds = (float(grid[max(at - 1, 0)]), float(grid[min(at + 1, len(grid) - 1)]))
    best = float(optimize.minimize_scalar(cost, bounds=bounds, method="bounded").x)
    allowed = cost(best) + float(stats.chi2.ppf(1 - SIGNIFICANT, 1)) / 2
    return BoxCox(best, _end(cost, best, -FARTHEST, allowed), _end(cost, best, FARTHEST, allowed))


def _end(cost: Callable[[float], float], best: float, far: float, allowed: float) -> float | None:
    from scipy import optimize

    if cost(far) <= allowed:
        return None
    return float(optimize.brentq(lambda power: cost(power) - allowed, best, far))
