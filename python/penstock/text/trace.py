"""Figures of a trace as people read them."""

from collections.abc import Callable, Sequence
from typing import Any

from penstock.answer.table import NONE, Table
from penstock.text import units

Description = dict[str, Any]
"""What the engine reports of a trace, or of a class of it."""


def facts(trace: Description) -> dict[str, str]:
    """What a trace is."""
    facts = {
        "format": trace["format"],
        "requests": units.count(trace["requests"]),
        "duration": units.seconds(trace["duration_s"]),
        "reaches": f"{units.digits(trace['end_bytes'] / 1e9, 3)} GB",
        "processes": ", ".join(trace["processes"]) or "not recorded",
        "devices": ", ".join(trace["devices"]) or "not recorded",
        "other lines": units.count(trace["other_lines"]),
        "out of order": units.count(trace["out_of_order"]),
    }
    if trace["remarks"]:
        facts["note"] = "; ".join(trace["remarks"])
    return facts


def _bytes(value: float) -> str:
    return f"{units.digits(value / 1000, 3)} kB"


def _optional(value: float | None) -> str:
    return NONE if value is None else units.digits(value, 3)


def _recorded(one: Description, which: str) -> str:
    known = one["recorded_latency"]
    return NONE if known is None else units.latency(known[which])


FIGURES: dict[str, Callable[[Description], str]] = {
    "requests": lambda one: units.count(one["requests"]),
    "reads": lambda one: units.count(one["reads"]["requests"]),
    "writes": lambda one: units.count(one["writes"]["requests"]),
    "flushes": lambda one: units.count(one["flushes"]),
    "discards": lambda one: units.count(one["discards"]["requests"]),
    "synchronous": lambda one: units.count(one["sync"]),
    "MB": lambda one: units.digits(one["bytes"] / 1e6, 3),
    "MB discarded": lambda one: units.digits(one["discards"]["bytes"] / 1e6, 3),
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
"""The figures of a class, in the order of the rows."""


def table(classes: Sequence[Description]) -> Table:
    """A column for each class and a row for each figure."""
    rows = [[name, *map(figure, classes)] for name, figure in FIGURES.items()]
    return Table(["", *(one["name"] for one in classes)], rows)
