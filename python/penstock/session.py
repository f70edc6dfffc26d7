"""A session: a target that stays open and locked while jobs run on it, one design after another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penstock import _native
from penstock.comparison import Comparison
from penstock.errors import DIFFERS, RUN_FAILED, PenstockError, translated
from penstock.job import Job
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
    policies: Sequence[str] = ()
    """None: those of the session."""


class Session:
    """Runs jobs on one target, which no other run may use meanwhile.

    Modelled runs share all processors, and what comes of them does not depend on how many these
    are. Runs on a real target come one after another. `contextlib.closing` ends it with a block.
    """

    def __init__(
        self,
        target: Target,
        jobs: Sequence[Job | Variant] = (),
        *,
        policies: Sequence[str] = (),
        detail: bool = False,
        repeat: int | None = None,
        workers: int | None = None,
    ) -> None:
        """Open the target; a missing file is made only if `jobs`, which run first, fit it.

        With `repeat` each job runs so often, in rounds of all of them, each with the next seed.
        Modelled runs use `workers` processors at most, or all.
        """
        with translated():
            self._native = _native.Session(
                _variants(jobs),
                policies=policies,
                target=target,
                detail=detail,
                repeat=repeat,
                workers=workers,
            )

    def run(
        self,
        jobs: Sequence[Job | Variant],
        *,
        progress: Callable[[Step], object] | None = None,
        partial: bool = False,
    ) -> list[Comparison]:
        """Run each job under each policy, in order; `progress` is called with each step.

        A run that fails or is interrupted ends the session; so does any exception of `progress`.
        If the result may be `partial`, an interrupt ends it with what there is.
        """
        texts = self.texts(jobs, progress=progress, partial=partial)
        found = [Comparison.from_json(text) for text in texts]
        for run in (run for one in found for run in one.runs):
            if run.failure is not None:
                self.close()
                code = DIFFERS if run.verify is not None and run.verify.different else RUN_FAILED
                raise PenstockError(f"error: {run.failure}", exit_code=code)
        return found

    def texts(
        self,
        jobs: Sequence[Job | Variant],
        *,
        progress: Callable[[Step], object] | None = None,
        partial: bool = False,
    ) -> list[str]:
        """The same as JSON; a run that fails is among them, and ends no session."""
        with translated():
            return self._native.run(_variants(jobs), progress=progress, partial=partial)

    def check(self, jobs: Sequence[Job | Variant]) -> list[str]:
        """What is known of each job before it runs, as JSON; what is wrong with one is raised."""
        with translated():
            return self._native.check(_variants(jobs))

    def close(self) -> None:
        """Let the target go. A second time is no error."""
        self._native.close()


def _variants(jobs: Sequence[Job | Variant]) -> list[Variant]:
    return [
        job if isinstance(job, Variant) else Variant(name=job.name, text=job.text) for job in jobs
    ]
