"""The means that is in force on a disk: what it sets, and how that is taken back."""

from collections.abc import Mapping
from contextlib import ExitStack

from penstock import _native
from penstock.errors import translated
from penstock.guard.changes import Changes
from penstock.guard.held_groups import HeldGroups
from penstock.guard.means import Means, scheduler, schedulers
from penstock.guard.who import Scan


class InForce:
    """The means that is in force on a disk."""

    def __init__(
        self,
        name: str,
        queue: Mapping[str, str],
        changes: Changes,
        groups: HeldGroups,
        *,
        batch: str,
    ) -> None:
        """Set nothing yet on the disk called `name`, whose queue has these attributes.

        The threads of the class `batch` are held back. Changes that are made already stay.
        """
        self._has, self._known = schedulers(queue)
        self._disk, self._changes, self._batch = name, changes, batch
        self._groups, self._mark = groups, changes.mark()
        self._held = ExitStack()
        self._idle = False

    def __enter__(self) -> "InForce":
        """Begin a block, after which the disk's queue is what it was."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the block."""
        self._held.close()

    def set(self, means: Means, before: float) -> None:
        """Take back what is set, and set `means`; threads get theirs with the next `follow`.

        `before` are the bytes a second of the batch without a guard.
        """
        self._held.close()
        self._changes.undo(self._mark)
        self._idle = means.idle
        name = scheduler(means, self._has, self._known)
        settings = list(means.queue.items())
        if name is not None or settings:
            with translated():
                self._held.enter_context(_native.HeldQueues(self._disk, name, settings))
        self._groups.set(means, before)

    def follow(self, scan: Scan) -> None:
        """Give the batch's programs what the means has for them, those that are new too."""
        if self._idle:
            self._changes.set_priority(scan.threads[self._batch], "idle")
        self._groups.follow(scan)

    def sent(self) -> int | None:
        """Return what `HeldGroups.sent` does."""
        return self._groups.sent()

    def regulate(self, *, missed: bool, batch: float) -> None:
        """Adapt what follows the goals to the last window, with the batch's bytes a second."""
        self._groups.regulate(missed=missed, batch=batch)
