"""Length of a cycle of `fairio`: the heuristic of its report, and the floor of its queue.

Source: "A heuristic for selecting the cycle length for FAIRIO" (UTEP-CS-11-53), equation (3), and
its last section, which asks for stability that is measured. The floor is Penstock's own: requests
that are at the disks when a cycle ends spend shares of the next one. If they are worth more than
the time in which the disks are idle, all shares run out early, and what fills the rest of the cycle
goes by order of arrival.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from penstock.errors import wrong

STEP_NS = 100_000_000
"""Cycles are rounded up to multiples of it, as those of the report are."""

UNSTABLE, STABLE = 17, 85
"""Requests in a cycle by which the report's illustrations of unstable and of stable classes fare
well."""

NO_STABILITY = 0.5
"""Instability from which on a class has no stability left."""

LOAD_OF_A_DISK = 2
"""Requests for each disk below which `fairio` takes the disks for under-loaded."""

_BY_ERROR = Fraction(133, 100)
"""The error is three quarters of what the filled part of a cycle alone would explain: measured."""


class Share(NamedTuple):
    """Properties of one class that the length of a cycle depends on."""

    name: str
    weight: int
    service_ns: int
    """Mean device time of a request, on all disks together."""
    requests: int
    """Least number of its requests in a cycle."""


@dataclass(frozen=True, kw_only=True)
class Cycle:
    """Advised length of a cycle, with the reasons."""

    shares: Sequence[Share]
    disks: int
    load: int
    """Requests at the disks below which they are under-loaded."""
    busy: float | None
    """Part of the time of the disks that is device time; nothing if it is not known."""
    target: float
    """Points that the class with the least weight may be off by."""
    eq3_ns: Fraction
    """The length by equation (3) of the report."""
    eq3_of: Share
    """The class that needs so long a cycle."""
    plus_ns: Fraction
    """`eq3_ns` with no more requests of a class than of an unstable one, all that the mode `plus`
    needs: it has no such floor."""
    floor_ns: Fraction | None
    """The length from which on the error is as small as the target; nothing without `busy`."""
    lightest: Share
    """The class that has the error."""

    @property
    def eq3_rounded_ns(self) -> int:
        """`eq3_ns`, rounded as in the report."""
        return _rounded(self.eq3_ns)

    @property
    def plus_rounded_ns(self) -> int:
        """The answer for the mode `plus`."""
        return _rounded(self.plus_ns)

    @property
    def floor_binds(self) -> bool:
        """Whether the floor is above equation (3)."""
        return self.floor_ns is not None and self.floor_ns > self.eq3_ns

    @property
    def cycle_ns(self) -> int:
        """The answer."""
        if self.floor_ns is None:
            return self.eq3_rounded_ns
        return _rounded(max(self.eq3_ns, self.floor_ns))

    @property
    def of(self) -> Share:
        """The class for which the longer of the two holds."""
        return self.lightest if self.floor_binds else self.eq3_of

    @property
    def weights(self) -> int:
        """The sum of all weights."""
        return sum(share.weight for share in self.shares)

    def requests(self, share: Share) -> int:
        """Whole requests of a class for which a cycle has room."""
        return self.cycle_ns * self.disks * share.weight // (self.weights * share.service_ns)


def cycle(
    shares: Sequence[Share],
    *,
    disks: int,
    load: int | None = None,
    busy: float | None = None,
    target: float = 1.0,
) -> Cycle:
    """Returns the length of a cycle of `fairio` for these classes on `disks`."""
    load = LOAD_OF_A_DISK * disks if load is None else load
    weights = sum(share.weight for share in shares)

    def needs(share: Share, most: int | None = None) -> Fraction:
        count = share.requests if most is None else min(share.requests, most)
        return Fraction(weights * share.service_ns * count, share.weight * disks)

    longest = max(shares, key=needs)
    return Cycle(
        shares=shares,
        disks=disks,
        load=load,
        busy=busy,
        target=target,
        eq3_ns=needs(longest),
        eq3_of=longest,
        plus_ns=max(needs(share, UNSTABLE) for share in shares),
        floor_ns=None if busy is None else _floor(shares, weights, disks, load, busy, target),
        lightest=min(shares, key=lambda share: share.weight),
    )


def _floor(
    shares: Sequence[Share], weights: int, disks: int, load: int, busy: float, target: float
) -> Fraction:
    mean = Fraction(sum(share.weight * share.service_ns for share in shares), weights)
    rest = 1 - Fraction(min(share.weight for share in shares), weights)
    if not rest:
        # A class alone cannot be off.
        return Fraction(0)
    idle = 1 - Fraction(str(busy))
    spared = idle + _BY_ERROR * Fraction(str(target)) / 100 / rest
    if not spared:
        raise wrong(
            f"found disks that are busy all the time and a target of {target:g} points; "
            "expected some idle time or a target above 0",
            "shares of disks without idle time are off a little in any cycle: as --target 1",
        )
    return load * mean / (disks * spared)


def _rounded(ns: Fraction) -> int:
    return ceil(ns / STEP_NS) * STEP_NS


def stability(instability: float) -> float:
    """Returns the stability of a class, from 0 to 1."""
    return max(0.0, 1.0 - instability / NO_STABILITY)


def requests(stability: float) -> int:
    """Returns the requests of a class in a cycle, interpolated between the illustrations."""
    times: float = (STABLE / UNSTABLE) ** stability
    return round(UNSTABLE * times)
