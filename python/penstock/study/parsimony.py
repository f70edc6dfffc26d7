"""Choice of the terms of a model: from all interactions of two down, one term after another.

At each step the term goes without which the fit loses least, by F, among those that no other term
is made of. Two models of the path are marked: the first in which no such term may go, by F at 5 %,
and the model that best predicts cells which it has not seen. The second needs no assumption about
what is noise: on a simulator, where all terms are significant, look at that one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from penstock.study import model
from penstock.study.coding import Codes, estimable
from penstock.study.fit import BLOCK, EXACT, Fit
from penstock.study.model import Term
from penstock.study.noise import SIGNIFICANT
from penstock.study.table import StudyTable

FOLDS = 10
"""Parts of the cells, each predicted from all others."""

ALIASED = 1e12
"""A condition of the equations from which on some coefficient is as good as unknown."""


class Step(NamedTuple):
    """A model on the way, and the term that goes next."""

    terms: tuple[Term, ...]
    r2: float
    rmse: float | None
    """Prediction error for unseen cells, in the unit of the fit."""
    drops: Term | None
    f: float | None
    p: float | None


@dataclass(frozen=True, kw_only=True)
class Path:
    """Every model on the way down."""

    steps: tuple[Step, ...]
    by_f: int
    """The step at which nothing more may go by F."""
    by_error: int | None
    """The step that predicts best; none if there are too few cells."""

    @property
    def chosen(self) -> tuple[Term, ...]:
        """The model by F, which is the one that is analysed if none is named."""
        return self.steps[self.by_f].terms


def start(table: StudyTable, first: Fit) -> tuple[list[Term], str | None]:
    """The largest model to begin with, and why it is not of all interactions of two.

    `first` is a fit of the same table; its own terms do not matter.
    """
    wanted = model.pairs(table.factors)
    blocks = [(BLOCK,)] if table.blocks else []
    kept: list[Term] = []
    left: list[Term] = []
    for term in wanted:
        x = first.having([*blocks, *kept, term]).x
        whole = all(lower in kept for lower in model.below(term))
        # A model that leaves nothing over cannot be tested.
        if whole and x.shape[1] < x.shape[0] and estimable(x):
            kept.append(term)
        else:
            left.append(term)
    if not left:
        return kept, None
    return kept, (
        f"{model.text(left)} is not in the model: too few runs, or combinations of levels that "
        "were not run"
    )


def path(first: Fit, terms: Sequence[Term]) -> Path:
    """The way from `terms` down to the mean, of the table of `first`."""
    folds = _folds(first)
    steps: list[Step] = []
    by_f: int | None = None
    left = [term for term in terms if term != (BLOCK,)]
    while True:
        fit = first.having(left)
        weakest = _weakest(fit, left)
        steps.append(Step(tuple(left), fit.r2, _rmse(fit, folds), *(weakest or (None, None, None))))
        if by_f is None and (weakest is None or weakest[2] < SIGNIFICANT):
            by_f = len(steps) - 1
        if weakest is None:
            break
        left = [term for term in left if term != weakest[0]]
    errors = [step.rmse for step in steps]
    known = [(error, -at) for at, error in enumerate(errors) if error is not None]
    # Of models that predict alike the smaller.
    by_error = -min(known, key=lambda pair: (round(pair[0], 12), pair[1]))[1] if known else None
    return Path(steps=tuple(steps), by_f=by_f or 0, by_error=by_error)


def _weakest(fit: Fit, terms: Sequence[Term]) -> tuple[Term, float, float] | None:
    """The term without which the fit loses least, with its F and p."""
    from scipy import stats

    losses = []
    exact = fit.rss <= EXACT * fit.tss
    for term in model.droppable(terms):
        where = fit.slices[term]
        beta = fit.beta[where]
        loss = float(beta @ np.linalg.solve(fit.unscaled[where, where], beta))
        if exact:
            # Nothing is left over to compare with: what explains nothing goes first.
            p = 1.0 if loss <= EXACT * fit.tss else 0.0
            losses.append((p, -loss, term, float("inf") if loss else 0.0))
            continue
        f = loss / len(beta) / (fit.rss / fit.df_resid)
        p = float(stats.f.sf(f, len(beta), fit.df_resid))
        losses.append((p, -f, term, f))
    if not losses:
        return None
    p, _, term, f = max(losses, key=lambda entry: (entry[0], entry[1]))
    return term, f, p


def _folds(fit: Fit) -> Codes | None:
    """The fold of each row: whole cells, dealt in turn in an order that follows no factor."""
    cells = len(fit.counts)
    if cells < FOLDS:
        return None
    dealt = np.random.Generator(np.random.PCG64(cells)).permutation(cells) % FOLDS
    return np.asarray(dealt[fit.cell])


def _rmse(fit: Fit, folds: Codes | None) -> float | None:
    """The error of cells that a fit has not seen; none if some fold holds what others lack."""
    if folds is None:
        return None
    total, whole, side = 0.0, fit.x.T @ fit.x, fit.x.T @ fit.y
    for fold in range(FOLDS):
        rows = np.flatnonzero(folds == fold)
        x, y = fit.x[rows], fit.y[rows]
        others = whole - x.T @ x
        if np.linalg.cond(others) > ALIASED:
            return None
        off = y - x @ np.linalg.solve(others, side - x.T @ y)
        total += float(off @ off)
    return float((total / len(fit.y)) ** 0.5)
