"""Rounds of a comparison: the repetitions of `--repeat`, each with the next seed.

Each figure is reported with its median, least and greatest over rounds. Percentiles of several
rounds are never averaged: the median is the value of one round, the lower of the two in the middle
if the number of rounds is even.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Self

from penstock.results.json_types import Class, Comparison, Run
from penstock.results.percentile import percentile

ROUNDS_MOST = 1000
"""Most rounds of a comparison: more is likely a mistake."""

ALONE = "alone:"
"""Prefix of the policy's name in the run of one class alone."""

KERNEL = "kernel:"
"""Prefix of the policy's name where a scheduler of the kernel serves the classes."""

SERVED = "served:"
"""Prefix of the policy's name where it is behind a served device."""


class Spread(NamedTuple):
    """A figure over rounds."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        """Summarise at least one value."""
        known = sorted(values)
        # The lower of the two in the middle, if their number is even.
        return cls(known[(len(known) - 1) // 2], known[0], known[-1])

    def overlaps(self, spread: "Spread") -> bool:
        """Return whether the two ranges overlap."""
        return self.low <= spread.high and spread.low <= self.high

    def map(self, change: Callable[[float], float]) -> "Spread":
        """Convert to another unit."""
        return Spread(*map(change, self))


class Rounds(NamedTuple):
    """The runs of one policy, in the order of their rounds."""

    label: str
    """Name, with a number if it was named more than once."""
    runs: list[Run]

    def whole(self) -> list[Run]:
        """Return the runs that were not interrupted, or all if there are none."""
        return [run for run in self.runs if not run.get("interrupted")] or self.runs

    def of(self, name: str) -> list[Class]:
        """Return the class `name` in each whole round; empty if it took no part."""
        return [
            class_ for run in self.whole() for class_ in run["classes"] if class_["name"] == name
        ]

    def spread(self, name: str, figure: Callable[[Class], float]) -> Spread | None:
        """Return a figure of the class `name`; `None` if it finished nothing in some round."""
        classes = self.of(name)
        if not classes or not all(class_["requests"] for class_ in classes):
            return None
        return Spread.of(figure(class_) for class_ in classes)

    def middle(self) -> Run:
        """Return the round with the median p99 of its first class."""
        runs = self.whole()
        return sorted(runs, key=lambda run: percentile(run["classes"][0]["lat_ns"], 99))[
            (len(runs) - 1) // 2
        ]


def repeated(comparison: Comparison) -> bool:
    """Return whether a comparison has rounds."""
    return any("round" in run for run in comparison["runs"])


def count(comparison: Comparison) -> int:
    """Return the number of rounds, the last perhaps partial; 1 without rounds."""
    return 1 + max((run.get("round", 0) for run in comparison["runs"]), default=0)


def labels(runs: list[Run]) -> list[str]:
    """Return the policy of each run, with a number if a round has it more than once."""
    keys = [(run.get("round"), run["policy"]) for run in runs]
    counts = [keys[: index + 1].count(key) for index, key in enumerate(keys)]
    return [name if n == 1 else f"{name} ({n})" for (_, name), n in zip(keys, counts, strict=True)]


def by_policy(comparison: Comparison) -> list[Rounds]:
    """Return the runs of each policy, in the order in which the policies were named."""
    by_label: dict[str, list[Run]] = {}
    for label, run in zip(labels(comparison["runs"]), comparison["runs"], strict=True):
        by_label.setdefault(label, []).append(run)
    return [Rounds(*item) for item in by_label.items()]


def class_names(runs: list[Run]) -> list[str]:
    """Return every class that took part in a run, in the order of the job."""
    fullest = sorted(runs, key=lambda run: -len(run["classes"]))
    return list(dict.fromkeys(class_["name"] for run in fullest for class_ in run["classes"]))


def middle(comparison: Comparison) -> Comparison:
    """Keep only the median round of each policy, which a chart of one run shows."""
    if not repeated(comparison):
        return comparison
    runs = [policy.middle().copy() for policy in by_policy(comparison)]
    for run in runs:
        # The runs may be of different rounds, so only the policy identifies them.
        run.pop("round", None)
        run.pop("seed", None)
    return {**comparison, "runs": runs}
