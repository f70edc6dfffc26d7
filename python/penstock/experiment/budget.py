"""A budget of time for runs: how many whole rounds of them fit into it, and when it is over.

A round has every cell of a plan as often as every other, so that what ran is balanced whenever it
ends: a round that does not fit is left out as a whole.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import ceil
from typing import TypeVar

from penstock.errors import PenstockError, wrong
from penstock.text.units import seconds as as_text

SPARE = 0.9
"""The share of the time that is planned, as a pilot may have met the faster cells."""

PILOT = 0.25
"""The share of the time that a pilot may take."""

T = TypeVar("T")


class Over(Exception):
    """The time is up."""


class Budget:
    """A length of time, from now on."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin now, by a clock of seconds."""
        self.seconds, self.clock = seconds, clock
        self.reserved_s = 0.0
        """What is kept at its end for work that follows the runs."""
        self._began = clock()

    @property
    def spent_s(self) -> float:
        """Seconds since it began."""
        return self.clock() - self._began

    @property
    def left_s(self) -> float:
        """Seconds that runs may still take."""
        return self.seconds - self.reserved_s - self.spent_s

    def check(self, _step: object = None) -> None:
        """Raise `Over` if the time is up. As the progress of runs it ends the one under way."""
        if self.left_s <= 0:
            raise Over

    def pilot(self) -> "Budget":
        """Returns the budget of a pilot that begins now."""
        return Budget(PILOT * self.left_s, self.clock)

    def too_small(
        self, least: str, takes_s: float, before: str, otherwise: str, *, pilot_s: float = 0.0
    ) -> PenstockError:
        """Returns the error for runs that do not fit, and what would do.

        `least` names the fewest runs, which take `takes_s` after what came `before` them. A longer
        budget may spend `pilot_s` more on its pilot.
        """
        spent_s = self.spent_s
        takes = f"{least} about {as_text(takes_s)} here, after {as_text(spent_s)} for {before}"
        would_do = f"--budget {_rounded_up((spent_s + pilot_s + takes_s) / SPARE)} would do"
        return self.refused(takes, f"{would_do}, or {otherwise}")

    def refused(self, why: str, hint: str) -> PenstockError:
        """Returns the error for a budget that is too small, and why it is."""
        return wrong(f"--budget {as_text(self.seconds)} is too small: {why}", hint)


def _rounded_up(seconds: float) -> str:
    """A length of time that is at least so long, as `--budget` takes it."""
    if seconds > 60:
        return f"{ceil(seconds / 60)}min"
    return f"{10 * ceil(seconds / 10)}s"


def whole_rounds(prices_s: Iterable[float], left_s: float) -> int:
    """Returns how many rounds, each with what it takes, fit one after another into what is left."""
    count, spent_s = 0, 0.0
    for price_s in prices_s:
        spent_s += price_s
        if spent_s > SPARE * left_s:
            break
        count += 1
    return count


def within(
    rounds: Iterable[Sequence[T]], budget: Budget, price_s: Callable[[Sequence[T]], float]
) -> Iterator[Sequence[T]]:
    """Yields rounds as long as the next one is expected to end in time.

    `price_s` says what a round takes by a pilot. The caller makes a round before it takes another,
    and what rounds took corrects the price of the next.
    """
    began, priced_s, factor = budget.clock(), 0.0, 1.0
    for cells in rounds:
        planned_s = price_s(cells)
        if not whole_rounds([factor * planned_s], budget.left_s):
            return
        yield cells
        priced_s += planned_s
        factor = (budget.clock() - began) / priced_s if priced_s else 1.0
