"""A comparison as people read it: what ran, and a table per policy with a row per class.

Columns are as wide as their contents and nothing is cut off: where the lines would be too long, the
table is told in two parts, throughput and latency.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from penstock import failures, schedule, units
from penstock.schema import Class, Comparison, Params, Run, Value, percentile


class Part(Enum):
    """The two parts of a table that is too wide for one."""

    THROUGHPUT = "throughput"
    LATENCY = "latency"


class Column(NamedTuple):
    """A column: its heading, what stands in it, and its part; none: it belongs to both."""

    heading: str
    cell: Callable[[Class], str]
    part: Part | None = Part.THROUGHPUT


def _percentile(percent: float) -> Callable[[Class], str]:
    return lambda one: _when_any(one, percentile(one["lat_ns"], percent))


def _when_any(one: Class, ns: float) -> str:
    """A latency, and a dash where no request finished: zero would be a lie."""
    return units.latency(ns) if one["requests"] else "–"


COLUMNS = (
    Column("class", lambda one: one["name"], None),
    Column("requests", lambda one: units.count(one["requests"])),
    Column("IOPS", lambda one: units.rate(one["iops"])),
    Column("MB/s", lambda one: units.megabytes(one["bw_bytes"])),
    Column("mean", lambda one: _when_any(one, one["lat_ns"]["mean"]), Part.LATENCY),
    Column("p50", _percentile(50), Part.LATENCY),
    Column("p95", _percentile(95), Part.LATENCY),
    Column("p99", _percentile(99), Part.LATENCY),
    Column("p99.9", _percentile(99.9), Part.LATENCY),
    Column("wait", lambda one: _when_any(one, one["wait_ns"]["mean"]), Part.LATENCY),
    Column("share", lambda one: units.percent(one["share"])),
    Column("errors", lambda one: units.count(one["errors"])),
    Column("unfinished", lambda one: units.count(one["unfinished"])),
)

GAP = 2
"""Columns of space between two figures."""

LEGEND = (
    "Latencies count from the intended arrival; wait is the mean time until the first piece was "
    "sent; share is of the device's time; MB are millions of bytes."
)


def show(comparison: Comparison, console: Console) -> None:
    """Print a comparison: what ran, then a table for each run."""
    for line in heading(comparison):
        console.print(line, soft_wrap=True)
    parts = _parts(comparison["runs"], console.width)
    for run in comparison["runs"]:
        console.print()
        for line in _title(comparison, run):
            console.print(line, soft_wrap=True)
        for columns in parts:
            console.print()
            console.print(_table(run["classes"], columns), no_wrap=True, crop=False)
    console.print()
    console.print(Text(LEGEND, style="dim"), soft_wrap=True)


def heading(comparison: Comparison) -> Iterator[Text]:
    """What ran, where, and from which seed."""
    job, machine = comparison["job"], comparison["machine"]
    world = comparison["world"].upper()
    yield Text.assemble((world, "bold"), f"  {job['file']} on {comparison['device']}")
    for change in job["set"]:
        yield Text(f"  set {change}")
    if comparison["world"] == "measured":
        engine = machine.get("engine", "unknown")
        yield Text(
            f"  {machine['cpu']}, {machine['cpus']} CPUs, {machine['kernel']}, engine {engine}"
        )
    yield Text(f"  seed {comparison['seed']}, penstock {comparison['penstock']}")


def _title(comparison: Comparison, run: Run) -> Iterator[Text]:
    """The policy with its parameters, and what holds for all classes."""
    title = Text(run["policy"], style="bold")
    if run["params"]:
        title.append(f"  {params(run['params'])}", style="not bold")
    yield title
    if run.get("interrupted"):
        why = failures.why_partial(run)
        yield Text(f"  PARTIAL: {why}; the figures are of the part that ran", style="bold")
    model = " of model time" if comparison["world"] == "simulated" else ""
    busy = units.percent(run["device_busy"])
    yield Text(f"  {units.seconds(run['duration_s'])}{model}, device busy {busy}")
    held = schedule.sentence(comparison, run)
    if held is not None:
        yield Text(f"  {held}")
    for remark in run.get("remarks", []):
        yield Text(f"  note: {remark}")


Widths = dict[Column, int]
"""Columns, each as wide as the widest that stands in it in any run, so that tables align."""


def _parts(runs: list[Run], width: int) -> list[Widths]:
    """All columns if they fit, else those of throughput and those of latency."""
    classes = [one for run in runs for one in run["classes"]]
    whole = {
        column: max([len(column.heading), *(cell_len(column.cell(one)) for one in classes)])
        for column in COLUMNS
    }
    if sum(whole.values()) + GAP * (len(whole) - 1) <= width:
        return [whole]
    return [
        {column: wide for column, wide in whole.items() if column.part in (None, part)}
        for part in Part
    ]


def _table(classes: list[Class], columns: Widths) -> Table:
    table = Table(
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, GAP - 1, 0, 0),
        header_style="",
    )
    for column, width in columns.items():
        justify: JustifyMethod = "right" if column.part else "left"
        table.add_column(column.heading, justify=justify, no_wrap=True, width=width)
    for one in classes:
        table.add_row(*(Text(column.cell(one)) for column in columns))
    # Told outright: left alone, a narrow terminal would have it cut what stands in it.
    table.width = sum(columns.values()) + GAP * (len(columns) - 1)
    return table


def params(params: Params) -> str:
    """Parameters on one line."""
    return ", ".join(f"{name} = {_value(value)}" for name, value in params.items())


def _value(value: Value) -> str:
    """A value as it is written in a job, without the quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{{ {params(value)} }}" if isinstance(value, dict) else str(value)
