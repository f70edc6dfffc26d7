"""The family `fixed`: laws of length."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.calibrate.models.model import Guess, Known, Model, Table, nanoseconds
from penstock.calibrate.probes import Op

DEPTH = 256
"""Requests in a fitted device at most; what is measured needs fewer."""


@dataclass(frozen=True)
class CostLaw:
    """Nanoseconds of `fixed`: for a request, for each of its bytes, and once for a batch."""

    base: float
    per_byte: float
    latency: float

    def table(self) -> Table:
        """Returns the parameters as the device's table."""
        return {
            "base": nanoseconds(self.base),
            "per_mb": nanoseconds(self.per_byte * 1e6),
            "latency": nanoseconds(self.latency),
        }


def _first(known: Known, op: Op) -> CostLaw:
    """Returns the law by the extremes of the probes."""
    small, large = known.sizes(op)

    def least(size: int) -> float:
        return min(figures.p50_ns for figures in known.of(op, size=size, depth=1))

    small_ns, many = least(small), max(figures.iops for figures in known.of(op, size=small))
    per_byte = max(least(large) - small_ns, 1.0) / (large - small)
    base = max(1e9 / many - per_byte * small, 1.0)
    # A latency that is lost in what requests take still has a slope.
    return CostLaw(base, per_byte, max(small_ns - base - per_byte * small, small_ns / 50))


def _guesses(known: Known) -> list[Guess]:
    ops: tuple[Op, ...] = ("read", "write") if known.writes else ("read",)
    laws = [_first(known, op) for op in ops]

    def device(values: Sequence[float]) -> Table:
        table: Table = {"model": "fixed", **CostLaw(*values[:3]).table(), "depth": DEPTH}
        if values[3:]:
            table["writes"] = CostLaw(*values[3:]).table()
        return {**table, "capacity": f"{known.capacity}B"}

    begin = [value for law in laws for value in (law.base, law.per_byte, law.latency)]
    return [Guess.at(begin, device)]


FIXED = Model(
    "fixed",
    "a time for each request and each byte, and a latency for all that are taken together; "
    "addresses cost nothing",
    (),
    _guesses,
)
