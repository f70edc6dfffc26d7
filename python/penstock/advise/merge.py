"""Advice on concurrent merges: where their runs lie, the policy, the memory.

Some choices do not differ from the best by more than noise. Among these the advice prefers no
scheduler, then the placement that the numbers of jobs and disks suggest, then the least memory.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean, stdev
from typing import NamedTuple

from penstock.advise.merge_disks import Disks
from penstock.errors import wrong
from penstock.sweeps.vary import Setting

PLACEMENTS = ("dedicated", "separate", "shared", "all")
WITHOUT_NUMBER = ("separate", "all")
"""Placements that do not depend on how many jobs there are."""

POLICIES = ("fcfs", "read-first", "round-robin")
"""The first asks for no scheduler; the others are in the order in which they are common."""

ALIKE = 0.02
"""A difference that is no reason to set anything."""

SIGMAS = 2.0
"""Means that are so many standard errors apart differ."""

RACE = 1.0
BOUNDARY = (0.9, 1.2)
"""Merges race from about this f_eff on; between these it depends on chance."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """The merges, as far as they are given."""

    jobs: int | None
    """Number of concurrent merges, if it is known."""
    memory: int | None = None
    """Blocks that each may have; any number if not given."""
    placement: str | None = None
    """The only one that can be."""
    sets: Sequence[str] = ()
    """Keys of the job, as `--set` has them."""

    def check(self, disks: int) -> None:
        """Checks that the number of disks is enough."""
        jobs = self.jobs or 1
        if jobs > disks:
            raise wrong(
                f"--jobs: found {jobs} merges on {_disks(disks)}; expected at most one for each "
                "disk, which takes its output",
                f"let some wait for others: --jobs {disks}",
            )
        if self.placement == "dedicated" and jobs >= disks:
            raise wrong(
                f"--placement dedicated: found {jobs} merges on {_disks(disks)}; expected fewer "
                "merges than disks, as their outputs leave no disk to read from",
                f"let some wait for others: --jobs {max(disks - 1, 1)}; or leave --placement out",
            )
        if self.placement in ("separate", "shared") and disks < 2:
            raise wrong(
                f"--placement {self.placement}: found {_disks(disks)}; expected 2 or more, as a "
                "merge reads other disks than it writes",
                "leave --placement out",
            )
        if self.placement in ("dedicated", "shared") and self.jobs is None:
            raise wrong(
                f"--placement {self.placement}: found no --jobs; expected it, as where runs lie "
                "depends on how many merges there are",
                "add --jobs; or leave --placement out",
            )

    def placements(self, disks: int) -> list[str]:
        """Returns the placements that are possible."""
        known = PLACEMENTS if self.jobs is not None else WITHOUT_NUMBER
        if self.placement is not None:
            return [self.placement]
        least = {"dedicated": (self.jobs or 0) + 1, "separate": 2, "shared": 2, "all": 1}
        return [name for name in known if least[name] <= disks]

    def counts(self, disks: int) -> list[int]:
        """Numbers of jobs that are simulated; the last one is the greatest."""
        if self.jobs is not None:
            return [self.jobs]
        return sorted({1, (disks + 1) // 2, disks})

    def usual(self, disks: int) -> str:
        """The placement that the numbers suggest."""
        if self.jobs is None:
            return "all"
        return "dedicated" if 2 * self.jobs <= disks else "shared"


class Facts(NamedTuple):
    """Properties of the merges, as the engine reports them."""

    jobs: int
    runs: int
    run: int
    block: int
    read: int
    write: int
    requests: int
    least: int
    enough: int

    def buffers(self, memory: int | None) -> list[int | None]:
        """Blocks for each job that are tried, the fewest first; none stands for any number."""
        ahead = self.runs * (2 * min(self.read, self.run) - 1)
        knee = max(ahead + 3 * self.write, self.enough + self.write)
        levels = sorted({self.enough, knee, 2 * self.enough, 4 * self.enough})
        if memory is None:
            return [*levels, None]
        return [*(level for level in levels if level < memory), memory]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A placement, a policy and an amount of memory, and what came of them."""

    placement: str
    policy: str
    buffer: int | None
    times: Mapping[int, Sequence[float]] = field(default_factory=dict)
    """Seconds until all had finished, from each seed, by the number of jobs."""
    failure: str | None = None
    """Why a run of it failed."""

    @property
    def key(self) -> tuple[str, str, int | None]:
        """Properties that tell choices apart."""
        return self.placement, self.policy, self.buffer

    @property
    def time(self) -> float:
        """The mean with most jobs."""
        return fmean(self.times[max(self.times)])

    @property
    def deviation(self) -> float:
        """Over seeds, with most jobs."""
        return stdev(self.times[max(self.times)])

    @property
    def seeds(self) -> int:
        """Number of seeds it ran from."""
        return len(next(iter(self.times.values()), ()))

    def setting(self, jobs: int) -> Setting:
        """Returns the choice as changes of the job."""
        memory = {"merge.memory": "unlimited"}
        if self.buffer is not None:
            memory = {"merge.memory.partition": str(self.buffer)}
        changes = {"merge.jobs": str(jobs), "merge.placement": self.placement, **memory}
        return Setting(policy=self.policy, changes=changes)

    def with_times(self, times: Mapping[int, Sequence[float]]) -> "Choice":
        """Returns the choice with the times of more seeds added."""
        known = {jobs: [*self.times.get(jobs, ()), *more] for jobs, more in times.items()}
        return replace(self, times=known)


class Score(NamedTuple):
    """Returns the requests of a class in a cycle, interpolated between the illustrations."""

    mean: float
    error: float
    """The standard error."""

    def apart(self, score: "Score") -> bool:
        """Whether the two differ by more than chance, and enough to matter."""
        off = abs(self.mean - score.mean)
        return off > ALIKE * min(self.mean, score.mean) and off > SIGMAS * (
            (self.error**2 + score.error**2) ** 0.5
        )


@dataclass(frozen=True, kw_only=True)
class PlacementAdvice:
    """Every choice, and which one to take."""

    disks: Disks
    question: Question
    facts: Facts
    choices: Sequence[Choice]
    f_eff: float
    """`f_eff` of merges that read all disks but the one that they write."""
    shortened: float
    """Length of the runs over the length that was simulated."""

    @cached_property
    def scores(self) -> Mapping[tuple[str, str, int | None], Score]:
        """Scores of all choices that ended."""
        ended = [choice for choice in self.choices if choice.failure is None]
        counts = list(ended[0].times) if ended else []
        best = {jobs: min(fmean(choice.times[jobs]) for choice in ended) for jobs in counts}
        scores = {}
        for choice in ended:
            jobs = max(counts, key=lambda jobs: fmean(choice.times[jobs]) / best[jobs])
            ratios = [time / best[jobs] for time in choice.times[jobs]]
            scores[choice.key] = Score(fmean(ratios), stdev(ratios) / len(ratios) ** 0.5)
        return scores

    def score(self, choice: Choice) -> Score:
        """Returns the score of a choice that ended."""
        return self.scores[choice.key]

    @cached_property
    def ranked(self) -> Sequence[Choice]:
        """Choices that ended, the best first."""
        ended = (choice for choice in self.choices if choice.failure is None)
        return sorted(ended, key=lambda choice: self.score(choice).mean)

    @cached_property
    def alike(self) -> Sequence[Choice]:
        """Choices that differ from the best by no more than noise."""
        best = self.score(self.ranked[0])
        return [choice for choice in self.ranked if not self.score(choice).apart(best)]

    @cached_property
    def best(self) -> Choice:
        """The simplest of them, with the least memory."""
        usual = self.question.usual(self.disks.count)

        def asks(choice: Choice) -> tuple[int, bool, float, float]:
            memory = float("inf") if choice.buffer is None else choice.buffer
            rank = POLICIES.index(choice.policy)
            return rank, choice.placement != usual, memory, self.score(choice).mean

        return min(self.alike, key=asks)

    @property
    def runner_up(self) -> Choice | None:
        """The best with another placement or policy."""
        return self._first(lambda choice: choice.key[:2] != self.best.key[:2])

    @property
    def simplest(self) -> Choice | None:
        """The best without a scheduler, if the advice has one."""
        if self.best.policy == POLICIES[0]:
            return None
        return self._first(lambda choice: choice.policy == POLICIES[0])

    def _first(self, which: Callable[[Choice], bool]) -> Choice | None:
        return next(filter(which, self.ranked), None)

    def costs(self, choice: Choice) -> float:
        """Returns its time over the time of the advice."""
        return self.score(choice).mean / self.score(self.best).mean

    @property
    def certain(self) -> bool:
        """Whether the runner-up is worse by more than chance."""
        return self.runner_up is None or self.runner_up not in self.alike

    @property
    def races(self) -> bool:
        """Whether merges race that read all disks but their own, in order of arrival."""
        return max(self.question.counts(self.disks.count)) > 1 and self.f_eff > RACE

    @property
    def at_boundary(self) -> bool:
        """Whether that depends on chance."""
        low, high = BOUNDARY
        return low <= self.f_eff <= high


def _disks(count: int) -> str:
    return "1 disk" if count == 1 else f"{count} disks"
