"""Runs of cells: what a processor, here or in a cluster, is given, and gives back."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from penstock.errors import PenstockError
from penstock.results.json_types import Comparison, Machine, Run
from penstock.results.steps import Step
from penstock.session import Session, Variant
from penstock.study import remarks, response
from penstock.target import Target
from penstock.text import failures

FULL = ("ENOSPC", "EDQUOT")
"""What writes fail with where no room is left."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """What all runs of a study have in common."""

    name: str
    """What messages call the job; its path, in whose folder its device files lie."""
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

    def session(self, first: Sequence[Variant] = ()) -> Session:
        """Opens where the study runs; one processor works for it."""
        return Session(self.target, first, policies=[self.policy], workers=1)


class Item(NamedTuple):
    """A run of a cell."""

    run: int
    sets: Sequence[str]
    seed: int


class Outcome(NamedTuple):
    """What came of a run."""

    run: int
    failure: str | None
    """Why it could not be made or measured; the rest means nothing then."""
    values: Sequence[float]
    """The responses."""
    ended: datetime
    seconds: float
    world: str
    machine: str
    remarks: Sequence[str]


def run_batch(work: Work, items: Sequence[Item]) -> list[Outcome]:
    """Runs of modelled cells, on one processor."""
    with closing(work.session()) as session:
        return outcomes(work, items, session)


def outcomes(
    work: Work,
    items: Sequence[Item],
    session: Session,
    progress: Callable[[Step], object] | None = None,
) -> list[Outcome]:
    """The same on a session that stays."""
    variants = [work.variant(one.sets, one.seed) for one in items]
    texts = session.texts(variants, progress=progress)
    now = datetime.now(UTC)
    return [
        _outcome(work, one, json.loads(text), now) for one, text in zip(items, texts, strict=True)
    ]


def _outcome(work: Work, item: Item, found: Comparison, now: datetime) -> Outcome:
    (run,) = found["runs"]
    failure = next(failures_of(run), None)
    values: list[float] = []
    for name in work.responses:
        value = None if failure else response.value(name, run)
        if value is None and failure is None:
            failure = f"its result has no `{name}`"
        values.append(value or 0.0)
    if failure is None and run.get("interrupted"):
        failure = "it was ended early"
    return Outcome(
        item.run,
        failure,
        values,
        now,
        run["duration_s"],
        found["world"],
        _machine(found["machine"]),
        remarks.of_run(found, run),
    )


def failures_of(run: Run) -> Iterator[str]:
    """Why the figures of a run are none of its cell: a single run may show how a disk fills up."""
    yield from failures.fatal(run)
    yield from failures.most_failed([run])
    for one in run["classes"]:
        if any(code in FULL for code in one["error_codes"]):
            yield f"the disk is full: {failures.some_failed(one)}"


def _machine(machine: Machine) -> str:
    engine = f", {machine['engine']}" if "engine" in machine else ""
    return f"{machine['cpu']}, {machine['kernel']}{engine}"


def known(session: Session, variant: Variant) -> dict[str, Any]:
    """What is known of a job before it runs; what is wrong with it is raised."""
    (text,) = session.check([variant])
    found: dict[str, Any] = json.loads(text)
    return found


def reason(error: PenstockError) -> str:
    """What an error says, without the word before it."""
    return str(error).removeprefix("error: ")
