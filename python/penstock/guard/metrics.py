"""Metrics of a guard, for Prometheus."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from penstock import metrics
from penstock.errors import PenstockError
from penstock.guard.session import OTHERS, PERCENTILES, GoalState, GuardStatus
from penstock.guard.who import BATCH, ONLINE
from penstock.metering import RequestFigures
from penstock.metrics import Metric, Sample

DIRECTIONS = ("read", "write", "flush", "discard")

CLASSES = (ONLINE, BATCH, OTHERS)


@dataclass
class _Total:
    requests: int = 0
    bytes: int = 0


@dataclass(kw_only=True)
class GuardMetrics:
    """The metrics of a guard, in a file that is written with each window."""

    path: Path
    disk: str
    failure: str | None = None
    """Message of the first write that failed: the guard goes on without."""
    _totals: dict[tuple[str, str], _Total] = field(
        default_factory=lambda: {(name, way): _Total() for name in CLASSES for way in DIRECTIONS}
    )
    _last: GuardStatus | None = None

    def __post_init__(self) -> None:
        """Raise an error unless the file may be written."""
        metrics.check(self.path)

    def take(self, status: GuardStatus) -> None:
        """Write the metrics with those of the last window."""
        for (name, way), total in self._totals.items():
            figures = _figures(status, name, way)
            if figures is not None:
                total.requests += figures.count
                total.bytes += figures.bytes
        self._last = status
        self._write([*self._counters(status), *self._gauges(status)])

    def end(self) -> None:
        """Write that the guard has ended: what was of the last window only goes."""
        if self._last is not None:
            self._write([*self._counters(self._last), self._running(0)])

    def _write(self, written: list[Metric]) -> None:
        try:
            metrics.write(self.path, written)
        except PenstockError as error:
            self.failure = self.failure or str(error)

    def _running(self, value: int) -> Metric:
        meaning = "Whether the guard runs; 0 once it has put everything back."
        return self._single("running", meaning, value)

    def _counters(self, status: GuardStatus) -> Iterator[Metric]:
        yield self._metric(
            "requests_total",
            "Requests that ended.",
            {key: total.requests for key, total in self._totals.items()},
            kind="counter",
        )
        yield self._metric(
            "bytes_total",
            "Bytes of the requests that ended.",
            {key: total.bytes for key, total in self._totals.items()},
            kind="counter",
        )
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
            yield Metric(
                f"penstock_guard_{name}", "counter", meaning, [Sample({"disk": self.disk}, value)]
            )

    def _gauges(self, status: GuardStatus) -> Iterator[Metric]:
        known = {key: figures for key in self._totals if (figures := _figures(status, *key))}
        yield Metric(
            "penstock_guard_latency_seconds",
            "gauge",
            "Latency of requests from queueing to completion in the last window.",
            [
                Sample(self._labels(key) | {"percentile": figure[1:]}, getattr(times, figure) / 1e9)
                for key, figures in known.items()
                if (times := figures.latency_ns) is not None
                for figure in PERCENTILES
            ],
        )
        yield self._metric(
            "waiting_requests",
            "Requests that had not ended at the end of the last window.",
            {key: known[key].waiting if key in known else 0 for key in self._totals},
        )
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
            [Sample({"disk": self.disk, "means": status.means.name}, 1)],
        )
        meaning = "Whether the search is over, and the means is kept."
        yield self._single("decided", meaning, int(status.decided))
        yield self._running(1)

    def _single(self, name: str, meaning: str, value: float) -> Metric:
        samples = [Sample({"disk": self.disk}, value)]
        return Metric(f"penstock_guard_{name}", "gauge", meaning, samples)

    def _metric(
        self,
        name: str,
        meaning: str,
        values: Mapping[tuple[str, str], float],
        kind: "metrics.Kind" = "gauge",
    ) -> Metric:
        samples = [Sample(self._labels(key), value) for key, value in values.items()]
        return Metric(f"penstock_guard_{name}", kind, meaning, samples)

    def _labels(self, key: tuple[str, str]) -> dict[str, str]:
        return {"disk": self.disk, "class": key[0], "direction": key[1]}

    def _goal_labels(self, state: GoalState) -> dict[str, str]:
        return {"disk": self.disk, "goal": state.goal.text}


def _figures(status: GuardStatus, name: str, way: str) -> RequestFigures | None:
    classes = status.measured.classes
    figures: RequestFigures | None = getattr(classes[name], way) if name in classes else None
    return figures
