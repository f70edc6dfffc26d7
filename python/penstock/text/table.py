"""A comparison as people read it: what ran, and a table per policy with a row per class.

Columns are as wide as their contents and nothing is cut off: where the lines would be too long, the
table is printed in two parts, throughput and latency. Of rounds each figure is the median with its
range, which is wide: there the table of a policy has a row per figure and a column per class. What
many policies did stands first in one table, a block per class and a row per policy.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from itertools import accumulate
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from penstock.results import rounds, shares
from penstock.results.json_types import Class, Comparison, Params, Run, Value
from penstock.results.percentile import percentile
from penstock.results.rounds import Rounds, Spread
from penstock.text import (
    counters,
    disks,
    failures,
    files,
    merges,
    places,
    programs,
    prose,
    ranges,
    schedule,
    units,
    verified,
)
from penstock.text import shares as shares_text


class Part(Enum):
    """The two parts of a table that is too wide for one."""

    THROUGHPUT = "throughput"
    LATENCY = "latency"


class Column(NamedTuple):
    """A figure of a class: its heading, how it is rendered, and its part of the table."""

    heading: str
    figure: Callable[[Class], float]
    render: Callable[[Spread], str]
    part: Part = Part.THROUGHPUT

    def cell(self, one: Class) -> str:
        """The figure of one run."""
        return self._cell([one])

    def of(self, policy: Rounds, name: str) -> str:
        """The figure of the class called `name` over rounds; a dash if it took no part."""
        return self._cell(policy.of(name))

    def _cell(self, classes: list[Class]) -> str:
        # A latency where no request finished is a dash: zero would be a lie.
        known = all(one["requests"] for one in classes) or self.part is Part.THROUGHPUT
        return self.render(Spread.of(map(self.figure, classes))) if classes and known else NOTHING


NOTHING = "–"
"""Where there is no figure."""


def _latency(heading: str, figure: Callable[[Class], float]) -> Column:
    return Column(heading, figure, ranges.latency, Part.LATENCY)


def _percentile(percent: float) -> Column:
    return _latency(f"p{percent:g}", lambda one: percentile(one["lat_ns"], percent))


def _in_range(render: Callable[[float], str]) -> Callable[[Spread], str]:
    return lambda spread: ranges.figure(spread, render)


_COUNT = _in_range(lambda n: units.count(int(n)))

COLUMNS = (
    Column("requests", lambda one: one["requests"], _COUNT),
    Column("IOPS", lambda one: one["iops"], _in_range(units.rate)),
    Column("MB/s", lambda one: one["bw_bytes"], _in_range(units.megabytes)),
    _latency("mean", lambda one: one["lat_ns"]["mean"]),
    _percentile(50),
    _percentile(95),
    _percentile(99),
    _percentile(99.9),
    _latency("wait", lambda one: one["wait_ns"]["mean"]),
    Column("share", lambda one: one["share"], _in_range(units.percent)),
    Column("errors", lambda one: one["errors"], _COUNT),
    Column("unfinished", lambda one: one["unfinished"], _COUNT),
)

BY_WEIGHT = Column("by weight", lambda one: one["ideal_share"] or 0.0, _in_range(units.percent))
"""Stands behind the share where weights are to be kept."""

DISCARDED = Column(
    "discarded", lambda one: one["discarded_bytes"], _in_range(units.size), Part.THROUGHPUT
)
"""Stands behind the throughput where something was discarded, which no throughput counts."""

ASKED_FIRST = ("p50", "p99", "p99.9", "MB/s")
"""What the table of all policies has: who is protected, and who pays."""

MANY = 3
"""More runs than these are shown in one table first: their own are too far apart to compare."""

_MS = 1_000_000
"""Nanoseconds of a millisecond."""

GAP = 2
"""Columns of space between two figures."""

LEGEND = (
    "Latencies count from the intended arrival",
    "wait is the mean time until the first piece was sent",
    "IOPS and MB/s are of the time in which the job asks",
    "share is of the time in which the device was busy, divided equally among the requests that "
    "it serves at once",
)
"""What the figures are."""


def columns(comparison: Comparison) -> tuple[Column, ...]:
    """All that have something to say of these runs."""
    behind: dict[str, Column] = {}
    if any(one["discarded_bytes"] for run in comparison["runs"] for one in run["classes"]):
        behind["MB/s"] = DISCARDED
    if shares.at_stake(comparison):
        behind["share"] = BY_WEIGHT
    pairs = ((column, behind.get(column.heading)) for column in COLUMNS)
    return tuple(column for pair in pairs for column in pair if column is not None)


def legend(shown: Sequence[Column]) -> str:
    """What the figures of these columns are."""
    by_weight = [shares_text.LEGEND] if BY_WEIGHT in shown else []
    return f"{'; '.join([*LEGEND, *by_weight])}; MB are millions of bytes."


def of_rounds(comparison: Comparison) -> str | None:
    """What the figures of rounds are; nothing if there are none."""
    if not rounds.repeated(comparison):
        return None
    many = rounds.count(comparison)
    what = "the median [least–greatest] of the rounds" if many > 1 else "as it came out"
    even = ", of an even number the lower of the two in the middle" if many % 2 == 0 else ""
    return (
        f"{ranges.seeds(comparison)}: each figure is {what}{even}. "
        "Percentiles are of one round each and never averaged."
    )


def show(comparison: Comparison, console: Console, *, detail: bool = False) -> None:
    """Print a comparison: what ran, then all policies in one table if they are many, then each.

    With `detail` also what each policy counts of itself, and what each disk did.
    """
    for line in heading(comparison):
        prose.line(console, line)
    for failed in failures.most_failed(comparison["runs"]):
        prose.line(console, Text(f"  {failed}", style="bold"))
    repeated, policies = rounds.repeated(comparison), rounds.by_policy(comparison)
    if repeated or len(policies) > MANY:
        console.print()
        show_grid(console, _summary(policies))
    if (said := of_rounds(comparison)) is not None:
        console.print()
        prose.line(console, Text(said, style="dim"))
    shown = columns(comparison)
    parts = _parts(comparison["runs"], shown, console.width)
    for policy in policies:
        console.print()
        for line in _title(comparison, policy):
            prose.line(console, line)
        for grid in (
            _of_rounds(policy, shown, console.width) if repeated else _of_run(policy, parts)
        ):
            console.print()
            show_grid(console, grid)
        if of_files := list(files.rows(policy)):
            console.print()
            show_grid(console, Grid.of(files.HEADINGS, of_files))
        for grid in _details(policy) if detail else ():
            console.print()
            show_grid(console, grid)
    console.print()
    prose.line(console, Text(legend(shown), style="dim"))


def heading(comparison: Comparison) -> Iterator[Text]:
    """What ran, where, and from which seed."""
    job, machine = comparison["job"], comparison["machine"]
    world = comparison["world"].upper()
    yield Text.assemble((world, "bold"), f"  {job['file']} on {comparison['device']}")
    for line in places.explained(comparison):
        yield Text(f"  {line}")
    for change in job["set"]:
        yield Text(f"  set {change}")
    if comparison["world"] != "simulated":
        engine = f", engine {machine['engine']}" if "engine" in machine else ""
        yield Text(f"  {machine['cpu']}, {machine['cpus']} CPUs, {machine['kernel']}{engine}")
    if (said := places.schedulers(comparison["runs"])) is not None:
        yield Text(f"  {said}")
    seeds = f"seed {comparison['seed']}"
    if rounds.repeated(comparison):
        seeds = ranges.seeds(comparison)
    yield Text(f"  {seeds}, penstock {comparison['penstock']}")


def _title(comparison: Comparison, policy: Rounds) -> Iterator[Text]:
    """The policy with its parameters, and what holds for all classes."""
    run, *_ = policy.runs
    title = Text(policy.label, style="bold")
    if run["params"]:
        title.append(f"  {params(run['params'])}", style="not bold")
    yield title
    for line in facts(comparison, policy):
        # What is no whole run stands out as much as on paper.
        yield Text(f"  {line}", style="bold" if line.startswith("PARTIAL") else "")


def facts(comparison: Comparison, policy: Rounds) -> Iterator[str]:
    """What holds for all classes under a policy."""
    runs = policy.whole()
    early = [run for run in runs if run.get("interrupted")]
    if early:
        yield f"PARTIAL: {failures.why_partial(early[-1])}; the figures are of the part that ran"
    elif len(runs) < len(policy.runs):
        yield "PARTIAL: its last round was interrupted and is left out"
    lasted = ranges.figure(Spread.of(run["duration_s"] for run in runs), units.seconds)
    model = " of model time" if comparison["world"] == "simulated" else ""
    busy = ranges.figure(Spread.of(run["device_busy"] for run in runs), units.percent)
    many = f"{ranges.seeds({**comparison, 'runs': runs})}: " if "round" in runs[0] else ""
    yield f"{many}{lasted}{model}, device busy {busy}"
    for said in (
        against_measured(runs),
        merges.line(runs),
        disks.line(runs),
        schedule.over_rounds(comparison, runs),
        places.emulation(runs),
    ):
        if said is not None:
            yield said
    yield from places.kernel(runs)
    if places.schedulers(comparison["runs"]) is None:
        # What all runs had in common stands in the heading.
        for said in dict.fromkeys(places.schedulers([run]) for run in runs):
            if said is not None:
                yield said
    yield from programs.lines(runs)
    yield from verified.lines(runs)
    for remark in dict.fromkeys(remark for run in runs for remark in run.get("remarks", [])):
        yield f"note: {remark}"


def against_measured(runs: Sequence[Run]) -> str | None:
    """How far a run is from response times that were measured; nothing if none were."""
    apart = [(run["rms_ms"], run["rms_relative"]) for run in runs if "rms_ms" in run]
    if not apart:
        return None
    rms, share = (Spread.of(values) for values in zip(*apart, strict=True))
    here = Spread.of(run["mean_ms"] for run in runs)
    measured = units.latency(runs[0]["measured_mean_ms"] * _MS)
    return (
        f"rms {ranges.latency(rms.map(_nanoseconds))} from what was measured "
        f"({ranges.figure(share, units.percent)} of its mean): mean "
        f"{ranges.latency(here.map(_nanoseconds))}, measured {measured}"
    )


def _nanoseconds(ms: float) -> float:
    return ms * _MS


class Grid(NamedTuple):
    """A table: its headings, its rows, and how wide each column is; the first is to the left."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    widths: Sequence[int]

    @classmethod
    def of(cls, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> "Grid":
        """As wide as what stands in it."""
        columns = zip(headings, *rows, strict=True)
        return cls(headings, rows, [max(map(cell_len, column)) for column in columns])


def _summary(policies: Sequence[Rounds]) -> Grid:
    """A block for each class with a row for each policy in which it took part."""
    columns = [column for column in COLUMNS if column.heading in ASKED_FIRST]
    columns.sort(key=lambda column: ASKED_FIRST.index(column.heading))
    rows: list[list[str]] = []
    for name in rounds.class_names([run for policy in policies for run in policy.runs]):
        rows += [[""] * (len(columns) + 1)] if rows else []
        rows.append([name, *[""] * len(columns)])
        for policy in policies:
            if policy.of(name):
                cells = [column.of(policy, name) for column in columns]
                rows.append([f"  {policy.label}", *cells])
    return Grid.of(["policy", *(column.heading for column in columns)], rows)


def _of_rounds(policy: Rounds, shown: Sequence[Column], width: int) -> Iterator[Grid]:
    """A row for each figure and a column for each class, as many next to each other as fit."""
    names = rounds.class_names(policy.whole())
    while names:
        rows = [[column.heading, *(column.of(policy, n) for n in names)] for column in shown]
        grid = Grid.of(["", *names], rows)
        ends = accumulate(wide + GAP for wide in grid.widths)
        fit = max(sum(end - GAP <= width for end in ends) - 1, 1)
        yield Grid.of(["", *names[:fit]], [row[: fit + 1] for row in rows])
        names = names[fit:]


def _details(policy: Rounds) -> Iterator[Grid]:
    """What a policy counts of itself, and what its disks did, of what there is."""
    if counted := list(counters.rows(policy.whole())):
        yield Grid.of(["counter", "value"], counted)
    if did := [[disks_of, *cells] for disks_of, cells in disks.rows(policy)]:
        yield Grid.of(["", *disks.HEADINGS], did)


Widths = dict[Column, int]
"""Columns, each as wide as the widest that stands in it in any run, so that tables align."""


def _parts(runs: list[Run], shown: Sequence[Column], width: int) -> list[Widths]:
    """All columns if they fit, else those of throughput and those of latency."""
    classes = [one for run in runs for one in run["classes"]]
    whole = {
        column: max([len(column.heading), *(cell_len(column.cell(one)) for one in classes)])
        for column in shown
    }
    if _names(classes) + sum(whole.values()) + GAP * len(whole) <= width:
        return [whole]
    return [
        {column: wide for column, wide in whole.items() if column.part is part} for part in Part
    ]


def _names(classes: list[Class]) -> int:
    return max([len("class"), *(cell_len(one["name"]) for one in classes)])


def _of_run(policy: Rounds, parts: list[Widths]) -> Iterator[Grid]:
    """A row for each class, in so many tables as it takes."""
    (run,) = policy.runs
    for part in parts:
        rows = [[one["name"], *(column.cell(one) for column in part)] for one in run["classes"]]
        headings = ["class", *(column.heading for column in part)]
        yield Grid(headings, rows, [_names(run["classes"]), *part.values()])


def show_grid(console: Console, grid: Grid) -> None:
    """Print a table: every column but the first is to the right."""
    table = Table(
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, GAP - 1, 0, 0),
        header_style="",
    )
    for number, (heading, width) in enumerate(zip(grid.headings, grid.widths, strict=True)):
        justify: JustifyMethod = "right" if number else "left"
        table.add_column(heading, justify=justify, no_wrap=True, width=width)
    for row in grid.rows:
        table.add_row(*map(Text, row))
    # Set outright: otherwise a narrow terminal would cut the cells.
    table.width = sum(grid.widths) + GAP * (len(grid.widths) - 1)
    console.print(table, no_wrap=True, crop=False)


def params(params: Params) -> str:
    """Parameters on one line."""
    return ", ".join(f"{name} = {_value(value)}" for name, value in params.items())


def _value(value: Value) -> str:
    """A value as it is written in a job, without the quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{{ {params(value)} }}" if isinstance(value, dict) else str(value)
