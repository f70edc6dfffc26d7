"""Rounds of a comparison: what `--repeat` ran again and again, each time with the next seed.

Of each figure the median of the rounds is reported, and the least and the greatest. A percentile
is a figure of one round; those of several rounds are never averaged: the median is one of them, the
lower of the two in the middle where their number is even.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Self

from penstock.results.json_types import Class, Comparison, Run
from penstock.results.percentile import percentile

ROUNDS_MOST = 1000
"""Rounds of a comparison at most: more is a slip."""

ALONE = "alone:"
"""What begins the name of the run of a class that has the device to itself."""


class Spread(NamedTuple):
    """A figure over rounds."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        """Of at least one value."""
        known = sorted(values)
        # The lower of the two in the middle, if they are even in number.
        return cls(known[(len(known) - 1) // 2], known[0], known[-1])

    def overlaps(self, spread: "Spread") -> bool:
        """Whether some round of one is as some round of the other may be."""
        return self.low <= spread.high and spread.low <= self.high

    def map(self, change: Callable[[float], float]) -> "Spread":
        """The same in another unit."""
        return Spread(*map(change, self))


class Rounds(NamedTuple):
    """The runs of one policy, in the order of their rounds."""

    label: str
    """Its name, with a number if it was named more than once."""
    runs: list[Run]

    def whole(self) -> list[Run]:
        """Those that were not interrupted, unless there are none."""
        return [run for run in self.runs if not run.get("interrupted")] or self.runs

    def of(self, name: str) -> list[Class]:
        """What the class called `name` got in each whole round; nothing if it took no part."""
        return [
            class_ for run in self.whole() for class_ in run["classes"] if class_["name"] == name
        ]

    def spread(self, name: str, figure: Callable[[Class], float]) -> Spread | None:
        """A figure of the class called `name`; none where a round has nothing to measure."""
        classes = self.of(name)
        if not classes or not all(class_["requests"] for class_ in classes):
            return None
        return Spread.of(figure(class_) for class_ in classes)

    def middle(self) -> Run:
        """The round with the median p99 of its first class."""
        runs = self.whole()
        return sorted(runs, key=lambda run: percentile(run["classes"][0]["lat_ns"], 99))[
            (len(runs) - 1) // 2
        ]


def repeated(comparison: Comparison) -> bool:
    """Whether it is one of rounds."""
    return any("round" in run for run in comparison["runs"])


def count(comparison: Comparison) -> int:
    """How many rounds it has, the last perhaps not whole; one without rounds."""
    return 1 + max((run.get("round", 0) for run in comparison["runs"]), default=0)


def labels(runs: list[Run]) -> list[str]:
    """A name for each run: its policy's, with a number if a round has more than one of it."""
    keys = [(run.get("round"), run["policy"]) for run in runs]
    counts = [keys[: index + 1].count(key) for index, key in enumerate(keys)]
    return [name if n == 1 else f"{name} ({n})" for (_, name), n in zip(keys, counts, strict=True)]


def by_policy(comparison: Comparison) -> list[Rounds]:
    """The runs of each policy, in the order in which they were named."""
    by_label: dict[str, list[Run]] = {}
    for label, run in zip(labels(comparison["runs"]), comparison["runs"], strict=True):
        by_label.setdefault(label, []).append(run)
    return [Rounds(*item) for item in by_label.items()]


def class_names(runs: list[Run]) -> list[str]:
    """Every class that took part in a run, in the order of the job."""
    fullest = sorted(runs, key=lambda run: -len(run["classes"]))
    return list(dict.fromkeys(class_["name"] for run in fullest for class_ in run["classes"]))


def middle(comparison: Comparison) -> Comparison:
    """Of each policy the round in the middle: what a picture of one run shows."""
    if not repeated(comparison):
        return comparison
    runs = [policy.middle().copy() for policy in by_policy(comparison)]
    for run in runs:
        # Of another round than its neighbours, perhaps: their policies identify them.
        run.pop("round", None)
        run.pop("seed", None)
    return {**comparison, "runs": runs}
