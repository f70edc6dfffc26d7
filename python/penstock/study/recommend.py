"""Recommended settings: the best level of each factor, the best cells, and the free choices.

The rule, which is printed with the table: levels are not significantly separated (SNS) where
Tukey's HSD on the model's residual does not separate them, or where they differ by less than what
matters (`--matters`, 5 % of the rate). Levels that are as good as the best by either are named with
it; where that is every level, the factor is SNS.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from penstock.study import model
from penstock.study.coding import coding, estimable
from penstock.study.fit import EXACT, Fit
from penstock.study.noise import SIGNIFICANT, Noise, Uncertainty
from penstock.study.table import Level

MATTERS = 5.0
"""Per cent of the rate below which a difference does not matter."""

CONFIGURATIONS = 5
"""Number of the best cells shown."""

Reason = Literal["tukey", "matters", "both"]


class FactorAdvice(NamedTuple):
    """Advice for a factor."""

    factor: str
    best: tuple[Level, ...]
    """The best level, then those that are as good."""
    sns: bool
    reason: Reason | None
    """Why levels are as good as the best; none if no other is."""
    worst: Level
    effect_pct: float
    """Gain in the response from the worst level to the best, on average over all other factors."""
    low_pct: float | None
    high_pct: float | None
    p: float | None
    """p-value by Tukey's HSD; `None` if the model leaves nothing over."""
    runs: tuple[int, ...]
    """The runs at the levels of `best`."""
    means: tuple[tuple[Level, float], ...]
    """The mean at each level over all cells, as the response has it."""


class Cost(NamedTuple):
    """Cost of another level of one factor, with all other factors unchanged."""

    factor: str
    level: Level
    """The level that costs least."""
    least_pct: float
    worst: Level
    most_pct: float


class Configuration(NamedTuple):
    """A cell, with the mean of its runs and a 95 % interval."""

    levels: dict[str, Level]
    mean: float
    low: float | None
    high: float | None
    runs: tuple[int, ...]
    costs: tuple[Cost, ...]


def recommend(fit: Fit, *, matters: float = MATTERS, less: bool = False) -> list[FactorAdvice]:
    """Each factor's advice. `less` is better of a latency.

    A factor that the model does not have is added to it, and has no advice if it cannot be
    separated from the others. Nor has a nested one, whose levels are others in each cell.
    """
    whole = fit
    nested = model.nested(fit.terms)
    for factor in fit.table.factors:
        if (factor,) not in whole.terms and factor not in nested:
            more = whole.having(sorted([*whole.terms, (factor,)], key=len))
            whole = more if estimable(more.x) else whole
    known = [name for name in fit.table.factors if (name,) in whole.terms]
    return [_advice(whole, level, matters, less) for level in known]


def _advice(fit: Fit, factor: str, matters: float, less: bool) -> FactorAdvice:
    levels, where = fit.levels[factor], fit.slices[(factor,)]
    codes = coding(len(levels))
    means = codes @ fit.beta[where]
    order = np.argsort(means if less else -means, kind="stable")
    best, worst = int(order[0]), int(order[-1])
    alike, reasons = [best], set[str]()
    for level in order[1:]:
        close = abs(fit.percent(means[best] - means[level])) < matters
        p = _tukey(fit, codes[best] - codes[level], where, len(levels))
        if close or (p is not None and p >= SIGNIFICANT):
            alike.append(int(level))
            reasons.add("matters" if close else "tukey")
    contrast = codes[best] - codes[worst]
    difference = float(contrast @ fit.beta[where])
    half = fit.half_width(contrast, where)
    # Where no run was made twice at a modelled world, what is left over is all there is.
    ends = (None, None) if np.isnan(half) else (difference - half, difference + half)
    known = [fit.percent(end) for end in ends if end is not None]
    low, high = (known[0], known[1]) if known else (None, None)
    named = {levels[level] for level in alike}
    at = fit.table.frame[factor].to_list()
    reason: Reason | None = None
    if reasons:
        reason = "both" if len(reasons) > 1 else "tukey" if "tukey" in reasons else "matters"
    return FactorAdvice(
        factor=factor,
        best=tuple(levels[level] for level in alike),
        sns=len(alike) == len(levels),
        reason=reason,
        worst=levels[worst],
        effect_pct=fit.percent(difference),
        low_pct=low,
        high_pct=high,
        p=_tukey(fit, contrast, where, len(levels)),
        runs=tuple(run for run, level in zip(fit.table.runs, at, strict=True) if level in named),
        means=tuple(
            (level, fit.natural(float(fit.beta[0] + mean)))
            for level, mean in zip(levels, means, strict=True)
        ),
    )


def _tukey(fit: Fit, contrast: np.ndarray, where: slice, levels: int) -> float | None:
    """The p of a difference among so many levels, as Tukey and Kramer have it."""
    from scipy import stats

    noise = fit.residual
    if noise is None:
        return None
    difference = abs(float(contrast @ fit.beta[where]))
    if fit.rss <= EXACT * fit.tss:
        return 0.0 if difference > 1e-12 else 1.0
    variance = float(contrast @ fit.unscaled[where, where] @ contrast) * noise.variance
    p = float(stats.studentized_range.sf(difference / (variance / 2) ** 0.5, levels, noise.df))
    return min(max(p, 0.0), 1.0)


def configurations(
    fit: Fit, *, less: bool = False, most: int = CONFIGURATIONS
) -> list[Configuration]:
    """The best cells that were run, the best first."""
    means = fit.cell_means(fit.without_blocks)
    order = np.argsort(means if less else -means, kind="stable")[:most]
    where = {tuple(map(int, codes)): at for at, codes in enumerate(fit.cells)}
    return [_configuration(fit, int(at), means, where, less) for at in order]


def _configuration(
    fit: Fit,
    at: int,
    means: np.ndarray,
    where: dict[tuple[int, ...], int],
    less: bool,
) -> Configuration:
    factors = list(fit.table.factors)
    codes = tuple(map(int, fit.cells[at]))
    mean = float(means[at])
    uncertainty = cell_uncertainty(fit, at)
    half = None if uncertainty is None else uncertainty.half_width
    low, high = (None, None) if half is None else (mean - half, mean + half)
    runs = [run for run, cell in zip(fit.table.runs, fit.cell.tolist(), strict=True) if cell == at]
    costs = []
    for place, factor in enumerate(factors):
        neighbours = list(_neighbours(fit, codes, place, means, where))
        if neighbours:
            neighbours.sort(key=lambda neighbour: neighbour[0] if less else -neighbour[0])
            (near, level), (far, worst) = neighbours[0], neighbours[-1]
            costs.append(
                Cost(factor, level, fit.percent(near - mean), worst, fit.percent(far - mean))
            )
    return Configuration(
        levels={name: fit.levels[name][code] for name, code in zip(factors, codes, strict=True)},
        mean=fit.natural(mean),
        low=None if low is None else fit.natural(low),
        high=None if high is None else fit.natural(high),
        runs=tuple(runs),
        costs=tuple(costs),
    )


def _neighbours(
    fit: Fit,
    codes: tuple[int, ...],
    place: int,
    means: np.ndarray,
    where: dict[tuple[int, ...], int],
) -> Iterator[tuple[float, Level]]:
    """The mean at each other level of one factor, of the cells that were run."""
    factor = list(fit.table.factors)[place]
    for number, level in enumerate(fit.levels[factor]):
        at = where.get((*codes[:place], number, *codes[place + 1 :]))
        if number != codes[place] and at is not None:
            yield float(means[at]), level


def cell_noise(fit: Fit) -> Noise | None:
    """Variance of a run of a cell: from repeated runs of all cells, else from the residual."""
    if fit.pure is not None:
        return Noise(fit.pure.variance, fit.pure.df, "replicates")
    return fit.residual


def cell_uncertainty(fit: Fit, at: int) -> Uncertainty | None:
    """Variance of the mean of a cell; `None` if nothing says what is noise."""
    noise = cell_noise(fit)
    return None if noise is None else Uncertainty(noise.variance / fit.counts[at], noise.df)
