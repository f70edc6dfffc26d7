"""`penstock paper online-batch --live`: a paper's programs on a disk of today."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli import output
from penstock.cli.bar import bar
from penstock.cli.console import drawn
from penstock.errors import wrong
from penstock.papers.online_batch import figure5, live
from penstock.papers.online_batch.live import (
    EMULATED,
    MODES,
    ROUNDS,
    Cell,
    Figures,
    Live,
    Where,
    verdict,
)
from penstock.report import files
from penstock.results.rounds import ROUNDS_MOST, Spread
from penstock.text import units

CPU = {"off": (False,), "on": (True,), "both": (False, True)}
"""What the batch does with the processors, as it is asked for."""


On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="PATH|emulated:…",
        help="With --live, where the programs write: a file that penstock owns, a block device, or "
        "emulated:DEVICE[@SPEED][:PATH]; emulated:paper-disk if not given. 4MiB are needed for "
        "each program.",
    ),
]

Modes = Annotated[
    str | None,
    typer.Option(
        "--modes",
        metavar="MODE,…",
        help=f"With --live, how the disk is controlled: {', '.join(MODES)}; all if not given.",
    ),
]

CpuPriority = Annotated[
    str | None,
    typer.Option(
        "--cpu-priority",
        metavar="off|on|both",
        help="With --live, whether batch programs leave the processors to online ones, by "
        "niceness; off if not given.",
    ),
]

Online = Annotated[
    str | None,
    typer.Option("--online", metavar="N,…", help="With --live, online programs; 1 if not given."),
]

Batch = Annotated[
    str | None,
    typer.Option("--batch", metavar="N,…", help="With --live, batch programs; 0,5 if not given."),
]

Rounds = Annotated[
    int | None,
    typer.Option(
        "--repeat",
        metavar="N",
        min=1,
        max=ROUNDS_MOST,
        help=f"With --live, rounds of all; {ROUNDS} if not given.",
    ),
]

Calibrate = Annotated[
    bool | None,
    typer.Option(
        "--calibrate",
        help="With --live, as much processor time as this disk takes for the writes, not 2 ms and "
        "60 ms.",
    ),
]

Overlap = Annotated[
    bool | None,
    typer.Option(
        "--overlap/--no-overlap",
        help="With --live, online programs go on until the batch has ended, for ten seconds at "
        "most; they do if not given.",
    ),
]

Csv = Annotated[
    str | None,
    typer.Option(
        "--csv",
        metavar="WRITES.csv",
        help="With --live, write what each write took; a new file.",
    ),
]


def run(
    *,
    as_json: bool,
    on: str = "emulated:paper-disk",
    modes: str = ",".join(MODES),
    cpu_priority: str = "off",
    online: str = "1",
    batch: str = "0,5",
    repeat: int = ROUNDS,
    calibrate: bool = False,
    overlap: bool = True,
    csv: str | None = None,
    create: str | None = None,
    i_will_lose_data: str | None = None,
    even_if_not_empty: bool = False,
    engine: str | None = None,
) -> None:
    """Run the evaluation programs of the paper on a disk, in real time, and tell what they met."""
    asked = _words("--modes", modes, MODES)
    (first,) = _words("--cpu-priority", cpu_priority, CPU)[:1]
    where = Where(
        on=on,
        create=create,
        i_will_lose_data=i_will_lose_data,
        even_if_not_empty=even_if_not_empty,
        engine=engine,
    )
    to = None if csv is None else Path(csv)
    if to is not None:
        files.check_new(to)
    with bar() as told:
        found = live.online_batch_live(
            where,
            modes=asked,
            cpu_priority=CPU[first],
            online=_numbers("--online", online),
            batch=_numbers("--batch", batch),
            rounds=repeat,
            calibrate=calibrate,
            overlap=overlap,
            writes=csv is not None,
            told=told,
        )
    if as_json:
        output.data(f"{json.dumps(_told(found), indent=2, ensure_ascii=False)}\n")
    else:
        drawn(lambda console: _show(found, console))
    if to is not None:
        content = StringIO()
        found.write_csv(content)
        files.write_new(to, content.getvalue())
        output.talk(f"wrote {csv}")


def _told(found: Live) -> dict[str, object]:
    """All that was met, its figures, and the paper's beside them."""
    figures = found.figures()
    beside = [
        {**asdict(one), "deviation_pct": one.deviation_pct} for one in figure5.points(figures)
    ]
    return {**asdict(found), "figures": [asdict(one) for one in figures], "figure5": beside}


def _words(option: str, text: str, known: Iterable[str]) -> list[str]:
    known = list(known)
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in known:
            raise wrong(
                f"{option}: found {word!r}; expected one of {', '.join(known)}",
                f"as {option} {known[0]}",
            )
    return words


def _numbers(option: str, text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        hint = f"as {option} 1,2,5"
        raise wrong(f"{option}: found {text!r}; expected whole numbers", hint) from None


def _show(found: Live, console: Console) -> None:
    world = "EMULATED" if found.where.on.startswith(EMULATED) else "MEASURED"
    cpu = f"{units.latency(found.online_cpu_ns)} and {units.latency(found.batch_cpu_ns)}"
    how = "as this disk takes for the writes" if found.calibrated else "as in the paper"
    console.print(Text.assemble((world, "bold"), f"  {found.where.on}"), soft_wrap=True)
    console.print(Text(f"  processor time of a transaction and a repetition: {cpu}, {how}"))
    rounds = len(found.cells[0].rounds) if found.cells else 0
    of = f"{rounds} round{'s' if rounds != 1 else ''}"
    console.print(Text(f"  medians of {of}, with the least and the greatest mean"))
    for note in found.notes:
        console.print(Text(f"  {note}"), soft_wrap=True)
    console.print()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("control", "cpu", "online", "batch"):
        table.add_column(heading, no_wrap=True)
    for heading in ("short write", "", "p50", "p99", "max", "transaction", "batch program"):
        table.add_column(heading, justify="right", no_wrap=True)
    for cell in found.cells:
        batch = cell.batch_ns
        table.add_row(
            cell.mode,
            "first" if cell.cpu_priority else "equal",
            str(cell.online),
            str(cell.batch),
            *_of_short(cell),
            "–" if batch is None else units.latency(batch.median),
        )
    console.print(table)
    console.print()
    _show_figure5(found.figures(), console)
    for sentence in verdict(found):
        console.print(Text(sentence), soft_wrap=True)


def _of_short(cell: Cell) -> list[str]:
    """What short writes met, and transactions: mean, its range, and the others."""
    if not cell.online:
        return ["–", "", "–", "–", "–", "–"]
    mean = cell.short_mean_ns
    others = (cell.short_p50_ns, cell.short_p99_ns, cell.short_max_ns, cell.transaction_ns)
    return [
        units.latency(mean.median),
        _range(mean),
        *(units.latency(one.median) for one in others),
    ]


def _show_figure5(figures: list[Figures], console: Console) -> None:
    """The paper's points beside ours, where it has some."""
    found = figure5.points(figures)
    if not found:
        return
    told = figure5.told(found)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, heading in enumerate(told.headings):
        table.add_column(heading, justify="right" if number > 1 else "left", no_wrap=True)
    for row in told.rows:
        table.add_row(*row)
    console.print(table)
    console.print(Text(figure5.NOTE, style="dim"), soft_wrap=True)
    console.print()


def _range(spread: Spread) -> str:
    return f"({units.latency(spread.low)}–{units.latency(spread.high)})"
