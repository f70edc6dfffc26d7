"""Latencies in buckets, counted from the beginning on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True)
class LatencyBuckets:
    """Counts of latencies up to each of fixed bounds."""

    count: int
    """Number of all latencies."""
    sum_ns: int
    upto_ns: Sequence[tuple[int, int]]
    """Pairs of a bound and the number of latencies up to it."""

    def plus(self, more: Self) -> Self:
        """Return these latencies and `more`, which have the same bounds."""
        pairs = zip(self.upto_ns, more.upto_ns, strict=True)
        return type(self)(
            count=self.count + more.count,
            sum_ns=self.sum_ns + more.sum_ns,
            upto_ns=[(bound, ours + theirs) for (bound, ours), (_, theirs) in pairs],
        )
