"""What a paper says of its figures, held to ours."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias, TypedDict

from penstock.answer.table import Table
from penstock.papers.published import Row

WITHIN = 0.10
"""Figures that are nearer to one another, as a share of the largest, are called alike."""


class Claim(TypedDict):
    """A sentence of the paper, whether it holds here, and the figures that decide it."""

    id: str
    text: str
    holds: bool
    numbers: dict[str, list[float]]


Numbers: TypeAlias = Mapping[str, Sequence[float]]
"""The figures that decide a claim, by what they are of."""


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A sentence of the paper, and when it holds."""

    id: str
    text: str
    holds: Callable[[Numbers], bool]

    def judged(self, numbers: Numbers) -> Claim:
        """The claim, held to these figures."""
        lists = {name: list(figures) for name, figures in numbers.items()}
        return {
            "id": self.id,
            "text": self.text,
            "holds": self.holds(lists),
            "numbers": lists,
        }


@dataclass(frozen=True, kw_only=True)
class Rule(Sentence):
    """A sentence about one figure of the rows of some series."""

    figure: str
    """The figure of the rows that it is about."""
    series: Sequence[str]
    """The series of rows that decide it."""

    def numbers(self, rows: Sequence[Row], series: str) -> Numbers:
        """The figure of each series; the column `series` says which one a row is of."""
        return {
            name: [row[self.figure] for row in rows if row[series] == name] for name in self.series
        }


def judged(rules: Sequence[Rule], rows: Sequence[Row], series: str) -> list[Claim]:
    """Each claim, held to these rows; the column `series` says which series a row is of."""
    return [rule.judged(rule.numbers(rows, series)) for rule in rules]


@dataclass(frozen=True, kw_only=True)
class Statement(Sentence):
    """A sentence of a paper with several tables, and which of our figures decide it."""

    numbers: Callable[[Any], Numbers]


def decided(statements: Sequence[Statement], ours: Mapping[str, Any]) -> list[Claim]:
    """Each sentence that our figures can decide: those of what did not run are left out."""
    decidable = ((statement, statement.numbers(ours)) for statement in statements)
    return [
        statement.judged(numbers)
        for statement, numbers in decidable
        if numbers and all(numbers.values())
    ]


def grow(values: Sequence[float]) -> bool:
    """Whether each is larger than the one before."""
    return all(before < after for before, after in pairwise(values))


def alike(values: Sequence[float]) -> bool:
    """Whether they differ by little."""
    return max(values) - min(values) <= WITHIN * max(values)


def table(claims: Sequence[Claim], numbers_of: str) -> Table:
    """The claims, each with whether it holds and its figures below the heading `numbers_of`."""
    rows = [
        [claim["id"], claim["text"], "holds" if claim["holds"] else "does not hold", numbers(claim)]
        for claim in claims
    ]
    return Table(["claim", "the paper says", "here", numbers_of], rows, words=4)


def numbers(claim: Claim) -> str:
    """The figures of each series that a claim is about."""
    return "; ".join(
        f"{series} {', '.join(f'{figure:.4g}' for figure in figures)}"
        for series, figures in claim["numbers"].items()
    )
