"""Flushes of a disk's cache, and the goals that they rule out.

A flush stores all that the cache holds, whoever wrote it, and many disks answer nothing meanwhile.
No means shortens it but one that lets the batch write less.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from penstock.advise.goal import Goal
from penstock.guard.steps import RECENT
from penstock.metering import MeterWindow

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
"""Percentiles of latencies that a goal may be about."""


@dataclass(frozen=True)
class Flushing:
    """Flushes of the last windows, by the medians."""

    flush_ns: float
    """Time of a flush, from queueing to its end."""
    share: float
    """Share of the time in which the disk flushed, from 0 to 1."""
    rules_out: Sequence[str]
    """Goals that cannot be met then by a disk that answers nothing during a flush."""


class FlushTimes:
    """Times of the flushes of the last windows."""

    def __init__(self, goals: Sequence[Goal]) -> None:
        """Begin without a window."""
        self._goals = goals
        self._windows: deque[tuple[float, float]] = deque(maxlen=RECENT)

    def take(self, window: MeterWindow) -> Flushing | None:
        """Add a window, and return the medians; `None` as long as there was no flush."""
        times = [
            (flush.count, flush.latency_ns.p50)
            for flush in (figures.flush for figures in window.classes.values())
            if flush.latency_ns
        ]
        if times:
            busy = sum(count * time for count, time in times) / (window.to_ns - window.from_ns)
            self._windows.append((max(time for _, time in times), min(busy, 1.0)))
        if not self._windows:
            return None
        flush_ns, share = (median(column) for column in zip(*self._windows, strict=True))
        return Flushing(flush_ns, share, self._ruled_out(flush_ns, share))

    def _ruled_out(self, flush_ns: float, share: float) -> list[str]:
        """Return the goals that more requests miss than they allow, if flushes hold up all."""
        return [
            goal.text
            for goal in self._goals
            if share > 1 - QUANTILES.get(goal.figure.what, 0.0) and goal.missed_by(flush_ns) > 1
        ]
