"""Figures of several rounds: the median with its range."""

from collections.abc import Callable

from penstock.results.json_types import Comparison
from penstock.results.rounds import Spread
from penstock.text import units


def seeds(comparison: Comparison) -> str:
    """Return the number of rounds and their seeds."""
    used = list(dict.fromkeys(run["seed"] for run in comparison["runs"] if "seed" in run))
    if len(used) == 1:
        return f"1 round, seed {used[0]}"
    return f"{len(used)} rounds, seeds {used[0]}–{used[-1]}"


def figure(spread: Spread, render: Callable[[float], str]) -> str:
    """Return a figure with its range and one unit; without a range if all rounds are equal."""
    low, middle, high = render(spread.low), render(spread.median), render(spread.high)
    if low == high:
        return middle
    endings = {text.partition(" ")[2] for text in (low, middle, high)}
    if len(endings) > 1 or not (unit := endings.pop()):
        return f"{middle} [{low}–{high}]"
    low, middle, high = (text.removesuffix(f" {unit}") for text in (low, middle, high))
    return f"{middle} [{low}–{high}] {unit}"


def latency(spread: Spread) -> str:
    """Return a time with its range, in the unit of the median: `0.51 [0.47–0.72] ms`."""
    length, unit = units.unit_of(spread.median)
    return figure(spread, lambda ns: f"{units.digits(ns / length)} {unit}")
