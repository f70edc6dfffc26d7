"""The paper's models fitted to our runs, pattern by pattern."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.papers import files
from penstock.papers.ioagent.setting import FACTORS, NAME
from penstock.papers.published import Row
from penstock.study import model, parsimony
from penstock.study.analysis import Analysis, analyse
from penstock.study.fit import Fit, fit
from penstock.study.model import Term
from penstock.study.table import StudyTable, of_frame

OF_SIZE: Sequence[Term] = (("A", "S"), ("B", "S"))
"""What the paper's model of random reads leaves out of the size of buffers."""


def published(pattern: str) -> str:
    """The paper's model of a pattern."""
    models: Mapping[str, str] = files.published(NAME)["models"]
    return models.get(pattern, models["general"])


def terms(pattern: str, factors: Sequence[str]) -> list[Term]:
    """Returns the terms of the paper's model whose factors are all among `factors`."""
    every = model.parse(published(pattern), FACTORS)
    return [term for term in every if set(term) <= set(factors)]


def table(pattern: str, rows: Sequence[Row]) -> StudyTable:
    """The runs of a pattern, with the factors that have several levels."""
    import polars as pl

    frame = pl.DataFrame([row for row in rows if row["pattern"] == pattern])
    several = [name for name in FACTORS if frame[name].n_unique() > 1]
    return of_frame(frame, source=pattern, response="bw_bytes", factors=several)


def analysis(pattern: str, rows: Sequence[Row]) -> Analysis:
    """The paper's model of all runs: those of one cell say what is noise."""
    runs = table(pattern, rows)
    return analyse(runs, terms=terms(pattern, list(runs.factors)))


def explained(pattern: str, cells: Sequence[Row]) -> dict[str, Any]:
    """The part of the variance of the cells' means that the paper's model explains.

    `of_size` is what the size of buffers would add to it, together with agents and with buffers.
    """
    means = table(pattern, cells)
    model_terms = terms(pattern, list(means.factors))
    whole = fit(means, model_terms)
    explanation = {"pattern": pattern, "model": model.text(model_terms), "r2": whole.r2}
    explanation["of_size"] = [
        _added(whole, model_terms, term) for term in OF_SIZE if set(term) <= {*means.factors}
    ]
    return explanation


def chosen(pattern: str, cells: Sequence[Row]) -> dict[str, Any]:
    """The models that the means ask for, from all interactions of two factors down.

    `by_f` is the one in which no term can go, `by_error` the one that predicts unseen cells best.
    """
    empty = fit(table(pattern, cells), [])
    way = parsimony.path(empty, parsimony.start(empty.table, empty)[0])
    by_error = None if way.by_error is None else list(way.steps[way.by_error].terms)
    return {
        "pattern": pattern,
        "by_f": model.text(way.chosen),
        "by_error": None if by_error is None else model.text(by_error),
    }


def _added(model: Fit, terms: Sequence[Term], left_out: Term) -> float:
    """The part that a term explains in a model of the others."""
    kept = [term for term in terms if term != left_out]
    with_it = model if left_out in terms else model.having([*kept, left_out])
    return with_it.r2 - model.having(kept).r2
