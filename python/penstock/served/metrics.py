"""Metrics of a served target, for Prometheus."""

from collections.abc import Mapping
from typing import Any

from penstock.metrics.by_class import ClassTotals, of_classes
from penstock.metrics.outlet import Outlet
from penstock.metrics.text import Metric, Sample
from penstock.results.buckets import LatencyBuckets
from penstock.served.window import WAYS, outstanding


class ServedMetrics:
    """The metrics of a served target, which are new once a second."""

    def __init__(self, outlet: Outlet, target: str, policy: str) -> None:
        """Write them to `outlet`."""
        self._outlet, self._target, self._policy = outlet, target, policy

    @property
    def failure(self) -> str | None:
        """Message of the first write that failed: the target is served without."""
        return self._outlet.failure

    def begin(self) -> None:
        """Begin before the target is served.

        # Errors
        Metrics cannot be written there.
        """
        self._outlet.open()

    def take(self, report: Mapping[str, Any]) -> None:
        """Write the metrics of a report."""
        events = Metric(
            "penstock_served_policy_events",
            "gauge",
            "Counters of the policy.",
            [
                Sample({"target": self._target, "policy": self._policy, "counter": name}, value)
                for name, value in report["policy"].items()
            ],
        )
        self._put(_classes(report, self._policy), [events, self._running(1)])

    def end(self, report: Mapping[str, Any]) -> None:
        """Write the last report, and that nothing is served any more; what is of a moment goes."""
        ended = [totals.ended() for totals in _classes(report, self._policy)]
        self._put(ended, [self._running(0)])
        self._outlet.close()

    def _put(self, classes: list[ClassTotals], more: list[Metric]) -> None:
        self._outlet.put([*of_classes("served", self._target, classes), *more])

    def _running(self, value: int) -> Metric:
        meaning = "Whether the target is served; 0 once it is taken down."
        return Metric(
            "penstock_served_running", "gauge", meaning, [Sample({"target": self._target}, value)]
        )


def _classes(report: Mapping[str, Any], policy: str) -> list[ClassTotals]:
    return [
        ClassTotals(
            labels={"policy": policy, "class": volume["name"], "direction": way},
            requests=figures["requests"],
            bytes=figures["bytes"],
            errors=figures["errors"],
            latency=LatencyBuckets(**figures["latency_buckets"]),
            outstanding=outstanding(figures),
            queued=figures["queued"],
            in_flight=figures["in_flight"],
        )
        for volume in report["volumes"]
        for way in WAYS
        for figures in [volume[way]]
    ]
