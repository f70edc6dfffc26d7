"""A study is run: every cell once in each replicate, recorded as runs end."""

import json
import os
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from penstock import __version__, _native
from penstock.errors import RUN_FAILED, PenstockError, wrong
from penstock.experiment.batches import on_processors
from penstock.experiment.bench import Bench
from penstock.experiment.budget import SPARE, Budget, whole_rounds, within
from penstock.experiment.cluster import Cluster
from penstock.experiment.trial import Trial
from penstock.session import Variant
from penstock.study import cells, response, rows
from penstock.study.cells import Outcome, Work
from penstock.study.definition import Definition
from penstock.study.folder import Folder, changes
from penstock.study.schedule import Planned, StudySchedule
from penstock.target import Target
from penstock.text.units import many
from penstock.text.units import seconds as as_text

FAILURES_MOST = 20
"""Runs that may fail before the study ends."""

SIMULATED = "simulated"
"""The world of runs in virtual time."""

PILOT = 6
"""Cells of a pilot."""

Report = Callable[[int, int], object]
"""Is called with how many runs are recorded, and of how many."""


@dataclass
class Ran:
    """The result of a call of `run`."""

    runs: int
    """Runs of the study, those of the reference cell included."""
    done: int
    """Runs that are recorded."""
    resumed: int
    """Runs that were recorded before the call."""
    seconds: float = 0.0
    """Duration of this call."""
    failures: list[str] = field(default_factory=list)
    """Why runs failed; they are not recorded."""
    price: "Price | None" = None
    """Price of the runs of this call, if it had a budget."""
    blocks: int = 0
    """Blocks that were made; without a budget all runs count as one."""


@dataclass(frozen=True, kw_only=True)
class Price:
    """Price of runs, by a pilot."""

    each_s: float
    processors: int
    blocks: Sequence[Sequence[Planned]]
    """The runs that are to be made, block by block."""

    def of_block(self, block: Sequence[Planned]) -> float:
        """Returns the seconds that a block takes."""
        return self.each_s * -(-len(block) // self.processors)

    @property
    def whole_s(self) -> float:
        """Seconds that all blocks take."""
        return sum(map(self.of_block, self.blocks))


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A study of which every cell was checked."""

    schedule: StudySchedule
    work: Work
    world: str
    planned: Sequence[Planned]
    about: dict[str, Any]

    @property
    def live(self) -> bool:
        """Whether it runs in real time, one run after another."""
        return self.world != SIMULATED

    def processors(self, workers: int | None) -> int:
        """Returns how many runs are made at once, on so many `workers` if they are given."""
        return 1 if self.live else workers or len(os.sched_getaffinity(0))

    def variant(self, planned: Planned) -> Variant:
        """The job of a run."""
        return self.work.variant(self.schedule.sets(planned.cell), planned.seed)


def work(study: Definition, target: Target, sets: Sequence[str] = ()) -> Work:
    """Returns the common part of all runs of a study."""
    return Work(
        name=study.job,
        text=study.job_text(),
        sets=[*study.set, *sets],
        policy=study.policy,
        target=target,
        responses=study.responses,
    )


def ready(study: Definition, task: Work, bench: Bench[Outcome]) -> Ready:
    """Check the job, each cell and the responses before the first run."""
    schedule = StudySchedule(study)
    first: dict[str, Any] | None = None
    for cell in range(len(schedule.cells)):
        try:
            (checked,) = bench.check([task.variant(schedule.sets(cell))])
        except PenstockError as error:
            raise _refused(schedule, cell, task, error) from None
        first = first or checked
    assert first is not None
    job = tomllib.loads(first["job"]["text"])
    for name in study.responses:
        response.check(name, list(job.get("class", {})))
    live = first["world"] != SIMULATED
    about = {
        "penstock": __version__,
        "study": study.name,
        "job": study.job,
        "policy": study.policy,
        "on": study.on,
        "set": task.sets,
        "world": first["world"],
        "device": first["device"],
        "balanced": schedule.balanced,
        "cells": len(schedule.cells),
        "runs": schedule.count(),
        "reference": study.reference if live else None,
        **description(study),
        "job_text": task.text,
        "first_cell": first["job"]["text"],
    }
    return Ready(
        schedule=schedule,
        work=task,
        world=first["world"],
        planned=schedule.runs(references=live),
        about=about,
    )


def description(study: Definition) -> dict[str, Any]:
    """Returns what distinguishes a study from others, wherever it runs."""
    return {
        "seed": study.seed,
        "repeat": study.repeat,
        "responses": study.responses,
        "design": study.design,
        "factors": [
            {"name": factor.name, "paths": factor.paths, "levels": factor.column()}
            for factor in study.factors
        ],
        "except": [dict(cell) for cell in study.excluded],
    }


def _refused(schedule: StudySchedule, cell: int, task: Work, error: PenstockError) -> PenstockError:
    """Returns the error with the level that the job refuses, if it is a single one."""

    def is_right(sets: Sequence[str]) -> bool:
        return _native.is_right(task.name, task.text, [*task.sets, *sets])

    if not is_right([]):
        return error
    levels = schedule.cells[cell]
    refused = f"the cell {schedule.named(cell)}"
    for factor in schedule.study.factors:
        level = factor.levels[levels[factor.name]]
        if not is_right(level.sets):
            refused = f"the level {level.shown} of factor {factor.name}"
            break
    return PenstockError(
        f"error: the job refuses {refused}: {cells.reason(error)}", exit_code=error.exit_code
    )


def opened(study: Definition, task: Work) -> Bench[Outcome]:
    """Opens where the study runs; creates a missing file if the first cell can run on it."""
    schedule = StudySchedule(study)
    sets = schedule.sets(0)
    try:
        return task.bench([task.variant(sets)])
    except PenstockError as error:
        if _native.is_right(task.name, task.text, [*task.sets, *sets]):
            raise
        raise _refused(schedule, 0, task, error) from None


def run(
    study: Definition,
    path: Path,
    target: Target,
    *,
    sets: Sequence[str] = (),
    workers: int | None = None,
    cluster: str | None = None,
    resume: bool = False,
    budget: Budget | None = None,
    report: Report | None = None,
    say: Callable[[str], object] = lambda _: None,
) -> Ran:
    """Run what of the study is not recorded in the folder at `path`, and record it there.

    Modelled cells run on `workers` processors, all if not given, or on the Dask cluster at the
    address `cluster`; live cells run one after another. With a `budget` only the blocks run that
    fit into it; `say` is called with its price before.
    """
    began = time.monotonic()
    with closing(Folder(path, resume=resume)) as folder, ExitStack() as stack:
        task = work(study, target, sets)
        bench = stack.enter_context(opened(study, task))
        plan = ready(study, task, bench)
        _check_workers(plan, workers, cluster)
        elsewhere = None if cluster is None else stack.enter_context(closing(Cluster(cluster)))
        _check_same(plan, folder)
        made = rows.recorded(path)
        pending = [run for run in plan.planned if run.run not in made]
        ran = Ran(len(plan.planned), len(made), len(made))
        blocks: Iterable[Sequence[Planned]] = [pending]
        if budget is not None and pending:
            at_once = plan.processors(workers) if elsewhere is None else elsewhere.threads
            ran.price = _priced(plan, bench, budget, pending, at_once)
            say(_fitting(ran.price, budget))
            blocks = within(ran.price.blocks, budget, ran.price.of_block)
        if folder.about is None:
            folder.begin(plan.about)
        recorder = _Recorder(plan, folder, ran, report)
        recorder.say()
        for block in blocks:
            trials = (Trial(run.run, plan.variant(run)) for run in block)
            if plan.live:
                for trial in trials:
                    (outcome,) = bench.run([trial.variant])
                    recorder.take([(trial.number, outcome)])
            elif elsewhere is not None:
                elsewhere.run(task.setup(), trials, len(block), recorder.take)
            else:
                on_processors(task.setup(), trials, len(block), recorder.take, workers)
            ran.blocks += 1
    ran.seconds = time.monotonic() - began
    return ran


def _priced(
    plan: Ready, bench: Bench[Outcome], budget: Budget, pending: Sequence[Planned], at_once: int
) -> Price:
    """Prices the pending runs by a pilot; raises an error if the budget allows no block."""
    blocks = [list(block) for _, block in groupby(pending, lambda run: run.block)]
    until, times = budget.pilot(), list[float]()
    for _, took, _ in pilot(plan, bench, PILOT, times=1, clock=budget.clock):
        times.append(took)
        if until.left_s <= 0:
            break
    each_s = sum(times) / len(times)
    price = Price(each_s=each_s, processors=at_once, blocks=blocks)
    takes_s = price.of_block(blocks[0])
    if not whole_rounds([takes_s], budget.left_s):
        fit = int(SPARE * budget.left_s / each_s) * at_once
        chosen = f" ({many(fit, 'run')} would fit)" if fit > 1 else ""
        raise budget.too_small(
            f"the next block, {many(len(blocks[0]), 'run')}, takes",
            takes_s,
            "a pilot",
            f'fewer cells{chosen}: `design = "fraction"` chooses some',
            pilot_s=(PILOT - len(times)) * each_s,
        )
    return price


def _fitting(price: Price, budget: Budget) -> str:
    """The price of all blocks, and how many of them the budget allows."""
    every, runs = len(price.blocks), sum(map(len, price.blocks))
    fit = whole_rounds(map(price.of_block, price.blocks), budget.left_s)
    return (
        f"{many(every, 'block')}, {many(runs, 'run')} in all, take about {as_text(price.whole_s)}: "
        f"{as_text(price.each_s)} a run in a pilot, on {many(price.processors, 'processor')}; "
        f"{f'{fit} of them' if fit < every else 'all'} fit into --budget {as_text(budget.seconds)}"
    )


def _check_workers(plan: Ready, workers: int | None, cluster: str | None) -> None:
    if plan.live and (cluster is not None or (workers or 1) > 1):
        option = "--cluster" if cluster is not None else f"--workers {workers}"
        raise wrong(
            f"{option} runs several cells at once, and {plan.about['device']} is a real target",
            "leave it out: one run at a time is measured there",
        )


def _check_same(plan: Ready, folder: Folder) -> None:
    """Raise an error if another study was begun in the folder."""
    before = folder.about
    if before is None:
        return
    free = ("study", "job")
    kept = [
        {key: value for key, value in about.items() if key not in free}
        for about in (before, plan.about)
    ]
    if differences := changes(kept[0], json.loads(json.dumps(kept[1]))):
        raise wrong(
            f"the study in {folder.path} has changed: {'; '.join(differences)}",
            "undo that, or name another folder for the new study",
        )


class _Recorder:
    """Records what comes of runs."""

    def __init__(self, plan: Ready, folder: Folder, ran: Ran, report: Report | None) -> None:
        study = plan.schedule.study
        self._plan, self._folder, self._ran, self._report = plan, folder, ran, report
        self._planned = {run.run: run for run in plan.planned}
        self._kinds = {factor.name: type(factor.column()[0]) for factor in study.factors}
        self._references = plan.live and study.reference is not None

    def say(self) -> None:
        """Reports how many runs are done."""
        if self._report is not None:
            self._report(self._ran.done, self._ran.runs)

    def take(self, batch: Sequence[tuple[int, Outcome]]) -> None:
        """Record the outcomes of runs by their numbers; what failed is not among the rows."""
        schedule, ran = self._plan.schedule, self._ran
        made = []
        for number, outcome in batch:
            planned = self._planned[number]
            if outcome.failure is not None:
                named = schedule.named(planned.cell)
                ran.failures.append(f"run {number}, {named}: {outcome.failure}")
                continue
            made.append(self._row(planned, outcome))
        if made:
            self._folder.append(rows.frame(made, self._kinds, schedule.study.responses))
            ran.done += len(made)
        self.say()
        if len(ran.failures) > FAILURES_MOST or (self._plan.live and ran.failures):
            raise self._failed()

    def _failed(self) -> PenstockError:
        failures, far = self._ran.failures, f"{self._ran.done} of {self._ran.runs} runs"
        first, *rest = failures[0].splitlines()
        problem = first if len(failures) == 1 else f"{len(failures)} runs failed, the first {first}"
        hint = f"hint: {far} are recorded; --resume goes on with the rest when this is mended"
        return PenstockError("\n".join([f"error: {problem}", *rest, hint]), exit_code=RUN_FAILED)

    def _row(self, planned: Planned, outcome: Outcome) -> dict[str, Any]:
        row = {
            "run": planned.run,
            "order": planned.order,
            "block": planned.block,
            "replicate": planned.replicate,
            "seed": planned.seed,
            **self._plan.schedule.levels(planned.cell),
            **outcome.columns(self._plan.work.responses),
        }
        if self._references:
            row["reference"] = planned.reference
        return row


def pilot(
    plan: Ready,
    bench: Bench[Outcome],
    runs: int,
    *,
    times: int = 2,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[tuple[int, float, Outcome]]:
    """A few cells, each run in some replicates: its cell, how long it took, what came of it."""
    every = len(plan.schedule.cells)
    some = dict.fromkeys(at * every // max(1, min(runs, every)) for at in range(min(runs, every)))
    seeds = iter(range(1, times * runs + 1))
    for cell in some:
        for _ in range(times):
            began = clock()
            (outcome,) = bench.run([plan.work.variant(plan.schedule.sets(cell), next(seeds))])
            yield cell, clock() - began, outcome
