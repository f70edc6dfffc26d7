"""The online-batch table and claims as people read them: in a terminal, in a report, on a page."""

import tomllib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from penstock import _native
from penstock.papers.online_batch.claims import Claim
from penstock.papers.online_batch.phases import Sensitivity
from penstock.papers.online_batch.simulation import (
    CASES,
    CELLS,
    Cell,
    Control,
    Deviation,
    Row,
    deviations,
    farthest,
)

NAMES: dict[Control, str] = {
    "none": "no priority",
    "cpu": "only CPU priority",
    "cpu+io": "CPU+I/O priority",
}
"""Controls as the paper calls them."""

HEADINGS: dict[Cell, str] = {
    "disk_pct": "disk",
    "cpu_pct": "CPU",
    "online_cpu_pct": "CPU online",
    "batch_cpu_pct": "CPU batch",
}

FIGURES = (
    ("online-time", "Figure 7, online: mean time of a transaction", "ms", "online_ms"),
    ("batch-time", "Figure 7, batch: mean time of a batch job", "s", "batch_s"),
    ("online-wait", "Figure 8, online: mean wait of a write", "ms", "online_wait_ms"),
    ("batch-wait", "Figure 8, batch: mean wait of a write", "ms", "batch_wait_ms"),
)
"""The pictures: name, title, unit, and which figure of a row they show."""


OF_PHASES = (
    "The batch jobs begin at 40 phases of the transactions' period. Each number says at how many "
    "of them a claim held; the last two, how far the farthest cell was, in percentage points."
)


class Table(NamedTuple):
    """Rows of cells below headings."""

    headings: list[str]
    rows: list[list[str]]


def source() -> str:
    """Who published what where."""
    of = tomllib.loads(_native.paper("online-batch/published.toml"))
    return f"{of['authors']}: {of['title']}. {of['published']}"


def shares(ours: Sequence[Row]) -> Table:
    """Tables IV and V: ours, the paper's, and how far apart."""
    cells = {(one.control, one.case, one.cell): one for one in deviations(ours)}
    rows = [
        [*_which(row), *(_beside(cells[row["control"], row["case"], cell]) for cell in CELLS)]
        for row in ours
    ]
    return Table(["control", "case", *(f"{name}, %" for name in HEADINGS.values())], rows)


def times(ours: Sequence[Row]) -> Table:
    """What figures 7 and 8 show."""
    headings = ["online, ms", "batch, s", "online wait, ms", "batch wait, ms", "all batch, s"]
    rows = [
        [
            *_which(row),
            f"{row['online_ms']:.2f}",
            f"{row['batch_s']:.2f}",
            f"{row['online_wait_ms']:.3f}",
            f"{row['batch_wait_ms']:.2f}",
            f"{row['makespan_s']:.2f}",
        ]
        for row in ours
    ]
    return Table(["control", "case", *headings], rows)


def remarks(ours: Sequence[Row]) -> Iterator[str]:
    """What is to be known of the table."""
    named = [one for one in deviations(ours) if one.suspect]
    yield (
        "Each share is ours / the paper's (the difference in percentage points). The farthest cell "
        f"is {farthest(ours):.2f} points away, {_many(named)} left aside."
    )
    yield (
        f"{_many(named).capitalize()} contradict the paper's own disk and total, and are almost "
        f"surely a slip: {'; '.join(_cell(one) for one in named)}. They are marked with *."
    )


def _many(named: Sequence[Deviation]) -> str:
    return {1: "one cell", 2: "two cells"}.get(len(named), f"{len(named)} cells")


def _cell(one: Deviation) -> str:
    return f"{NAMES[one.control]}, case {one.case}, {HEADINGS[one.cell]} {one.paper:.1f} %"


def _which(row: Row) -> list[str]:
    return [NAMES[row["control"]], str(row["case"])]


def _beside(one: Deviation) -> str:
    return f"{one.ours:.2f} / {one.paper:.1f} ({one.points:+.2f}){'*' if one.suspect else ''}"


def held(claims: Sequence[Claim]) -> Table:
    """The claims, each with whether it holds and its numbers."""
    rows = [
        [one["id"], one["text"], "holds" if one["holds"] else "does not hold", numbers(one)]
        for one in claims
    ]
    return Table(["claim", "the paper says", "here", f"cases {', '.join(map(str, CASES))}"], rows)


def numbers(claim: Claim) -> str:
    """The three cases of each control that a claim is about."""
    return "; ".join(
        f"{control} {', '.join(f'{figure:.4g}' for figure in cases)}"
        for control, cases in claim["numbers"].items()
    )


def phases(found: Sequence[Sensitivity]) -> Table:
    """How often each claim held, and the farthest cell."""
    rows = [
        [
            one["variant"],
            *(f"{held}" for held in one["holds"].values()),
            f"{one['farthest_pp']['median']:.1f}",
            f"{one['farthest_pp']['p90']:.1f}",
        ]
        for one in found
    ]
    ids = list(found[0]["holds"]) if found else []
    return Table(["variant", *ids, "median, pp", "p90, pp"], rows)
