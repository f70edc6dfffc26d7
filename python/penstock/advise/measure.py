"""What writes of many lengths take, in rounds on a target that is open meanwhile."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from penstock.comparison import Comparison
from penstock.design import Design
from penstock.errors import RUN_FAILED, PenstockError
from penstock.job import Agent, Job
from penstock.results.json_types import Class
from penstock.results.percentile import percentile
from penstock.results.steps import Step
from penstock.session import Session
from penstock.target import Target

Pattern: TypeAlias = Literal["random", "sequential"]

PATTERNS: tuple[Pattern, ...] = ("random", "sequential")

TURNS = 10
"""Writes of each length in a round."""

_CLASS = "of-"
"""Before the bytes of a length: the name of its class."""

_PATTERN = "pattern"
"""The factor of the design."""

Progress: TypeAlias = Callable[[str, float], None]
"""Called with what goes on and how far it has come, from 0 to 1."""


class Turns(NamedTuple):
    """What the writes of one length took in one round."""

    median_ns: int
    every_ns: Sequence[int]
    """Each of them, to a hundredth."""


@dataclass(frozen=True)
class Measured:
    """What all rounds gave, and what the last run said of the target."""

    world: str
    schedulers: Mapping[str, str | None]
    remarks: Sequence[str]
    """Of any run."""
    rounds: Mapping[Pattern, Sequence[Mapping[int, Turns]]]
    """Of each pattern what the lengths took."""


def measure(
    target: Target, sizes: Sequence[int], *, rounds: int, seed: int, progress: Progress | None
) -> Measured:
    """Write every length in rounds of both patterns."""
    design = Design(factors={_PATTERN: PATTERNS}, rounds=rounds)
    runs = list(design.runs())
    jobs = [_round(sizes, run.cell[_PATTERN], seed + at) for at, run in enumerate(runs)]

    def step(now: Step) -> None:
        if now["step"] == "finished":
            _check(now["classes"])
        elif progress is not None and now["step"] == "running":
            at = (now["number"] + now["fraction"]) / len(runs)
            progress(f"writing, {runs[now['number']].cell[_PATTERN]}", at)

    with closing(Session(target, jobs, policies=["fcfs"], detail=True)) as session:
        results = session.run(jobs, progress=step)
    last = results[-1]
    return Measured(
        last.world,
        last.runs[0].schedulers,
        tuple(dict.fromkeys(remark for one in results for remark in one.runs[0].remarks)),
        {cell[_PATTERN]: [_turns(one) for one in found] for cell, found in design.by_cell(results)},
    )


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
    """That no write has failed."""
    for one in classes:
        if one["errors"]:
            size = one["name"].removeprefix(_CLASS)
            message = f"error: {one['errors']} writes of {size} bytes failed"
            raise PenstockError(message, exit_code=RUN_FAILED)


def _turns(result: Comparison) -> dict[int, Turns]:
    """What each length took."""
    (run,) = result.raw["runs"]
    return {
        int(one["name"].removeprefix(_CLASS)): Turns(
            percentile(one["lat_ns"], 50), [ns for ns, n in detail["lat_ns"] for _ in range(n)]
        )
        for one, detail in zip(run["classes"], run["detail"]["classes"], strict=True)
    }
