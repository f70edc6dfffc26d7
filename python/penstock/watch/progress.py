"""State of a run at one moment and its history, as text, figures and small bars."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from math import ceil
from typing import NamedTuple

from penstock.answer.table import NONE
from penstock.results.json_types import Class
from penstock.results.percentile import percentile
from penstock.results.steps import ClassNow, Finished, Now, Running
from penstock.text import units

HEADINGS = ("class", "requests/s", "MB/s", "p50", "p99", "queue", "share", "errors")
"""Headings of the result of `figures`."""

SPARE = ("share", "queue", "MB/s")
"""Headings that are left out if there is too little room, in this order."""

FIGURE = 7
"""Largest width of a figure in characters."""

WINDOWS = 60
"""Most windows that are shown: a minute, if each is a second."""

BARS = "▁▂▃▄▅▆▇█"


def latency(ns: float | None) -> str:
    """Format a latency, if there is one."""
    return NONE if ns is None else units.latency(ns)


def throughput(rate: float | None) -> str:
    """Format a throughput in MB/s, if there is one."""
    return NONE if rate is None else units.megabytes(rate)


def figures(class_: ClassNow, *, windows: int) -> tuple[str, ...]:
    """Format the figures of a class for `HEADINGS`; those of a window once one has ended."""
    known = windows > 0
    return (
        class_["name"],
        units.rate(class_["iops"]) if known else NONE,
        units.megabytes(class_["bw_bytes"]) if known else NONE,
        latency(class_["p50_ns"]),
        latency(class_["p99_ns"]),
        units.count(class_["outstanding"]),
        units.percent(class_["share"]) if known else NONE,
        units.count(class_["errors"]),
    )


def that_fit(room: int, names: Sequence[str]) -> list[int]:
    """Return the indexes of the `HEADINGS` that fit, each with a blank on both sides."""
    widths = [max(len(heading), FIGURE) + 2 for heading in HEADINGS]
    widths[0] = max(len(HEADINGS[0]), *map(len, names)) + 2
    kept = list(range(len(HEADINGS)))
    for heading in SPARE:
        if sum(widths[number] for number in kept) > room:
            kept.remove(HEADINGS.index(heading))
    return kept


def which(step: Running) -> str:
    """Return the policy, its round if there are rounds, and its number among several runs."""
    total = step["of"]
    name = in_round(step)
    return name if total == 1 else f"{name} ({step['number'] + 1} of {total})"


def in_round(step: Running | Finished) -> str:
    """Return the policy, and its round if there are rounds."""
    return f"{step['policy']}, round {step['round'] + 1}" if "round" in step else step["policy"]


def when(now: Now) -> str:
    """Return the time in the run."""
    late = ", serving what is left" if now["at_s"] > now["planned_s"] else ""
    return f"{units.seconds(now['at_s'])} of {units.seconds(now['planned_s'])}{late}"


def p99(class_: Class) -> str:
    """Format the 99th percentile of a class in a whole run."""
    return units.latency(percentile(class_["lat_ns"], 99)) if class_["requests"] else NONE


class Window(NamedTuple):
    """Figures of a class in one window: its number, latency in ns, bytes a second."""

    number: int
    p99_ns: int | None
    bw_bytes: float


def shown(now: Now) -> int:
    """Return the number of windows to show: those of the planned run, at most `WINDOWS`."""
    return max(1, min(WINDOWS, ceil(now["planned_s"] / now["window_s"])))


def fitting(room: int, windows: int) -> int:
    """Return the number of bars for `windows` in `room` characters; all cover equally many."""
    return -(-windows // _together(room, windows))


def _together(room: int, windows: int) -> int:
    return -(-windows // max(room, 1))


def greatest(columns: Iterable[float | None]) -> float | None:
    """Return the greatest value that is known."""
    return max((value for value in columns if value is not None), default=None)


def bars(values: Sequence[float | None], most: float | None) -> str:
    """Draw a bar from 0 to `most` for each value, and a gap for `None`."""

    def bar(value: float | None) -> str:
        if value is None:
            return " "
        return BARS[round(value / most * (len(BARS) - 1))] if most else BARS[0]

    return "".join(map(bar, values))


class History:
    """The last windows of one class."""

    def __init__(self) -> None:
        """Create an empty history."""
        self._windows: deque[Window] = deque(maxlen=WINDOWS)

    def add(self, number: int, class_: ClassNow) -> bool:
        """Add a window unless it is known; return whether it is new."""
        new = number > (self._windows[-1].number if self._windows else 0)
        if new:
            self._windows.append(Window(number, class_["p99_ns"], class_["bw_bytes"]))
        return new

    def latencies(self, room: int, windows: int) -> list[float | None]:
        """Return the worst 99th percentile of the windows of each bar."""
        return [
            greatest(group) for group in self._grouped(room, windows, lambda window: window.p99_ns)
        ]

    def rates(self, room: int, windows: int) -> list[float | None]:
        """Return the mean throughput of the windows of each bar."""
        grouped = self._grouped(room, windows, lambda window: window.bw_bytes)
        return [sum(group) / len(group) if group else None for group in grouped]

    def _grouped(
        self, room: int, windows: int, value: Callable[[Window], float | None]
    ) -> list[list[float]]:
        """Return the known values of the windows of each bar, in order."""
        if not self._windows:
            return []
        together = _together(room, windows)
        first, last = ((self._windows[end].number - 1) // together for end in (0, -1))
        groups: list[list[float]] = [[] for _ in range(first, last + 1)]
        for window in self._windows:
            if (known := value(window)) is not None:
                groups[(window.number - 1) // together - first].append(known)
        return groups[-fitting(room, windows) :]
