"""The tables of an analysis, in the order in which they are read."""

from collections.abc import Iterable, Iterator, Sequence

from penstock.answer.table import Table
from penstock.study import advice_words, words
from penstock.study.analysis import Analysis


def all_of(analysis: Analysis) -> Iterator[Table]:
    """Every table of an analysis."""
    rows = advice_words.advice(analysis)
    yield _table("advice", "Each factor", advice_words.ADVICE, rows, advice_words.rule(analysis))
    combined, remarks = advice_words.combinations(analysis)
    if combined:
        title = "Factors that depend on others"
        yield _table("combinations", title, advice_words.COMBINATIONS, combined, remarks)
    note = (
        "Means of the runs of one cell. Among many cells the best is partly so by chance: run it "
        "again to know."
    )
    yield _table("cells", "The best cells", *words.configurations(analysis), [note])
    yield _table("costs", "Away from the best cell", words.COSTS, words.costs(analysis))
    mark = (
        [f"{advice_words.AGAINST} against what the model lacks, not against noise."]
        if analysis.fit.misleading
        else []
    )
    notes = [*mark, *words.fit_lines(analysis)]
    yield _table("anova", "Analysis of variance", words.ANOVA, words.anova(analysis), notes)
    yield _table("effects", "Effects", words.EFFECTS, words.effects(analysis))
    yield _table("checks", "Checks of the residuals", words.CHECKS, words.checks(analysis))
    yield _table("worst", "Cells that the model predicts worst", *words.worst(analysis))
    path_notes = list(words.path_lines(analysis))
    yield _table("path", "Which terms are needed", words.PATH, words.path(analysis), path_notes)


def _table(
    name: str,
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    notes: Sequence[str] = (),
) -> Table:
    return Table(headings, list(rows), name=name, title=title, notes=notes)
