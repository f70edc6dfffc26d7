"""Search for the largest load of a class at which every goal holds.

Each seed has a search of its own, with random numbers that are the same at every load. The first
seed doubles the load until a goal fails and halves what lies between; the others begin where it
ended. From the median of their answers a last search goes on, in which most of the seeds decide.
Then loads far from the answer run: on a model from all seeds, for the curve; elsewhere from one,
and from all if it contradicts the answer.
"""

import json
import tomllib
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log2
from typing import Any, NamedTuple, TypeAlias

from penstock import _native
from penstock.advise.capacity import Capacity, LoadPoint, PolicyCapacity
from penstock.advise.capacity_load import By, ClassLoad, load_of
from penstock.advise.goal import Goal, rounds_met
from penstock.errors import PenstockError, wrong
from penstock.experiment.bench import Bench
from penstock.experiment.trial import Setup, only_run
from penstock.job import plain
from penstock.results.figure import check
from penstock.results.json_types import Run
from penstock.results.rounds import ALONE, Rounds, Spread
from penstock.results.steps import Progress, as_part
from penstock.session import Variant
from penstock.sweeps.vary import ALL
from penstock.target import Target

SEEDS = 5
"""Seeds on a model."""

SEEDS_LIVE = 3
"""Seeds on a target that runs in real time."""

WITHIN = 100
"""An answer is exact to one part in so many, or to one step."""

APART = 8
"""Part of the range over seeds that the search of all of them does not look into."""

FAR = (0.25, 0.5, 0.75, 1.25, 1.5)
"""Multiples of the answer that are tried for a contradiction, and for the curve."""

FARTHEST = (2.0,)
"""Multiples that are tried for a contradiction only: overload may take long to run."""

INSTEAD = (2.0, 4.0)
"""Multiples of the job's own load that are tried if not even the least load holds."""

PART = 0.25
"""Part of what is left of a stage of the search that the next runs take, for the progress."""


class LoadCell(NamedTuple):
    """A run: a policy, a load and a seed."""

    policy: str
    steps: int
    seed: int


class Group(NamedTuple):
    """Runs of a policy that decide together, by majority, whether goals hold."""

    policy: str
    seeds: Sequence[int]

    def at(self, steps: int) -> list[LoadCell]:
        """Returns its runs at one load."""
        return [LoadCell(self.policy, steps, seed) for seed in self.seeds]


Search: TypeAlias = Generator[int, bool, int]
"""Yields the loads to run, is sent whether every goal held, and returns the largest that held."""


def search(start: int, stride: int, most: int, *, apart: int = 1) -> Search:
    """Searches from `start` for the largest load that holds, of those from 1 to `most`.

    Strides double until both sides are known; then the middle decides, until loads are no further
    apart than `apart` or the resolution. Returns 0 if none holds.
    """
    holds, fails, load = 0, most + 1, start
    while True:
        if (yield load):
            holds = load
        else:
            fails = load
        between = holds > 0 and fails <= most
        if fails - holds <= max(apart if between else 1, resolution(holds)):
            return holds
        if fails > most:
            load = min(holds + stride, most)
        elif holds == 0:
            load = max(fails - stride, 1)
        else:
            load = (holds + fails) // 2
        stride *= 2


def resolution(steps: int) -> int:
    """Returns the distance of two loads that is not looked into."""
    return max(1, steps // WITHIN)


@dataclass
class _Runs:
    """Runs that were made, and the bench that makes more."""

    bench: Bench[Run]
    job: Variant
    load: ClassLoad
    goals: Sequence[Goal]
    first_seed: int
    seeds: int
    modelled: bool
    """Whether runs take no real time, so that many may be made."""
    progress: Progress | None
    done: float = 0.0
    """Part of the whole search that is done."""
    results: dict[LoadCell, Run] = field(default_factory=dict)
    holding: dict[LoadCell, bool] = field(default_factory=dict)

    def make(self, cells: Iterable[LoadCell], until: float) -> None:
        """Runs the cells that have not run; then this part of the search is done."""
        fresh = [cell for cell in dict.fromkeys(cells) if cell not in self.results]
        label = f"run {len(self.results) + 1}"
        step = as_part(self.progress, label, self.done, until)
        variants = [self._variant(cell) for cell in fresh]
        for cell, run in zip(fresh, self.bench.run(variants, progress=step), strict=True):
            self.results[cell] = run
            self.holding[cell] = rounds_met(Rounds(cell.policy, [run]), self.goals) == 1
        self.done = until

    def _variant(self, cell: LoadCell) -> Variant:
        sets = [*self.job.sets, *self.load.sets(cell.steps), self._seed(cell.seed)]
        return replace(self.job, sets=sets, policies=[cell.policy])

    def _seed(self, seed: int) -> str:
        return f"seed={self.first_seed + seed}"

    def drive(self, searches: Mapping[Group, Search], until: float) -> dict[Group, int]:
        """Runs searches side by side to their end; each load from every seed of its group."""
        answers: dict[Group, int] = {}
        waiting = {group: next(run) for group, run in searches.items()}
        while waiting:
            cells = {group: group.at(steps) for group, steps in waiting.items()}
            every = [cell for of_group in cells.values() for cell in of_group]
            self.make(every, self.done + PART * (until - self.done))
            for group, of_group in cells.items():
                held = sum(self.holding[cell] for cell in of_group)
                try:
                    waiting[group] = searches[group].send(2 * held > len(of_group))
                except StopIteration as end:
                    answers[group] = end.value
                    del waiting[group]
        return answers

    def without(
        self, text: str, goals: Sequence[Goal], policies: Sequence[str]
    ) -> dict[str, LoadPoint]:
        """Runs the job in `text`, which lacks the class, from every seed, for the other goals."""
        variants = [
            Variant(name=self.job.name, text=text, sets=[self._seed(seed)], policies=[policy])
            for policy in policies
            for seed in range(self.seeds)
        ]
        runs = self.bench.run(variants)
        return {
            policy: LoadPoint(
                0, Rounds(policy, runs[at * self.seeds : (at + 1) * self.seeds]), goals
            )
            for at, policy in enumerate(policies)
        }

    def points(self, policy: str) -> list[LoadPoint]:
        """Returns the loads of a policy that ran, the least first."""
        by_load: dict[int, list[Run]] = {}
        for cell in sorted(self.results):
            if cell.policy == policy:
                by_load.setdefault(cell.steps, []).append(self.results[cell])
        return [
            LoadPoint(steps, Rounds(policy, runs), self.goals) for steps, runs in by_load.items()
        ]


def capacity(
    job: Variant,
    name: str,
    goals: Sequence[Goal],
    target: Target,
    *,
    by: By | None = None,
    up_to: str | None = None,
    policies: Sequence[str] = (),
    seeds: int | None = None,
    progress: Progress | None = None,
    announce: Callable[[str, float | None, int], object] = lambda *_: None,
) -> Capacity:
    """Find the largest load of the class `name` at which all goals hold, under each policy.

    Before the first run in real time `announce` gets the target, the seconds of a run if they are
    known, and about how many runs there will be.
    """
    if not goals:
        hint = "as --goal 'tellers.p99 <= 20ms'; without one any load will do"
        raise wrong("found no --goal; expected one or more", hint)
    policies = _named(policies, by)
    asked = replace(job, policies=policies)
    with Bench(Setup(target=target, reduce=only_run), [asked]) as bench:
        (known,) = bench.check([asked])
        text, world = known["job"]["text"], known["world"]
        load = load_of(text, name, by)
        written = tomllib.loads(text)
        for goal in goals:
            check(goal.figure, list(written["class"]))
        load = _fitting(bench, asked, load, up_to)
        modelled = world == "simulated"
        seeds = seeds or (SEEDS if modelled else SEEDS_LIVE)
        if not modelled:
            expected = len(policies) * _expected(load, seeds)
            duration = written.get("duration")
            seconds = None if duration is None else _native.duration(duration) / 1e9
            announce(known["device"], seconds, expected)
        runs = _Runs(
            bench=bench,
            job=job,
            load=load,
            goals=goals,
            first_seed=known["seed"],
            seeds=seeds,
            modelled=modelled,
            progress=progress,
        )
        largest = _largest(runs, policies)
        _check(runs, largest)
        none = [policy for policy in policies if largest[policy].median == 0]
        without = _without(runs, written, none)
        return Capacity(
            load=load,
            goals=goals,
            policies=[
                PolicyCapacity(
                    policy=policy,
                    steps=largest[policy],
                    most=load.most,
                    points=runs.points(policy),
                    without=without.get(policy),
                    seeds=seeds,
                )
                for policy in policies
            ],
            job=known["job"]["file"],
            text=text,
            changes=job.sets,
            world=world,
            device=known["device"],
            first_seed=known["seed"],
            seeds=seeds,
            runs=len(runs.results) + seeds * len(without),
        )


def _named(policies: Sequence[str], by: By | None) -> list[str]:
    """Returns the policies, or if none are named those that differ most, each once."""
    facts = {policy["name"]: policy for policy in json.loads(_native.policies())}
    relevant = "weights" if by == "weight" else "usual"
    if not policies:
        return [name for name, policy in facts.items() if policy[relevant]]
    expanded = [name for word in policies for name in (facts if word == ALL else [word])]
    for name in expanded:
        if name.startswith(ALONE):
            message = f"--policies: found {name}, under which no other class runs"
            raise wrong(message, "leave it out: capacity is that of all classes together")
        if by == "weight" and name in facts and not facts[name][relevant]:
            using = ",".join(policy for policy in facts if facts[policy][relevant])
            raise wrong(f"--by weight: {name} does not use weights", f"as --policies {using}")
    return list(dict.fromkeys(expanded))


def _fitting(bench: Bench[Run], job: Variant, load: ClassLoad, up_to: str | None) -> ClassLoad:
    """Returns the load with its limit: as given, or as large as the job can take."""
    load = load.up_to(up_to)
    while True:
        try:
            bench.check([replace(job, sets=[*job.sets, *load.sets(load.most)])])
        except PenstockError:
            if up_to is not None or load.most <= load.start:
                raise
            load = replace(load, most=max(load.start, load.most // 2))
        else:
            return load


def _expected(load: ClassLoad, seeds: int) -> int:
    """Returns about how many runs a policy takes on a target that runs in real time."""
    doublings, halvings = log2(load.most / load.start) / 2, log2(min(load.most, WITHIN))
    return round(doublings + halvings) + 4 * (seeds - 1) + len(FAR)


def _largest(runs: _Runs, policies: Sequence[str]) -> dict[str, Spread]:
    """Returns the largest load that holds under each policy, and its range over seeds."""
    start, most, every = runs.load.start, runs.load.most, tuple(range(runs.seeds))
    first = {
        Group(policy, every[:1]): search(start, max(1, start // 2), most) for policy in policies
    }
    answers = {group.policy: [steps] for group, steps in runs.drive(first, 0.4).items()}
    others = {
        Group(policy, (seed,)): search(max(steps, 1), resolution(steps), most)
        for policy, (steps,) in answers.items()
        for seed in every[1:]
    }
    for group, steps in runs.drive(others, 0.6).items():
        answers[group.policy].append(steps)
    together = {
        Group(policy, every): _together(Spread.of(of_seeds), most)
        for policy, of_seeds in answers.items()
    }
    return {
        group.policy: Spread(
            steps, min(steps, *answers[group.policy]), max(steps, *answers[group.policy])
        )
        for group, steps in runs.drive(together, 0.8).items()
    }


def _together(steps: Spread, most: int) -> Search:
    """Returns a search of all seeds from the median of their answers.

    It looks for nothing that is small against how far these lie apart.
    """
    start = max(int(steps.median), 1)
    apart = int(steps.high - steps.low) // APART
    return search(start, max(apart, resolution(start)), most, apart=apart)


def _check(runs: _Runs, largest: Mapping[str, Spread]) -> None:
    """Runs loads far from each answer, from all seeds for the curve or if one contradicts it."""
    every = range(runs.seeds)
    cells = []
    for policy, over_seeds in largest.items():
        answer, start = int(over_seeds.median), runs.load.start
        factors = (*FAR, *FARTHEST) if answer else INSTEAD
        for steps in {start, *(round(factor * (answer or start)) for factor in factors)}:
            if 1 <= steps <= runs.load.most:
                drawn = runs.modelled and answer and steps <= FAR[-1] * answer
                cells += [LoadCell(policy, steps, seed) for seed in (every if drawn else every[:1])]
    runs.make(sorted(cells), 0.9)
    surprising = [
        cell for cell in cells if runs.holding[cell] != (cell.steps <= largest[cell.policy].median)
    ]
    runs.make((cell._replace(seed=seed) for cell in surprising for seed in every), 1.0)


def _without(runs: _Runs, job: Mapping[str, Any], policies: Sequence[str]) -> dict[str, LoadPoint]:
    """Runs a job without the class under policies, if goals and work of others are left."""
    name = runs.load.class_
    goals = [goal for goal in runs.goals if goal.figure.of != name]
    sections = ("agent", "program")
    left = {
        section: [member for member in job[section] if member["class"] != name]
        for section in sections
        if section in job
    }
    text = "\n".join(f"{key} = {plain(value)}" for key, value in {**job, **left}.items())
    if not (policies and goals and any(left.values())):
        return {}
    if not _native.is_right(runs.job.name, text, []):
        return {}
    return runs.without(text, goals, policies)
