"""Comparison of two studies in the cells that both ran: means, effects, ranks and advice.

A difference is the second study less the first: of the mean of a cell, of an effect, or of the mean
of all cells; with the logarithm it is a ratio. Noise is the variation between repeated runs of a
cell in each study, else the residual of its model. Among many equal cells some seem to differ by
chance, so the p values of all differences together are adjusted by the method of Holm (1979).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, inf
from os.path import realpath
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from penstock.errors import wrong
from penstock.study import folder, parsimony, recommend, table
from penstock.study.difference import FittedValue, Ranks, WelchDifference, holm, ranks, welch
from penstock.study.fit import BLOCK, Effect, Fit, Transform, fit
from penstock.study.model import Term
from penstock.study.noise import SIGNIFICANT, Uncertainty
from penstock.study.recommend import MATTERS, FactorAdvice
from penstock.study.table import Level, StudyTable, less_is_better

ROUNDING = 1e-12
"""Share of the largest mean up to which a difference is rounding, and none."""

CellLevels: TypeAlias = dict[str, Level]
"""A cell: the level of each factor."""


class CellDifference(NamedTuple):
    """A cell in both studies: the means of its runs, as the response has them."""

    levels: CellLevels
    first: float
    second: float
    difference: WelchDifference


class EffectPercent(NamedTuple):
    """An effect in per cent of the mean of all cells, with a 95 % interval."""

    percent: float
    low: float | None
    high: float | None


class EffectDifference(NamedTuple):
    """An effect in both studies."""

    term: Term
    levels: tuple[Level, ...]
    first: EffectPercent
    second: EffectPercent
    difference: WelchDifference


class AdviceDifference(NamedTuple):
    """Advice for a factor in both studies."""

    factor: str
    first: FactorAdvice
    second: FactorAdvice
    agree: bool
    """Whether some level is advised by both in every cell."""

    @property
    def both(self) -> list[Level]:
        """Levels that both recommend."""
        return [level for level in self.first.best if level in self.second.best]


class BestCells(NamedTuple):
    """The best cell of each study."""

    first: CellLevels
    second: CellLevels
    behind_pct: float | None
    """Loss in the second study with the best cell of the first; `None` if its own best is zero."""


@dataclass(frozen=True, kw_only=True)
class StudyComparison:
    """Two studies, reduced to the cells that both ran."""

    names: tuple[str, str]
    where: tuple[str, Level] | None
    """The column and the level to which the rows are reduced."""
    fits: tuple[Fit, Fit]
    """One model, fitted to both."""
    only: tuple[Sequence[CellLevels], Sequence[CellLevels]]
    """Cells that only the first or only the second study ran."""
    matters: float
    """Per cent below which a difference does not matter."""
    less: bool
    """Whether less of the response is better."""

    @property
    def response(self) -> str:
        """The column that is compared."""
        return self.fits[0].table.response

    @property
    def transform(self) -> Transform:
        """The transform of the response before the fit."""
        return self.fits[0].transform

    @property
    def verdict(self) -> Literal["differ", "alike", "undecided"]:
        """Whether something differs, every cell is alike, or neither is sure."""
        if any(difference.differs for difference in self._differences):
            return "differ"
        return "alike" if all(cell.difference.alike for cell in self.cells) else "undecided"

    @property
    def mean(self) -> WelchDifference:
        """Difference of the means of all cells."""
        return self._differences[0]

    @cached_property
    def cells(self) -> list[CellDifference]:
        """Every cell that both ran."""
        differences = self._differences[1 : 1 + len(self._means[0])]
        natural = (
            [study.natural(float(mean) - study.shift) for mean in means]
            for study, means in zip(self.fits, self._means, strict=True)
        )
        return [
            CellDifference(self._levels(at), first, second, difference)
            for at, (first, second, difference) in enumerate(
                zip(*natural, differences, strict=True)
            )
        ]

    @cached_property
    def effects(self) -> list[EffectDifference]:
        """Every effect of the model."""
        differences = self._differences[1 + len(self._means[0]) :]
        return [
            EffectDifference(
                first.term,
                first.levels,
                _effect_percent(self.fits[0], first),
                _effect_percent(self.fits[1], second),
                difference,
            )
            for first, second, difference in zip(
                *map(_effects, self.fits), differences, strict=True
            )
        ]

    @property
    def ranks(self) -> Ranks | None:
        """Rank correlation of the means of the cells."""
        first, second = self._means
        return ranks(first.tolist(), second.tolist())

    @cached_property
    def advice(self) -> list[AdviceDifference]:
        """Recommended levels of each factor for which both studies recommend some."""
        first, second = (
            {
                advice.factor: advice
                for advice in recommend.recommend(study, matters=self.matters, less=self.less)
            }
            for study in self.fits
        )
        cells = [cell.levels for cell in self.cells]
        return [
            AdviceDifference(
                name,
                first[name],
                second[name],
                all({*first[name].at(cell)} & {*second[name].at(cell)} for cell in cells),
            )
            for name in first
            if name in second
        ]

    @property
    def best(self) -> BestCells:
        """The best cell of each; the same one if it is as good in the second study as any."""
        means = [means if self.less else -means for means in self._means]
        first, second = (int(study.argmin()) for study in means)
        if means[1][first] - means[1][second] <= self._rounding:
            second = first
        cells = self.cells
        best = cells[second].second
        behind_pct = 100 * abs(cells[first].second - best) / abs(best) if best else None
        return BestCells(self._levels(first), self._levels(second), behind_pct)

    def shown(self, difference: float | None) -> float | None:
        """A difference as it is, or as a ratio if the logarithm was fitted."""
        if difference is None or self.transform == "none":
            return difference
        return exp(min(difference, 700.0))

    @cached_property
    def _means(self) -> tuple[Any, Any]:
        """The means of the cells in both, as they are fitted."""
        first, second = (
            study.cell_means(study.without_blocks) + study.shift for study in self.fits
        )
        return first, second

    @cached_property
    def _rounding(self) -> float:
        """Largest difference that is rounding."""
        return ROUNDING * float(np.abs(self._means).max())

    @cached_property
    def _differences(self) -> list[WelchDifference]:
        """The differences of the mean, of all cells and of all effects, with adjusted p values."""
        mean = abs(float(self._means[0].mean()))
        scales = [mean, *(abs(float(cell)) for cell in self._means[0])]
        return holm(
            self._judged(
                welch(first, second, self._rounding), scales[at] if at < len(scales) else mean
            )
            for at, (first, second) in enumerate(
                zip(*map(_estimates, self.fits, self._means), strict=True)
            )
        )

    def _judged(self, difference: WelchDifference, scale: float) -> WelchDifference:
        """A difference, with whether it is alike; `scale` is its 100 % without the logarithm."""

        def percent(end: float) -> float:
            if self.transform == "log":
                return self.fits[0].percent(end)
            return 100 * end / scale if scale else inf * end if end else 0.0

        ends = (difference.low, difference.high)
        alike = all(end is not None and abs(percent(end)) <= self.matters for end in ends)
        return difference._replace(alike=alike)

    def _levels(self, at: int) -> CellLevels:
        study = self.fits[0]
        codes = zip(study.table.factors, study.cells[at].tolist(), strict=True)
        return {name: study.levels[name][code] for name, code in codes}


def read(
    first: str,
    second: str,
    *,
    response: str | None = None,
    factors: Sequence[str] = (),
    modelled: Sequence[str] = (),
) -> tuple[StudyTable, StudyTable]:
    """The tables of two studies, with a response that both have.

    Columns of `modelled` are factors too where factors are found.
    """
    if realpath(first) == realpath(second):
        raise wrong(
            f"{first} and {second} are the same study",
            "to see how much two equal studies differ, run this one again with another seed",
        )
    studies = [about for about in (folder.about(Path(path)) for path in (first, second)) if about]
    if len(studies) == 1 and not factors:
        # Only the folder says which columns are factors.
        factors = [factor["name"] for factor in studies[0]["factors"]]
        factors += [name for name in modelled if name not in factors]
    if response is None and studies:
        responses = [about["responses"] for about in studies]
        common = [name for name in responses[0] if all(name in names for names in responses)]
        if not common:
            names = [", ".join(names) for names in responses]
            raise wrong(
                f"{first} measured {names[0]}, and {second} measured {names[1]}: they have no "
                "response in common",
                "compare studies that measured the same",
            )
        response = common[0]
    first_table = table.read(first, response=response, factors=factors, modelled=modelled)
    second_table = table.read(
        second, response=first_table.response, factors=factors, modelled=modelled
    )
    return first_table, second_table


def compare(
    first: StudyTable,
    second: StudyTable,
    *,
    where: tuple[str, Level] | None = None,
    terms: Sequence[Term] | None = None,
    transform: Transform = "log",
    matters: float = MATTERS,
    less: bool | None = None,
) -> StudyComparison:
    """The comparison of two tables in the cells that both have.

    `where` takes only the rows with that level of a column. Without `terms` the model has every
    term that either study needs.
    """
    tables = (first, second) if where is None else (first.only(*where), second.only(*where))
    common, only = _common(*tables)
    if terms is not None:
        # A factor with one level in common has no effect to compare.
        terms = [term for term in terms if all(name in common[0].factors for name in term)]
    return StudyComparison(
        names=(first.source, second.source),
        where=where,
        fits=_fits(*common, terms, transform),
        only=only,
        matters=matters,
        less=less_is_better(first.response) if less is None else less,
    )


def unequal_noise(study: Fit) -> bool:
    """Whether runs of some cells differ more than those of others, by Bartlett's test."""
    from scipy import stats

    if study.own is None or not study.own.any():
        return False
    if not study.own.all():
        return True
    runs = [study.y[study.cell == cell] for cell in range(len(study.counts))]
    return bool(stats.bartlett(*runs).pvalue < SIGNIFICANT)


def _common(
    first: StudyTable, second: StudyTable
) -> tuple[tuple[StudyTable, StudyTable], tuple[list[CellLevels], list[CellLevels]]]:
    """The rows of the cells that both have, and the cells that only one has."""
    import polars as pl

    names = list(dict.fromkeys([*first.factors, *second.factors]))
    _check_columns(first, second, names)
    rows = [study.frame.select(names).rows() for study in (first, second)]
    both = set(rows[0]) & set(rows[1])
    levels = {name: {cell[at] for cell in both} for at, name in enumerate(names)}
    factors = {
        name: [level for level in ordered if level in levels[name]]
        for name, ordered in {**second.factors, **first.factors}.items()
        if len(levels[name]) > 1
    }
    if not factors:
        raise wrong(
            f"{first.source} and {second.source} have {'one' if both else 'no'} cell in common"
            f"{'' if both else _disjoint(names, rows)}",
            "compare studies that ran some of the same cells",
        )
    common = [
        replace(
            study,
            frame=study.frame.filter(pl.Series([cell in both for cell in cells])),
            factors=factors,
        )
        for study, cells in zip((first, second), rows, strict=True)
    ]
    only = [
        [dict(zip(names, cell, strict=True)) for cell in dict.fromkeys(cells) if cell not in both]
        for cells in rows
    ]
    return (common[0], common[1]), (only[0], only[1])


def _check_columns(first: StudyTable, second: StudyTable, names: Sequence[str]) -> None:
    for study, partner in ((first, second), (second, first)):
        missing = [name for name in names if name not in study.frame.columns]
        if missing:
            raise wrong(
                f"{study.source} has no column {missing[0]}, which is a factor of {partner.source}",
                f"both studies need the same factors; those of {study.source} are "
                f"{', '.join(study.factors)}",
            )


def _disjoint(names: Sequence[str], rows: Sequence[Sequence[tuple[Level, ...]]]) -> str:
    """The first factor that has no level in common, with its levels in both."""
    for at, name in enumerate(names):
        first, second = (list(dict.fromkeys(cell[at] for cell in cells)) for cells in rows)
        if not set(first) & set(second):
            levels = [", ".join(map(str, levels)) for levels in (first, second)]
            return f": {name} is {levels[0]} in the first, and {levels[1]} in the second"
    return ""


def _fits(
    first: StudyTable, second: StudyTable, terms: Sequence[Term] | None, transform: Transform
) -> tuple[Fit, Fit]:
    """Fits one model to both: `terms`, or every term that either needs and both can estimate."""
    studies = [fit(study, terms or (), transform=transform) for study in (first, second)]
    if terms is None:
        starts = [parsimony.start(study.table, study)[0] for study in studies]
        allowed = [term for term in starts[0] if term in starts[1]]
        chosen = [term for study in studies for term in parsimony.path(study, allowed).chosen]
        needed = [term for term in allowed if term in chosen]
        studies = [study.having(needed) for study in studies]
    return studies[0], studies[1]


def _estimates(study: Fit, means: Any) -> list[FittedValue]:  # noqa: ANN401 # an array
    """The mean of all cells, the mean of each cell, and the effects of the factors."""
    uncertainties = [recommend.cell_uncertainty(study, at) for at in range(len(means))]
    return [
        FittedValue(float(means.mean()), _of_mean(uncertainties)),
        *map(FittedValue, means.tolist(), uncertainties),
        *(
            FittedValue(effect.effect, study.uncertainty(codes, study.slices[effect.term]))
            for effect, codes in zip(_effects(study), _codes(study), strict=True)
        ),
    ]


def _of_mean(cells: Sequence[Uncertainty | None]) -> Uncertainty | None:
    """Variance of the mean of cells, which all have one source of noise."""
    measured = [cell for cell in cells if cell is not None]
    if not measured:
        return None
    return Uncertainty(sum(cell.variance for cell in measured) / len(measured) ** 2, measured[0].df)


def _effects(study: Fit) -> list[Effect]:
    """The effects of the factors, without those of blocks."""
    return [effect for effect in study.effects if effect.term != (BLOCK,)]


def _codes(study: Fit) -> list[Any]:
    """The contrasts of the effects of the factors, in their order."""
    return [codes for term in study.terms if term != (BLOCK,) for _, codes in study.coded(term)]


def _effect_percent(study: Fit, effect: Effect) -> EffectPercent:
    low, high = (None if end is None else study.percent(end) for end in (effect.low, effect.high))
    return EffectPercent(study.percent(effect.effect), low, high)
