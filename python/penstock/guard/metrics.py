"""Metrics of a guard, for Prometheus."""

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.guard.session import GoalState, GuardStatus
from penstock.metering import RequestFigures
from penstock.metrics.by_class import ClassTotals, of_classes
from penstock.metrics.outlet import Outlet
from penstock.metrics.text import Kind, Metric, Sample

DIRECTIONS = ("read", "write", "flush", "discard")


@dataclass
class _Total:
    """Requests of a class in a direction."""

    last: RequestFigures
    bytes: int = 0


class GuardMetrics:
    """The metrics of a guard, which are new with each window."""

    def __init__(self, outlet: Outlet, disk: str) -> None:
        """Write them to `outlet`."""
        self._outlet, self._disk = outlet, disk
        self._totals: dict[tuple[str, str], _Total] = {}
        self._last: GuardStatus | None = None

    @property
    def failure(self) -> str | None:
        """Message of the first write that failed: the guard goes on without."""
        return self._outlet.failure

    def begin(self) -> None:
        """Begin before there is anything to measure.

        # Errors
        Metrics cannot be written there.
        """
        self._outlet.open()
        self._outlet.put([self._running(1)])

    def take(self, status: GuardStatus) -> None:
        """Write the metrics with those of the last window."""
        for name, directions in status.measured.classes.items():
            for way in DIRECTIONS:
                figures: RequestFigures = getattr(directions, way)
                total = self._totals.setdefault((name, way), _Total(figures))
                total.last = figures
                total.bytes += figures.bytes
        self._last = status
        self._outlet.put(
            [
                *of_classes("guard", self._disk, self._classes()),
                *self._counters(status),
                *self._gauges(status),
            ]
        )

    def end(self) -> None:
        """Write that the guard has ended: what was of the last window only goes."""
        classes = of_classes("guard", self._disk, [totals.ended() for totals in self._classes()])
        counters = () if self._last is None else self._counters(self._last)
        self._outlet.put([*classes, *counters, self._running(0)])
        self._outlet.close()

    def _classes(self) -> list[ClassTotals]:
        return [
            ClassTotals(
                labels={"class": name, "direction": way},
                requests=total.last.latency_buckets.count,
                bytes=total.bytes,
                latency=total.last.latency_buckets,
                outstanding=total.last.waiting,
            )
            for (name, way), total in self._totals.items()
        ]

    def _counters(self, status: GuardStatus) -> Iterator[Metric]:
        so_far = status.so_far
        for name, meaning, value in (
            ("changes_total", "Changes of what is set.", so_far.changes),
            ("windows_total", "Windows that were measured.", so_far.windows),
            (
                "idle_windows_total",
                "Windows in which the online programs asked for nothing.",
                so_far.idle_windows,
            ),
            ("lost_events_total", "Events that the kernel dropped.", so_far.lost),
        ):
            yield self._single(name, meaning, value, kind="counter")

    def _gauges(self, status: GuardStatus) -> Iterator[Metric]:
        yield Metric(
            "penstock_guard_goal_ratio",
            "gauge",
            "Ratio by which the last window missed a goal: 1 or less is met.",
            [Sample(self._goal_labels(state), state.missed_by) for state in status.goals],
        )
        if status.window is not None:
            meaning = "Whether the last window met all goals."
            yield self._single("goals_met", meaning, int(status.window.missed_by <= 1))
        yield Metric(
            "penstock_guard_means_info",
            "gauge",
            "The means that is in force.",
            [Sample({"target": self._disk, "means": status.means.name}, 1)],
        )
        meaning = "Whether the search is over, and the means is kept."
        yield self._single("decided", meaning, int(status.decided))
        yield self._running(1)

    def _running(self, value: int) -> Metric:
        meaning = "Whether the guard runs; 0 once it has put everything back."
        return self._single("running", meaning, value)

    def _single(self, name: str, meaning: str, value: float, *, kind: Kind = "gauge") -> Metric:
        samples = [Sample({"target": self._disk}, value)]
        return Metric(f"penstock_guard_{name}", kind, meaning, samples)

    def _goal_labels(self, state: GoalState) -> dict[str, str]:
        return {"target": self._disk, "goal": state.goal.text}
