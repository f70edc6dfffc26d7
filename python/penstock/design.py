"""Designs of experiments: every combination of some levels, measured in rounds of all of them.

A machine drifts: it grows warm, and others come and go. In rounds of all cells a drift meets all of
them; one cell after another, it would be taken for a difference between them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, TypeAlias, TypeVar

Cell: TypeAlias = Mapping[str, Any]
"""A level of each factor, by the names of the factors."""

T = TypeVar("T")


class Run(NamedTuple):
    """One measurement of a cell."""

    round: int
    cell: Cell
    done: float
    """The share of all runs that come before this one."""


def _every(_cell: Cell) -> bool:
    return True


@dataclass(frozen=True, kw_only=True)
class Design:
    """Factors with their levels, and how many rounds there are of all cells."""

    factors: Mapping[str, Sequence[Any]]
    rounds: int = 1
    where: Callable[[Cell], bool] = _every
    """Which combinations are cells, if not all are."""

    def cells(self) -> list[Cell]:
        """The cells in their order: the levels of the last factor change first."""
        levels = product(*self.factors.values())
        cells = (dict(zip(self.factors, one, strict=True)) for one in levels)
        return [cell for cell in cells if self.where(cell)]

    def runs(self) -> Iterator[Run]:
        """The runs in their order: each round has every cell once."""
        cells = self.cells()
        for number in range(self.rounds):
            for at, cell in enumerate(cells):
                yield Run(number, cell, (number * len(cells) + at) / (self.rounds * len(cells)))

    def by_cell(self, results: Sequence[T]) -> list[tuple[Cell, list[T]]]:
        """Each cell with its result in each round, of the `results` of the runs in order."""
        cells = self.cells()
        return [(cell, list(results[at :: len(cells)])) for at, cell in enumerate(cells)]
