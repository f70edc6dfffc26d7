"""How merges that go on side by side should be set: where their runs lie, the policy, the memory.

Every choice is simulated from the same few seeds; those that come near the best then run from
others too. Of all that cannot be told from the best, the advice is the one that asks for least: no
scheduler, the placement that the numbers of jobs and disks suggest, little memory.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from statistics import fmean, stdev
from typing import NamedTuple, TypeAlias

from penstock import _native
from penstock.advise.merge_disks import Disks
from penstock.errors import RUN_FAILED, PenstockError, translated, wrong
from penstock.results import rounds
from penstock.results.json_types import Merge, Run
from penstock.results.steps import Progress, as_part
from penstock.session import Variant
from penstock.sweeps.run import measured
from penstock.sweeps.vary import Setting
from penstock.target import Target

PLACEMENTS = ("dedicated", "separate", "shared", "all")
WITHOUT_NUMBER = ("separate", "all")
"""Placements that do not depend on how many jobs there are."""

POLICIES = ("fcfs", "read-first", "round-robin")
"""The first asks for no scheduler; the others are in the order in which they are common."""

SCOUTED = 3
"""Every choice runs from so many seeds."""

CONFIRMED = 10
"""Those near the best run from so many more."""

NEAR = 1.08
"""So many times as long as the best may a choice take to be confirmed."""

ALIKE = 0.02
"""A difference that is no reason to set anything."""

SIGMAS = 2.0
"""Means that are so many standard errors apart differ."""

REQUESTS = 100_000
"""A run has so many at most: with more, runs of blocks are made shorter, and times longer."""

RACE = 1.0
BOUNDARY = (0.9, 1.2)
"""Merges race from about this f_eff on; between these it depends on chance."""

NAME = "merges"
"""What messages call the job."""

STEPS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""How many times as many blocks a sweep reads and writes at once."""

Span: TypeAlias = tuple[float, float]
"""Where a part of the work begins and ends, of all of it."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """The merges, as far as they are given."""

    jobs: int | None
    """How many at a time, if that is known."""
    memory: int | None = None
    """Blocks that each may have; any number if not given."""
    placement: str | None = None
    """The only one that can be."""
    sets: Sequence[str] = ()
    """Keys of the job, as `--set` has them."""

    def check(self, disks: int) -> None:
        """That so many disks are enough."""
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
        """Those that can be."""
        known = PLACEMENTS if self.jobs is not None else WITHOUT_NUMBER
        if self.placement is not None:
            return [self.placement]
        least = {"dedicated": (self.jobs or 0) + 1, "separate": 2, "shared": 2, "all": 1}
        return [one for one in known if least[one] <= disks]

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
    """What the engine says of the merges."""

    jobs: int
    runs: int
    run: int
    block: int
    read: int
    write: int
    requests: int
    least: int
    enough: int

    @classmethod
    def of(cls, text: str, sets: Sequence[str]) -> "Facts":
        """Of this job."""
        with translated():
            return cls(**json.loads(_native.merge_facts(NAME, text, list(sets))))

    def buffers(self, memory: int | None) -> list[int | None]:
        """Blocks for each job that are tried, the fewest first; none stands for any number."""
        ahead = self.runs * (2 * min(self.read, self.run) - 1)
        knee = max(ahead + 3 * self.write, self.enough + self.write)
        levels = sorted({self.enough, knee, 2 * self.enough, 4 * self.enough})
        if memory is None:
            return [*levels, None]
        return [*(one for one in levels if one < memory), memory]


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
    def time(self) -> float:
        """The mean with most jobs."""
        return fmean(self.times[max(self.times)])

    @property
    def deviation(self) -> float:
        """Over seeds, with most jobs."""
        return stdev(self.times[max(self.times)])

    @property
    def seeds(self) -> int:
        """How many it ran from."""
        return len(next(iter(self.times.values()), ()))

    def setting(self, jobs: int) -> Setting:
        """As a change of the job."""
        memory = {"merge.memory": "unlimited"}
        if self.buffer is not None:
            memory = {"merge.memory.partition": str(self.buffer)}
        changes = {"merge.jobs": str(jobs), "merge.placement": self.placement, **memory}
        return Setting(policy=self.policy, changes=changes)

    def with_times(self, times: Mapping[int, Sequence[float]]) -> "Choice":
        """With those of more seeds."""
        known = {jobs: [*self.times.get(jobs, ()), *more] for jobs, more in times.items()}
        return replace(self, times=known)


class Score(NamedTuple):
    """How many times as long as the best a choice takes, with the number of jobs worst for it."""

    mean: float
    error: float
    """The standard error."""

    def apart(self, other: "Score") -> bool:
        """Whether the two differ by more than chance, and enough to matter."""
        off = abs(self.mean - other.mean)
        return off > ALIKE * min(self.mean, other.mean) and off > SIGMAS * (
            (self.error**2 + other.error**2) ** 0.5
        )


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Every choice, and which one to take."""

    disks: Disks
    question: Question
    facts: Facts
    choices: Sequence[Choice]
    f_eff: float
    """Of merges that read all disks but the one that they write."""
    shortened: float
    """How many times as long the runs are as those that were simulated."""

    @cached_property
    def scores(self) -> Mapping[tuple[str, str, int | None], Score]:
        """Of every choice that ended."""
        ended = [one for one in self.choices if one.failure is None]
        counts = list(ended[0].times) if ended else []
        best = {jobs: min(fmean(one.times[jobs]) for one in ended) for jobs in counts}
        found = {}
        for one in ended:
            jobs = max(counts, key=lambda jobs: fmean(one.times[jobs]) / best[jobs])
            ratios = [time / best[jobs] for time in one.times[jobs]]
            found[_key(one)] = Score(fmean(ratios), stdev(ratios) / len(ratios) ** 0.5)
        return found

    def score(self, choice: Choice) -> Score:
        """Of one that ended."""
        return self.scores[_key(choice)]

    @cached_property
    def ranked(self) -> Sequence[Choice]:
        """Those that ended, the best first."""
        ended = (one for one in self.choices if one.failure is None)
        return sorted(ended, key=lambda one: self.score(one).mean)

    @cached_property
    def alike(self) -> Sequence[Choice]:
        """Those that cannot be told from the best."""
        best = self.score(self.ranked[0])
        return [one for one in self.ranked if not self.score(one).apart(best)]

    @cached_property
    def best(self) -> Choice:
        """The one of them that asks for least."""
        usual = self.question.usual(self.disks.count)

        def asks(one: Choice) -> tuple[int, bool, float, float]:
            memory = float("inf") if one.buffer is None else one.buffer
            rank = POLICIES.index(one.policy)
            return rank, one.placement != usual, memory, self.score(one).mean

        return min(self.alike, key=asks)

    @property
    def runner_up(self) -> Choice | None:
        """The best with another placement or policy."""
        return self._first(lambda one: _place(one) != _place(self.best))

    @property
    def simplest(self) -> Choice | None:
        """The best without a scheduler, if the advice has one."""
        if self.best.policy == POLICIES[0]:
            return None
        return self._first(lambda one: one.policy == POLICIES[0])

    def _first(self, which: Callable[[Choice], bool]) -> Choice | None:
        return next(filter(which, self.ranked), None)

    def costs(self, choice: Choice) -> float:
        """How many times as long it takes as the advice."""
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


def _key(choice: Choice) -> tuple[str, str, int | None]:
    return choice.placement, choice.policy, choice.buffer


def _place(choice: Choice) -> tuple[str, str]:
    return choice.placement, choice.policy


def _disks(count: int) -> str:
    return "1 disk" if count == 1 else f"{count} disks"


@dataclass(frozen=True, kw_only=True)
class _Simulation:
    """Merges on some disks, in the settings of choices."""

    job: Variant
    counts: Sequence[int]
    seeds: int = SCOUTED
    scale: float = 1.0

    def tried(
        self, choices: Sequence[Choice], progress: Progress | None, span: Span
    ) -> list[Choice]:
        """The choices with what came of them; one of which a run fails is told as such."""
        settings = {
            setting.label: (number, jobs, setting)
            for number, choice in enumerate(choices)
            for jobs in self.counts
            for setting in [choice.setting(jobs)]
        }
        found, failures = self.runs([one for *_, one in settings.values()], progress, span)
        times: list[dict[int, list[float]]] = [{} for _ in choices]
        why: dict[int, str] = {}
        for label, (number, jobs, _) in settings.items():
            if label in failures:
                why.setdefault(number, failures[label])
            else:
                spans = [run["merge"]["makespan_s"] or 0.0 for run in found[label]]
                times[number][jobs] = [self.scale * one for one in spans]
        return [
            replace(one, failure=why[number]) if number in why else one.with_times(times[number])
            for number, one in enumerate(choices)
        ]

    def runs(
        self, settings: Sequence[Setting], progress: Progress | None, span: Span
    ) -> tuple[dict[str, list[Run]], dict[str, str]]:
        """The runs of each setting by its label, and why runs of others fail."""
        try:
            ran = measured(
                self.job,
                settings,
                Target(),
                repeat=self.seeds,
                progress=as_part(progress, f"simulating {len(settings)}", *span),
            )
        except PenstockError as failure:
            if failure.exit_code != RUN_FAILED:
                raise
            if len(settings) == 1:
                return {}, {settings[0].label: str(failure)}
            # One that fails ends all that run with it.
            half = len(settings) // 2
            parts = [self.runs(part, progress, span) for part in (settings[:half], settings[half:])]
            return {**parts[0][0], **parts[1][0]}, {**parts[0][1], **parts[1][1]}
        return {one.label: one.runs for one in rounds.by_policy(ran)}, {}


def advise(
    disks: Sequence[Disks],
    question: Question,
    *,
    sweep: bool = False,
    progress: Progress | None = None,
) -> Advice:
    """Simulate every choice, and find the one to take, on the slowest of `disks`.

    A `sweep` first finds how many blocks should be read and written at once.
    """
    question.check(disks[0].count)
    slowest = _slowest(disks, question)
    if sweep:
        question = _swept(slowest, question, progress)
    return _advised(slowest, question, progress)


def _advised(disks: Disks, question: Question, progress: Progress | None) -> Advice:
    simulation, facts = _simulation(disks, question)
    apart = _apart(simulation, disks.count, progress)
    f_eff = fmean(one["f_eff"] for one in apart if one["f_eff"] is not None)
    every = [
        Choice(placement=placement, policy=policy, buffer=buffer)
        for placement, policy, buffer in product(
            question.placements(disks.count), POLICIES, facts.buffers(question.memory)
        )
    ]
    found = Advice(
        disks=disks,
        question=question,
        facts=facts,
        choices=simulation.tried(every, progress, (0.1, 0.6)),
        f_eff=f_eff,
        shortened=simulation.scale,
    )
    if not found.ranked:
        raise _none(found)
    return replace(found, choices=_confirmed(found, simulation, progress))


def _simulation(disks: Disks, question: Question) -> tuple[_Simulation, Facts]:
    """What simulates the merges of a question, and what they are like."""
    counts = question.counts(disks.count)
    text = disks.job(max(counts))
    facts = Facts.of(text, [*question.sets, *_checked(question, disks.count)])
    sets, scale = _shortened(question.sets, facts)
    job = Variant(name=NAME, text=text, sets=sets)
    return _Simulation(job=job, counts=counts, scale=scale), facts


def _slowest(disks: Sequence[Disks], question: Question) -> Disks:
    """The one on which merges take longest, with what is said of the others."""
    if len(disks) == 1:
        return disks[0]
    unbound = replace(question, memory=None)
    times = []
    for one in disks:
        simulation, _ = _simulation(one, unbound)
        times.append(fmean(one["makespan_s"] or 0.0 for one in _apart(simulation, one.count)))
    slowest = disks[times.index(max(times))]
    remark = (
        f"{slowest.name} is the slowest of {len(disks)} disks, and all count as it; on disks like "
        f"the fastest merges would take {min(times) / max(times):.2f} times as long"
    )
    return replace(slowest, remarks=[*slowest.remarks, remark])


def _swept(disks: Disks, question: Question, progress: Progress | None) -> Question:
    """The same with the best numbers of blocks to be read and written at once.

    Of those that are as good they are the fewest.
    """
    _, given = _simulation(disks, replace(question, memory=None))
    reads, writes = (
        sorted({min(max(round(step * blocks), 1), given.run) for step in STEPS})
        for blocks in (given.read, given.write)
    )
    found: list[tuple[float, int, Question]] = []
    for read, write in product(reads, writes):
        sets = [*question.sets, f"merge.read={read}", f"merge.write={write}"]
        with_these = replace(question, memory=None, sets=sets)
        simulation, facts = _simulation(disks, with_these)
        if question.memory is not None and question.memory < facts.least:
            continue
        choices = [
            Choice(placement=placement, policy=policy, buffer=question.memory)
            for placement, policy in product(question.placements(disks.count), POLICIES)
        ]
        done = len(found) / (len(reads) * len(writes))
        tried = replace(simulation, seeds=1).tried(choices, progress, (done, done))
        times = [sum(map(fmean, one.times.values())) for one in tried if one.failure is None]
        if times:
            asked = replace(with_these, memory=question.memory)
            found.append((min(times), facts.enough, asked))
    if not found:
        raise wrong(
            f"--memory: found {question.memory} blocks, with which no merge ends that reads "
            f"{reads[0]} blocks at once or more; expected more",
            "give more memory, or merge fewer runs at once: --runs",
        )
    least = min(time for time, *_ in found)
    good = (one for one in found if one[0] <= (1 + ALIKE) * least)
    return min(good, key=lambda one: one[1])[2]


def _confirmed(found: Advice, simulation: _Simulation, progress: Progress | None) -> list[Choice]:
    """The choices, those near the best with more seeds."""
    best = found.score(found.ranked[0])
    near = [
        one
        for one in found.ranked
        if found.score(one).mean <= NEAR or not found.score(one).apart(best)
    ]
    seed = _seed(simulation.job) + simulation.seeds
    job = replace(simulation.job, sets=[*simulation.job.sets, f"seed={seed}"])
    again = replace(simulation, job=job, seeds=CONFIRMED)
    more = {_key(one): one for one in again.tried(near, progress, (0.6, 1.0))}
    return [more.get(_key(one), one) for one in found.choices]


def _seed(job: Variant) -> int:
    """The first seed of a job, whose text has none."""
    said = [one.partition("=")[2] for one in job.sets if one.partition("=")[0].strip() == "seed"]
    return int(said[-1]) if said else 1


def _checked(question: Question, disks: int) -> list[str]:
    """What is checked before anything runs."""
    memory = [] if question.memory is None else [f"merge.memory.partition={question.memory}"]
    return [f"merge.placement={question.placements(disks)[-1]}", *memory]


def _shortened(sets: Sequence[str], facts: Facts) -> tuple[list[str], float]:
    """Runs so short that simulating them takes no minutes, and how many times as long they are."""
    if facts.requests <= REQUESTS:
        return list(sets), 1.0
    run = max(facts.run * REQUESTS // facts.requests, facts.read, facts.write)
    return [*sets, f"merge.run={run}blocks"], facts.run / run


def _apart(simulation: _Simulation, disks: int, progress: Progress | None = None) -> list[Merge]:
    """What comes of most jobs that each read all disks but the one that they write."""
    choice = Choice(placement="separate" if disks > 1 else "all", policy=POLICIES[0], buffer=None)
    setting = choice.setting(max(simulation.counts))
    runs, failures = simulation.runs([setting], progress, (0.0, 0.1))
    for failure in failures.values():
        raise PenstockError(failure, exit_code=RUN_FAILED)
    return [run["merge"] for run in runs[setting.label]]


def _none(found: Advice) -> PenstockError:
    """Every choice failed."""
    memory, enough = found.question.memory, found.facts.enough
    return PenstockError(
        f"error: with {memory} blocks of memory for each merge none of {len(found.choices)} "
        f"choices comes to its end (deadlock); {enough} are always enough\n"
        f"hint: give --memory {enough}, or let less be read and written at once: --sweep",
        exit_code=RUN_FAILED,
    )
