"""`penstock paper fairio live`: the report's two loads on a disk of today."""

import json
from dataclasses import asdict, replace
from typing import Annotated

import typer

from penstock.answer.value import Answer, Blocks, Line, headline
from penstock.cli.answering import answer
from penstock.cli.options import Json
from penstock.cli.progress import Progress
from penstock.cli.target import targeted
from penstock.papers.fairio import live, live_table
from penstock.papers.fairio.live import KEYS, ROUNDS, LiveRows
from penstock.results.rounds import ROUNDS_MOST
from penstock.target import Target

On = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="PATH|emulated:…",
        help="What is read: a file that penstock owns, a block device, or "
        "emulated:DEVICE[@SPEED][:PATH].",
    ),
]

Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help=f"Change what runs, as cycles=250ms,700ms. Keys: {', '.join(KEYS)}.",
    ),
]

Law = Annotated[
    str | None,
    typer.Option(
        "--law",
        metavar="DEVICE.toml",
        help="Charge the costs of a device too, as `calibrate` found it.",
    ),
]

Rounds = Annotated[
    int,
    typer.Option("--repeat", metavar="N", min=1, max=ROUNDS_MOST, help="Rounds of all runs."),
]


@targeted()
def run(
    *,
    on: On = "emulated:fairio-raid",
    sets: Sets = None,
    law: Law = None,
    repeat: Rounds = ROUNDS,
    target: Target,
    as_json: Json = False,
) -> None:
    """Run the report's Illustrations on a disk, in real time.

    Two classes read, as much more than the target can serve as in the report: under fcfs, under sfq
    and under fairio in both modes, in rounds of all of them. What fairio charges is device time,
    and where costs are known, of an emulated device or with --law, these too. Nothing is written
    but what --create makes.
    """
    arguments = live.settings(sets or [])

    def measured(progress: Progress) -> Answer:
        result = live.fairio_live(target, arguments, law=law, rounds=repeat, progress=progress)
        data = {"live": asdict(result), "set": arguments}
        return Answer(
            data=lambda: json.dumps(data, indent=2, ensure_ascii=False),
            blocks=_blocks(result, on),
        )

    answer(measured, as_json=as_json)


def _blocks(result: LiveRows, on: str) -> Blocks:
    number_of_rounds = f"{result.rounds} round{'s' if result.rounds != 1 else ''}"
    about = [f"{number_of_rounds}, each run {result.horizon_s:g} s", *result.notes]
    yield [headline(result.world, on), *(f"  {line}" for line in about)]
    for number, rate in zip(live.ILLUSTRATIONS, result.offered_per_s, strict=True):
        title = f"Illustration {number}, {rate:,.0f} requests/s of each class"
        yield [replace(live_table.table(result.rows, number), title=title)]
    yield [Line(live_table.REMARK, style="dim")]
    yield list(live_table.verdict(result.rows))
