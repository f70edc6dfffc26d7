"""The tables of an analysis, in the order in which they are read."""

from collections.abc import Iterator
from typing import NamedTuple

from penstock.study import words
from penstock.study.analysis import Analysis


class Shown(NamedTuple):
    """A table, and what is said below it."""

    name: str
    title: str
    headings: list[str]
    rows: list[list[str]]
    notes: list[str]


def all_of(of: Analysis) -> Iterator[Shown]:
    """Every table of an analysis."""
    yield Shown("advice", "Each factor", words.ADVICE, list(words.advice(of)), [words.rule(of)])
    headings, rows = words.configurations(of)
    note = (
        "Means of the runs of one cell. Among many cells the best is partly so by chance: run it "
        "again to know."
    )
    yield Shown("cells", "The best cells", headings, rows, [note])
    yield Shown("costs", "Away from the best cell", words.COSTS, list(words.costs(of)), [])
    mark = (
        [f"{words.AGAINST} against what the model lacks, not against noise."]
        if of.fit.misleading
        else []
    )
    yield Shown(
        "anova",
        "Analysis of variance",
        words.ANOVA,
        list(words.anova(of)),
        [*mark, *words.fit_lines(of)],
    )
    yield Shown("effects", "Effects", words.EFFECTS, list(words.effects(of)), [])
    yield Shown("checks", "Checks of the residuals", words.CHECKS, list(words.checks(of)), [])
    headings, rows = words.worst(of)
    yield Shown("worst", "Cells that the model predicts worst", headings, rows, [])
    yield Shown(
        "path",
        "Which terms are needed",
        words.PATH,
        list(words.path(of)),
        list(words.path_lines(of)),
    )
