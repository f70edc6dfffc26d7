"""What is said of a run at one moment, and what is remembered of it: words, figures, small bars."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from penstock.results.json_types import Class
from penstock.results.percentile import percentile
from penstock.results.steps import ClassNow, Finished, Now, Running
from penstock.text import units

NOTHING = "–"
"""Where no request has completed: zero would be a lie."""

HEADINGS = ("class", "requests/s", "MB/s", "p50", "p99", "queue", "share", "errors")
"""Of what `figures` says."""

SPARE = ("share", "queue", "MB/s")
"""Those that are left out where there is no room for all, the first of them first."""

FIGURE = 7
"""Figures take up to so many columns."""

WINDOWS = 60
"""So many windows are remembered: a minute, if each is a second."""

BARS = "▁▂▃▄▅▆▇█"


def latency(ns: float | None) -> str:
    """A latency, if there is one."""
    return NOTHING if ns is None else units.latency(ns)


def figures(one: ClassNow, *, windows: int) -> tuple[str, ...]:
    """A class as `HEADINGS` says; what is of a window only once one has ended."""
    known = windows > 0
    return (
        one["name"],
        units.rate(one["iops"]) if known else NOTHING,
        units.megabytes(one["bw_bytes"]) if known else NOTHING,
        latency(one["p50_ns"]),
        latency(one["p99_ns"]),
        units.count(one["outstanding"]),
        units.percent(one["share"]) if known else NOTHING,
        units.count(one["errors"]),
    )


def that_fit(room: int, names: Sequence[str]) -> list[int]:
    """The numbers of those of `HEADINGS` for which there is room, a blank on both sides of each."""
    widths = [max(len(heading), FIGURE) + 2 for heading in HEADINGS]
    widths[0] = max(len(HEADINGS[0]), *map(len, names)) + 2
    kept = list(range(len(HEADINGS)))
    for heading in SPARE:
        if sum(widths[number] for number in kept) > room:
            kept.remove(HEADINGS.index(heading))
    return kept


def which(step: Running) -> str:
    """The policy, its round if there are rounds, and its place if there are several runs."""
    of = step["of"]
    name = in_round(step)
    return name if of == 1 else f"{name} ({step['number'] + 1} of {of})"


def in_round(step: Running | Finished) -> str:
    """The policy, and its round if there are rounds."""
    return f"{step['policy']}, round {step['round'] + 1}" if "round" in step else step["policy"]


def when(now: Now) -> str:
    """The time in the run."""
    late = ", serving what is left" if now["at_s"] > now["planned_s"] else ""
    return f"{units.seconds(now['at_s'])} of {units.seconds(now['planned_s'])}{late}"


def p99(one: Class) -> str:
    """The 99th percentile of what a class got in a whole run."""
    return units.latency(percentile(one["lat_ns"], 99)) if one["requests"] else NOTHING


class Window(NamedTuple):
    """What a class got in one window: its number, latency in ns, bytes a second."""

    number: int
    p99_ns: int | None
    bw_bytes: float


def fitting(room: int) -> int:
    """How many bars stand for all windows, each for as many, where there is room for so many."""
    return -(-WINDOWS // _together(room))


def _together(room: int) -> int:
    return -(-WINDOWS // max(room, 1))


def bars(values: Sequence[float | None]) -> str:
    """A bar for each, from nothing to the greatest, and a gap where there is none."""
    most = max((value for value in values if value is not None), default=0)

    def bar(value: float | None) -> str:
        if value is None:
            return " "
        return BARS[round(value / most * (len(BARS) - 1))] if most > 0 else BARS[0]

    return "".join(map(bar, values))


class History:
    """The last windows of one class."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._windows: deque[Window] = deque(maxlen=WINDOWS)

    def add(self, number: int, one: ClassNow) -> bool:
        """Remember a window, once; whether it is new."""
        new = number > (self._windows[-1].number if self._windows else 0)
        if new:
            self._windows.append(Window(number, one["p99_ns"], one["bw_bytes"]))
        return new

    def latencies(self, width: int) -> tuple[str, str]:
        """The 99th percentiles as bars of at most `width`, and the worst in words."""
        grouped = self._grouped(width, lambda window: window.p99_ns)
        columns = [max(group, default=None) for group in grouped]
        return bars(columns), latency(max((ns for ns in columns if ns is not None), default=None))

    def rates(self, width: int) -> tuple[str, str]:
        """Throughput as bars of at most `width`, and the most of a bar in MB/s."""
        grouped = self._grouped(width, lambda window: window.bw_bytes)
        columns = [sum(group) / len(group) if group else None for group in grouped]
        most = max((rate for rate in columns if rate is not None), default=None)
        return bars(columns), NOTHING if most is None else units.megabytes(most)

    def _grouped(self, width: int, value: Callable[[Window], float | None]) -> list[list[float]]:
        """The values of as many neighbours together as it takes, in order; none where none are."""
        if not self._windows:
            return []
        together = _together(width)
        first, last = (self._windows[end].number // together for end in (0, -1))
        groups: list[list[float]] = [[] for _ in range(first, last + 1)]
        for window in self._windows:
            if (known := value(window)) is not None:
                groups[window.number // together - first].append(known)
        return groups[-max(width, 1) :]
