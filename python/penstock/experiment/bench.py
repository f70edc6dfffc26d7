"""A bench: a target that stays open while trials run on it."""

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from penstock.experiment.trial import Progress, Setup
from penstock.job import Job
from penstock.session import Variant

R = TypeVar("R")


class Bench(Generic[R]):
    """Runs trials on one target; modelled ones share all processors. `with` closes it."""

    def __init__(
        self, setup: Setup[R], first: Sequence[Job | Variant] = (), *, workers: int | None = None
    ) -> None:
        """Open the target; a missing file is made only if `first`, which run first, fit it."""
        self.setup = setup
        self._session = setup.session(first, workers)

    def __enter__(self) -> Self:
        """The bench itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the target go."""
        self._session.close()

    def check(self, variants: Sequence[Job | Variant]) -> list[Any]:
        """Returns what is known of each variant before it runs; raises what is wrong with one."""
        return [json.loads(text) for text in self._session.check(variants)]

    def run(
        self,
        variants: Iterable[Job | Variant],
        *,
        batch: int | None = None,
        progress: Progress | None = None,
        partial: bool = False,
    ) -> list[R]:
        """Run the variants; returns what is kept of each, in their order.

        They run all at once, or a `batch` after another, where memory should hold the results of
        one batch only. If the result may be `partial`, an interrupt ends it with what there is.
        """
        kept: list[R] = []
        waiting = iter(variants)
        while some := list(islice(waiting, batch)):
            kept += self.setup.run(self._session, some, progress, partial=partial)
        return kept


def run_all(
    setup: Setup[R],
    variants: Sequence[Job | Variant],
    *,
    batch: int | None = None,
    progress: Progress | None = None,
    partial: bool = False,
) -> list[R]:
    """Run the variants on a bench of their own; returns what is kept of each, in their order."""
    with Bench(setup, variants[:batch]) as bench:
        return bench.run(variants, batch=batch, progress=progress, partial=partial)
