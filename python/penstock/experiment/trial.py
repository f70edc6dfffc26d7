"""A trial is one run of an experiment: a job goes in, what is kept of its result comes out."""

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from penstock.errors import DIFFERS, RUN_FAILED, PenstockError
from penstock.job import Job
from penstock.results.json_types import Comparison, Run
from penstock.results.steps import Step
from penstock.session import Session, Variant
from penstock.target import Target
from penstock.text import failures

R = TypeVar("R")

Progress: TypeAlias = Callable[[Step], object]
"""Is called with each step of the runs; what it raises ends them."""


class Trial(NamedTuple):
    """A run that is to be made."""

    number: int
    variant: Variant


@dataclass(frozen=True, kw_only=True)
class Setup(Generic[R]):
    """The common part of all trials of an experiment; small, as each batch of a cluster has it."""

    target: Target
    reduce: Callable[[Comparison], R]
    """Keeps what is needed of a result, so that no result stays in memory."""
    policies: Sequence[str] = ()
    """For variants that name none."""
    detail: bool = False
    repeat: int | None = None
    """Rounds of each trial, as `--repeat` makes them."""
    survey: bool = False
    """Results tell how stable the requests of each class are."""
    load: int | None = None
    """Requests at the device at once, at most, in a survey."""
    keep_failures: bool = False
    """`reduce` has runs with a `failure` too; otherwise the first of them ends the experiment."""

    def session(self, first: Sequence[Job | Variant] = (), workers: int | None = None) -> Session:
        """Opens the target; a missing file is made only if `first`, which run first, fit it."""
        return Session(
            self.target,
            first,
            policies=self.policies,
            detail=self.detail,
            repeat=self.repeat,
            workers=workers,
            survey=self.survey,
            load=self.load,
            keep_failures=self.keep_failures,
        )

    def run(
        self,
        session: Session,
        variants: Sequence[Job | Variant],
        progress: Progress | None = None,
        *,
        partial: bool = False,
    ) -> list[R]:
        """Run the variants; returns what is kept of each, in their order."""
        texts = session.run(variants, progress=progress, partial=partial)
        return [self._kept(json.loads(text)) for text in texts]

    def _kept(self, comparison: Comparison) -> R:
        if not self.keep_failures:
            for run in comparison["runs"]:
                check(run)
        return self.reduce(comparison)


def check(run: Run) -> None:
    """Raises the failure of a run that failed."""
    if "failure" in run:
        code = DIFFERS if failures.differs(run) else RUN_FAILED
        raise PenstockError(f"error: {run['failure']}", exit_code=code)


def run_alone(setup: Setup[R], variants: Sequence[Variant]) -> list[R]:
    """Run modelled variants on one processor, in a session of their own."""
    with closing(setup.session(workers=1)) as session:
        return setup.run(session, variants)


def whole(comparison: Comparison) -> Comparison:
    """Keeps the whole result."""
    return comparison


def only_run(comparison: Comparison) -> Run:
    """Keeps the run of a comparison that has one."""
    (run,) = comparison["runs"]
    return run
