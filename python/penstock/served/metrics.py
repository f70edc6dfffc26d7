"""Metrics of a served target, for Prometheus."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from penstock import metrics
from penstock.errors import PenstockError
from penstock.metrics import Metric, Sample

PERIOD_S = 1.0
"""Seconds between two writes."""

WAYS = ("read", "write", "flush", "discard")

PERCENTILES = ("50", "95", "99")


class ServedMetrics:
    """The metrics of a served target, in a file that is written once a second."""

    def __init__(self, path: Path, policy: str) -> None:
        """Take the file's name; nothing is written yet."""
        self._path, self._policy, self._written = path, policy, 0.0
        self.failure: str | None = None
        """Message of the first write that failed: the target is served without."""

    def check(self) -> None:
        """Raise an error unless the file may be written."""
        metrics.check(self._path)

    def take(self, report: Mapping[str, Any], *, last: bool = False) -> None:
        """Write the metrics of a report, if the last were written a while ago or it is the last."""
        if not last and time.monotonic() < self._written + PERIOD_S:
            return
        self._written = time.monotonic()
        try:
            metrics.write(self._path, list(self._metrics(report, running=not last)))
        except PenstockError as error:
            self.failure = self.failure or str(error)

    def _metrics(self, report: Mapping[str, Any], *, running: bool) -> Iterator[Metric]:
        for key, name, meaning in (
            ("requests", "requests", "Requests that were answered."),
            ("bytes", "bytes", "Bytes of the requests that were answered."),
            ("errors", "failed_requests", "Requests that failed."),
        ):
            samples = list(_each(report, key))
            yield Metric(f"penstock_served_{name}_total", "counter", meaning, samples)
        yield Metric(
            "penstock_served_latency_seconds",
            "gauge",
            "Latency of all requests so far, from the kernel's request to its answer.",
            [
                Sample(labels | {"percentile": percentile}, latency[f"{percentile}.000000"] / 1e9)
                for labels, figures in _figures(report)
                if figures["requests"]
                for latency in [figures["latency_ns"]["percentile"]]
                for percentile in PERCENTILES
            ],
        )
        yield Metric(
            "penstock_served_outstanding_requests",
            "gauge",
            "Requests that are not answered.",
            [
                Sample({"volume": volume["name"]}, volume["outstanding"] if running else 0)
                for volume in report["volumes"]
            ],
        )
        yield Metric(
            "penstock_served_policy_events",
            "gauge",
            "Counters of the policy.",
            [
                Sample({"policy": self._policy, "counter": name}, value)
                for name, value in report["policy"].items()
            ],
        )
        yield Metric(
            "penstock_served_running",
            "gauge",
            "Whether the target is served; 0 once it is taken down.",
            [Sample({}, int(running))],
        )


def _figures(report: Mapping[str, Any]) -> Iterator[tuple[dict[str, str], Mapping[str, Any]]]:
    for volume in report["volumes"]:
        for way in WAYS:
            yield {"volume": volume["name"], "direction": way}, volume[way]


def _each(report: Mapping[str, Any], key: str) -> Iterator[Sample]:
    for labels, figures in _figures(report):
        yield Sample(labels, figures[key])
