"""Progress of a guard in plain lines for a pipe or a log: what changes, and what it waits for."""

from collections.abc import Iterator

from penstock.guard import words
from penstock.guard.session import GuardStatus


class GuardLines:
    """Turns windows into lines; most make none."""

    def __init__(self, *, endless: bool) -> None:
        """Begin with nothing reported of a guard that may be `endless`."""
        self._is_new = endless
        self._changes = 0
        self._idle: str | None = None

    def of(self, status: GuardStatus) -> Iterator[str]:
        """Yield a change that was made, and why the online programs ask for nothing."""
        if self._is_new:
            self._is_new = False
            yield f"guarding {status.so_far.disk}; Ctrl-C ends it and puts everything back"
        if status.so_far.changes > self._changes:
            self._changes = status.so_far.changes
            yield words.change(status.so_far.steps[-1])
        if status.window is None and (idle := words.seen(status)) != self._idle:
            self._idle = idle
            yield idle
