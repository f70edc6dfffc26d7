"""Measurement of writes of many lengths, in rounds on a target that stays open."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from penstock.errors import RUN_FAILED, PenstockError
from penstock.experiment import plan
from penstock.experiment.bench import run_all
from penstock.experiment.trial import Setup, only_run
from penstock.job import Agent, Job
from penstock.results.json_types import Class, Comparison, Run, World
from penstock.results.percentile import percentile
from penstock.results.steps import Progress, Step
from penstock.target import Target

Pattern: TypeAlias = Literal["random", "sequential"]

PATTERNS: tuple[Pattern, ...] = ("random", "sequential")

TURNS = 10
"""Writes of each length in a round."""

_CLASS = "of-"
"""Before the bytes of a length: the name of its class."""


class Turns(NamedTuple):
    """Times of the writes of one length in one round."""

    median_ns: int
    every_ns: Sequence[int]
    """Each of them, to a hundredth."""


@dataclass(frozen=True)
class Measured:
    """Results of all rounds, and the remarks of the last run on the target."""

    world: str
    schedulers: Mapping[str, str | None]
    remarks: Sequence[str]
    """Remarks of any run."""
    rounds: Mapping[Pattern, Sequence[Mapping[int, Turns]]]
    """Times of the lengths in each round, by pattern."""


def measure(
    target: Target, sizes: Sequence[int], *, rounds: int, seed: int, progress: Progress | None
) -> Measured:
    """Write every length in rounds of both patterns."""
    patterns = [pattern for _, pattern in plan.in_rounds(PATTERNS, rounds)]
    jobs = [_round(sizes, pattern, seed + at) for at, pattern in enumerate(patterns)]

    def step(now: Step) -> None:
        if now["step"] == "finished":
            _check(now["classes"])
        elif progress is not None and now["step"] == "running":
            at = (now["number"] + now["fraction"]) / len(jobs)
            progress(f"writing, {patterns[now['number']]}", at)

    setup = Setup(target=target, reduce=_kept, policies=["fcfs"], detail=True)
    results = run_all(setup, jobs, progress=step)
    last = results[-1]
    turns = plan.by_cell(PATTERNS, [result.turns for result in results])
    return Measured(
        last.world,
        last.schedulers,
        tuple(dict.fromkeys(remark for result in results for remark in result.remarks)),
        dict(turns),
    )


class _Round(NamedTuple):
    """Part of a round of one pattern that is kept."""

    world: World
    schedulers: Mapping[str, str | None]
    remarks: Sequence[str]
    turns: Mapping[int, Turns]


def _kept(comparison: Comparison) -> _Round:
    run = only_run(comparison)
    schedulers, remarks = run.get("schedulers", {}), run.get("remarks", [])
    return _Round(comparison["world"], schedulers, remarks, _turns(run))


def _round(sizes: Sequence[int], pattern: Pattern, seed: int) -> Job:
    """A job in which every length has its turns, one write at a time."""
    agents = [
        Agent(
            class_=f"{_CLASS}{size}",
            op="write",
            sync=True,
            size=f"{size}B",
            pattern=pattern,
            arrivals={"kind": "turns", "count": TURNS},
        )
        for size in sizes
    ]
    classes = [agent.class_ for agent in agents]
    return Job(
        name="split", duration="1h", seed=seed, classes=classes, agents=agents, live={"depth": 1}
    )


def _check(classes: Sequence[Class]) -> None:
    """Checks that no write has failed."""
    for class_ in classes:
        if class_["errors"]:
            size = class_["name"].removeprefix(_CLASS)
            message = f"error: {class_['errors']} writes of {size} bytes failed"
            raise PenstockError(message, exit_code=RUN_FAILED)


def _turns(run: Run) -> dict[int, Turns]:
    """Returns the times of each length."""
    return {
        int(class_["name"].removeprefix(_CLASS)): Turns(
            percentile(class_["lat_ns"], 50), [ns for ns, n in detail["lat_ns"] for _ in range(n)]
        )
        for class_, detail in zip(run["classes"], run["detail"]["classes"], strict=True)
    }
