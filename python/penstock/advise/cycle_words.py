"""The length of a cycle in words: the answer, its price, and what it does not cover."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from penstock.advise.cycle import UNSTABLE, Cycle, Share
from penstock.advise.cycle_inputs import ClassFound, Found
from penstock.text import prose, units
from penstock.text.verdict import WIDTH

NAMED = 4
"""Classes that a line names; more are counted."""


def lines(advice: Cycle, inputs: Found | None = None) -> list[str]:
    """The answer with the term that binds, its price, and the caveats."""
    said = [_answer(advice), _price(advice), *_mode(advice), *(_caveats(inputs) if inputs else ())]
    return [part for line in said for part in prose.fold(line, WIDTH)]


def milliseconds(ns: Fraction) -> str:
    """A length of a cycle, to a tenth of a millisecond."""
    return f"{float(ns / 1_000_000):,.1f} ms"


def _answer(advice: Cycle) -> str:
    cycle = f"cycle = {advice.cycle_ns // 1_000_000}ms"
    largest = advice.eq3_of
    part = Fraction(largest.weight, advice.weights)
    share = f"{part.numerator} of {part.denominator} parts of {_disks(advice)}"
    eq3 = (
        f"{largest.requests} requests of {_class(largest)}, "
        f"{units.latency(largest.service_ns)} each on {share}, take {milliseconds(advice.eq3_ns)}"
    )
    if advice.floor_ns is None:
        return f"{cycle}: equation (3) binds; {eq3}; the queue floor is not known without --busy"
    floor = milliseconds(advice.floor_ns)
    if not advice.floor_binds:
        return f"{cycle}: equation (3) binds; {eq3}; the queue floor is {floor}"
    points = f"{advice.target:g} point{'' if advice.target == 1 else 's'}"
    return (
        f"{cycle}: the queue floor binds, {floor}; in a shorter one the {advice.load} requests at "
        f"the disks put {_class(advice.lightest)} off by more than {points}; "
        f"equation (3) asks for {milliseconds(advice.eq3_ns)}, for {_class(largest)}"
    )


def _price(advice: Cycle) -> str:
    room = sorted(advice.shares, key=advice.requests)
    parts = [f"{advice.requests(share):,} of {_class(share)}" for share in room[:NAMED]]
    if len(room) > NAMED:
        parts.append(f"more of {len(room) - NAMED} other classes")
    return (
        "price: a class may wait for most of a cycle once its share of it is spent, so its p99 "
        f"grows with the cycle; requests in one: {_listed(parts)}"
    )


def _mode(advice: Cycle) -> Iterator[str]:
    if advice.plus_rounded_ns < advice.cycle_ns:
        yield (
            f"in mode plus, the default of fairio, {advice.plus_rounded_ns // 1_000_000}ms will "
            f"do: it has no floor, and needs at most {UNSTABLE} requests of a class"
        )


def _caveats(inputs: Found) -> Iterator[str]:
    cycle = inputs.cycle
    unstable = [class_ for class_ in inputs.classes if class_.kind == 1]
    if unstable:
        said = [f"{class_.name} ({class_.reason})" for class_ in unstable[:NAMED]]
        if len(unstable) > NAMED:
            said.append(f"{len(unstable) - NAMED} more")
        yield f"unstable: {_listed(said)}: few requests in a cycle, so that shares follow changes"
    if len(cycle.shares) == 1:
        yield "there is one class, and nothing to share: any cycle will do"
    elif not inputs.saturated:
        busy = units.percent(cycle.busy or 0.0)
        yield f"the disks are busy for {busy} of the time, so every class gets what it asks for"
    elif limited := inputs.limited_by_demand:
        yield _demand(limited)
    if inputs.silent:
        yield f"left out, as nothing of it was served: {_listed(inputs.silent)}"


def _demand(limited: Sequence[ClassFound]) -> str:
    def said(class_: ClassFound) -> str:
        shares = (class_.share, class_.ideal_share or 0.0)
        return f"{class_.name} ({' of '.join(map(units.percent, shares))})"

    names = [said(class_) for class_ in limited[:NAMED]]
    if len(limited) > NAMED:
        names.append(f"{len(limited) - NAMED} more")
    asks = "asks for less than its weight promises" if len(limited) == 1 else _ASK
    return f"{_listed(names)} {asks}: others get the rest, whatever the cycle"


_ASK = "ask for less than their weights promise"


def _class(share: Share) -> str:
    """Returns the name of a class; one without a name is called by its number."""
    return f"class {share.name}" if share.name.isdigit() else share.name


def _disks(advice: Cycle) -> str:
    return "1 disk" if advice.disks == 1 else f"{advice.disks} disks"


def _listed(parts: Sequence[str]) -> str:
    *some, last = parts
    return f"{', '.join(some)} and {last}" if some else last
