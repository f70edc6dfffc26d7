"""The length of a cycle in words: the answer, its price, and what it does not cover."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from penstock.advise.cycle import UNSTABLE, Cycle, Share
from penstock.advise.cycle_inputs import ClassFound, Found
from penstock.text import prose, units
from penstock.text.verdict import WIDTH

NAMED = 4
"""Classes that a line names; more are counted."""


def lines(of: Cycle, found: Found | None = None) -> list[str]:
    """The answer with the term that binds, its price, and the caveats."""
    said = [_answer(of), _price(of), *_mode(of), *(_caveats(found) if found else ())]
    return [part for line in said for part in prose.fold(line, WIDTH)]


def milliseconds(ns: Fraction) -> str:
    """A length of a cycle, to a tenth of a millisecond."""
    return f"{float(ns / 1_000_000):,.1f} ms"


def _answer(of: Cycle) -> str:
    cycle = f"cycle = {of.cycle_ns // 1_000_000}ms"
    one = of.eq3_of
    part = Fraction(one.weight, of.weights)
    share = f"{part.numerator} of {part.denominator} parts of {_disks(of)}"
    eq3 = (
        f"{one.requests} requests of {_class(one)}, {units.latency(one.service_ns)} each on "
        f"{share}, take {milliseconds(of.eq3_ns)}"
    )
    if of.floor_ns is None:
        return f"{cycle}: equation (3) binds; {eq3}; the queue floor is not known without --busy"
    floor = milliseconds(of.floor_ns)
    if not of.floor_binds:
        return f"{cycle}: equation (3) binds; {eq3}; the queue floor is {floor}"
    points = f"{of.target:g} point{'' if of.target == 1 else 's'}"
    return (
        f"{cycle}: the queue floor binds, {floor}; in a shorter one the {of.load} requests at the "
        f"disks put {_class(of.lightest)} off by more than {points}; "
        f"equation (3) asks for {milliseconds(of.eq3_ns)}, for {_class(one)}"
    )


def _price(of: Cycle) -> str:
    room = sorted(of.shares, key=of.requests)
    parts = [f"{of.requests(share):,} of {_class(share)}" for share in room[:NAMED]]
    if len(room) > NAMED:
        parts.append(f"more of {len(room) - NAMED} other classes")
    return (
        "price: a class may wait for most of a cycle once its share of it is spent, so its p99 "
        f"grows with the cycle; requests in one: {_listed(parts)}"
    )


def _mode(of: Cycle) -> Iterator[str]:
    if of.plus_rounded_ns < of.cycle_ns:
        yield (
            f"in mode plus, the default of fairio, {of.plus_rounded_ns // 1_000_000}ms will do: "
            f"it has no floor, and needs at most {UNSTABLE} requests of a class"
        )


def _caveats(found: Found) -> Iterator[str]:
    cycle = found.cycle
    unstable = [one for one in found.classes if one.kind == 1]
    if unstable:
        said = [f"{one.name} ({one.reason})" for one in unstable[:NAMED]]
        if len(unstable) > NAMED:
            said.append(f"{len(unstable) - NAMED} more")
        yield f"unstable: {_listed(said)}: few requests in a cycle, so that shares follow changes"
    if len(cycle.shares) == 1:
        yield "there is one class, and nothing to share: any cycle will do"
    elif not found.saturated:
        busy = units.percent(cycle.busy or 0.0)
        yield f"the disks are busy for {busy} of the time, so every class gets what it asks for"
    elif limited := found.limited_by_demand:
        yield _demand(limited)
    if found.silent:
        yield f"left out, as nothing of it was served: {_listed(found.silent)}"


def _demand(limited: Sequence[ClassFound]) -> str:
    def said(one: ClassFound) -> str:
        shares = (one.share, one.ideal_share or 0.0)
        return f"{one.name} ({' of '.join(map(units.percent, shares))})"

    names = [said(one) for one in limited[:NAMED]]
    if len(limited) > NAMED:
        names.append(f"{len(limited) - NAMED} more")
    asks = "asks for less than its weight promises" if len(limited) == 1 else _ASK
    return f"{_listed(names)} {asks}: others get the rest, whatever the cycle"


_ASK = "ask for less than their weights promise"


def _class(share: Share) -> str:
    """Returns the name of a class; one without a name is called by its number."""
    return f"class {share.name}" if share.name.isdigit() else share.name


def _disks(of: Cycle) -> str:
    return "1 disk" if of.disks == 1 else f"{of.disks} disks"


def _listed(parts: Sequence[str]) -> str:
    *some, last = parts
    return f"{', '.join(some)} and {last}" if some else last
