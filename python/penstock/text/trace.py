"""Figures of a trace as text."""

from collections.abc import Callable, Sequence
from typing import Any

from penstock.answer.table import NONE, Table
from penstock.text import units

Description = dict[str, Any]
"""Report of the engine on a trace or on one of its classes."""


def facts(trace: Description) -> dict[str, str]:
    """Return general facts about a trace."""
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


def _recorded(class_: Description, which: str) -> str:
    known = class_["recorded_latency"]
    return NONE if known is None else units.latency(known[which])


FIGURES: dict[str, Callable[[Description], str]] = {
    "requests": lambda class_: units.count(class_["requests"]),
    "reads": lambda class_: units.count(class_["reads"]["requests"]),
    "writes": lambda class_: units.count(class_["writes"]["requests"]),
    "flushes": lambda class_: units.count(class_["flushes"]),
    "discards": lambda class_: units.count(class_["discards"]["requests"]),
    "synchronous": lambda class_: units.count(class_["sync"]),
    "MB": lambda class_: units.digits(class_["bytes"] / 1e6, 3),
    "MB discarded": lambda class_: units.digits(class_["discards"]["bytes"] / 1e6, 3),
    "size, mean": lambda class_: _bytes(class_["size_bytes"]["mean"]),
    "size, p50": lambda class_: _bytes(class_["size_bytes"]["p50"]),
    "size, p95": lambda class_: _bytes(class_["size_bytes"]["p95"]),
    "size, largest": lambda class_: _bytes(class_["size_bytes"]["max"]),
    "arrivals/s, mean": lambda class_: _optional(class_["arrivals"]["mean_per_s"]),
    "in the fullest second": lambda class_: units.count(class_["arrivals"]["peak_1s"]),
    "in the fullest 0.1 s": lambda class_: units.count(class_["arrivals"]["peak_100ms"]),
    "dispersion of 0.1 s": lambda class_: _optional(class_["arrivals"]["dispersion_100ms"]),
    "variation of gaps": lambda class_: _optional(class_["arrivals"]["gap_variation"]),
    "sequential": lambda class_: units.percent(class_["sequential"]["by_process"]),
    "footprint, MB": lambda class_: units.digits(class_["footprint_bytes"] / 1e6, 3),
    "recorded latency, p50": lambda class_: _recorded(class_, "p50_ns"),
    "recorded latency, p99": lambda class_: _recorded(class_, "p99_ns"),
}
"""The figures of a class, in the order of the rows."""


def table(classes: Sequence[Description]) -> Table:
    """Make a table with a column for each class and a row for each figure."""
    rows = [[name, *map(figure, classes)] for name, figure in FIGURES.items()]
    return Table(["", *(class_["name"] for class_ in classes)], rows)
