"""Model for a fit: its starting points, and the device that its parameters make.

A fit works on logarithms: times and rates are above zero, and what counts is by how many percent a
model is off.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import TypeAlias

from penstock.calibrate.probes import WHOLE, Op, Pattern, Probe, ProbeFigures, Region
from penstock.job import Plain

Table: TypeAlias = dict[str, Plain]
"""Table below `[device]`."""


@dataclass(frozen=True)
class Known:
    """Results of the probes of a target."""

    figures: Mapping[Probe, ProbeFigures]
    capacity: int
    """Bytes of the target."""

    @property
    def writes(self) -> bool:
        """Whether writes were measured."""
        return any(probe.op == "write" for probe in self.figures)

    def of(
        self,
        op: Op,
        *,
        pattern: Pattern | None = None,
        size: int | None = None,
        depth: int | None = None,
        region: Region = WHOLE,
    ) -> list[ProbeFigures]:
        """Returns the figures of the probes of this kind; there is one at least."""
        matching = [
            figures
            for probe, figures in self.figures.items()
            if (probe.op, probe.region) == (op, region)
            and pattern in (None, probe.pattern)
            and size in (None, probe.size)
            and depth in (None, probe.depth)
        ]
        assert matching, (op, pattern, size, depth, region)
        return matching

    def sizes(self, op: Op) -> tuple[int, int]:
        """The shortest and the longest requests."""
        sizes = [probe.size for probe in self.figures if probe.op == op]
        return min(sizes), max(sizes)


@dataclass(frozen=True)
class Guess:
    """Starting point of a fit: logarithms of the free parameters, and the device they make."""

    x: Sequence[float]
    device: Callable[[Sequence[float]], Table]
    """The `[device]` table of parameters."""

    @classmethod
    def at(cls, values: Sequence[float], device: Callable[[Sequence[float]], Table]) -> "Guess":
        """A guess by the parameters themselves, all above zero, as `device` takes them."""
        return cls(
            [log(value) for value in values],
            lambda x: device([exp(value) for value in x]),
        )


@dataclass(frozen=True)
class Model:
    """A model whose parameters are fitted."""

    name: str
    needs: str
    """Requirements on a device, for a person."""
    assumes: Sequence[str]
    """Assumptions that no probe shows, for a person, line by line."""
    guesses: Callable[[Known], Sequence[Guess]]
    """Starting points of its fit."""


def nanoseconds(ns: float) -> str:
    """A length of time as a job writes it; nothing takes no time at all."""
    return f"{max(round(ns), 1)}ns"


def per_second(rate: float) -> str:
    """Bytes a second as a job writes them; what is slower than a device may be is the slowest."""
    return f"{round(within(rate, 1e6, 1e10) / 1e3)}kB/s"


def within(value: float, least: float, most: float) -> float:
    """The nearest that a device file may say."""
    return min(max(value, least), most)
