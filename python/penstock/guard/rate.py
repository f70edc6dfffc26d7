"""The rate of a throttle, as a pure state machine that is stepped once for each window.

It is halved when a window misses a goal, and raised by a tenth while the goals are met and the
batch uses it.
"""

START = 0.25
"""Share of what the batch did without a guard with which it begins."""

FLOOR = float(1 << 20)
"""Bytes a second that the batch always may have."""

GROWTH = 1.1
"""Factor by which it is raised."""

USED = 0.8
"""Share of the rate from which it is in use: a rate that holds nothing back is not raised."""


class Rate:
    """The bytes a second that the batch may have."""

    def __init__(self, before: float, *, keep: float = 0.0) -> None:
        """Begin for a batch that had so many bytes a second before, and keeps a share of them."""
        self._floor = max(FLOOR, keep * before)
        self.bytes_s = max(START * before, self._floor)

    def take(self, *, missed: bool, batch: float) -> None:
        """Learn of a window whether it missed a goal, and the bytes a second of the batch."""
        if missed:
            self.bytes_s = max(self.bytes_s / 2, self._floor)
        elif batch >= USED * self.bytes_s:
            self.bytes_s *= GROWTH
