"""Which cells of the paper's design run on a real machine, and how many: what a budget allows.

Each pattern has a fraction that is D-optimal for the paper's model of that pattern. Its core, the
fewest cells from which the model can be fitted with some left over, is D-optimal among the fraction
and runs first: a budget that ends early ends after the core.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

from penstock.errors import wrong
from penstock.experiment.budget import SPARE, whole_rounds
from penstock.experiment.plan import Cell
from penstock.papers.ioagent.campaign import KIB
from penstock.study.fraction import chosen
from penstock.study.model import Term
from penstock.text.units import many

FREE = 10
"""Cells of a core in addition to the coefficients: what is left over says how much is noise."""

PARTS = (1, 2, 4, 8, 16)
"""A run moves one of so many parts of the amounts of the simulation. Of less than a sixteenth, 32
agents with buffers of 128 KiB would not fill one buffer each."""

REFERENCE_EVERY = 10
"""After so many runs the reference cell of a pattern runs again, of the patterns in turn."""

OF_MEMORY = 2
"""Buffers may take one of so many parts of the memory that is available."""


class LeftOut(NamedTuple):
    """A cell that this machine cannot run, and why."""

    cell: Cell
    why: str


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """Part of the design that may run for a pattern."""

    name: str
    terms: Sequence[Term]
    factors: Mapping[str, Sequence[Any]]
    cells: Sequence[Cell]
    """Those that this machine can run."""

    @cached_property
    def coefficients(self) -> int:
        """How many the model has, with the constant."""
        return 1 + sum(
            prod(len(self.factors[factor]) - 1 for factor in term) for term in self.terms
        )

    @property
    def fewest(self) -> int:
        """Cells of its core."""
        return min(len(self.cells), self.coefficients + FREE)

    def check(self) -> None:
        """Raise an error unless there are more cells than coefficients."""
        if len(self.cells) <= self.coefficients:
            raise wrong(
                f"{self.name} has {many(len(self.cells), 'cell')} of these levels, and the paper's "
                f"model {many(self.coefficients, 'coefficient')}: nothing is left over that says "
                "how much is noise",
                "name more levels with --set, as --set S=8,32,128",
            )

    def fraction(self, count: int, seed: int) -> tuple[list[Cell], list[Cell]]:
        """The core of a fraction of so many cells, and its other cells."""
        every = self._best(self.cells, count, seed)
        core = self._best(every, self.fewest, seed)
        return core, [cell for cell in every if cell not in core]

    def _best(self, cells: Sequence[Cell], count: int, seed: int) -> list[Cell]:
        if count >= len(cells):
            return list(cells)
        return [cells[number] for number in chosen(cells, self.terms, count, seed)]


def counts(
    patterns: Sequence[Pattern], seconds: Sequence[float], budget_s: float
) -> list[int] | None:
    """Cells of each pattern that the budget allows, if one takes so many `seconds`.

    The first round is the fewest of each, and another is one more of each that has more. None if
    the budget is too small for the first.
    """
    most = max(len(pattern.cells) - pattern.fewest for pattern in patterns)
    more = (
        sum(
            with_references(cell_s)
            for pattern, cell_s in zip(patterns, seconds, strict=True)
            if pattern.fewest + number < len(pattern.cells)
        )
        for number in range(most)
    )
    rounds = whole_rounds([needed(patterns, seconds), *more], budget_s)
    return (
        [min(pattern.fewest + rounds - 1, len(pattern.cells)) for pattern in patterns]
        if rounds
        else None
    )


def needed(patterns: Sequence[Pattern], seconds: Sequence[float]) -> float:
    """Seconds that the cores take, with the runs of the reference cells."""
    of_each = zip(patterns, seconds, strict=True)
    return sum(pattern.fewest * with_references(cell_s) for pattern, cell_s in of_each)


def with_references(seconds: float) -> float:
    """Returns the time of a cell plus its part of the runs of the reference cells."""
    return seconds * (1 + 1 / REFERENCE_EVERY)


def part_of(
    patterns: Sequence[Pattern],
    seconds: Sequence[tuple[float, float]],
    measured_with: int,
    budget_s: float,
    *,
    pilot: int = 0,
) -> int | None:
    """The largest part of the amounts with which the budget is enough for all cores.

    `seconds` has for each pattern what a run takes whatever it moves, and what it took in addition
    with one of `measured_with` parts. Other amounts are measured in a `pilot` of so many cells of
    each pattern first. None if no part is small enough.
    """
    for part in PARTS:
        cell_seconds = [fixed + moving * measured_with / part for fixed, moving in seconds]
        again = pilot * sum(cell_seconds) if part != measured_with else 0
        if needed(patterns, cell_seconds) + again <= SPARE * budget_s:
            return part
    return None


def runnable(cells: Sequence[Cell], memory: int) -> tuple[list[Cell], list[LeftOut]]:
    """The cells whose buffers go into so many bytes of memory that is available, and the others."""
    able, out = [], []
    for cell in cells:
        buffers = cell["D"] * cell["A"] * cell["B"] * cell["S"] * KIB
        if OF_MEMORY * buffers <= memory:
            able.append(cell)
        else:
            why = f"buffers of {buffers >> 20} MiB, and {memory >> 20} MiB of memory are available"
            out.append(LeftOut(cell, why))
    return able, out


def middle(factors: Mapping[str, Sequence[Any]]) -> Cell:
    """The reference cell: the level in the middle of each factor."""
    return {name: levels[len(levels) // 2] for name, levels in factors.items()}
