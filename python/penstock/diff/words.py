"""Differences of results in words, tables and JSON."""

from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from typing import Any

from penstock.answer.table import NONE, Table
from penstock.answer.value import Blocks, headline
from penstock.diff.compare import FigureChange, ResultDifference
from penstock.diff.limit import ChangeLimit, FailedLimit
from penstock.diff.noise import LEVEL
from penstock.study.formatting import interval, signed
from penstock.text.units import count, many

SHOWN = 20
"""Number of figures that are shown."""


def blocks(difference: ResultDifference, limits: Sequence[ChangeLimit]) -> Blocks:
    """Yield the result, the figures that changed or have limits, and what is known of noise."""
    ranked = difference.ranked()
    named = {limit.figure for limit in limits}
    rows = [change for change in ranked if _counts(change) or str(change.name) in named]
    yield [headline(difference.verdict, _answer(difference, ranked)), _compared(difference)]
    if rows:
        yield [_table(rows)]
    yield [*_rest(ranked, rows), *_noise(difference, limits)]


def failed(limit: FailedLimit) -> str:
    """Return the line of a limit that a figure fails."""
    return f"failed: {limit.text}: {sentence(limit.change)}"


def sentence(change: FigureChange) -> str:
    """Return a figure with its change and its values."""
    result = f"{change.result}: " if change.result else ""
    ends = "" if change.low_pct is None else f" [{interval(change.low_pct, change.high_pct)}]"
    first, second = _values(change)
    return f"{result}{change.name}{_under(change)} {_signed(change)}{ends}, {first} to {second}"


def plain(difference: ResultDifference, failures: Sequence[FailedLimit]) -> dict[str, Any]:
    """Return the whole as JSON has it."""
    first, second = difference.names
    ranked = difference.ranked()
    return {
        "first": first,
        "second": second,
        "verdict": difference.verdict,
        "level": LEVEL,
        "rounds": difference.rounds,
        "paired": difference.paired,
        "sessions": difference.sessions,
        "figures": [_plain(change) for change in ranked],
        "failed": [{"limit": limit.text, "figure": _plain(limit.change)} for limit in failures],
        "remarks": list(difference.remarks),
    }


def _plain(change: FigureChange) -> dict[str, Any]:
    return {
        "result": change.result,
        "policy": None if change.name.policy == NONE else change.name.policy,
        "of_class": change.name.of_class,
        "measure": change.name.quantity.name,
        "first": change.first,
        "second": change.second,
        "change_pct": _finite(change.change_pct),
        "low_pct": _finite(change.low_pct),
        "high_pct": _finite(change.high_pct),
        "p": change.p,
        "verdict": change.verdict,
    }


def _counts(change: FigureChange) -> bool:
    """Return whether a figure changed, or differs where nothing says what is noise."""
    return change.changed or (change.verdict == "unknown" and change.first != change.second)


def _finite(value: float | None) -> float | None:
    """Return a value that JSON can have; from zero there is no change in per cent."""
    return value if value is not None and isfinite(value) else None


def _answer(difference: ResultDifference, ranked: Sequence[FigureChange]) -> str:
    """Return whether anything changed, and the worst of it."""
    changed = [change for change in ranked if change.changed]
    figures = many(len(ranked), "figure")
    beyond = "" if difference.rounds is None else " beyond noise"
    if difference.verdict == "unknown":
        return f"noise cannot be judged; the largest difference: {sentence(ranked[0])}"
    if not changed:
        return f"none of {figures} changed{beyond}"
    worse = sum(change.verdict == "worse" for change in changed)
    how, most = (count(worse), "the worst") if worse else ("none", "the largest")
    verb = f"{count(len(changed))} of {figures} changed{beyond}, {how} for the worse"
    return f"{verb}; {most}: {sentence(changed[0])}"


def _compared(difference: ResultDifference) -> str:
    """Return what was compared, and by what."""
    first, second = difference.names
    worlds = " and ".join(difference.worlds)
    if difference.rounds is None:
        how = "compared exactly"
    elif min(difference.rounds) < 2:
        how = "without rounds"
    elif difference.paired:
        how = f"{count(difference.rounds[0])} {_rounds(difference)} in pairs"
    else:
        how = f"{' and '.join(map(count, difference.rounds))} {_rounds(difference)}"
    return f"  A is {first}, B is {second}: {worlds}, {how}"


def _rounds(difference: ResultDifference) -> str:
    return "sessions" if difference.sessions else "rounds"


def _table(rows: Sequence[FigureChange]) -> Table:
    columns: dict[str, Callable[[FigureChange], str]] = {
        "result": lambda change: change.result,
        "policy": lambda change: change.name.policy,
        "class": lambda change: change.name.of_class,
        "measure": lambda change: change.name.quantity.name,
        "A": lambda change: _values(change)[0],
        "B": lambda change: _values(change)[1],
        "change": _signed,
        "interval": lambda change: interval(change.low_pct, change.high_pct),
        "verdict": _verdict,
    }
    cells = {
        heading: [cell(change) for change in rows[:SHOWN]] for heading, cell in columns.items()
    }
    # Files have no names, merges and tests of files no policies, simulated results no intervals.
    kept = {heading: column for heading, column in cells.items() if {*column} - {"", NONE}}
    more = len(rows) - SHOWN
    return Table(
        list(kept),
        list(zip(*kept.values(), strict=True)),
        words=list(kept).index("A"),
        notes=[f"and {count(more)} more, which --json has"] if more > 0 else [],
    )


def _under(change: FigureChange) -> str:
    return "" if change.name.policy == NONE else f" under {change.name.policy}"


def _values(change: FigureChange) -> tuple[str, str]:
    render = change.name.quantity.render
    return render(change.first), render(change.second)


def _signed(change: FigureChange) -> str:
    return signed(change.change_pct) if isfinite(change.change_pct) else "new"


def _verdict(change: FigureChange) -> str:
    if change.verdict == "same" and change.p is not None:
        return "within noise"
    return change.verdict


def _rest(ranked: Sequence[FigureChange], rows: Sequence[FigureChange]) -> Iterator[str]:
    """Yield a line on the figures that are not shown."""
    rest = [change for change in ranked if change not in rows]
    if not rest:
        return
    noun = "other figure" if rows else "figure"
    if all(change.p is None for change in rest):
        yield f"{many(len(rest), noun)}: equal"
        return
    largest = max(rest, key=lambda change: abs(change.change_pct))
    yield (
        f"{many(len(rest), noun)}: no change beyond noise; the largest difference: "
        f"{sentence(largest)}"
    )


def _noise(difference: ResultDifference, limits: Sequence[ChangeLimit]) -> Iterator[str]:
    """Yield what is known of noise, and the limits that it leaves open."""
    for limit in limits:
        for change in limit.hidden(difference):
            yield (
                f"{limit.text} is not sure: noise leaves open {signed(change.worst_pct or 0.0)}"
                f"{_under(change)}; more rounds narrow that"
            )
    if any(change.verdict == "unknown" for change in difference.changes):
        yield f"only rounds show what is noise: {difference.remedy}"
    if any(change.p is not None for change in difference.changes):
        means = "sessions, each by its median round" if difference.sessions else "rounds"
        yield (
            f"figures are geometric means of {means}; without a change chance finds one in 1 of "
            f"{count(round(1 / LEVEL))} comparisons"
        )
        if not difference.sessions:
            yield (
                "rounds do not show how sessions differ: to be surer, run both several times in "
                "turns into two folders"
            )
