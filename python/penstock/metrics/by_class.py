"""Metrics of classes of requests: one set of names, whatever measures them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from penstock.metrics.text import Kind, Metric, Sample
from penstock.results.buckets import LatencyBuckets


@dataclass(frozen=True, kw_only=True)
class ClassTotals:
    """Requests of a class, or of one direction of it, since the beginning; `None` is unknown."""

    labels: Mapping[str, str]
    requests: int
    bytes: int
    latency: LatencyBuckets
    errors: int | None = None
    outstanding: int | None = None
    queued: int | None = None
    in_flight: int | None = None

    def ended(self) -> Self:
        """Return them without what is of a moment."""
        return replace(self, outstanding=None, queued=None, in_flight=None)

    def then(self, later: Self) -> Self:
        """Return these and what `later` has counted, with what is of its moment."""
        return replace(
            later,
            requests=self.requests + later.requests,
            bytes=self.bytes + later.bytes,
            errors=(self.errors or 0) + (later.errors or 0),
            latency=self.latency.plus(later.latency),
        )


class _Kept(NamedTuple):
    name: str
    kind: Kind
    meaning: str
    value: Callable[[ClassTotals], float | LatencyBuckets | None]


METRICS = (
    _Kept(
        "penstock_requests_total",
        "counter",
        "Requests that ended, with those that failed.",
        lambda totals: totals.requests,
    ),
    _Kept(
        "penstock_bytes_total",
        "counter",
        "Bytes of the requests that ended.",
        lambda totals: totals.bytes,
    ),
    _Kept(
        "penstock_failed_requests_total",
        "counter",
        "Requests that failed.",
        lambda totals: totals.errors,
    ),
    _Kept(
        "penstock_latency_seconds",
        "histogram",
        "Time from the arrival of a request to its end.",
        lambda totals: totals.latency,
    ),
    _Kept(
        "penstock_outstanding_requests",
        "gauge",
        "Requests that came and did not end, queued or in flight.",
        lambda totals: totals.outstanding,
    ),
    _Kept(
        "penstock_queued_requests",
        "gauge",
        "Requests of which the policy has dispatched nothing.",
        lambda totals: totals.queued,
    ),
    _Kept(
        "penstock_in_flight_requests",
        "gauge",
        "Requests of which the policy has dispatched all or a piece, and which did not end.",
        lambda totals: totals.in_flight,
    ),
)
"""Their names, kinds and meanings; every source writes those that it knows."""


def of_classes(source: str, target: str, classes: Sequence[ClassTotals]) -> list[Metric]:
    """Return the metrics of classes; `source` measures them, at `target`."""
    common = {"source": source, "target": target}
    return [
        Metric(
            kept.name,
            kept.kind,
            kept.meaning,
            [
                Sample({**common, **totals.labels}, value)
                for totals in classes
                if (value := kept.value(totals)) is not None
            ],
        )
        for kept in METRICS
    ]
