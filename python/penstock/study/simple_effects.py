"""Simple effects: the levels of a factor compared within levels of the other factors.

Two levels are compared in every pair of cells that differ in that factor alone and, if there are
three factors or more, in the mean of the cells that share a level of one other factor. The p values
of all comparisons of a table are adjusted by the method of Holm (1979), which holds for any number
of them and whatever they have in common. A test of each factor says whether its levels differ
anywhere, also where no single comparison does.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np

from penstock.study.coding import Codes, Vector
from penstock.study.difference import holm_p
from penstock.study.fit import EXACT, Fit
from penstock.study.noise import SIGNIFICANT

Condition: TypeAlias = dict[str, int]
"""Levels of some factors, by their numbers."""


class LevelComparison(NamedTuple):
    """Two levels of a factor that differ by more than noise, and by what matters."""

    condition: Condition
    better: int
    worse: int
    p: float
    """Adjusted for the number of comparisons."""


@dataclass(frozen=True, kw_only=True)
class Slices:
    """The cells by all factors but one: a row for each combination of the others."""

    factor: str
    others: tuple[str, ...]
    codes: Codes
    """The levels of the other factors, a row a combination."""
    means: Vector
    """The mean at each level of the factor; `nan` where that was not run."""
    weights: Vector
    """The variance of each mean, as a share of the variance of a run."""

    def rows(self, condition: Mapping[str, int]) -> Vector:
        """Which combinations have these levels."""
        chosen = np.ones(len(self.codes), dtype=bool)
        for at, name in enumerate(self.others):
            if name in condition:
                chosen &= self.codes[:, at] == condition[name]
        return chosen

    def conditions(self, names: Sequence[str]) -> list[Condition]:
        """The combinations of levels of some factors with which several levels were run."""
        at = [self.others.index(name) for name in names]
        ran = np.unique(self.codes[:, at], axis=0).tolist()
        every = (dict(zip(names, levels, strict=True)) for levels in ran)
        return [condition for condition in every if len(self.levels(condition)) > 1]

    def levels(self, condition: Mapping[str, int]) -> list[int]:
        """The levels of the factor that were run with these of the others."""
        means = self.means[self.rows(condition)]
        return [level for level in range(means.shape[1]) if not np.isnan(means[:, level]).all()]

    def mean(self, condition: Mapping[str, int]) -> dict[int, float]:
        """The mean of each level over the combinations with these levels of the others."""
        means = self.means[self.rows(condition)]
        known = ~np.isnan(means[:, self.levels(condition)]).any(axis=1)
        # Where some level was not run, levels are compared in all else alike.
        means = means[known] if known.any() else means
        return {level: float(np.nanmean(means[:, level])) for level in self.levels(condition)}

    def differences(self) -> Iterator[tuple[Condition, int, int, float, float]]:
        """Yields the condition, two levels, their difference, and its share of the variance."""
        for first, second in combinations(range(self.means.shape[1]), 2):
            differences = self.means[:, first] - self.means[:, second]
            weights = self.weights[:, first] + self.weights[:, second]
            both = ~np.isnan(differences)
            for at in np.flatnonzero(both).tolist():
                condition = dict(zip(self.others, self.codes[at].tolist(), strict=True))
                yield condition, first, second, float(differences[at]), float(weights[at])
            if len(self.others) < 2:
                continue
            for name in self.others:
                for condition in self.conditions([name]):
                    rows = both & self.rows(condition)
                    count = int(rows.sum())
                    if count > 1:
                        weight = float(weights[rows].sum()) / count**2
                        yield condition, first, second, float(differences[rows].mean()), weight


class FactorSpread(NamedTuple):
    """Whether the levels of a factor differ at all where all other factors are alike."""

    f: float
    p: float
    """Adjusted for the number of factors."""
    difference: float
    """Typical difference of two levels beyond noise, as it is fitted."""


@dataclass(frozen=True, kw_only=True)
class SimpleEffects:
    """The simple effects of some factors of a fit."""

    fit: Fit
    factors: tuple[str, ...]
    matters: float
    less: bool

    @cached_property
    def slices(self) -> dict[str, Slices]:
        """The cells of each factor. Cells that differ in no factor named here are averaged."""
        return {factor: _slices(self.fit, self.factors, factor) for factor in self.factors}

    @cached_property
    def shown(self) -> dict[str, list[LevelComparison]]:
        """The comparisons of each factor that show a difference that matters."""
        every = [
            (factor, difference)
            for factor in self.factors
            for difference in self.slices[factor].differences()
        ]
        values = np.array([difference[3] for _, difference in every])
        weights = np.array([difference[4] for _, difference in every])
        p_values = holm_p(_p_values(self.fit, values, weights).tolist())
        shown: dict[str, list[LevelComparison]] = {factor: [] for factor in self.factors}
        for (factor, (condition, first, second, value, _)), p in zip(every, p_values, strict=True):
            better, worse = (first, second) if (value < 0) == self.less else (second, first)
            if p < SIGNIFICANT and self.counts(value if better == first else -value):
                shown[factor].append(LevelComparison(condition, better, worse, p))
        return shown

    @cached_property
    def spreads(self) -> dict[str, FactorSpread]:
        """The test of each factor."""
        noise = self.fit.cell_noise
        if noise is None:
            return {}
        spreads = {factor: _spread(self.fit, self.slices[factor]) for factor in self.factors}
        adjusted = holm_p([spread.p for spread in spreads.values()])
        return {
            factor: spread._replace(p=p)
            for (factor, spread), p in zip(spreads.items(), adjusted, strict=True)
        }

    def largest(self, factor: str) -> float:
        """The largest difference of two cells that differ in this factor alone."""
        means = self.slices[factor].means
        return float(np.nanmax(np.nanmax(means, axis=1) - np.nanmin(means, axis=1)))

    def counts(self, difference: float) -> bool:
        """Whether a difference of the better level from the worse is large enough to matter."""
        return abs(self.fit.percent(difference)) >= self.matters

    def worse(self, factor: str, condition: Mapping[str, int]) -> set[int]:
        """The levels that some comparison within a condition shows to be worse than another."""
        return {comparison.worse for comparison in self.within(factor, condition)}

    def within(self, factor: str, condition: Mapping[str, int]) -> list[LevelComparison]:
        """The comparisons of a factor's levels that all have these levels of others."""
        return [
            comparison
            for comparison in self.shown[factor]
            if condition.items() <= comparison.condition.items()
        ]

    def differs(self, factor: str) -> bool:
        """Whether the levels differ somewhere by what matters, though nothing may show where."""
        spread = self.spreads.get(factor)
        return (
            spread is not None and spread.p < SIGNIFICANT and self.counts(spread.difference)
        ) or bool(self.shown[factor])

    def depends_on(self, factor: str) -> tuple[str, ...]:
        """The fewest other factors with whose levels some level of this one is always good."""
        slices = self.slices[factor]
        for many in range(1, len(slices.others)):
            for names in combinations(slices.others, many):
                conditions = slices.conditions(names)
                if all(self.good(factor, condition) for condition in conditions):
                    return names
        return slices.others

    def good(self, factor: str, condition: Mapping[str, int]) -> list[int]:
        """The levels that nothing shows to be worse within a condition, the best first."""
        means, worse = self.slices[factor].mean(condition), self.worse(factor, condition)
        ascending = sorted(means, key=lambda level: means[level] if self.less else -means[level])
        return [level for level in ascending if level not in worse]


def _slices(fit: Fit, factors: Sequence[str], factor: str) -> Slices:
    names = list(fit.table.factors)
    others = tuple(name for name in factors if name != factor)
    means, shares = fit.cell_means(fit.without_blocks), 1 / fit.counts
    codes, row = np.unique(
        fit.cells[:, [names.index(name) for name in others]], axis=0, return_inverse=True
    )
    level = fit.cells[:, names.index(factor)]
    shape = (len(codes), len(fit.levels[factor]))
    at = np.ravel_multi_index((np.asarray(row).ravel(), level), shape)
    cells = np.bincount(at, minlength=shape[0] * shape[1])
    with np.errstate(invalid="ignore"):
        mean = np.bincount(at, means, minlength=len(cells)) / cells
        weight = np.bincount(at, shares, minlength=len(cells)) / cells**2
    return Slices(
        factor=factor,
        others=others,
        codes=codes,
        means=mean.reshape(shape),
        weights=weight.reshape(shape),
    )


def _p_values(fit: Fit, differences: Vector, weights: Vector) -> Vector:
    """The p of each difference by Student's t; 0 of any but rounding if there is no noise."""
    from scipy import stats

    noise = fit.cell_noise
    real = differences**2 > EXACT * fit.tss
    if noise is None or not noise.variance:
        return np.where(real, 0.0, 1.0)
    t = np.abs(differences) / np.sqrt(weights * noise.variance)
    return np.where(real, 2 * stats.t.sf(t, noise.df), 1.0)


def _spread(fit: Fit, slices: Slices) -> FactorSpread:
    """The F of all differences within combinations of the other factors, against noise."""
    from scipy import stats

    noise = fit.cell_noise
    assert noise is not None
    with np.errstate(divide="ignore"):
        inverse = np.where(np.isnan(slices.weights), 0.0, 1 / slices.weights)
    means = np.where(inverse > 0, slices.means, 0.0)
    whole = inverse.sum(axis=1, keepdims=True)
    off = means - (inverse * means).sum(axis=1, keepdims=True) / whole
    df = int((inverse > 0).sum() - len(inverse))
    sum_sq = float((inverse * off**2).sum())
    if not df or sum_sq <= EXACT * fit.tss:
        return FactorSpread(0.0, 1.0, 0.0)
    beyond = max(sum_sq / df - noise.variance, 0.0) / float(inverse[inverse > 0].mean())
    difference = float(np.sqrt(2 * beyond))
    if not noise.variance:
        return FactorSpread(float("inf"), 0.0, difference)
    f = sum_sq / df / noise.variance
    return FactorSpread(f, float(stats.f.sf(f, df, noise.df)), difference)
