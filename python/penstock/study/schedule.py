"""Schedule of a study: which cells run, how often, with which seeds and in which order.

Each replicate of all cells is a block: a machine drifts, and what it does between two blocks can be
told from what the factors do. Within a block the order is random, so that a drift within it meets
all levels alike. Seeds and order descend from the study's seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from math import prod
from typing import NamedTuple

from penstock import _native
from penstock.errors import wrong
from penstock.experiment import plan
from penstock.experiment.plan import Cell
from penstock.study.definition import Definition, Shown
from penstock.study.fraction import chosen

CELLS_MOST = 1_000_000
"""A study of more is a slip of a zero."""


class Planned(NamedTuple):
    """A run that is to be made; all numbers begin at 0."""

    run: int
    """Number in the standard order: cell by cell, the replicates of each after one another."""
    order: int
    """Number in the order in which runs are made."""
    block: int
    replicate: int
    seed: int
    cell: int
    reference: bool = False
    """It runs the reference cell, to show drift, and is no part of the design."""


def references(runs: int, every: int | None) -> int:
    """Returns how often the reference cell runs among `runs`: before each `every` of them."""
    return 0 if every is None else -(-runs // every)


@dataclass(frozen=True)
class StudySchedule:
    """The cells of a study and its runs."""

    study: Definition

    @cached_property
    def cells(self) -> Sequence[Cell]:
        """The number of the level of each factor, in each cell that runs."""
        study = self.study
        ends = study.design == "2k"
        levels = {
            factor.name: [0, len(factor.levels) - 1] if ends else range(len(factor.levels))
            for factor in study.factors
        }
        count = prod(map(len, levels.values()))
        if count > CELLS_MOST:
            raise wrong(
                f"the factors have {count} combinations; at most {CELLS_MOST} may be",
                "leave levels out, or factors",
            )

        def goes(cell: Cell) -> bool:
            return not any(
                all(cell[factor] in levels for factor, levels in group.items())
                for group in study.excluded
            )

        cells = plan.every(levels, goes)
        for factor in study.factors:
            for number in levels[factor.name]:
                if all(cell[factor.name] != number for cell in cells):
                    level = factor.levels[number].shown
                    raise wrong(
                        f"`except` leaves no cell with the level `{level}` of factor {factor.name}",
                        "leave the level out, or exclude less",
                    )
        return self._fraction(cells) if study.runs is not None else cells

    def _fraction(self, cells: Sequence[Cell]) -> Sequence[Cell]:
        """The best of `cells` for the effects, and for interactions if there are enough."""
        runs = self.study.runs
        assert runs is not None
        if runs >= len(cells):
            raise wrong(
                f"the fraction has {runs} cells, and all combinations are {len(cells)}",
                'write fewer `runs`, or `design = "full"`',
            )
        many = {factor.name: len(factor.levels) for factor in self.study.factors}
        terms = [(name,) for name in many]
        pairs = list(combinations(many, 2))
        free = 1 + sum(count - 1 for count in many.values())
        free += sum((many[first] - 1) * (many[second] - 1) for first, second in pairs)
        numbers = chosen(cells, [*terms, *(pairs if runs >= free else [])], runs, self.study.seed)
        return [cells[number] for number in sorted(numbers)]

    @property
    def balanced(self) -> bool:
        """Whether all combinations of the levels run."""
        return not self.study.excluded and self.study.runs is None

    def count(self) -> int:
        """Returns the number of runs of the design, those of the reference cell not counted."""
        return len(self.cells) * self.study.repeat

    def runs(self, *, references: bool) -> list[Planned]:
        """All runs in the order in which they are made, with `references` if there are any."""
        study, cells = self.study, len(self.cells)
        seeds = _native.drawn(study.seed, "run", self.count())

        def planned(run: int) -> Planned:
            block = run % study.repeat
            return Planned(run, 0, block, block, seeds[run], run // study.repeat)

        def reference(number: int, block: int) -> Planned:
            seed = _native.drawn(study.seed, "reference", number + 1)[number]
            return Planned(self.count() + number, 0, block, number, seed, 0, reference=True)

        every = study.reference if references else None
        every_run: list[Planned] = []
        for block in range(study.repeat):
            numbers = range(block, self.count(), study.repeat)
            order = plan.shuffled(numbers, study.seed, "order", self.count())
            every_run += plan.with_references(
                [planned(run) for run in order],
                every,
                partial(reference, block=block),
                before=block * cells,
            )
        return [planned._replace(order=order) for order, planned in enumerate(every_run)]

    def sets(self, cell: int) -> list[str]:
        """The arguments of `--set` that make this cell."""
        levels = self.cells[cell]
        return [
            text
            for factor in self.study.factors
            for text in factor.levels[levels[factor.name]].sets
        ]

    def levels(self, cell: int) -> dict[str, Shown]:
        """The level of each factor in this cell, as the table has it."""
        levels = self.cells[cell]
        return {name: column[levels[name]] for name, column in self._columns.items()}

    @cached_property
    def _columns(self) -> dict[str, list[Shown]]:
        return {factor.name: factor.column() for factor in self.study.factors}

    def named(self, cell: int) -> str:
        """The cell in words."""
        levels = self.cells[cell]
        return ", ".join(
            f"{factor.name} = {factor.levels[levels[factor.name]].shown}"
            for factor in self.study.factors
        )
