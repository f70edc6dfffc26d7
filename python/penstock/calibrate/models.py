"""Models that may explain a target: what is free in each, and where a fit begins.

A fit works on logarithms: times and rates are above zero, and what counts is by how many percent a
model is off.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

from penstock.calibrate.probes import Figures, Op, Probe
from penstock.job import Plain

DEPTH = 256
"""Requests in a fitted device at most; what is measured needs fewer."""


@dataclass(frozen=True)
class Model:
    """A model whose parameters are fitted."""

    name: str
    needs: str
    """What it says of a device, for a person."""
    begin: Callable[[Mapping[Probe, Figures]], Sequence[float]]
    """Where a fit begins: logarithms of its parameters."""
    device: Callable[[Sequence[float]], dict[str, Plain]]
    """The `[device]` table of parameters."""


@dataclass(frozen=True)
class Law:
    """Nanoseconds of `fixed`: for a request, for each of its bytes, and once for a batch."""

    base: float
    per_byte: float
    latency: float

    def table(self) -> dict[str, Plain]:
        """As the device's table has it."""
        return {
            "base": nanoseconds(self.base),
            "per_mb": nanoseconds(self.per_byte * 1e6),
            "latency": nanoseconds(self.latency),
        }


def nanoseconds(ns: float) -> str:
    """A length of time as a job writes it; nothing takes no time at all."""
    return f"{max(round(ns), 1)}ns"


def _first(figures: Mapping[Probe, Figures], op: Op) -> Law:
    """What the extremes of the probes say by themselves."""
    own = {probe: figure for probe, figure in figures.items() if probe.op == op}
    small = min(probe.size for probe in own)
    large = max(probe.size for probe in own)

    def least(size: int, depth: int) -> float:
        return min(f.p50_ns for p, f in own.items() if p.size == size and p.depth == depth)

    one, many = least(small, 1), max(f.iops for p, f in own.items() if p.size == small)
    per_byte = max(least(large, 1) - one, 1.0) / (large - small)
    base = max(1e9 / many - per_byte * small, 1.0)
    return Law(base, per_byte, max(one - base - per_byte * small, 1.0))


def _ops(figures: Mapping[Probe, Figures]) -> list[Op]:
    ops: tuple[Op, ...] = ("read", "write")
    return [op for op in ops if any(probe.op == op for probe in figures)]


def _begin_fixed(figures: Mapping[Probe, Figures]) -> list[float]:
    laws = [_first(figures, op) for op in _ops(figures)]
    return [log(value) for law in laws for value in (law.base, law.per_byte, law.latency)]


def _fixed(x: Sequence[float]) -> dict[str, Plain]:
    values = [exp(value) for value in x]
    table = {"model": "fixed", **Law(*values[:3]).table(), "depth": DEPTH}
    return {**table, "writes": Law(*values[3:]).table()} if values[3:] else table


MODELS = (
    Model(
        "fixed",
        "a time for each request and each byte, and a latency for all that are taken together; "
        "addresses cost nothing",
        _begin_fixed,
        _fixed,
    ),
)
"""The simplest first."""
