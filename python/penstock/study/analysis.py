"""The analysis of a table: fit, tests, checks, advice, and what of it can be trusted."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import NamedTuple

import numpy as np

from penstock.study import model, parsimony, recommend, remarks
from penstock.study.boxcox import BoxCox, boxcox
from penstock.study.checks import Check, checks
from penstock.study.drift import Drift, drift
from penstock.study.fit import BLOCK, Fit, Transform, Type, VarianceRow, fit
from penstock.study.json_types import AnalysisRow
from penstock.study.model import Term
from penstock.study.parsimony import Path
from penstock.study.recommend import MATTERS, Configuration, FactorAdvice
from penstock.study.table import Level, StudyTable, less_is_better

WORST = 5
"""Number of cells shown, those that the model predicts worst."""

STANDS_OUT = 3.0
"""Runs whose leverage is above this many times the mean stand out."""


class WorstCell(NamedTuple):
    """A cell that the model predicts badly."""

    levels: dict[str, Level]
    mean: float
    predicted: float
    off_pct: float
    """Difference of the runs from the prediction, in per cent."""


class Leverage(NamedTuple):
    """Leverage of single runs: how much each draws the fit to itself."""

    mean: float
    most: float
    runs: tuple[int, ...]
    """Numbers of the runs that stand out."""


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """Analysis of a table: the fit and all that follows from it."""

    fit: Fit
    kind: Type
    chose: Path | None
    """The path that chose the model; none if the model was named."""
    anova: Sequence[VarianceRow]
    checks: Sequence[Check]
    boxcox: BoxCox | None
    advice: Sequence[FactorAdvice]
    configurations: Sequence[Configuration]
    drift: Drift | None
    matters: float
    less: bool
    """Whether less of the response is better."""
    remarks: tuple[str, ...]

    @property
    def given(self) -> bool:
        """Whether the model was named; if not, the path chose it."""
        return self.chose is None

    @property
    def table(self) -> StudyTable:
        """The table that was analysed."""
        return self.fit.table

    @property
    def terms(self) -> list[Term]:
        """Terms of the model without the one of blocks."""
        return [term for term in self.fit.terms if term != (BLOCK,)]

    @cached_property
    def path(self) -> Path:
        """Path from all interactions of two down, made on demand: many runs take seconds."""
        return _way(self.fit)[0] if self.chose is None else self.chose

    @cached_property
    def worst(self) -> list[WorstCell]:
        """The cells that the model predicts worst, the worst first."""
        fit = self.fit
        means, fitted = fit.cell_means(fit.y), fit.cell_means(fit.fitted)
        order = np.argsort(-abs(means - fitted), kind="stable")[:WORST]
        return [
            WorstCell(
                levels={
                    name: fit.levels[name][code]
                    for name, code in zip(fit.table.factors, fit.cells[at].tolist(), strict=True)
                },
                mean=fit.natural(float(means[at])),
                predicted=fit.natural(float(fitted[at])),
                off_pct=fit.percent(float(means[at] - fitted[at])),
            )
            for at in order
        ]

    @cached_property
    def leverage(self) -> Leverage:
        """Mean and largest leverage, and the runs that stand out."""
        leverage = self.fit.leverage
        mean = float(leverage.mean())
        out = np.flatnonzero(leverage > STANDS_OUT * mean)
        runs = self.table.runs
        return Leverage(mean, float(leverage.max()), tuple(runs[run] for run in out))

    def span(self, term: Term) -> float:
        """Range of a term's effects, from the lowest to the highest, in per cent."""
        effects = [effect.effect for effect in self.fit.effects if effect.term == term]
        return self.fit.percent(max(effects) - min(effects))

    def plain(self) -> AnalysisRow:
        """Returns the analysis as a row for JSON."""
        lack, pure, power = self.fit.lack, self.fit.pure, self.boxcox
        return {
            "n": len(self.fit.y),
            "response": self.table.response,
            "model": model.text(self.fit.terms),
            "transform": self.fit.transform,
            "r2": self.fit.r2,
            "r2_adj": self.fit.r2_adj,
            "anova": [
                {
                    "term": row.term,
                    "df": row.df,
                    "sum_sq": row.sum_sq,
                    "mean_sq": row.mean_sq,
                    "f": row.f,
                    "p": row.p,
                    "partial_eta_sq": row.partial_eta_sq,
                }
                for row in self.anova
            ],
            "effects": [
                {
                    "term": model.name(effect.term),
                    "level": ":".join(map(str, effect.levels)),
                    "effect": effect.effect,
                    "low": effect.low,
                    "high": effect.high,
                }
                for effect in self.fit.effects
            ],
            "lack_of_fit": None
            if lack is None or pure is None
            else {
                "f": lack.f if isfinite(lack.f) else None,
                "p": lack.p,
                "pure_error_sd": pure.variance**0.5,
            },
            "checks": [
                {
                    "what": check.what,
                    "test": check.test,
                    "statistic": check.statistic,
                    "p": check.p,
                    "holds": check.holds,
                    "says": check.says,
                }
                for check in self.checks
            ],
            "boxcox": None
            if power is None
            else {"lambda": power.power, "low": power.low, "high": power.high},
            "recommend": [
                {
                    "factor": entry.factor,
                    "best": list(entry.best),
                    "sns": entry.sns,
                    "effect_pct": entry.effect_pct,
                    "low_pct": entry.low_pct,
                    "high_pct": entry.high_pct,
                    "p": entry.p,
                    "runs": list(entry.runs),
                    "unclear": entry.unclear,
                    "depends_on": list(entry.depends_on),
                    "combinations": [
                        {
                            "levels": combination.levels,
                            "best": list(combination.best),
                            "worst": combination.worst,
                            "cost_pct": combination.cost_pct,
                            "p": combination.p,
                        }
                        for combination in entry.combinations
                    ],
                }
                for entry in self.advice
            ],
        }


def analyse(
    table: StudyTable,
    *,
    terms: Sequence[Term] | None = None,
    transform: Transform = "log",
    kind: Type = 2,
    matters: float = MATTERS,
    less: bool | None = None,
) -> Analysis:
    """The analysis of a table.

    Without `terms` the model is the one in which no term can go, from all interactions of two down.
    `less` says whether less of the response is better; if not given, its name decides.
    """
    better = less_is_better(table.response) if less is None else less
    if terms is None:
        first = fit(table, [], transform=transform)
        chose, why = _way(first)
        whole = first.having(chose.chosen)
    else:
        chose, why = None, None
        whole = fit(table, terms, transform=transform)
    return Analysis(
        fit=whole,
        kind=kind,
        chose=chose,
        anova=whole.anova(kind),
        checks=checks(whole),
        boxcox=boxcox(whole),
        advice=recommend.recommend(whole, matters=matters, less=better),
        configurations=recommend.configurations(whole, less=better),
        drift=drift(whole),
        matters=matters,
        less=better,
        remarks=(*table.remarks, *remarks.lines(table.noted), *([] if why is None else [why])),
    )


def _way(first: Fit) -> tuple[Path, str | None]:
    """The path of the table of a fit, and why it does not begin with all interactions of two."""
    largest, why = parsimony.start(first.table, first)
    return parsimony.path(first, largest), why
