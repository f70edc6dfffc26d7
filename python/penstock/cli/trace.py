"""`penstock trace`: what a recorded trace holds, and the same in another format."""

import json
from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock import _native, units
from penstock.cli import output
from penstock.cli.options import Json
from penstock.cli.replay import Classes, Format, Trace

app = typer.Typer(
    help="Describe recorded traces and convert them.", no_args_is_help=True, rich_markup_mode=None
)

Told = dict[str, Any]
"""What the engine tells of a trace."""


@app.command("info", short_help="What a trace is.")
def info(trace: Trace, *, file_format: Format = None, as_json: Json = False) -> None:
    """Tell what a trace is: its format, its length, whose requests are in it."""
    text = _native.trace_describe(trace, format=file_format)
    if as_json:
        output.data(f"{text}\n")
        return
    told: Told = json.loads(text)
    lines = {
        "format": told["format"],
        "requests": units.count(told["requests"]),
        "duration": units.seconds(told["duration_s"]),
        "reaches": f"{units.digits(told['end_bytes'] / 1e9, 3)} GB",
        "processes": ", ".join(told["processes"]) or "not recorded",
        "devices": ", ".join(told["devices"]) or "not recorded",
        "other lines": units.count(told["other_lines"]),
        "out of order": units.count(told["out_of_order"]),
    }
    width = max(map(len, lines))
    output.data("".join(f"{name:<{width}}  {value}\n" for name, value in lines.items()))


@app.command("stats", short_help="What a trace asks for, by class.")
def stats(
    trace: Trace, *, file_format: Format = None, classes: Classes = None, as_json: Json = False
) -> None:
    """Tell what a trace asks for: how much, how large, how often, how regularly, where."""
    text = _native.trace_describe(trace, format=file_format, classes=classes)
    if as_json:
        output.data(f"{text}\n")
        return
    told: Told = json.loads(text)
    output.drawn(lambda console: _figures(told["classes"], console))


def _figures(classes: list[Told], console: Console) -> None:
    """One column a class, one row a figure."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for one in classes:
        table.add_column(Text(one["name"]), justify="right")
    for name, of in FIGURES.items():
        table.add_row(Text(name), *(Text(of(one)) for one in classes))
    console.print(table)


def _bytes(value: float) -> str:
    return f"{units.digits(value / 1000, 3)} kB"


def _optional(value: float | None) -> str:
    return "–" if value is None else units.digits(value, 3)


def _recorded(one: Told, which: str) -> str:
    known = one["recorded_latency"]
    return "–" if known is None else units.latency(known[which])


FIGURES: dict[str, Callable[[Told], str]] = {
    "requests": lambda one: units.count(one["requests"]),
    "reads": lambda one: units.count(one["reads"]["requests"]),
    "writes": lambda one: units.count(one["writes"]["requests"]),
    "flushes": lambda one: units.count(one["flushes"]),
    "discards": lambda one: units.count(one["discards"]["requests"]),
    "synchronous": lambda one: units.count(one["sync"]),
    "MB": lambda one: units.digits(one["bytes"] / 1e6, 3),
    "size, mean": lambda one: _bytes(one["size_bytes"]["mean"]),
    "size, p50": lambda one: _bytes(one["size_bytes"]["p50"]),
    "size, p95": lambda one: _bytes(one["size_bytes"]["p95"]),
    "size, largest": lambda one: _bytes(one["size_bytes"]["max"]),
    "arrivals/s, mean": lambda one: _optional(one["arrivals"]["mean_per_s"]),
    "in the fullest second": lambda one: units.count(one["arrivals"]["peak_1s"]),
    "in the fullest 0.1 s": lambda one: units.count(one["arrivals"]["peak_100ms"]),
    "dispersion of 0.1 s": lambda one: _optional(one["arrivals"]["dispersion_100ms"]),
    "variation of gaps": lambda one: _optional(one["arrivals"]["gap_variation"]),
    "sequential": lambda one: units.percent(one["sequential"]["by_process"]),
    "footprint, MB": lambda one: units.digits(one["footprint_bytes"] / 1e6, 3),
    "recorded latency, p50": lambda one: _recorded(one, "p50_ns"),
    "recorded latency, p99": lambda one: _recorded(one, "p99_ns"),
}
"""What is told of a class, in the order of the rows."""


@app.command("convert", short_help="Write a trace in another format.")
def convert(
    trace: Trace,
    to: Annotated[str, typer.Argument(metavar="OUT", help="The file to make; it may not exist.")],
    *,
    into: Annotated[
        str, typer.Option("--to", metavar="NAME", help="The format of the file to make.")
    ],
    file_format: Format = None,
    as_json: Json = False,
) -> None:
    """Write a trace in another format, as far as that format has words for it."""
    text = _native.trace_convert(trace, to, into=into, format=file_format)
    if as_json:
        output.data(f"{text}\n")
        return
    told: Told = json.loads(text)
    left = told["left_out"]
    rest = f"; {units.count(left)} left out, which {told['into']} has no words for" if left else ""
    output.data(f"{units.count(told['requests'])} requests from {told['from']}{rest}\n")


@app.command("formats", short_help="What formats there are.")
def formats(*, as_json: Json = False) -> None:
    """List the formats of traces."""
    text = _native.trace_formats()
    if as_json:
        output.data(f"{text}\n")
        return
    for one in json.loads(text):
        written = " (read and written)" if one["writes"] else ""
        output.data(f"{one['name']}: {one['summary']}{written}\n")
