"""Lines about how well policies keep the shares that weights promise."""

from collections.abc import Iterator, Sequence

from penstock.results import shares
from penstock.results.json_types import Comparison
from penstock.results.rounds import Rounds, Spread
from penstock.text import ranges, units

NEAR = 2.0
"""Largest error in percentage points of shares that count as kept."""

LEGEND = "by weight is the share that a class's weight promises among those with requests"
"""Explanation of the column `by weight`."""


def lines(comparison: Comparison, policies: Sequence[Rounds]) -> Iterator[str]:
    """Report how well each policy keeps the weights, and which classes asked for too little."""
    for name in shares.nothing_to_share(comparison):
        yield f"nothing to share: {name} divides a device among classes; one class has requests"
    if not shares.at_stake(comparison):
        return
    errors = list(shares.share_errors(policies))
    if errors:
        yield f"shares by weight: {_listed((error.label, error.share_error) for error in errors)}"
    alone = [(e.label, e.alone_error) for e in errors if e.alone_error is not None]
    if alone:
        yield f"throughput relative to each class alone, by weight: {_listed(iter(alone))}"
    for short in shares.short_cycles(policies):
        part, request, cycle = map(units.latency, (short.part_ns, short.request_ns, short.cycle_ns))
        yield (
            f"{short.label}: the cycle of {cycle} is too short: {short.name}'s part of it is "
            f"{part}, and one of its requests takes {request}"
        )
    for name, under in shares.limited(policies).items():
        among = "" if len(under) == len(policies) else f" under {', '.join(p.label for p in under)}"
        open_loop = all(class_["open_loop"] for policy in under for class_ in policy.of(name))
        why = "" if open_loop else ": it mostly has nothing waiting, so more outstanding would help"
        yield f"{name} asked for less than its share{among}{why}"


def _listed(errors: Iterator[tuple[str, Spread]]) -> str:
    """List errors, as in `fairio within 0.4 points, fcfs off by 14`."""
    parts: list[str] = []
    for label, error in errors:
        how = "within" if error.median <= NEAR else "off by"
        unit = "" if parts else " points"
        parts.append(f"{label} {how} {ranges.figure(error, _points)}{unit}")
    return ", ".join(parts)


def _points(error: float) -> str:
    return units.digits(error, 2) if error >= 1 else f"{error:.1f}"
