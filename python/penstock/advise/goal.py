"""Goals, as `tellers.p99 <= 5ms`, and how settings are ranked by them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from penstock import _native
from penstock.errors import wrong
from penstock.results.figure import BOUND, Figure
from penstock.results.rounds import Rounds


class Goal(NamedTuple):
    """A figure and its limit."""

    figure: Figure
    at_most: bool
    limit: float
    """Limit in nanoseconds, bytes a second, or requests a second."""
    text: str
    """Text of the goal as it was written."""

    @classmethod
    def parse(cls, text: str) -> "Goal":
        """Parses a goal such as `tellers.p99 <= 5ms`."""
        match = BOUND.fullmatch(text)
        if match is None:
            hint = "as in --goal 'tellers.p99 <= 5ms' or 'batch.bw >= 30MB/s'"
            raise wrong(f"found the goal `{text}`; expected a figure and its limit", hint)
        figure = Figure.parse(match[1])
        return cls(figure, match[2].startswith("<"), _limit(figure, match[3]), text.strip())

    def missed_by(self, value: float) -> float:
        """Returns the ratio of a value to the limit, or its inverse; at most 1 if it is met."""
        greater, smaller = (value, self.limit) if self.at_most else (self.limit, value)
        return greater / smaller if smaller > 0 else float("inf")


def _limit(figure: Figure, text: str) -> float:
    """A limit in the unit of its figure."""
    units: tuple[str, Callable[[str], float]] = ("a time, as 5ms", _native.duration)
    bare = text
    if figure.what == "bw":
        units, bare = ("bytes a second, as 30MB/s", _native.size), text.removesuffix("/s")
    elif figure.what == "iops":
        units, bare = ("requests a second, as 200/s", float), text.removesuffix("/s")
    try:
        limit = float(units[1](bare))
    except (_native.Failure, ValueError):
        limit = 0.0
    if limit <= 0:
        raise wrong(f"found `{text}` for {figure}", f"expected {units[0]}")
    return limit


class Standing(NamedTuple):
    """Rank of a setting: first whether it meets the goals, then the figure that is best."""

    missed_by: float
    """Largest ratio of a figure to its limit; 1 or less if all goals are met."""
    score: float
    """More is better; of those that meet all goals."""

    @property
    def meets(self) -> bool:
        """Whether all goals are met."""
        return self.missed_by <= 1

    def key(self) -> tuple[bool, float]:
        """Returns the key by which settings are sorted: the best has the greatest."""
        return (True, self.score) if self.meets else (False, -self.missed_by)


_NOTHING = Standing(float("inf"), float("-inf"))
"""Standing of a setting in which a class finishes nothing, or requests fail or never finish."""


def misses(policy: Rounds, goals: Sequence[Goal]) -> dict[Goal, float]:
    """Returns for each goal the ratio of its figure to its limit, by the median of the rounds.

    A goal is met at 1 or less. The ratio is infinite if the class finishes nothing, or if its
    requests fail or never finish.
    """
    return {goal: _missed(policy, goal) for goal in goals}


def _missed(policy: Rounds, goal: Goal) -> float:
    value = goal.figure.over(policy)
    if value is None or _is_broken(policy, goal.figure.of):
        return float("inf")
    return goal.missed_by(value.median)


def _is_broken(policy: Rounds, name: str) -> bool:
    """Whether requests of a class fail, or most of them never finish."""
    return any(
        class_["errors"] or class_["unfinished"] > class_["requests"] for class_ in policy.of(name)
    )


def standing(policy: Rounds, goals: Sequence[Goal], best: Figure) -> Standing:
    """Returns the standing of a setting, by the medians of its rounds."""
    missed, wanted = misses(policy, goals).values(), best.over(policy)
    if wanted is None or _is_broken(policy, best.of) or float("inf") in missed:
        return _NOTHING
    score = wanted.median if best.kind.more_is_better else -wanted.median
    return Standing(max(missed, default=0.0), score)


def rounds_met(policy: Rounds, goals: Sequence[Goal]) -> int:
    """Returns the number of rounds in which all goals were met."""
    alone = (Rounds(policy.label, [run]) for run in policy.whole())
    return sum(max(misses(run, goals).values(), default=0.0) <= 1 for run in alone)
