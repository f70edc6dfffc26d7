"""What is said of a run at one moment, and what is remembered of it: words, figures, small bars."""

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
"""Of what `figures` says."""

SPARE = ("share", "queue", "MB/s")
"""Those that are left out where there is no room for all, the first of them first."""

FIGURE = 7
"""Figures take up to so many columns."""

WINDOWS = 60
"""So many windows are shown at most: a minute, if each is a second."""

BARS = "▁▂▃▄▅▆▇█"


def latency(ns: float | None) -> str:
    """A latency, if there is one."""
    return NONE if ns is None else units.latency(ns)


def throughput(rate: float | None) -> str:
    """A throughput in MB/s, if there is one."""
    return NONE if rate is None else units.megabytes(rate)


def figures(class_: ClassNow, *, windows: int) -> tuple[str, ...]:
    """A class as `HEADINGS` says; what is of a window only once one has ended."""
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
    total = step["of"]
    name = in_round(step)
    return name if total == 1 else f"{name} ({step['number'] + 1} of {total})"


def in_round(step: Running | Finished) -> str:
    """The policy, and its round if there are rounds."""
    return f"{step['policy']}, round {step['round'] + 1}" if "round" in step else step["policy"]


def when(now: Now) -> str:
    """The time in the run."""
    late = ", serving what is left" if now["at_s"] > now["planned_s"] else ""
    return f"{units.seconds(now['at_s'])} of {units.seconds(now['planned_s'])}{late}"


def p99(class_: Class) -> str:
    """The 99th percentile of what a class got in a whole run."""
    return units.latency(percentile(class_["lat_ns"], 99)) if class_["requests"] else NONE


class Window(NamedTuple):
    """What a class got in one window: its number, latency in ns, bytes a second."""

    number: int
    p99_ns: int | None
    bw_bytes: float


def shown(now: Now) -> int:
    """How many windows have room: as many as the run is planned to take, or the last of them."""
    return max(1, min(WINDOWS, ceil(now["planned_s"] / now["window_s"])))


def fitting(room: int, windows: int) -> int:
    """How many bars stand for `windows`, each for as many, where there is room for so many."""
    return -(-windows // _together(room, windows))


def _together(room: int, windows: int) -> int:
    return -(-windows // max(room, 1))


def greatest(columns: Iterable[float | None]) -> float | None:
    """The greatest of what is known."""
    return max((value for value in columns if value is not None), default=None)


def bars(values: Sequence[float | None], most: float | None) -> str:
    """A bar for each, from nothing to `most`, and a gap where there is none."""

    def bar(value: float | None) -> str:
        if value is None:
            return " "
        return BARS[round(value / most * (len(BARS) - 1))] if most else BARS[0]

    return "".join(map(bar, values))


class History:
    """The last windows of one class."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._windows: deque[Window] = deque(maxlen=WINDOWS)

    def add(self, number: int, class_: ClassNow) -> bool:
        """Remember a window, once; whether it is new."""
        new = number > (self._windows[-1].number if self._windows else 0)
        if new:
            self._windows.append(Window(number, class_["p99_ns"], class_["bw_bytes"]))
        return new

    def latencies(self, room: int, windows: int) -> list[float | None]:
        """The 99th percentiles, the worst of the windows that share a bar."""
        return [greatest(group) for group in self._grouped(room, windows, lambda it: it.p99_ns)]

    def rates(self, room: int, windows: int) -> list[float | None]:
        """Throughput, the mean of the windows that share a bar."""
        grouped = self._grouped(room, windows, lambda it: it.bw_bytes)
        return [sum(group) / len(group) if group else None for group in grouped]

    def _grouped(
        self, room: int, windows: int, value: Callable[[Window], float | None]
    ) -> list[list[float]]:
        """The values of as many neighbours together as it takes, in order; none where none are."""
        if not self._windows:
            return []
        together = _together(room, windows)
        first, last = ((self._windows[end].number - 1) // together for end in (0, -1))
        groups: list[list[float]] = [[] for _ in range(first, last + 1)]
        for window in self._windows:
            if (known := value(window)) is not None:
                groups[(window.number - 1) // together - first].append(known)
        return groups[-fitting(room, windows) :]
