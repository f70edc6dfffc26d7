"""A session: a target that stays open and locked while several designs run on it."""

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
    """Name in messages, or the path of its file."""
    text: str | None = None
    """The job as TOML; if `None`, `name` is the path of a file."""
    sets: Sequence[str] = ()
    """Changes, as `--set` has them."""
    policies: Sequence[str | tuple[str, Policy]] = ()
    """Names, or a name and a policy that serves one run; if empty, those of the session."""


class Options(TypedDict, total=False):
    """How the runs of a session are made."""

    policies: Sequence[str]
    """Policies of the jobs that name none."""
    detail: bool
    """Include whole distributions and time series in results."""
    arm_from: str | None
    """Time from which the detail has the disk's arm; by default the beginning of the run."""
    arm_for: str | None
    """Length of that part of the run; two seconds by default."""
    repeat: int | None
    """Runs of each job, in rounds of all of them, each with the next seed."""
    workers: int | None
    """Most processors that modelled runs use; all by default."""
    record: str | PathLike[str] | None
    """File for the record of the only run."""
    requests: Callable[[int, dict[str, bytes]], object] | None
    """Called at the end of each run with its number and all its requests, as the bytes of each
    column."""
    survey: bool
    """Report how stable the requests of each class are."""
    load: int | None
    """Most requests at the device at once in a survey; 2 for each disk by default."""
    watch: _native.Pace | None
    """Report current figures in steps, and slow a model down to real time."""
    speed: str | None
    """Speed of a watched model relative to real time, or `max`; 1 by default."""
    keep_failures: bool
    """Return a failed run as a result with a `failure`, and continue with the other runs."""


class Session:
    """Runs jobs on one target, which no other run may use meanwhile.

    Modelled runs share all processors, whose number does not change the results. Runs on a real
    target run one after another. `contextlib.closing` closes the session after a block.
    """

    def __init__(
        self,
        target: Target,
        jobs: Sequence[Job | Variant] = (),
        *,
        progress: Callable[[Step], object] | None = None,
        **options: Unpack[Options],
    ) -> None:
        """Open the target; a missing file is made only if `jobs`, which run first, fit it.

        `progress` is called with the steps of its creation.
        """
        usual: Options = {"policies": (), **options}
        with translated():
            self._native = _native.Session(_variants(jobs), target, usual, progress)

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
        """Return what is known of each job before it runs, as JSON; raise an error in a job."""
        with translated():
            return self._native.check(_variants(jobs))

    def close(self) -> None:
        """Release the target. A second call does nothing."""
        self._native.close()


def compare(
    variant: Variant,
    target: Target,
    *,
    progress: Callable[[Step], object] | None = None,
    **options: Unpack[Options],
) -> str:
    """Run one job in a session of its own and return the comparison as JSON.

    An interrupt ends the run with the results so far, if there are any.
    """
    with translated(), closing(Session(target, [variant], progress=progress, **options)) as session:
        (text,) = session.run([variant], progress=progress, partial=True)
        return text


def _variants(jobs: Sequence[Job | Variant]) -> list[Variant]:
    return [
        job if isinstance(job, Variant) else Variant(name=job.name, text=job.text) for job in jobs
    ]
