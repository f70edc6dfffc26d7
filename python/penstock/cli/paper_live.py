"""`penstock paper online-batch-live`: a paper's programs on a disk of today."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from penstock import units
from penstock.cli import output
from penstock.cli.options import Create, Engine, Json, LoseData
from penstock.cli.work import errors_end
from penstock.errors import wrong
from penstock.papers import live
from penstock.papers.live import EMULATED, MODES, Live, Told, Where, verdict
from penstock.rounds import ROUNDS_MOST, Spread

CPU = ("off", "on", "both")
"""What the batch does with the processors, as it is asked for."""


def online_batch_live(
    *,
    on: Annotated[
        str,
        typer.Option(
            "--on",
            metavar="PATH|emulated:…",
            help="Where the programs write: a file that penstock owns, a block device, or "
            "emulated:DEVICE[@SPEED][:PATH]. 4MiB are needed for each program.",
        ),
    ] = "emulated:paper-disk",
    modes: Annotated[
        str, typer.Option("--modes", metavar="MODE,…", help="How the disk is controlled.")
    ] = ",".join(MODES),
    cpu_priority: Annotated[
        str,
        typer.Option(
            "--cpu-priority",
            metavar="off|on|both",
            help="Whether batch programs leave the processors to online ones, by niceness.",
        ),
    ] = "off",
    online: Annotated[str, typer.Option("--online", metavar="N,…", help="Online programs.")] = "1",
    batch: Annotated[str, typer.Option("--batch", metavar="N,…", help="Batch programs.")] = "0,5",
    repeat: Annotated[
        int, typer.Option("--repeat", metavar="N", min=1, max=ROUNDS_MOST, help="Rounds of all.")
    ] = 3,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="As much processor time as this disk takes for the writes, not 2 ms and 60 ms.",
        ),
    ] = False,
    overlap: Annotated[
        bool,
        typer.Option(
            "--overlap/--no-overlap", help="Online programs go on until the batch has ended."
        ),
    ] = True,
    csv: Annotated[
        str | None,
        typer.Option("--csv", metavar="WRITES.csv", help="Write what each write took; a new file."),
    ] = None,
    create: Create = None,
    i_will_lose_data: LoseData = None,
    engine: Engine = None,
    as_json: Json = False,
) -> None:
    """Run the evaluation programs of the online-batch paper on a disk, in real time.

    Online programs write 1,000 bytes, compute for 2 ms and write again; batch programs compute for
    60 ms and write 1,000,000 bytes twice, five times over. All write through one gate with one
    command at the disk.
    """
    with errors_end():
        asked = _words("--modes", modes, MODES)
        first = {"off": (False,), "on": (True,), "both": (False, True)}[
            _words("--cpu-priority", cpu_priority, CPU)[0]
        ]
        where = Where(on=on, create=create, i_will_lose_data=i_will_lose_data, engine=engine)
        programs = {"online": _numbers("--online", online), "batch": _numbers("--batch", batch)}
        to = None if csv is None else _new(csv)
        with _bar() as told:
            found = live.online_batch_live(
                where,
                modes=asked,
                cpu_priority=first,
                **programs,
                rounds=repeat,
                calibrate=calibrate,
                overlap=overlap,
                writes=csv is not None,
                told=told,
            )
        if to is not None:
            with to.open("x") as file:
                found.write_csv(file)
            output.talk(f"wrote {csv}")
        if as_json:
            output.data(f"{json.dumps(asdict(found), indent=2, ensure_ascii=False)}\n")
        else:
            output.drawn(lambda console: _show(found, console))


def _words(option: str, text: str, known: tuple[str, ...]) -> list[str]:
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


def _new(name: str) -> Path:
    path = Path(name)
    if path.exists():
        raise wrong(f"{name} is there already", "nothing is overwritten: name a new file")
    return path


@contextmanager
def _bar() -> Iterator[Told | None]:
    """A bar with the time left, if a person is watching stderr."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    text = TextColumn("{task.description}", markup=False)
    with Progress(text, *columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1)
        yield lambda what, done: bar.update(task, description=what, completed=done)


def _show(found: Live, console: Console) -> None:
    world = "EMULATED" if found.where.on.startswith(EMULATED) else "MEASURED"
    cpu = f"{units.latency(found.online_cpu_ns)} and {units.latency(found.batch_cpu_ns)}"
    how = "as this disk takes for the writes" if found.calibrated else "as in the paper"
    console.print(Text.assemble((world, "bold"), f"  {found.where.on}"), soft_wrap=True)
    console.print(Text(f"  processor time of a transaction and a repetition: {cpu}, {how}"))
    rounds = len(found.cells[0].rounds) if found.cells else 0
    of = f"{rounds} round{'s' if rounds != 1 else ''}"
    console.print(Text(f"  medians of {of}, with the least and the greatest mean"))
    console.print()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("control", "cpu", "online", "batch"):
        table.add_column(heading, no_wrap=True)
    for heading in ("short write", "", "p50", "p99", "max", "transaction", "batch program"):
        table.add_column(heading, justify="right", no_wrap=True)
    for cell in found.cells:
        mean, batch = cell.short_mean_ns, cell.batch_ns
        table.add_row(
            cell.mode,
            "first" if cell.cpu_priority else "equal",
            str(cell.online),
            str(cell.batch),
            units.latency(mean.median),
            _range(mean),
            *(
                units.latency(figure.median)
                for figure in (cell.short_p50_ns, cell.short_p99_ns, cell.short_max_ns)
            ),
            units.latency(cell.transaction_ns.median),
            "–" if batch is None else units.latency(batch.median),
        )
    console.print(table)
    console.print()
    for sentence in verdict(found):
        console.print(Text(sentence), soft_wrap=True)


def _range(spread: Spread) -> str:
    return f"({units.latency(spread.low)}–{units.latency(spread.high)})"
