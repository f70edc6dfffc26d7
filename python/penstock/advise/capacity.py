"""How much of a class fits while every goal holds: the answer for each policy, from its runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median_low
from typing import NamedTuple

from penstock.advise.capacity_load import ClassLoad
from penstock.advise.goal import Goal, misses, rounds_met
from penstock.results.figure import Figure
from penstock.results.json_types import World
from penstock.results.rounds import Rounds, Spread

FEWEST_FOR_KNEE = 4
"""Points of a curve from which on it can have a knee."""


class BusiestDisk(NamedTuple):
    """The busiest disk of some runs."""

    name: str | None
    """Nothing if there is one disk."""
    utilisation: float
    """Median over the runs."""


@dataclass(frozen=True)
class LoadPoint:
    """Runs at one load, each from another seed."""

    steps: int
    rounds: Rounds
    goals: Sequence[Goal]

    @cached_property
    def met(self) -> int:
        """Runs in which every goal was met."""
        return rounds_met(self.rounds, self.goals)

    @property
    def holds(self) -> bool:
        """Whether every goal was met in most of the runs."""
        return 2 * self.met > len(self.rounds.runs)

    @property
    def worst(self) -> Goal:
        """The goal that is missed by most, or nearest to its limit."""
        missed = misses(self.rounds, self.goals)
        return max(missed, key=missed.__getitem__)

    @property
    def disk(self) -> BusiestDisk:
        """The disk that was busy for most of the time."""
        # Of each run the share of each disk; a real target is one.
        shares: list[list[float]] = []
        names: list[str | None] = [None]
        for run in self.rounds.runs:
            disks = run.get("device_stats", {}).get("disks", [])
            shares.append([disk["utilisation"] for disk in disks] or [run["device_busy"]])
            if disks:
                names = [disk.get("device", f"disk {number}") for number, disk in enumerate(disks)]
        medians = map(median_low, zip(*shares, strict=True))
        return max(map(BusiestDisk, names, medians), key=lambda disk: disk.utilisation)


@dataclass(frozen=True, kw_only=True)
class PolicyCapacity:
    """The answer for one policy."""

    policy: str
    steps: Spread
    """Largest load at which every goal holds, over seeds: 0 if not even the least."""
    most: int
    """Largest load that was tried."""
    points: Sequence[LoadPoint]
    """Every load that ran, the least first."""
    without: LoadPoint | None
    """Runs without the class, if not even the least load holds and others are in the goals."""
    seeds: int

    @property
    def answer(self) -> int:
        """Steps of the median over seeds."""
        return int(self.steps.median)

    @property
    def never_fails(self) -> bool:
        """Whether every goal holds at the largest load too."""
        return self.answer == self.most

    @cached_property
    def whole(self) -> Sequence[LoadPoint]:
        """Loads that ran from every seed."""
        return [point for point in self.points if len(point.rounds.runs) == self.seeds]

    @property
    def at(self) -> LoadPoint | None:
        """The runs at the answer; nothing if not even the least load holds."""
        return next((point for point in self.whole if point.steps == self.answer), None)

    @property
    def beyond(self) -> LoadPoint | None:
        """The runs at the least load above the answer that fails; nothing if none does."""
        above = (point for point in self.whole if point.steps > self.answer)
        return next((point for point in above if not point.holds), None)

    @property
    def contradictions(self) -> Sequence[LoadPoint]:
        """Loads that fail although they are below those of every seed, or hold above all."""
        return [
            point
            for point in self.whole
            if (point.steps <= self.steps.low and not point.holds)
            or (point.steps > self.steps.high and point.holds)
        ]

    def curve(self, figure: Figure) -> list[tuple[int, Spread]]:
        """Returns a figure at each load at which its class finished something.

        Loads that ran from some seeds only are left out if enough others are known.
        """
        points = self.whole if len(self.whole) >= FEWEST_FOR_KNEE else self.points
        values = [(point.steps, figure.over(point.rounds)) for point in points]
        return [(steps, value) for steps, value in values if value is not None]

    def knee(self, figure: Figure) -> int | None:
        """Returns the load with the most load for each unit of a latency: the knee of its curve.

        Beyond it the latency grows by a larger factor than the load. Kleinrock (1979) calls the
        ratio power. Nothing if the curve has too few points, or no bend.
        """
        curve = self.curve(figure)
        if not figure.is_latency or len(curve) < FEWEST_FOR_KNEE:
            return None
        best, _ = max(curve, key=lambda point: point[0] / point[1].median)
        return best if curve[0][0] < best < curve[-1][0] else None


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """The answer."""

    load: ClassLoad
    goals: Sequence[Goal]
    policies: Sequence[PolicyCapacity]
    """In the order in which they were named."""
    job: str
    text: str
    """The job with every default in place."""
    changes: Sequence[str]
    world: World
    device: str
    first_seed: int
    seeds: int
    runs: int

    @property
    def figures(self) -> list[Figure]:
        """Figures of the goals, each once."""
        return list(dict.fromkeys(goal.figure for goal in self.goals))

    @property
    def ranked(self) -> list[PolicyCapacity]:
        """Policies by how much fits, the most first, and of equals that of the better seeds."""
        return sorted(self.policies, key=lambda policy: policy.steps, reverse=True)

    @property
    def fits(self) -> bool:
        """Whether any policy holds the goals at the least load."""
        return any(policy.answer for policy in self.policies)
