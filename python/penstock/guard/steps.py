"""The log of a guard: each change of what is set, why it was made, and what it brought."""

from collections import deque
from dataclasses import dataclass

from penstock.guard.search import SETTLING, GuardWindow, MeansStanding, Tried

RECENT = 60
"""Windows of which the effect of a change is known: the last under it."""

KEPT = 1000
"""Most changes that are kept: a guard may run for months."""


@dataclass
class GuardStep:
    """A change of what is set, and its effect."""

    at_s: float
    means: str
    reason: str
    before: MeansStanding | None = None
    """Medians of the windows before it; `None` if none counted."""
    after: MeansStanding | None = None
    """Medians of the windows since; `None` as long as none counts."""


class ChangeLog:
    """The latest changes."""

    def __init__(self) -> None:
        """Begin without a change."""
        self.steps: list[GuardStep] = []
        self.count = 0
        """Number of changes, without the state at the beginning."""
        self._windows: deque[GuardWindow] = deque(maxlen=RECENT)
        self._settling = 0

    def begin(self, means: str, reason: str) -> None:
        """Note the state at the beginning."""
        self.steps.append(GuardStep(0.0, means, reason))

    def change(self, at_s: float, means: str, reason: str) -> None:
        """Note a change; the windows that follow are under it."""
        self.steps.append(GuardStep(at_s, means, reason, before=self.steps[-1].after))
        del self.steps[:-KEPT]
        self.count += 1
        self._windows.clear()
        self._settling = SETTLING

    def take(self, window: GuardWindow) -> None:
        """Take a window; the first ones after a change do not count, as in the search."""
        if self._settling:
            self._settling -= 1
            return
        self._windows.append(window)
        self.steps[-1].after = Tried(list(self._windows)).standing()
