"""`penstock paper online-batch live`: the paper's programs on a disk of today."""

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path
from typing import Annotated

import typer

from penstock.answer.table import NONE, Table
from penstock.answer.value import Answer, Blocks, headline
from penstock.cli.answering import answer
from penstock.cli.lists import numbers, words
from penstock.cli.options import Json
from penstock.cli.progress import Progress
from penstock.cli.target import targeted
from penstock.papers.online_batch import figure5, live
from penstock.papers.online_batch.live import (
    EMULATED,
    MODES,
    ROUNDS,
    Live,
    MeasuredCell,
    verdict,
)
from penstock.report import files
from penstock.results.rounds import ROUNDS_MOST, Spread
from penstock.target import Target
from penstock.text import units

ALL_MODES = ",".join(MODES)
CPU = {"off": (False,), "on": (True,), "both": (False, True)}
"""What the batch does with the processors, as it is asked for."""


On = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="PATH|emulated:…",
        help="Where the programs write: a file that penstock owns, a block device, or "
        "emulated:DEVICE[@SPEED][:PATH]. 4MiB are needed for each program.",
    ),
]

Modes = Annotated[
    str,
    typer.Option("--modes", metavar="MODE,…", help="How the disk is controlled."),
]

CpuPriority = Annotated[
    str,
    typer.Option(
        "--cpu-priority",
        metavar="off|on|both",
        help="Whether batch programs leave the processors to online ones, by niceness.",
    ),
]

Online = Annotated[str, typer.Option("--online", metavar="N,…", help="Online programs.")]

Batch = Annotated[str, typer.Option("--batch", metavar="N,…", help="Batch programs.")]

Rounds = Annotated[
    int,
    typer.Option("--repeat", metavar="N", min=1, max=ROUNDS_MOST, help="Rounds of all cells."),
]

Calibrate = Annotated[
    bool,
    typer.Option(
        "--calibrate",
        help="Compute for as long as this disk takes for the writes, not for 2 ms and 60 ms.",
    ),
]

Overlap = Annotated[
    bool,
    typer.Option(
        "--overlap/--no-overlap",
        help="Online programs go on until the batch has ended, for ten seconds at most.",
    ),
]

Csv = Annotated[
    str | None,
    typer.Option("--csv", metavar="WRITES.csv", help="Write what each write took; a new file."),
]


@targeted(without=["read_only"])
def run(
    *,
    on: On = "emulated:paper-disk",
    modes: Modes = ALL_MODES,
    cpu_priority: CpuPriority = "off",
    online: Online = "1",
    batch: Batch = "0,5",
    repeat: Rounds = ROUNDS,
    calibrate: Calibrate = False,
    overlap: Overlap = True,
    csv: Csv = None,
    target: Target,
    as_json: Json = False,
) -> None:
    """Run the evaluation programs of section III on a disk, in real time.

    Online programs write 1,000 bytes, compute for 2 ms and write again; batch programs compute for
    60 ms and write 1,000,000 bytes twice, five times over. All write through one gate with one
    command at the disk. Each combination of controls and numbers of programs is a cell; cells run
    in rounds of all of them.
    """
    asked = words("--modes", modes, MODES)
    (first,) = words("--cpu-priority", cpu_priority, CPU)[:1]
    to = _new(csv)
    programs = numbers("--online", online), numbers("--batch", batch)

    def measured(progress: Progress) -> Answer:
        result = live.online_batch_live(
            target,
            modes=asked,
            cpu_priority=CPU[first],
            online=programs[0],
            batch=programs[1],
            rounds=repeat,
            calibrate=calibrate,
            overlap=overlap,
            writes=to is not None,
            progress=progress,
        )
        return Answer(
            data=lambda: json.dumps(_as_json(result), indent=2, ensure_ascii=False),
            blocks=_blocks(result, on),
            files=_write(result, to),
        )

    answer(measured, as_json=as_json)


def _write(live: Live, to: Path | None) -> Iterator[str]:
    if to is not None:
        content = StringIO()
        live.write_csv(content)
        files.write_new(to, content.getvalue())
        yield str(to)


def _new(csv: str | None) -> Path | None:
    """Where the writes go, if they are asked for."""
    if csv is None:
        return None
    files.check_new(Path(csv))
    return Path(csv)


def _as_json(live: Live) -> dict[str, object]:
    """Returns the whole evaluation, its figures, and the paper's points with ours, as JSON."""
    figures = live.figures()
    pairs = [
        {**asdict(point), "deviation_pct": point.deviation_pct} for point in figure5.points(figures)
    ]
    result = asdict(live)
    options = live.where.options
    lost = options.get("i_will_lose_data") or ()
    result["where"] = {"on": live.where.on, **options, "i_will_lose_data": lost}
    return {**result, "figures": [asdict(cell) for cell in figures], "figure5": pairs}


def _blocks(live: Live, on: str) -> Blocks:
    cpu = f"{units.latency(live.online_cpu_ns)} and {units.latency(live.batch_cpu_ns)}"
    how = "as this disk takes for the writes" if live.calibrated else "as in the paper"
    rounds = len(live.cells[0].rounds) if live.cells else 0
    about = [
        f"processor time of a transaction and a repetition: {cpu}, {how}",
        f"medians of {units.many(rounds, 'round')}, with the least and the greatest mean",
        *live.notes,
    ]
    world = "emulated" if on.startswith(EMULATED) else "measured"
    yield [headline(world, on), *(f"  {line}" for line in about)]
    yield [_cells(live)]
    if points := figure5.points(live.figures()):
        yield [replace(figure5.table(points), notes=[figure5.NOTE])]
    yield list(verdict(live))


def _cells(live: Live) -> Table:
    headings = ["control", "cpu", "online", "batch"]
    figures = ["short write", "", "p50", "p99", "max", "transaction", "batch program"]
    rows = [
        [
            cell.mode,
            "first" if cell.cpu_priority else "equal",
            str(cell.online),
            str(cell.batch),
            *_of_short(cell),
            NONE if cell.batch_ns is None else units.latency(cell.batch_ns.median),
        ]
        for cell in live.cells
    ]
    return Table([*headings, *figures], rows, words=len(headings))


def _of_short(cell: MeasuredCell) -> list[str]:
    """Returns the times of short writes (mean, range, p50, p99, maximum) and of transactions."""
    if not cell.online:
        return [NONE, "", NONE, NONE, NONE, NONE]
    mean = cell.short_mean_ns
    spreads = (cell.short_p50_ns, cell.short_p99_ns, cell.short_max_ns, cell.transaction_ns)
    return [
        units.latency(mean.median),
        _range(mean),
        *(units.latency(spread.median) for spread in spreads),
    ]


def _range(spread: Spread) -> str:
    return f"({units.latency(spread.low)}–{units.latency(spread.high)})"
