"""Time that the host of a virtual machine takes from its processors.

A machine that has used up its share of the host stands still until it gets more, often for tens of
milliseconds. No request begins or ends meanwhile, which the tails of latencies show, whatever the
disk does and the guard sets.
"""

from collections import deque
from pathlib import Path
from statistics import median

from penstock.guard.steps import RECENT

STAT = Path("/proc/stat")

STEAL, TIMES = 7, 8
"""Place of the time that the host took among the times of the processors, and their number.

Those after them, of guests of this machine, are part of the first ones.
"""


class StolenTime:
    """Shares of the processors' time in the last windows."""

    def __init__(self, stat: Path = STAT) -> None:
        """Begin the first window."""
        self._stat = stat
        self._before = self._read()
        self._windows: deque[float] = deque(maxlen=RECENT)

    def take(self) -> float:
        """Close a window, and return the median share of the windows, from 0 to 1."""
        now = self._read()
        times = [after - before for before, after in zip(self._before, now, strict=True)]
        self._before = now
        if sum(times) > 0:
            self._windows.append(times[STEAL] / sum(times))
        return median(self._windows) if self._windows else 0.0

    def _read(self) -> list[int]:
        """Return the times of all processors since the start, by what they did."""
        _, *times = self._stat.read_text().split("\n", 1)[0].split()
        return [int(time) for time in times[:TIMES]]
