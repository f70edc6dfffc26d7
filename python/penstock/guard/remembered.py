"""The answer of an earlier guard, with which the next one of the disk begins."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.guard.search import GuardWindow, MeansStanding


@dataclass(frozen=True)
class Remembered:
    """A means that met the goals of a disk, and the figures by which it was chosen."""

    disk: str
    means: str
    goals: Sequence[str]
    keep: float
    without: MeansStanding
    """Medians without a guard."""
    under: MeansStanding
    """Medians under the means."""

    def window(self) -> GuardWindow:
        """Return the figures without a guard as those of a window."""
        without = self.without
        return GuardWindow(1.0, without.missed_by, without.online, 0, without.batch)
