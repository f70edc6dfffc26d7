"""`penstock study compare`: two studies in the cells that both ran."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.answer.value import Answer, Blocks, headline
from penstock.cli.answering import give
from penstock.cli.options import Json
from penstock.cli.study_analyse import (
    Better,
    Betters,
    Factors,
    Matters,
    Model,
    Response,
    Transform,
    Transforms,
    matters_pct,
    modelled,
    terms_of,
)
from penstock.errors import needs, wrong

if TYPE_CHECKING:
    from penstock.study.compare import StudyComparison
    from penstock.study.table import StudyTable

First = Annotated[
    str,
    typer.Argument(
        metavar="A",
        help="The folder of a study, or any table of runs as CSV or Parquet.",
        show_default=False,
    ),
]

Second = Annotated[
    str,
    typer.Argument(metavar="B", help="A second study, with the same factors.", show_default=False),
]

By = Annotated[
    str | None,
    typer.Option("--by", metavar="COLUMN", help="Compare the rows of each of its levels apart."),
]


def compare(
    first: First,
    second: Second,
    *,
    model: Model = None,
    response: Response = None,
    factors: Factors = None,
    by: By = None,
    matters: Matters = "5%",
    transform: Transform = Transforms.log,
    better: Better = None,
    as_json: Json = False,
) -> None:
    """Say in what two studies differ by more than noise, and whether they recommend the same.

    Cells that both ran are compared, each with the ratio of B to A and its interval; then the
    effects of one model that is fitted to both, the ranks of the cells, and the advice. p values
    are adjusted for the number of all these differences.
    """
    needs("statsmodels", feature="study compare")
    from penstock.study.compare import compare as compared
    from penstock.study.compare import read

    percent = matters_pct(matters)
    columns = list(factors or [])
    if by is not None and columns and by not in columns:
        columns.append(by)
    names_of_model = modelled(model, by)
    tables = read(first, second, response=response, factors=columns, modelled=names_of_model)
    terms = terms_of(model, tables[0], by)
    levels = [None] if by is None else _levels(tables, by)
    comparisons = [
        compared(
            *tables,
            where=None if by is None else (by, level),
            terms=terms,
            transform=transform.value,
            matters=percent,
            less=None if better is None else better is Betters.less,
        )
        for level in levels
    ]
    only = ([], []) if by is None else _only(tables, by)
    names = [table.source for table in tables]
    give(
        Answer(
            data=lambda: json.dumps(_plain(by, levels, comparisons, only), indent=2),
            blocks=_blocks(comparisons),
            notes=[
                f"left out: {by} = {', '.join(map(str, apart))}, which only {name} has"
                for name, apart in zip(names, only, strict=True)
                if apart
            ],
        ),
        as_json=as_json,
    )


def _levels(tables: "Sequence[StudyTable]", by: str) -> list[Any]:
    """The levels of a column that both have."""
    for table in tables:
        if by not in table.frame.columns:
            columns = ", ".join(table.frame.columns)
            raise wrong(f"{table.source} has no column {by} for --by", f"its columns are {columns}")
    first, second = (table.frame[by].unique().to_list() for table in tables)
    ordered = tables[0].factors.get(by) or sorted(first)
    common = [level for level in ordered if level in second]
    if not common:
        raise wrong(
            f"no level of {by} is in both {tables[0].source} and {tables[1].source}",
            "compare studies that ran some of the same cells",
        )
    return common


def _only(tables: "tuple[StudyTable, StudyTable]", by: str) -> tuple[list[Any], list[Any]]:
    """The levels of a column that only the first, and that only the second study has."""
    first, second = (table.frame[by].unique(maintain_order=True).to_list() for table in tables)
    return (
        [level for level in first if level not in second],
        [level for level in second if level not in first],
    )


def _plain(
    by: str | None,
    levels: Sequence[Any],
    comparisons: "Sequence[StudyComparison]",
    only: tuple[list[Any], list[Any]],
) -> dict[str, Any]:
    from penstock.study.compare_words import plain

    rows = [plain(comparison) for comparison in comparisons]
    if by is None:
        return rows[0]
    return {
        "by": by,
        "levels": [
            {"level": level, "comparison": row} for level, row in zip(levels, rows, strict=True)
        ],
        "only_first": only[0],
        "only_second": only[1],
    }


def _blocks(comparisons: "Sequence[StudyComparison]") -> Blocks:
    from penstock.study import compare_words as words

    for comparison in comparisons:
        notes = (f"  note: {note}" for note in words.notes(comparison))
        yield [headline(comparison.verdict, words.title(comparison)), *notes]
        yield list(words.lines(comparison))
        yield from ([table] for table in words.tables(comparison))
