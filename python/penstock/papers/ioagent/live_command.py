"""`penstock paper ioagent live`: a fraction of the study on this machine, next to the model."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock import __version__
from penstock.answer.value import Answer, Blocks, Line, headline
from penstock.cli.answering import answer
from penstock.cli.options import Json
from penstock.cli.progress import Progress
from penstock.cli.study_options import budget_s
from penstock.papers.ioagent import setting
from penstock.report.files import check_new

if TYPE_CHECKING:
    from penstock.papers.ioagent.live_results import MachineStudy

On = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="DIR",
        help="A folder on the disk to measure. Files are made in it, and removed again.",
        show_default=False,
    ),
]

Budget = Annotated[
    str,
    typer.Option("--budget", metavar="TIME", help="How long all of it may take, as 10min."),
]

Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help=f"Take fewer levels, as A=1,8,32. Keys: {', '.join(setting.LIVE_KEYS)}.",
    ),
]

Data = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Write every run into a new folder, as a study: `penstock study analyse` reads it.",
    ),
]


def run(
    *,
    on: On,
    budget: Budget = "10min",
    sets: Sets = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Run a fraction of the study on this machine, and compare it with the model.

    A pilot measures what runs take. As many cells run as the budget allows, those that are best for
    the paper's models. The same cells are simulated; the comparison has the ranks of the cells, the
    effects of all factors, and which of the paper's claims hold on both.
    """
    arguments = setting.live(sets or [])
    length = budget_s(budget)
    if data is not None:
        check_new(Path(data))
    from penstock.papers.ioagent import live

    def measured(progress: Progress) -> Answer:
        result = live.ioagent_live(on, length, arguments, data=data, progress=progress)
        return Answer(data=lambda: _json(result, arguments), blocks=_blocks(result))

    kept = "" if data is None else f": what is recorded is in {data}"
    answer(measured, as_json=as_json, interrupted=f"interrupted{kept}")


def _json(live: "MachineStudy", arguments: Mapping[str, str]) -> str:
    from penstock.papers.ioagent import live_json

    plain = {"penstock": __version__, "set": arguments, **live_json.plain(live)}
    return json.dumps(plain, indent=2, ensure_ascii=False)


def _blocks(live: "MachineStudy") -> Blocks:
    from penstock.papers.ioagent import live_table

    details = (f"  {line}" for line in live_table.details(live))
    yield [headline(live_table.verdict(live), live_table.answer(live)), *details]
    tables = (
        ("Ranks of the cells", live_table.patterns(live)),
        ("Main effects", live_table.effects(live)),
        ("Claims", live_table.claims(live)),
    )
    yield from ([replace(table, title=title)] for title, table in tables if table.rows)
    yield [Line(line, style="dim") for line in (live_table.MARKS, *live_table.notes(live))]
