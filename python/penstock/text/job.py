"""What a job amounts to, in lines and a table."""

from collections.abc import Iterator
from typing import Any, TypeAlias

from penstock.answer.table import NONE
from penstock.text import units

Amounts: TypeAlias = dict[str, Any]
"""What `job_amounts` returns."""

HEADINGS = ("class", "agents", "in flight", "requests", "bytes")


UNBOUNDED = "no bound"
"""Requests in flight of arrivals on a schedule."""


def lines(found: Amounts) -> Iterator[str]:
    """The job, its device, how long it lasts and what it may have outstanding."""
    device = found["device"] or "a device that --on names"
    lasts = found["seconds"]
    how_long = "until all agents are done" if lasts is None else f"for {units.seconds(lasts)}"
    yield f"{found['job']} on {device}, {how_long}"
    flight = found["all"]["in_flight"]
    most = units.count(found["max_outstanding"])
    at_most = "as many as are due" if flight is None else f"{units.count(flight)} at most"
    yield f"in flight: {at_most}; max_outstanding is {most}"


def rows(found: Amounts) -> list[list[str]]:
    """A row for each class, and one for all if there are several."""
    classes = [(one["name"], one) for one in found["classes"]]
    every = [*classes, ("all", found["all"])] if len(classes) > 1 else classes
    return [
        [
            name,
            units.count(one["agents"]),
            UNBOUNDED if one["in_flight"] is None else units.count(one["in_flight"]),
            NONE if one["requests"] is None else units.count(one["requests"]),
            NONE if one["bytes"] is None else units.size(one["bytes"]),
        ]
        for name, one in every
    ]
