"""`penstock study analyse`: what a table of runs says, and whether to trust it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.answer.value import Answer, Blocks, headline
from penstock.cli.answering import command_line, give
from penstock.cli.options import Dark, Json
from penstock.errors import needs, wrong
from penstock.report.outputs import Outputs

if TYPE_CHECKING:
    from penstock.study.analysis import Analysis
    from penstock.study.fit import Type
    from penstock.study.model import Term
    from penstock.study.table import StudyTable

Data = Annotated[
    str,
    typer.Argument(
        metavar="DIR|FILE",
        help="The folder of a study, or any table of runs as CSV or Parquet.",
        show_default=False,
    ),
]

Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="TERMS",
        help='Factors and interactions, as "O + D + O:D". If not given, all interactions of two, '
        "less what the data do not need.",
    ),
]

Response = Annotated[
    str | None,
    typer.Option(
        "--response",
        metavar="COLUMN",
        help="What is explained. If not given, the column of numbers that hardly repeat, or the "
        "only one of numbers.",
    ),
]

Factors = Annotated[
    list[str] | None,
    typer.Option(
        "--factor",
        metavar="COLUMN",
        help="A column that is a factor. May be given again. If not given, every column with "
        "levels that repeat, except those that number the runs.",
    ),
]

By = Annotated[
    str | None,
    typer.Option("--by", metavar="COLUMN", help="Analyse the rows of each of its levels apart."),
]

Kind = Annotated[
    int,
    typer.Option(
        "--type",
        min=1,
        max=3,
        metavar="1|2|3",
        help="Of the sums of squares of an unbalanced table.",
    ),
]

Matters = Annotated[
    str,
    typer.Option(
        "--matters", metavar="PERCENT", help="A difference below this is as good as none."
    ),
]


class Transforms(StrEnum):
    """The transform of the response before the fit."""

    log = "log"
    none = "none"


Transform = Annotated[
    Transforms,
    typer.Option(
        "--transform",
        help="Fit the logarithm, so that effects are factors, or the response as it is.",
    ),
]


class Betters(StrEnum):
    """Which way the response is better."""

    more = "more"
    less = "less"


Better = Annotated[
    Betters | None,
    typer.Option(
        "--better",
        help="Which way the response is better. If not given, less of a latency or a duration by "
        "its name, more of anything else.",
        show_default=False,
    ),
]

Report = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="FILE.html",
        help="Write a page with the verdict, the tables and the pictures. An earlier report is "
        "replaced, any other file is not.",
    ),
]

Plots = Annotated[
    str | None,
    typer.Option(
        "--plots", metavar="DIR", help="Write the pictures into this folder, each with a title."
    ),
]


def analyse(
    data: Data,
    *,
    model: Model = None,
    response: Response = None,
    factors: Factors = None,
    by: By = None,
    kind: Kind = 2,
    matters: Matters = "5%",
    transform: Transform = Transforms.log,
    better: Better = None,
    report: Report = None,
    plots: Plots = None,
    dark: Dark = False,
    as_json: Json = False,
) -> None:
    """Say what to set, what that brings, and how sure it is, from a table of runs.

    A linear model is fitted whose effects sum to zero. Repeated runs of one cell say what noise is;
    what cells differ from the model by beyond that is lack of fit, and then p values mean little:
    the verdict says so. On a simulator intervals come from repeated runs, never from the residual.
    """
    needs("statsmodels", feature="study analyse")
    from penstock.study.analysis import analyse as analysed
    from penstock.study.report import contents, plain
    from penstock.study.table import read

    outputs = Outputs(
        report=report,
        plots=plots,
        dark=dark,
        command=command_line(),
        options=("report", "plots"),
    )
    outputs.check()
    least = matters_pct(matters)
    named = list(factors or [])
    if by is not None and named and by not in named:
        named.append(by)
    table = read(data, response=response, factors=named, modelled=modelled(model, by))
    if by is not None and by not in table.frame.columns:
        near = ", ".join(table.frame.columns)
        raise wrong(f"{data} has no column {by} for --by", f"its columns are {near}")
    parts: list[tuple[Any, StudyTable]] = [(None, table)]
    if by is not None:
        levels = table.factors.get(by) or sorted(table.frame[by].unique().to_list())
        parts = [(level, table.only(by, level)) for level in levels]
    analyses = []
    every_term = terms_of(model, table, by)
    for level, part in parts:
        terms = every_term
        if terms is not None:
            # A factor with one level here has no effect to look for.
            terms = [term for term in terms if all(name in part.factors for name in term)]
        analyses.append(
            (
                level,
                analysed(
                    part,
                    terms=terms,
                    transform=transform.value,
                    kind=_type(kind),
                    matters=least,
                    less=None if better is None else better is Betters.less,
                ),
            )
        )
    give(
        Answer(
            data=lambda: json.dumps(plain(by, analyses), indent=2),
            blocks=_blocks(analyses),
            files=outputs.write(contents(by, analyses)),
        ),
        as_json=as_json,
    )


def modelled(model: str | None, by: str | None) -> list[str]:
    """The names in `--model`, none of which is that of `--by`."""
    from penstock.study.model import factors_of

    names = factors_of(model or "")
    if by in names:
        raise wrong(f"--model has {by}, whose levels --by takes apart", "leave it out of --model")
    return names


def terms_of(model: str | None, table: "StudyTable", by: str | None) -> "list[Term] | None":
    """The terms of `--model` for a table; `None` if it is not given."""
    from penstock.study.model import parse

    if model is None:
        return None
    known = [factor for factor in table.factors if factor != by]
    return parse(model, known, table.frame.columns)


def matters_pct(text: str) -> float:
    """Returns the per cent of `--matters`."""
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < 100:
        raise wrong(f"found --matters {text}; expected per cent, from 0 to 100", "as --matters 5%")
    return value


def _type(kind: int) -> "Type":
    return 1 if kind == 1 else 2 if kind == 2 else 3


def _blocks(analyses: "Sequence[tuple[Any, Analysis]]") -> Blocks:
    from penstock.study import tables, words

    for _, analysis in analyses:
        world, about = words.title(analysis)
        yield [headline(world, about), *(f"  note: {remark}" for remark in analysis.remarks)]
        yield words.lines(analysis)
        # Headings tell tables apart in a terminal.
        yield from ([replace(table, title="")] for table in tables.all_of(analysis))
