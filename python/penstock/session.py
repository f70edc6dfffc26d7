"""A session: a target that stays open and locked while jobs run on it, one design after another."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from os import PathLike
from typing import TypedDict, Unpack

from penstock import _native
from penstock.errors import translated
from penstock.job import Job
from penstock.policy import Policy
from penstock.results.steps import Step
from penstock.target import Target


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A job with some changes, under some policies."""

    name: str
    """What messages call it, or the path of its file."""
    text: str | None = None
    """The job as TOML; not given: `name` is the path of a file."""
    sets: Sequence[str] = ()
    """Changes, as `--set` has them."""
    policies: Sequence[str | tuple[str, Policy]] = ()
    """Names, or a name and a policy that serves one run; none: those of the session."""


class Options(TypedDict, total=False):
    """How the runs of a session are made."""

    policies: Sequence[str]
    """Policies of the jobs that name none."""
    detail: bool
    """Results have whole distributions and the course over time."""
    arm_from: str | None
    """Where the stretch begins of which the detail has the disk's arm; with the run if missing."""
    arm_for: str | None
    """Length of that stretch; two seconds if missing."""
    repeat: int | None
    """Runs of each job, in rounds of all of them, each with the next seed."""
    workers: int | None
    """Processors that modelled runs use at most; all if missing."""
    record: str | PathLike[str] | None
    """File of the record of the one run."""
    requests: Callable[[int, dict[str, bytes]], object] | None
    """Gets the number of each run when it has ended, and every request of it: bytes of a column
    each."""
    survey: bool
    """Results tell how stable the requests of each class are."""
    load: int | None
    """Requests at the device at once, at most, in a survey; 2 for each disk if missing."""
    watch: _native.Pace | None
    """Steps tell how a run goes, and a model goes at the pace of real time."""
    speed: str | None
    """How many times as fast as real time a watched model goes, or `max`; 1 if missing."""
    keep_failures: bool
    """A run that fails is a result with a `failure`, and the others run."""


class Session:
    """Runs jobs on one target, which no other run may use meanwhile.

    Modelled runs share all processors, and what comes of them does not depend on how many these
    are. Runs on a real target come one after another. `contextlib.closing` ends it with a block.
    """

    def __init__(
        self, target: Target, jobs: Sequence[Job | Variant] = (), **options: Unpack[Options]
    ) -> None:
        """Open the target; a missing file is made only if `jobs`, which run first, fit it."""
        with translated():
            self._native = _native.Session(_variants(jobs), target, {"policies": (), **options})

    def run(
        self,
        jobs: Sequence[Job | Variant],
        *,
        progress: Callable[[Step], object] | None = None,
        partial: bool = False,
    ) -> list[str]:
        """Run each job under each policy, in order, and return a comparison as JSON for each.

        `progress` is called with each step. What it raises ends the session; so does an interrupt,
        unless the result may be `partial`, and a run that fails, unless failures are kept.
        """
        with translated():
            return self._native.run(_variants(jobs), progress=progress, partial=partial)

    def check(self, jobs: Sequence[Job | Variant]) -> list[str]:
        """What is known of each job before it runs, as JSON; what is wrong with one is raised."""
        with translated():
            return self._native.check(_variants(jobs))

    def close(self) -> None:
        """Let the target go. A second time is no error."""
        self._native.close()


def compare(
    variant: Variant,
    target: Target,
    *,
    progress: Callable[[Step], object] | None = None,
    **options: Unpack[Options],
) -> str:
    """Run one job in a session of its own and return the comparison as JSON.

    An interrupt ends the run with what there is, if there is anything.
    """
    with translated(), closing(Session(target, [variant], **options)) as session:
        (text,) = session.run([variant], progress=progress, partial=True)
        return text


def _variants(jobs: Sequence[Job | Variant]) -> list[Variant]:
    return [
        job if isinstance(job, Variant) else Variant(name=job.name, text=job.text) for job in jobs
    ]
