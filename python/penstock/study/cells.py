"""Runs of cells: their jobs, and what is kept of their results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from penstock.errors import PenstockError
from penstock.experiment.bench import Bench
from penstock.experiment.trial import Setup
from penstock.results.json_types import Comparison, Machine, Run
from penstock.session import Variant
from penstock.study import remarks, response
from penstock.target import Target
from penstock.text import failures

FULL = ("ENOSPC", "EDQUOT")
"""Errors of writes where no room is left."""


class Outcome(NamedTuple):
    """The outcome of a run."""

    failure: str | None
    """Why it could not be made or measured; `values` mean nothing then."""
    values: Sequence[float]
    """The responses."""
    ended: datetime
    seconds: float
    world: str
    machine: str
    remarks: Sequence[str]

    def columns(self, responses: Sequence[str]) -> dict[str, Any]:
        """Columns of a row of a study; `responses` are the names of the values."""
        return {
            **dict(zip(responses, self.values, strict=True)),
            "ended": self.ended,
            "seconds": self.seconds,
            "world": self.world,
            "machine": self.machine,
            "remarks": remarks.kept(self.remarks),
        }


@dataclass(frozen=True)
class Responses:
    """Reduces the result of a run to its responses, and what has to be known of it."""

    names: Sequence[str]

    def __call__(self, comparison: Comparison) -> Outcome:
        """The outcome of the comparison's only run."""
        (run,) = comparison["runs"]
        failure = next(failures_of(run), None)
        values: list[float] = []
        for name in self.names:
            value = None if failure else response.value(name, run)
            if value is None and failure is None:
                failure = f"its result has no `{name}`"
            values.append(value or 0.0)
        if failure is None and run.get("interrupted"):
            failure = "it was ended early"
        return Outcome(
            failure=failure,
            values=values,
            ended=datetime.now(UTC),
            seconds=run["duration_s"],
            world=comparison["world"],
            machine=_machine(comparison["machine"]),
            remarks=remarks.of_run(comparison, run),
        )


@dataclass(frozen=True, kw_only=True)
class Work:
    """The common part of all runs of a study."""

    name: str
    """The job's name in messages: its path, in whose folder its device files lie."""
    text: str
    sets: Sequence[str]
    policy: str
    target: Target
    responses: Sequence[str]

    def variant(self, sets: Sequence[str], seed: int | None = None) -> Variant:
        """The job of a cell, with the seed of a run."""
        seeded = [] if seed is None else [f"seed={seed}"]
        every = [*self.sets, *sets, *seeded]
        return Variant(name=self.name, text=self.text, sets=every, policies=[self.policy])

    def setup(self) -> Setup[Outcome]:
        """Returns the common part of the runs for the engine."""
        return Setup(
            target=self.target,
            reduce=Responses(self.responses),
            policies=[self.policy],
            keep_failures=True,
        )

    def bench(self, first: Sequence[Variant] = ()) -> Bench[Outcome]:
        """Opens where the study runs; one processor works for it."""
        return Bench(self.setup(), first, workers=1)


def failures_of(run: Run) -> Iterator[str]:
    """Why the figures of a run are none of its cell: a single run may show how a disk fills up."""
    yield from failures.fatal(run)
    yield from failures.most_failed([run])
    for class_ in run["classes"]:
        if any(code in FULL for code in class_["error_codes"]):
            yield f"the disk is full: {failures.some_failed(class_)}"


def _machine(machine: Machine) -> str:
    engine = f", {machine['engine']}" if "engine" in machine else ""
    return f"{machine['cpu']}, {machine['kernel']}{engine}"


def reason(error: PenstockError) -> str:
    """Returns the message of an error, without the word before it."""
    return str(error).removeprefix("error: ")
