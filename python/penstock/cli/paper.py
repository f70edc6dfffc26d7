"""`penstock paper`: figures that a paper published, made again."""

import json
from collections.abc import Mapping
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock import __version__
from penstock.cli import output, paper_live
from penstock.cli.console import drawn
from penstock.cli.job import errors_end
from penstock.cli.options import Create, Engine, EvenIfNotEmpty, Json, LoseData
from penstock.cli.paper_live import (
    Batch,
    Calibrate,
    CpuPriority,
    Csv,
    Modes,
    On,
    Online,
    Overlap,
    Rounds,
)
from penstock.cli.verb import group
from penstock.errors import wrong
from penstock.papers.online_batch import tables
from penstock.papers.online_batch.claims import Claim, claims
from penstock.papers.online_batch.phases import Sensitivity, sensitivity
from penstock.papers.online_batch.simulation import KEYS, Row, published, rows, settings

app = group()
app.callback()(lambda: None)  # Without it a group of one verb would be that verb.

Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help=f"Change the model, as batch.n=6 or online.offsets=0ms,0ms,0ms. Keys: "
        f"{', '.join(KEYS)}.",
    ),
]

Report = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="FILE",
        help="Write a page of HTML with pictures and the sensitivity. An earlier one is replaced, "
        "any other file is not.",
    ),
]

Live = Annotated[
    bool,
    typer.Option("--live", help="Run the evaluation programs on a disk instead, in real time."),
]

Phases = Annotated[
    bool,
    typer.Option(
        "--sensitivity",
        help="Also begin the batch jobs at 40 other phases, in five variants: 1,800 runs, some "
        "seconds.",
    ),
]


@app.command("online-batch", short_help="Disk I/O control for online and batch work (2019).")
def online_batch(
    *,
    sets: Sets = None,
    report: Report = None,
    phases: Phases = False,
    live: Live = False,
    on: On = None,
    modes: Modes = None,
    cpu_priority: CpuPriority = None,
    online: Online = None,
    batch: Batch = None,
    repeat: Rounds = None,
    calibrate: Calibrate = None,
    overlap: Overlap = None,
    csv: Csv = None,
    create: Create = None,
    i_will_lose_data: LoseData = None,
    even_if_not_empty: EvenIfNotEmpty = False,
    engine: Engine = None,
    as_json: Json = False,
) -> None:
    """Make tables IV and V and figures 7 and 8 again, beside what was published.

    Nine simulated runs: no priority, priority on the processors, on processors and disk, each with
    three loads of the disk. What the paper leaves open was chosen with its tables in sight.

    With --live the evaluation programs of section III run on a disk, in real time. Online programs
    write 1,000 bytes, compute for 2 ms and write again; batch programs compute for 60 ms and write
    1,000,000 bytes twice, five times over. All write through one gate with one command at the disk.
    """
    of_live = {
        "on": on,
        "modes": modes,
        "cpu_priority": cpu_priority,
        "online": online,
        "batch": batch,
        "repeat": repeat,
        "calibrate": calibrate,
        "overlap": overlap,
        "csv": csv,
        "create": create,
        "i_will_lose_data": i_will_lose_data,
        "even_if_not_empty": even_if_not_empty or None,
        "engine": engine,
    }
    asked = {name: value for name, value in of_live.items() if value is not None}
    simulated = {"set": sets, "report": report, "sensitivity": phases or None}
    with errors_end():
        if live:
            _only(simulated, "the simulation", "leave out --live, or leave this out")
            paper_live.run(as_json=as_json, **asked)  # type: ignore[arg-type]
            return
        _only(asked, "the programs in real time", "run them with --live")
        given = settings(sets or [])
        if report is not None:
            from penstock.papers.online_batch import report as page

            page.check(report)
        ours = rows(given)
        found = claims(ours)
        spread: list[Sensitivity] = []
        if phases or report is not None:
            spread = sensitivity(given, lambda what: output.talk(f"40 phases of {what}"))
        if as_json:
            parts = {"penstock": __version__, "set": given, "rows": ours, "claims": found}
            more = {"sensitivity": spread} if spread else {}
            output.data(json.dumps({**parts, "paper": published(), **more}, indent=2) + "\n")
        else:
            drawn(lambda console: _show(console, ours, found, spread))
        if report is not None:
            page.save(report, rows=ours, claims=found, sensitivity=spread, given=given)
            output.talk(f"wrote {report}")


def _only(of_others: Mapping[str, object], what: str, hint: str) -> None:
    """Refuse an option of the other half of the command."""
    for name, value in of_others.items():
        if value is not None:
            raise wrong(f"--{name.replace('_', '-')} belongs to {what}", hint)


def _show(console: Console, ours: list[Row], found: list[Claim], spread: list[Sensitivity]) -> None:
    console.print(Text.assemble(("SIMULATED", "bold"), f"  {tables.source()}"), soft_wrap=True)
    _table(console, tables.shares(ours))
    for line in tables.remarks(ours):
        console.print(Text(line, style="dim"), soft_wrap=True)
    _table(console, tables.times(ours))
    for claim in found:
        holds = "holds         " if claim["holds"] else "DOES NOT HOLD "
        console.print(Text(f"{holds} {claim['id']:<11} {claim['text']}"), soft_wrap=True)
        console.print(Text(f"{'':26} {tables.numbers(claim)}", style="dim"), soft_wrap=True)
    if spread:
        _table(console, tables.phases(spread))
        console.print(Text(tables.OF_PHASES, style="dim"), soft_wrap=True)
        for one in spread:
            console.print(Text(f"{one['variant']}: {one['text']}", style="dim"), soft_wrap=True)


def _table(console: Console, of: tables.Table) -> None:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="")
    for number, heading in enumerate(of.headings):
        table.add_column(heading, justify="right" if number else "left", no_wrap=True)
    for row in of.rows:
        table.add_row(*map(Text, row))
    console.print()
    console.print(table, no_wrap=True, crop=False)
    console.print()
