"""Lines and a table of the load of a job."""

from collections.abc import Iterator
from typing import Any, TypeAlias

from penstock.answer.table import NONE
from penstock.text import units

Amounts: TypeAlias = dict[str, Any]
"""Result of `job_amounts`."""

HEADINGS = ("class", "agents", "in flight", "requests", "bytes")

FILE_HEADINGS = ("file", "size", "on", "at")

_FILES_SHOWN = 16
"""Most rows of files."""

UNBOUNDED = "no bound"
"""Text for the requests in flight of scheduled arrivals."""


def lines(amounts: Amounts) -> Iterator[str]:
    """Yield the job, its device, its duration and its limit on outstanding requests."""
    device = amounts["device"] or "a device that --on names"
    lasts = amounts["seconds"]
    how_long = "until all agents are done" if lasts is None else f"for {units.seconds(lasts)}"
    yield f"{amounts['job']} on {device}, {how_long}"
    flight = amounts["all"]["in_flight"]
    most = units.count(amounts["max_outstanding"])
    at_most = "as many as are due" if flight is None else f"{units.count(flight)} at most"
    yield f"in flight: {at_most}; max_outstanding is {most}"


def rows(amounts: Amounts) -> list[list[str]]:
    """Return a row for each class, and one for all if there are several."""
    classes = [(class_["name"], class_) for class_ in amounts["classes"]]
    every = [*classes, ("all", amounts["all"])] if len(classes) > 1 else classes
    return [
        [
            name,
            units.count(amount["agents"]),
            UNBOUNDED if amount["in_flight"] is None else units.count(amount["in_flight"]),
            NONE if amount["requests"] is None else units.count(amount["requests"]),
            NONE if amount["bytes"] is None else units.size(amount["bytes"]),
        ]
        for name, amount in every
    ]


def file_rows(amounts: Amounts) -> list[list[str]]:
    """Return a row for each file: its size, its device and its place there."""
    files = amounts["files"]
    shown = files if len(files) <= _FILES_SHOWN else files[: _FILES_SHOWN - 1]
    rows = [
        [
            file["name"],
            units.size(file["bytes"]),
            _place(file),
            NONE if file["at"] is None else units.size(file["at"]),
        ]
        for file in shown
    ]
    left = len(files) - len(shown)
    return [*rows, [f"… {left:,} more", "", "", ""]] if left else rows


def _place(file: dict[str, Any]) -> str:
    """Return the device of a file, with the name under which files share it."""
    device, shared = file["device"], file["shared"]
    if shared is None:
        return "a device of its own" if device is None else f"{device} of its own"
    return f"{shared}, shared" if device is None else f"{shared} ({device}), shared"
