"""The tables of the lab."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from penstock.answer.table import NONE, Table
from penstock.iozone.phases import BY_KEY
from penstock.papers import claims, files
from penstock.papers.claims import Claim
from penstock.papers.linux_lab.modelled import FLOODS, Rows
from penstock.papers.linux_lab.setting import NAME
from penstock.papers.published import Row
from penstock.papers.rows import levels, number, pivot, select, text

HANDOUT = "handout"
"""The heading of the figures that the handout has."""


def tables(rows: Rows) -> list[Table]:
    """Return all tables of one kind of disk, the main one first."""
    every = [
        _exercise(rows, "exercise", "The exercise: one program, records of 5 KiB, kB/s"),
        _exercise(rows, "example", "The example: one program, records of 512 KiB, kB/s"),
        _readers(rows),
        _thinking(rows),
        *(_flood(rows, op) for op in FLOODS),
        _processes(rows),
        _flash(rows),
    ]
    return [table for table in every if table.rows]


def _exercise(rows: Rows, run: str, title: str) -> Table:
    of_run = select(rows.get("exercise", ()), run=run)
    published: Mapping[str, float] = {}
    if run == "exercise":
        published = {row["test"]: row["kb_s"] for row in files.published(NAME)["row"]}
    cells = [
        [
            BY_KEY[test].label.lower(),
            *(text(row, "kb_s", ",.0f") for row in by_scheduler.values()),
            *([number(published.get(test), ",.2f")] if published else []),
        ]
        for test, by_scheduler in pivot(of_run, "test", "scheduler").items()
    ]
    headings = ["test", *levels(of_run, "scheduler"), *([HANDOUT] if published else [])]
    notes = ["handout: what the machine of its authors had, under noop"] if published else []
    return Table(headings, cells, name=run, title=title, notes=notes)


def _readers(rows: Rows) -> Table:
    readers = rows.get("readers", [])
    schedulers = levels(readers, "scheduler")
    cells = []
    for (place, threads), by_scheduler in pivot(readers, ("place", "threads"), "scheduler").items():
        first = by_scheduler[schedulers[0]]["requests_s"]
        cells.append(
            [
                place,
                f"{threads}",
                *(_ratio(by_scheduler.get(scheduler), first) for scheduler in schedulers),
            ]
        )
    title = "Readers at random, in parts of the disk: requests a second"
    notes = [f"× is over {schedulers[0]}"] if schedulers else []
    return Table(["in", "programs", *schedulers], cells, name="readers", title=title, notes=notes)


def _ratio(row: Row | None, first: float) -> str:
    if row is None:
        return NONE
    return f"{row['requests_s']:,.1f} ({row['requests_s'] / first:.2f}×)"


def _thinking(rows: Rows) -> Table:
    cells = [
        [row["scheduler"], *(text(row, f"{name}mb_s", ".2f") for name in ("", "outer_", "inner_"))]
        for row in rows.get("thinking", ())
    ]
    title = "Two programs that read one block after another and think for 1 ms: MB/s"
    return Table(["scheduler", "both", "outer", "inner"], cells, name="thinking", title=title)


def _flood(rows: Rows, op: str) -> Table:
    against = FLOODS[1 - FLOODS.index(op)]
    cells = [
        [
            row["scheduler"],
            text(row, "single_s", ".1f"),
            text(row, "single_mean_ms", ".0f"),
            text(row, "single_max_ms", ".0f"),
            text(row, "flood_s", ".1f"),
            text(row, "flood_max_ms", ".0f"),
        ]
        for row in select(rows.get("flood", ()), flood=op)
    ]
    headings = ["scheduler", f"{against}s/s", "mean, ms", "most, ms", f"{op}s/s", "most, ms"]
    title = f"A flood of {op}s, and a program that {against}s one block at a time"
    return Table(headings, cells, name=f"flood_{op}", title=title)


def _processes(rows: Rows) -> Table:
    processes = rows.get("processes", [])
    cells = [
        [
            scheduler,
            *(text(row, "requests_s", ".1f") for row in by_process.values()),
            f"{_spread(list(by_process.values())):.2f}",
        ]
        for scheduler, by_process in pivot(processes, "scheduler", "process").items()
    ]
    depths = [name.removeprefix("depth") for name in levels(processes, "process")]
    headings = ["scheduler", *(f"{depth} queued" for depth in depths), "most over least"]
    title = "Four programs that read at random as fast as they can: requests a second"
    return Table(headings, cells, name="processes", title=title)


def _spread(rows: Sequence[Row]) -> float:
    figures: list[float] = [row["requests_s"] for row in rows]
    return max(figures) / min(figures)


def _flash(rows: Rows) -> Table:
    flash = rows.get("flash", [])
    cells = [[text(row, "requests_s", ",.0f") for row in flash]] if flash else []
    title = "32 readers where position costs nothing: requests a second"
    return Table(levels(flash, "scheduler"), cells, words=0, name="flash", title=title)


def placed(table: Table, world: str) -> Table:
    """Return a table of one of several kinds of disk."""
    return replace(table, name="", title=f"{world}. {table.title}")


def side_by_side(worlds: Mapping[str, Rows]) -> Table:
    """Return the exercise on each kind of disk, its schedulers taken together."""
    exercise = {name: select(rows["exercise"], run="exercise") for name, rows in worlds.items()}
    published = {row["test"]: row["kb_s"] for row in files.published(NAME)["row"]}
    cells = [
        [
            BY_KEY[test].label.lower(),
            *(
                _range([row["kb_s"] for row in select(rows, test=test)])
                for rows in exercise.values()
            ),
            f"{kb_s:,.2f}",
        ]
        for test, kb_s in published.items()
    ]
    return Table(
        ["test", *exercise, HANDOUT],
        cells,
        name="side_by_side",
        title="The exercise side by side, kB/s: from the slowest to the fastest scheduler",
    )


def _range(figures: Sequence[float]) -> str:
    least, most = min(figures), max(figures)
    return f"{least:,.0f} to {most:,.0f}" if round(least) < round(most) else f"{least:,.0f}"


def statements(worlds: Mapping[str, Sequence[Claim]]) -> Table:
    """Return what holds of the lecture's statements on each kind of disk."""
    judged = {name: {claim["id"]: claim for claim in claims} for name, claims in worlds.items()}
    ids = {claim["id"]: claim["text"] for claims in worlds.values() for claim in claims}
    cells = [
        [id_, said, *(_verdict(by_id.get(id_)) for by_id in judged.values())]
        for id_, said in ids.items()
    ]
    headings = ["claim", "the lecture says, or the lab shows", *judged]
    return Table(headings, cells, words=len(headings), name="statements", title="Statements")


def _verdict(claim: Claim | None) -> str:
    if claim is None:
        return NONE
    holds = "holds" if claim["holds"] else "does not hold"
    return f"{holds}: {claims.numbers(claim)}"
