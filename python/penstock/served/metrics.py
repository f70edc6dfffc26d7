"""Metrics of a served target, for Prometheus."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from penstock import metrics
from penstock.errors import PenstockError
from penstock.metrics import Metric, Sample
from penstock.served.window import WAYS, ServedWindow

PERCENTILES = ("50", "95", "99")


class ServedMetrics:
    """The metrics of a served target, in a file that is written once a second."""

    def __init__(self, path: Path, policy: str) -> None:
        """Take the file's name; nothing is written yet."""
        self._path, self._policy = path, policy
        self.failure: str | None = None
        """Message of the first write that failed: the target is served without."""

    def check(self) -> None:
        """Raise an error unless the file may be written."""
        metrics.check(self._path)

    def take(self, window: ServedWindow) -> None:
        """Write the metrics with those of the last window."""
        self._write([*_counters(window.report), *self._gauges(window), _running(1)])

    def end(self, report: Mapping[str, Any]) -> None:
        """Write the last report, and that nothing is served any more; what is of a window goes."""
        self._write([*_counters(report), _running(0)])

    def _write(self, written: list[Metric]) -> None:
        try:
            metrics.write(self._path, written)
        except PenstockError as error:
            self.failure = self.failure or str(error)

    def _gauges(self, window: ServedWindow) -> Iterator[Metric]:
        yield Metric(
            "penstock_served_latency_seconds",
            "gauge",
            "Latency of the requests in the last window, from the kernel's request to its answer.",
            [
                Sample(
                    {"volume": volume, "direction": way, "percentile": percentile},
                    distribution["percentile"][f"{percentile}.000000"] / 1e9,
                )
                for volume, latencies in window.latencies.items()
                for way in WAYS
                for distribution in [latencies[way]]
                if distribution["max"]
                for percentile in PERCENTILES
            ],
        )
        yield Metric(
            "penstock_served_outstanding_requests",
            "gauge",
            "Requests that are not answered.",
            [
                Sample({"volume": volume["name"]}, volume["outstanding"])
                for volume in window.report["volumes"]
            ],
        )
        yield Metric(
            "penstock_served_policy_events",
            "gauge",
            "Counters of the policy.",
            [
                Sample({"policy": self._policy, "counter": name}, value)
                for name, value in window.report["policy"].items()
            ],
        )


def _running(value: int) -> Metric:
    meaning = "Whether the target is served; 0 once it is taken down."
    return Metric("penstock_served_running", "gauge", meaning, [Sample({}, value)])


def _counters(report: Mapping[str, Any]) -> Iterator[Metric]:
    for key, name, meaning in (
        ("requests", "requests", "Requests that were answered."),
        ("bytes", "bytes", "Bytes of the requests that were answered."),
        ("errors", "failed_requests", "Requests that failed."),
    ):
        samples = [
            Sample({"volume": volume["name"], "direction": way}, volume[way][key])
            for volume in report["volumes"]
            for way in WAYS
        ]
        yield Metric(f"penstock_served_{name}_total", "counter", meaning, samples)
