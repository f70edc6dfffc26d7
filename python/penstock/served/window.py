"""Windows of a served target: what its volumes did between two looks."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from penstock.results.steps import ClassNow

WAYS = {"read": "reads", "write": "writes", "flush": "flushes", "discard": "discards"}
"""Operations that are counted, and their names in tables."""


def outstanding(figures: Mapping[str, Any]) -> int:
    """Return the requests of an operation that are not answered."""
    return int(figures["queued"] + figures["in_flight"])


class ServedWindow(NamedTuple):
    """A window of a served target, and all until then."""

    at_s: float
    """Its end, in seconds since the target is served."""
    seconds: float
    report: Mapping[str, Any]
    """All until its end."""
    latencies: Mapping[str, Mapping[str, Any]]
    """The latencies in it, by volume and operation."""
    before: Mapping[str, Any]
    """The report at its beginning."""

    def volumes(self) -> Iterator[ClassNow]:
        """Yield the figures of each volume: of latencies the worse of reads and writes."""
        for volume, before in zip(self.report["volumes"], self.before["volumes"], strict=True):
            known = [
                self.latencies[volume["name"]][way]["percentile"]
                for way in ("read", "write")
                if volume[way]["requests"] > before[way]["requests"]
            ]
            yield {
                "name": volume["name"],
                "iops": self._grown(volume, before, "requests"),
                "bw_bytes": self._grown(volume, before, "bytes"),
                "p50_ns": max((latencies["50.000000"] for latencies in known), default=None),
                "p99_ns": max((latencies["99.000000"] for latencies in known), default=None),
                "share": 0.0,
                "outstanding": sum(outstanding(volume[way]) for way in WAYS),
                "errors": sum(volume[way]["errors"] for way in WAYS),
            }

    def _grown(self, volume: Mapping[str, Any], before: Mapping[str, Any], key: str) -> float:
        return float(sum(volume[way][key] - before[way][key] for way in WAYS)) / self.seconds
