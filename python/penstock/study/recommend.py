"""Recommended settings: the best level of each factor, the best cells, and the free choices.

The rule, which is printed with the table: levels are not significantly separated (SNS) where
Tukey's HSD on the model's residual does not separate them, or where they differ by less than what
matters (`--matters`, 5 % of the rate). Levels that are as good as the best by either are named with
it, unless a comparison of cells shows that they are worse somewhere; where that is every level, the
factor is SNS. Where cells show that no level is good everywhere, the factor depends on others, and
each combination of their levels has advice of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from penstock.study import model
from penstock.study.coding import coding, estimable
from penstock.study.fit import EXACT, Fit
from penstock.study.noise import SIGNIFICANT, Uncertainty
from penstock.study.simple_effects import SimpleEffects
from penstock.study.table import Level

MATTERS = 5.0
"""Per cent of the rate below which a difference does not matter."""

CONFIGURATIONS = 5
"""Number of the best cells shown."""

Reason = Literal["tukey", "matters", "both"]


class Combination(NamedTuple):
    """Advice for a factor that depends on others, with one combination of their levels."""

    levels: dict[str, Level]
    """The levels of the others."""
    best: tuple[Level, ...]
    """The best level, then those that no comparison shows to be worse."""
    worst: Level
    cost_pct: float
    """Change of the response from the best level to the worst."""
    p: float | None
    """The least p of the comparisons that show a difference; `None` if none does."""


class FactorAdvice(NamedTuple):
    """Advice for a factor."""

    factor: str
    best: tuple[Level, ...]
    """The best level, then those that are as good; of a factor that depends on others, its level in
    the best cell, or in one that is as good and has levels that are better on average."""
    sns: bool
    """Whether it may be anything: neither on average nor in cells does a difference show."""
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
    depends_on: tuple[str, ...] = ()
    """The factors with whose levels other levels are best."""
    combinations: tuple[Combination, ...] = ()
    unclear: bool = False
    """Whether the levels differ by what matters, though no comparison shows where."""

    def at(self, cell: Mapping[str, Level]) -> tuple[Level, ...]:
        """The levels that are advised with those of a cell."""
        for combination in self.combinations:
            if combination.levels.items() <= cell.items():
                return combination.best
        return self.best


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
    known = tuple(name for name in fit.table.factors if (name,) in whole.terms)
    simple = SimpleEffects(fit=whole, factors=known, matters=matters, less=less)
    good = {factor: _good(simple, factor) for factor in known}
    best = _best_cell(simple, {factor: levels for factor, (levels, _) in good.items() if levels})
    return [
        _settled(simple, factor, levels, reason)
        if levels
        else _dependent(simple, factor, best[factor])
        for factor, (levels, reason) in good.items()
    ]


def _good(simple: SimpleEffects, factor: str) -> tuple[list[int], Reason | None]:
    """The levels that are as good as the best on average and worse nowhere, and why they are."""
    fit, where = simple.fit, simple.fit.slices[(factor,)]
    codes = coding(len(fit.levels[factor]))
    means = codes @ fit.beta[where]
    order = np.argsort(means if simple.less else -means, kind="stable")
    best, worse = int(order[0]), simple.worse(factor, {})
    alike = {} if best in worse else {best: None}
    reasons = set[str]()
    for level in order[1:].tolist():
        close = abs(fit.percent(means[best] - means[level])) < simple.matters
        p = _tukey(fit, codes[best] - codes[level], where, len(codes))
        if level not in worse and (close or (p is not None and p >= SIGNIFICANT)):
            alike[level] = None
            reasons.add("matters" if close else "tukey")
    reason: Reason | None = None
    if len(alike) > 1:
        reason = "both" if len(reasons) > 1 else "tukey" if "tukey" in reasons else "matters"
    return list(alike), reason


def _best_cell(simple: SimpleEffects, settled: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """The best cell that has advised levels of all settled factors, else the best of all.

    Among cells as good as that it is the one whose levels are best on average.
    """
    fit = simple.fit
    means = fit.cell_means(fit.without_blocks)
    names = list(fit.table.factors)
    advised = np.ones(len(means), dtype=bool)
    average = np.zeros(len(means))
    for factor in simple.factors:
        codes = fit.cells[:, names.index(factor)]
        advised &= np.isin(codes, settled.get(factor, codes))
        average += (coding(len(fit.levels[factor])) @ fit.beta[fit.slices[(factor,)]])[codes]
    allowed = np.flatnonzero(advised if advised.any() else ~advised)
    sign = 1 if simple.less else -1
    best = means[allowed[np.argmin(sign * means[allowed])]]
    near = [at for at in allowed if not simple.counts(best - means[at]) or means[at] == best]
    chosen = near[int(np.argmin(sign * average[near]))]
    return dict(zip(names, fit.cells[chosen].tolist(), strict=True))


def _settled(
    simple: SimpleEffects, factor: str, good: Sequence[int], reason: Reason | None
) -> FactorAdvice:
    """The advice for a factor of which some levels are good everywhere."""
    every = len(good) == len(simple.fit.levels[factor])
    unclear = every and (simple.differs(factor) or _untested(simple, factor))
    advice = _advice(simple, factor, good)
    return advice._replace(sns=every and not unclear, unclear=unclear, reason=reason)


def _untested(simple: SimpleEffects, factor: str) -> bool:
    """Whether its cells differ by what matters, and nothing tells that from an interaction."""
    fit = simple.fit
    if fit.pure is not None or not simple.counts(simple.largest(factor)):
        return False
    pairs = [term for term in model.pairs(simple.factors) if factor in term and len(term) > 1]
    fits = (fit.having([*fit.terms, pair]) for pair in pairs if pair not in fit.terms)
    return any(larger.df_resid < 1 or not estimable(larger.x) for larger in fits)


def _dependent(simple: SimpleEffects, factor: str, best: int) -> FactorAdvice:
    """The advice for a factor with each combination of those that it depends on."""
    fit, slices = simple.fit, simple.slices[factor]
    levels = fit.levels[factor]
    depends_on = simple.depends_on(factor)
    combinations = []
    for condition in slices.conditions(depends_on):
        means, good = slices.mean(condition), simple.good(factor, condition)
        worst = (max if simple.less else min)(means, key=means.__getitem__)
        shown = [comparison.p for comparison in simple.within(factor, condition)]
        combinations.append(
            Combination(
                levels={name: fit.levels[name][at] for name, at in condition.items()},
                best=tuple(levels[at] for at in good),
                worst=levels[worst],
                cost_pct=fit.percent(means[worst] - means[good[0]]),
                p=min(shown, default=None),
            )
        )
    advice = _advice(simple, factor, [best])
    return advice._replace(depends_on=depends_on, combinations=tuple(combinations))


def _advice(simple: SimpleEffects, factor: str, good: Sequence[int]) -> FactorAdvice:
    """The average effect of the first of some levels over the worst of all others."""
    fit = simple.fit
    levels, where = fit.levels[factor], fit.slices[(factor,)]
    codes = coding(len(levels))
    means = codes @ fit.beta[where]
    best = good[0]
    others = [level for level in range(len(levels)) if level != best]
    worst = (max if simple.less else min)(others, key=means.__getitem__)
    contrast = codes[best] - codes[worst]
    difference = float(contrast @ fit.beta[where])
    half = fit.half_width(contrast, where)
    # Where no run was made twice at a modelled world, what is left over is all there is.
    ends = (None, None) if np.isnan(half) else (difference - half, difference + half)
    known = [fit.percent(end) for end in ends if end is not None]
    low, high = (known[0], known[1]) if known else (None, None)
    named = {levels[level] for level in good}
    at = fit.table.frame[factor].to_list()
    return FactorAdvice(
        factor=factor,
        best=tuple(levels[level] for level in good),
        sns=False,
        reason=None,
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


def combination_means(fit: Fit, names: Sequence[str]) -> dict[tuple[Level, ...], float]:
    """The mean of the cells with each combination of the levels of some factors, as fitted."""
    at = [list(fit.table.factors).index(name) for name in names]
    means = fit.cell_means(fit.without_blocks).tolist()
    of_combination: dict[tuple[Level, ...], list[float]] = {}
    for cell, mean in zip(fit.cells[:, at].tolist(), means, strict=True):
        key = tuple(fit.levels[name][code] for name, code in zip(names, cell, strict=True))
        of_combination.setdefault(key, []).append(mean)
    return {key: sum(part) / len(part) for key, part in of_combination.items()}


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


def cell_uncertainty(fit: Fit, at: int) -> Uncertainty | None:
    """Variance of the mean of a cell; `None` if nothing says what is noise."""
    noise = fit.cell_noise
    return None if noise is None else Uncertainty(noise.variance / fit.counts[at], noise.df)
