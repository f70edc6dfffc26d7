"""Merges are simulated in every setting that can be chosen.

All run from the same few seeds; those that come near the best then run from others too. A run that
fails, as memory is short, tells of its own setting and ends no other.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean
from typing import TypeAlias

from penstock import _native
from penstock.advise.merge import ALIKE, POLICIES, Choice, Facts, PlacementAdvice, Question
from penstock.advise.merge_disks import Disks
from penstock.errors import RUN_FAILED, PenstockError, translated, wrong
from penstock.experiment.bench import run_all
from penstock.experiment.trial import Setup
from penstock.results.json_types import Comparison, Merge, Run
from penstock.results.steps import Progress, as_part
from penstock.session import Variant
from penstock.sweeps.vary import Setting
from penstock.target import Target

SCOUTED = 3
"""Every choice runs from so many seeds."""

CONFIRMED = 10
"""Number of seeds for confirming the choices near the best."""

NEAR = 1.08
"""Largest ratio to the best time at which a choice is confirmed."""

REQUESTS = 100_000
"""Largest number of requests of a run: with more, runs of blocks are shortened and times scaled."""

NAME = "merges"
"""Name of the job in messages."""

STEPS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Factors of the number of blocks read and written at once that a sweep tries."""

Span: TypeAlias = tuple[float, float]
"""Begin and end of a part of the work, as shares of all of it."""


@dataclass(frozen=True, kw_only=True)
class MergeSimulation:
    """Merges on some disks, in the settings of choices."""

    job: Variant
    counts: Sequence[int]
    seeds: int = SCOUTED
    scale: float = 1.0

    def tried(
        self, choices: Sequence[Choice], progress: Progress | None, span: Span
    ) -> list[Choice]:
        """The choices with their results; a choice has a `failure` if one of its runs failed."""
        settings = {
            setting.label: (number, jobs, setting)
            for number, choice in enumerate(choices)
            for jobs in self.counts
            for setting in [choice.setting(jobs)]
        }
        runs, failures = self.runs([setting for *_, setting in settings.values()], progress, span)
        times: list[dict[int, list[float]]] = [{} for _ in choices]
        why: dict[int, str] = {}
        for label, (number, jobs, _) in settings.items():
            if label in failures:
                why.setdefault(number, failures[label])
            else:
                spans = [run["merge"]["makespan_s"] or 0.0 for run in runs[label]]
                times[number][jobs] = [self.scale * span for span in spans]
        return [
            replace(choice, failure=why[number])
            if number in why
            else choice.with_times(times[number])
            for number, choice in enumerate(choices)
        ]

    def runs(
        self, settings: Sequence[Setting], progress: Progress | None, span: Span
    ) -> tuple[dict[str, list[Run]], dict[str, str]]:
        """The runs of each setting by its label, and why runs of others fail."""
        setup = Setup(target=Target(), reduce=_runs, repeat=self.seeds, keep_failures=True)
        variants = [setting.of(self.job) for setting in settings]
        step = as_part(progress, f"simulating {len(settings)}", *span)
        runs_by_label: dict[str, list[Run]] = {}
        failures: dict[str, str] = {}
        for setting, runs in zip(settings, run_all(setup, variants, progress=step), strict=True):
            failed = next((run["failure"] for run in runs if "failure" in run), None)
            if failed is None:
                runs_by_label[setting.label] = runs
            else:
                failures[setting.label] = f"error: {failed}"
        return runs_by_label, failures


def _runs(comparison: Comparison) -> list[Run]:
    return comparison["runs"]


def advise(
    disks: Sequence[Disks],
    question: Question,
    *,
    sweep: bool = False,
    progress: Progress | None = None,
) -> PlacementAdvice:
    """Simulate every choice, and find the one to take, on the slowest of `disks`.

    A `sweep` first finds how many blocks should be read and written at once.
    """
    question.check(disks[0].count)
    slowest = _slowest(disks, question)
    if sweep:
        question = _swept(slowest, question, progress)
    return _advised(slowest, question, progress)


def _advised(disks: Disks, question: Question, progress: Progress | None) -> PlacementAdvice:
    simulation, facts = simulation_of(disks, question)
    apart = _apart(simulation, disks.count, progress)
    f_eff = fmean(merge["f_eff"] for merge in apart if merge["f_eff"] is not None)
    every = [
        Choice(placement=placement, policy=policy, buffer=buffer)
        for placement, policy, buffer in product(
            question.placements(disks.count), POLICIES, facts.buffers(question.memory)
        )
    ]
    advice = PlacementAdvice(
        disks=disks,
        question=question,
        facts=facts,
        choices=simulation.tried(every, progress, (0.1, 0.6)),
        f_eff=f_eff,
        shortened=simulation.scale,
    )
    if not advice.ranked:
        raise _none(advice)
    advice = replace(advice, choices=_confirmed(advice, simulation, progress))
    if not advice.ranked:
        raise _none(advice)
    return advice


def simulation_of(disks: Disks, question: Question) -> tuple[MergeSimulation, Facts]:
    """Returns the simulation of the merges of a question, and their properties."""
    counts = question.counts(disks.count)
    text = disks.job(max(counts))
    facts = _facts(text, [*question.sets, *_checked(question, disks.count)])
    sets, scale = _shortened(question.sets, facts)
    job = Variant(name=NAME, text=text, sets=sets)
    return MergeSimulation(job=job, counts=counts, scale=scale), facts


def _slowest(disks: Sequence[Disks], question: Question) -> Disks:
    """The one on which merges take longest, with what is said of the others."""
    if len(disks) == 1:
        return disks[0]
    unbound = replace(question, memory=None)
    times = []
    for disk in disks:
        simulation, _ = simulation_of(disk, unbound)
        times.append(fmean(disk["makespan_s"] or 0.0 for disk in _apart(simulation, disk.count)))
    slowest = disks[times.index(max(times))]
    remark = (
        f"{slowest.name} is the slowest of {len(disks)} disks, and all count as it; on disks like "
        f"the fastest merges would take {min(times) / max(times):.2f} times as long"
    )
    return replace(slowest, remarks=[*slowest.remarks, remark])


def _swept(disks: Disks, question: Question, progress: Progress | None) -> Question:
    """Returns the question with the best numbers of blocks to be read and written at once.

    Among equally good numbers these are the smallest.
    """
    _, usual = simulation_of(disks, replace(question, memory=None))
    reads, writes = (
        sorted({min(max(round(step * blocks), 1), usual.run) for step in STEPS})
        for blocks in (usual.read, usual.write)
    )
    candidates: list[tuple[float, int, Question]] = []
    for read, write in product(reads, writes):
        sets = [*question.sets, f"merge.read={read}", f"merge.write={write}"]
        with_these = replace(question, memory=None, sets=sets)
        simulation, facts = simulation_of(disks, with_these)
        if question.memory is not None and question.memory < facts.least:
            continue
        choices = [
            Choice(placement=placement, policy=policy, buffer=question.memory)
            for placement, policy in product(question.placements(disks.count), POLICIES)
        ]
        done = len(candidates) / (len(reads) * len(writes))
        tried = replace(simulation, seeds=1).tried(choices, progress, (done, done))
        times = [
            sum(map(fmean, choice.times.values())) for choice in tried if choice.failure is None
        ]
        if times:
            asked = replace(with_these, memory=question.memory)
            candidates.append((min(times), facts.enough, asked))
    if not candidates:
        raise wrong(
            f"--memory: found {question.memory} blocks, with which no merge ends that reads "
            f"{reads[0]} blocks at once or more; expected more",
            "give more memory, or merge fewer runs at once: --runs",
        )
    least = min(time for time, *_ in candidates)
    good = (choice for choice in candidates if choice[0] <= (1 + ALIKE) * least)
    return min(good, key=lambda candidate: candidate[1])[2]


def _confirmed(
    advice: PlacementAdvice, simulation: MergeSimulation, progress: Progress | None
) -> list[Choice]:
    """The choices, those near the best with more seeds."""
    best = advice.score(advice.ranked[0])
    near = [
        choice
        for choice in advice.ranked
        if advice.score(choice).mean <= NEAR or not advice.score(choice).apart(best)
    ]
    seed = _seed(simulation.job) + simulation.seeds
    job = replace(simulation.job, sets=[*simulation.job.sets, f"seed={seed}"])
    again = replace(simulation, job=job, seeds=CONFIRMED)
    more = {choice.key: choice for choice in again.tried(near, progress, (0.6, 1.0))}
    return [more.get(choice.key, choice) for choice in advice.choices]


def _seed(job: Variant) -> int:
    """The first seed of a job; its text has none."""
    said = [
        change.partition("=")[2]
        for change in job.sets
        if change.partition("=")[0].strip() == "seed"
    ]
    return int(said[-1]) if said else 1


def _facts(text: str, sets: Sequence[str]) -> Facts:
    """Returns the engine's facts about the merges of a job."""
    with translated():
        return Facts(**json.loads(_native.merge_facts(NAME, text, list(sets))))


def _checked(question: Question, disks: int) -> list[str]:
    """Returns the changes of the job that are checked before anything runs."""
    memory = [] if question.memory is None else [f"merge.memory.partition={question.memory}"]
    return [f"merge.placement={question.placements(disks)[-1]}", *memory]


def _shortened(sets: Sequence[str], facts: Facts) -> tuple[list[str], float]:
    """Runs so short that simulating them takes no minutes, and how many times as long they are."""
    if facts.requests <= REQUESTS:
        return list(sets), 1.0
    run = max(facts.run * REQUESTS // facts.requests, facts.read, facts.write)
    return [*sets, f"merge.run={run}blocks"], facts.run / run


def _apart(
    simulation: MergeSimulation, disks: int, progress: Progress | None = None
) -> list[Merge]:
    """Runs the largest number of jobs that each read all disks but the one that they write."""
    choice = Choice(placement="separate" if disks > 1 else "all", policy=POLICIES[0], buffer=None)
    setting = choice.setting(max(simulation.counts))
    runs, failures = simulation.runs([setting], progress, (0.0, 0.1))
    for failure in failures.values():
        raise PenstockError(failure, exit_code=RUN_FAILED)
    return [run["merge"] for run in runs[setting.label]]


def _none(advice: PlacementAdvice) -> PenstockError:
    """Every choice failed."""
    memory, enough = advice.question.memory, advice.facts.enough
    return PenstockError(
        f"error: with {memory} blocks of memory for each merge none of {len(advice.choices)} "
        f"choices comes to its end (deadlock); {enough} are always enough\n"
        f"hint: give --memory {enough}, or let less be read and written at once: --sweep",
        exit_code=RUN_FAILED,
    )
