"""Plans of experiments: which cells run, how often and in which order.

A machine drifts: it grows warm, and others come and go. In rounds of all cells a drift meets all of
them; one cell after another, it would be taken for a difference between them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias, TypeVar

from penstock import _native

Cell: TypeAlias = Mapping[str, Any]
"""A level for each factor, by the names of the factors."""

T = TypeVar("T")
R = TypeVar("R")


def every(
    factors: Mapping[str, Sequence[Any]], where: Callable[[Cell], bool] = lambda _: True
) -> list[Cell]:
    """Every combination of levels for which `where` is true; the last factor changes first."""
    levels = product(*factors.values())
    cells = (dict(zip(factors, combination, strict=True)) for combination in levels)
    return [cell for cell in cells if where(cell)]


def in_rounds(cells: Sequence[T], rounds: int) -> list[tuple[int, T]]:
    """The runs in their order, each with its round: each round has every cell once."""
    return [(number, cell) for number in range(rounds) for cell in cells]


def by_cell(cells: Sequence[T], results: Sequence[R]) -> list[tuple[T, list[R]]]:
    """Each cell with its result in each round, from the results of the runs in order."""
    return [(cell, list(results[at :: len(cells)])) for at, cell in enumerate(cells)]


def shuffled(numbers: Iterable[int], seed: int, label: str, bound: int) -> list[int]:
    """The numbers, which are below `bound`, in an order drawn from `seed` and `label`."""
    draws = _native.drawn(seed, label, bound)
    return sorted(numbers, key=draws.__getitem__)


def with_references(
    runs: Sequence[T], every: int | None, reference: Callable[[int], T], *, before: int = 0
) -> Iterator[T]:
    """The runs, with a run of a reference cell before each `every` of them, to show drift.

    `reference` gets the number of the reference run, from 0; `before` runs came earlier.
    """
    for number, run in enumerate(runs, before):
        if every is not None and number % every == 0:
            yield reference(number // every)
        yield run
