"""A session: a target that stays open and locked while jobs run on it, one design after another."""

from collections.abc import Callable, Sequence

from penstock import _native
from penstock.comparison import Comparison
from penstock.errors import RUN_FAILED, PenstockError, translated
from penstock.job import Job
from penstock.results.steps import Step
from penstock.target import Target


class Session:
    """Runs jobs on one target, which no other run may use meanwhile.

    Modelled runs share all processors, and what comes of them does not depend on how many these
    are. Runs on a real target come one after another. `contextlib.closing` ends it with a block.
    """

    def __init__(
        self,
        target: Target,
        jobs: Sequence[Job] = (),
        *,
        policies: Sequence[str],
        detail: bool = False,
    ) -> None:
        """Open the target; a missing file is made only if `jobs`, which run first, fit it."""
        with translated():
            self._native = _native.Session(jobs, policies=policies, target=target, detail=detail)

    def run(
        self, jobs: Sequence[Job], *, progress: Callable[[Step], object] | None = None
    ) -> list[Comparison]:
        """Run each job under each policy, in order; `progress` is called with each step.

        A run that fails or is interrupted ends the session; so does any exception of `progress`.
        """
        with translated():
            texts = self._native.run(jobs, progress=progress)
        found = [Comparison.from_json(text) for text in texts]
        for run in (run for one in found for run in one.runs):
            if run.failure is not None:
                self.close()
                raise PenstockError(f"error: {run.failure}", exit_code=RUN_FAILED)
        return found

    def close(self) -> None:
        """Let the target go. A second time is no error."""
        self._native.close()
