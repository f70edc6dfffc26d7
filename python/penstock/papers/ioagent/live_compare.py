"""Two machines in the same cells: how they rank them, what each factor does, which claims hold.

The claims of the paper are about means over all cells. A fraction has not all of them, so the means
are those of the paper's models, fitted to the cells that ran. What such a model does not know is
drawn from its own uncertainty: a claim is certain if it comes out alike in 95 of 100 draws. Noise
alone makes a rate that does not change with a factor fall at some level, in any draw. So a claim
certainly fails only if it fails too where its figures nowhere fall, or nowhere rise, each within
its 95 % interval.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Any

from penstock.experiment.plan import Cell
from penstock.papers.claims import Claim, Numbers
from penstock.papers.ioagent import analyses
from penstock.papers.ioagent.claims import STATEMENTS, claims
from penstock.papers.published import Row
from penstock.study.coding import matrix
from penstock.study.fit import Fit, fit

DRAWS = 100
"""So often a claim is judged from what a fit may as well have been."""

CERTAIN = 0.95
"""In such a part of them a certain claim comes out alike."""

WHY_NOT = {
    "4.1-r2": "the paper's R² is of means of four executions, and cells run once here",
    "4.1-errors": "the paper's errors are of means of four executions, and cells run once here",
    "5.2-size": "cells are chosen for the paper's models, which leave these terms out",
}
"""Claims that cells which are chosen for the paper's models, and run once, do not decide."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """Mean effect of a level of a factor, in per cent of the mean rate."""

    factor: str
    level: Any
    percent: float
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A claim of the paper on one machine."""

    claim: Claim
    certainty: float
    """The part of the draws in which it comes out alike."""
    certain: bool
    """Whether the runs decide it."""


def fitted(pattern: str, rows: Sequence[Row]) -> Fit:
    """The paper's model of a pattern, fitted to its rows; runs of the reference cell show drift."""
    of = analyses.table(pattern, rows)
    return fit(of, analyses.terms(pattern, list(of.factors)))


def effects(model_fit: Fit) -> list[Effect]:
    """Returns the effects of every level of every factor."""
    return [
        Effect(
            factor=one.term[0],
            level=one.levels[0],
            percent=model_fit.percent(one.effect),
            low=None if one.low is None else model_fit.percent(one.low),
            high=None if one.high is None else model_fit.percent(one.high),
        )
        for one in model_fit.effects
        if len(one.term) == 1
    ]


def noise(rates: Sequence[float]) -> float | None:
    """By how much runs of one cell differ: their standard deviation in per cent."""
    if len(rates) < 2:
        return None
    logs = [log(one) for one in rates]
    mean = sum(logs) / len(logs)
    return 100 * (exp(sqrt(sum((one - mean) ** 2 for one in logs) / (len(logs) - 1))) - 1)


def judged(fits: Mapping[str, Fit], cells: Sequence[Cell], seed: int) -> dict[str, Judged]:
    """The claims that the models of the patterns decide, by their names, over all `cells`."""
    import numpy as np

    able = [cell for cell in cells if all(_known(of, cell) for of in fits.values())]
    designs = {
        name: matrix(
            {
                factor: np.array([levels.index(cell[factor]) for cell in able])
                for factor, levels in of.levels.items()
            },
            of.levels,
            of.terms,
        )[0]
        for name, of in fits.items()
    }
    named = {name: [{"pattern": name, **cell} for cell in able] for name in fits}

    def decided(betas: Mapping[str, Any]) -> list[Claim]:
        rated = [
            {**cell, "bw_bytes": rate}
            for name, of in fits.items()
            for cell, rate in zip(
                named[name], np.exp(designs[name] @ betas[name] + of.shift).tolist(), strict=True
            )
        ]
        return claims({"patterns": [], "fits": [], "cells": rated})

    random = np.random.Generator(np.random.PCG64(seed))
    found = decided({name: of.beta for name, of in fits.items()})
    draws = [decided({name: _drawn(of, random) for name, of in fits.items()}) for _ in range(DRAWS)]
    return {one["id"]: _judged(one, [draw[at] for draw in draws]) for at, one in enumerate(found)}


def _judged(claim: Claim, draws: Sequence[Claim]) -> Judged:
    """A claim, with how often it comes out alike in draws of the same."""
    certainty = sum(one["holds"] == claim["holds"] for one in draws) / len(draws)
    certain = certainty >= CERTAIN
    if certain and not claim["holds"]:
        certain = not any(_holds_of(claim, numbers) for numbers in _monotone(claim, draws))
    return Judged(claim=claim, certainty=certainty, certain=certain)


def _monotone(claim: Claim, draws: Sequence[Claim]) -> Iterator[Numbers]:
    """Its figures where none falls, and where none rises, as far as their intervals allow that."""
    import numpy as np

    ends = ((1 - CERTAIN) / 2, (1 + CERTAIN) / 2)
    rising, falling = {}, {}
    for name in claim["numbers"]:
        each = np.array([one["numbers"][name] for one in draws])
        low, high = np.quantile(each, ends, axis=0)
        rising[name] = _rising(low, high)
        falling[name] = _rising(low[::-1], high[::-1])[::-1]
    yield rising
    yield falling


def _rising(low: Any, high: Any) -> list[float]:  # noqa: ANN401 # numpy comes later
    """Figures between bounds that rise from the lowest to the highest, as far as they can."""
    import numpy as np

    found: list[float] = np.minimum(np.maximum.accumulate(low), high).tolist()
    return [*found[:-1], float(high[-1])]


def _holds_of(claim: Claim, numbers: Numbers) -> bool:
    (of,) = (one for one in STATEMENTS if one.id == claim["id"])
    return of.holds(numbers)


def undecided(judged: Mapping[str, Judged]) -> list[tuple[str, str, str]]:
    """The claims that were not judged: name, sentence and why."""
    lacking = "it needs factors, levels or patterns that did not run"
    return [
        (one.id, one.text, WHY_NOT.get(one.id, lacking))
        for one in STATEMENTS
        if one.id not in judged
    ]


def _known(model_fit: Fit, cell: Cell) -> bool:
    """Whether a fit knows all levels of a cell."""
    return all(cell[factor] in levels for factor, levels in model_fit.levels.items())


def _drawn(model_fit: Fit, random: Any) -> Any:  # noqa: ANN401
    """Coefficients that the rows allow as well: as t has them, about those of the fit."""
    import numpy as np

    spread = model_fit.noise
    if spread is None or not spread.variance:
        return model_fit.beta
    scale = np.sqrt(spread.variance * spread.df / random.chisquare(spread.df))
    root = np.linalg.cholesky(model_fit.unscaled)
    return model_fit.beta + scale * (root @ random.standard_normal(len(model_fit.beta)))
