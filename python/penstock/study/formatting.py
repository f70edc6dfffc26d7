"""Figures, intervals, runs and cells as sentences and tables of studies have them."""

from collections.abc import Mapping, Sequence

from penstock.answer.table import NONE
from penstock.study.table import Level
from penstock.text import units

SHOWN = 5
"""Number of runs that are named."""


def figure(value: float | None) -> str:
    """Three digits, with an exponent where there would be many zeros."""
    if value is None:
        return NONE
    if value and not 1e-3 <= abs(value) < 1e12:
        return f"{value:.2e}"
    return units.digits(value)


def signed(percent: float) -> str:
    """A change in per cent."""
    return f"{'+' if percent > 0 else ''}{size(percent)}"


def size(percent: float) -> str:
    """Per cent, with as many digits as mean something."""
    return f"{percent:,.0f} %" if abs(percent) >= 100 else f"{percent:.3g} %"


def interval(low: float | None, high: float | None, form: object = None) -> str:
    """Two ends, in per cent if nothing else is said."""
    shown = figure if form is figure else signed
    if low is None and high is None:
        return NONE
    return " to ".join("…" if end is None else shown(end) for end in (low, high))


def p_figure(p: float) -> str:
    """A p with two digits; very small ones are all alike."""
    return "< 1e-10" if p < 1e-10 else f"{p:.2g}" if p < 1e-3 else f"{p:.3f}"


def p_value(p: float) -> str:
    """Returns a p-value as a sentence has it."""
    shown = p_figure(p)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def runs(numbers: Sequence[int]) -> str:
    """The first of some numbers of runs, and how many more there are."""
    first = ", ".join(map(str, numbers[:SHOWN]))
    return f"{first} and {len(numbers) - SHOWN} more" if len(numbers) > SHOWN else first


def named(levels: Mapping[str, Level]) -> str:
    """A cell in words."""
    return ", ".join(f"{factor} = {level}" for factor, level in levels.items())


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def spans(numbers: Sequence[int]) -> str:
    """Numbers with those that follow one another as one: `1-4, 9`."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(f"{low}" if low == high else f"{low}-{high}" for low, high in ranges)
