"""Which claims of the paper hold on two machines that ran the same cells.

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
from penstock.study.compare import StudyComparison, compare
from penstock.study.fit import Fit

DRAWS = 100
"""Number of draws of the coefficients of a fit from which a claim is judged."""

CERTAIN = 0.95
"""Share of the draws in which a certain claim comes out alike."""

WHY_NOT = {
    "4.1-r2": "the paper's R² is of means of four executions, and cells run once here",
    "4.1-errors": "the paper's errors are of means of four executions, and cells run once here",
    "5.2-size": "cells are chosen for the paper's models, which leave these terms out",
}
"""Claims that cells which are chosen for the paper's models, and run once, do not decide."""


@dataclass(frozen=True, kw_only=True)
class JudgedClaim:
    """A claim of the paper on one machine."""

    claim: Claim
    certainty: float
    """Share of the draws in which it comes out alike."""
    certain: bool
    """Whether the runs decide it."""


def compared(pattern: str, here: Sequence[Row], model: Sequence[Row]) -> StudyComparison:
    """The paper's model of a pattern, fitted to the rows of both machines."""
    first = analyses.table(pattern, here)
    terms = analyses.terms(pattern, list(first.factors))
    return compare(first, analyses.table(pattern, model), terms=terms)


def noise(rates: Sequence[float]) -> float | None:
    """Standard deviation of runs of one cell, in per cent."""
    if len(rates) < 2:
        return None
    logs = [log(rate) for rate in rates]
    mean = sum(logs) / len(logs)
    return 100 * (exp(sqrt(sum((rate - mean) ** 2 for rate in logs) / (len(logs) - 1))) - 1)


def judged(fits: Mapping[str, Fit], cells: Sequence[Cell], seed: int) -> dict[str, JudgedClaim]:
    """The claims that the models of the patterns decide over all `cells`, by name."""
    import numpy as np

    able = [cell for cell in cells if all(_known(fit, cell) for fit in fits.values())]
    designs = {
        name: matrix(
            {
                factor: np.array([levels.index(cell[factor]) for cell in able])
                for factor, levels in fit.levels.items()
            },
            fit.levels,
            fit.terms,
        )[0]
        for name, fit in fits.items()
    }
    named = {name: [{"pattern": name, **cell} for cell in able] for name in fits}

    def decided(betas: Mapping[str, Any]) -> list[Claim]:
        rated = [
            {**cell, "bw_bytes": rate}
            for name, fit in fits.items()
            for cell, rate in zip(
                named[name], np.exp(designs[name] @ betas[name] + fit.shift).tolist(), strict=True
            )
        ]
        return claims({"patterns": [], "fits": [], "cells": rated})

    random = np.random.Generator(np.random.PCG64(seed))
    fitted = decided({name: fit.beta for name, fit in fits.items()})
    draws = [
        decided({name: _drawn(fit, random) for name, fit in fits.items()}) for _ in range(DRAWS)
    ]
    return {
        claim["id"]: _judged(claim, [draw[at] for draw in draws]) for at, claim in enumerate(fitted)
    }


def _judged(claim: Claim, draws: Sequence[Claim]) -> JudgedClaim:
    """A claim, with how often it comes out alike in draws of the same."""
    certainty = sum(draw["holds"] == claim["holds"] for draw in draws) / len(draws)
    certain = certainty >= CERTAIN
    if certain and not claim["holds"]:
        certain = not any(_holds_of(claim, numbers) for numbers in _monotone(claim, draws))
    return JudgedClaim(claim=claim, certainty=certainty, certain=certain)


def _monotone(claim: Claim, draws: Sequence[Claim]) -> Iterator[Numbers]:
    """Yields its figures with none falling, then with none rising, as far as intervals allow."""
    import numpy as np

    ends = ((1 - CERTAIN) / 2, (1 + CERTAIN) / 2)
    rising, falling = {}, {}
    for name in claim["numbers"]:
        drawn = np.array([draw["numbers"][name] for draw in draws])
        low, high = np.quantile(drawn, ends, axis=0)
        rising[name] = _rising(low, high)
        falling[name] = _rising(low[::-1], high[::-1])[::-1]
    yield rising
    yield falling


def _rising(low: Any, high: Any) -> list[float]:  # noqa: ANN401 # numpy comes later
    """Figures between bounds that rise from the lowest to the highest, as far as they can."""
    import numpy as np

    figures: list[float] = np.minimum(np.maximum.accumulate(low), high).tolist()
    return [*figures[:-1], float(high[-1])]


def _holds_of(claim: Claim, numbers: Numbers) -> bool:
    (statement,) = (statement for statement in STATEMENTS if statement.id == claim["id"])
    return statement.holds(numbers)


def undecided(judged: Mapping[str, JudgedClaim]) -> list[tuple[str, str, str]]:
    """The claims that were not judged: name, sentence and why."""
    lacking = "it needs factors, levels or patterns that did not run"
    return [
        (statement.id, statement.text, WHY_NOT.get(statement.id, lacking))
        for statement in STATEMENTS
        if statement.id not in judged
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
