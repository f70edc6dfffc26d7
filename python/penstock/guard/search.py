"""The search of a guard: which means to try next, and which to keep.

It is a pure state machine: it takes the figures of each window of time and chooses what to set.
First it sets nothing, to see what the batch does and what the online programs suffer; then it tries
one means after another. The first that meets the goals is measured once more and kept; if none
does, the best is. While a means is kept, a goal that is missed for several windows in a row takes
the search on, to the means that come after it. After a time the one that was kept first is tried
again, and a search that met no goal starts again: the programs may do something else by then.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

WINDOWS = 3
"""Windows in which a means is measured."""

SETTLING = 1
"""Windows after a change that do not count: what was queued before is still there."""

MISSES = 3
"""Windows in a row that miss a goal before the search goes on; more if a trial has more windows."""

RETRY = 60
"""Windows after which a search that nothing met starts again, or what was kept first is tried
again; each time doubles them.
"""

RETRY_MOST = 960
"""Most windows until then."""

STARVED = 1 / 3
"""Share of the most that was ever completed below which the online programs are starved.

Programs that were held up do more than is due for a while, so it is far below 1.
"""


@dataclass(frozen=True)
class GuardWindow:
    """Figures of the classes in a stretch of time."""

    seconds: float
    missed_by: float
    """The largest ratio of a figure of the online programs to its limit: 1 or less is met."""
    online: float
    """Requests of the online programs that completed in a second."""
    waiting: int
    """Their requests that had not completed at its end."""
    batch: float
    """Bytes of the batch in a second."""


@dataclass(frozen=True)
class MeansStanding:
    """How a means stood, by the medians of its windows."""

    missed_by: float
    online: float
    batch: float


@dataclass(frozen=True)
class TrialLength:
    """How long a means is tried."""

    windows: int = WINDOWS
    settling: int = SETTLING


USUAL = TrialLength()


@dataclass
class Tried:
    """Windows that were measured under a means."""

    windows: list[GuardWindow] = field(default_factory=list)

    def standing(self) -> MeansStanding:
        """Return the medians."""
        return MeansStanding(
            missed_by=median(window.missed_by for window in self.windows),
            online=median(window.online for window in self.windows),
            batch=median(window.batch for window in self.windows),
        )


class Search:
    """Finds the first of several means that meets the goals; number 0 is to do nothing."""

    def __init__(
        self,
        means: int,
        *,
        keep: float = 0.0,
        trials: Mapping[int, TrialLength] | None = None,
        start: int = 0,
        remembered: GuardWindow | None = None,
    ) -> None:
        """Begin with number `start` of so many means; the batch keeps this share of its bytes.

        Means with a trial of their own are in `trials`, by their numbers. To begin with another
        than nothing, the figures without a means are those of an earlier search: `remembered`. They
        count until the goals are missed.
        """
        self.keep = keep
        self._trials = trials or {}
        self.number = start
        """The means that is to be set now."""
        self.decided = False
        """Whether the search is over, and the means is kept."""
        self.tried: dict[int, Tried] = {}
        self.remembers = remembered is not None
        """Whether the figures of nothing are those of an earlier search."""
        if remembered is not None:
            self.tried[0] = Tried([remembered])
        self._means = means
        self._settling = self._trial.settling if start else 0
        self._missing: list[GuardWindow] = []
        """The last windows, all of which missed a goal under the means that is kept."""
        # An earlier search has met the goals with it: that counts as the first of two times.
        self._confirming = self.remembers
        self._kept = 0
        self.kept_first: int | None = None
        """The means that was kept when the search was last over from its beginning."""
        self._retry = RETRY

    def take(self, window: GuardWindow) -> None:
        """Learn what the last window showed, and decide what is set in the next."""
        if self._settling > 0:
            self._settling -= 1
            return
        if self.decided:
            self._watch(window)
            return
        tried = self.tried.setdefault(self.number, Tried())
        tried.windows.append(window)
        needed = self._trial.windows * (2 if self._confirming else 1)
        if len(tried.windows) < needed:
            return
        if not self.meets(self.number):
            self._confirming = False
            self._next()
        elif self._confirming:
            self._keep_it()
        else:
            # Measured once more: the first of many that seems to do is often a lucky one.
            self._confirming = True

    @property
    def _trial(self) -> TrialLength:
        return self._trials.get(self.number, USUAL)

    def standing(self, number: int) -> MeansStanding | None:
        """Return how a means stood, if it was measured."""
        tried = self.tried.get(number)
        return None if tried is None or not tried.windows else tried.standing()

    def meets(self, number: int) -> bool:
        """Whether a means meets the goals, starves no one and keeps the batch's share."""
        standing = self.standing(number)
        return standing is not None and standing.missed_by <= 1 and self.unfair(number) is None

    def unfair(self, number: int) -> str | None:
        """Return which class a means that was measured starves, if it does."""
        standing, alone = self.standing(number), self.standing(0)
        most = max((standing.online for standing in self._all()), default=0.0)
        if standing is None:
            return None
        if standing.online < STARVED * most:
            return "starves online"
        kept = 0.0 if alone is None else self.keep * alone.batch
        return "starves the batch" if standing.batch < kept else None

    def _all(self) -> Sequence[MeansStanding]:
        return [tried.standing() for tried in self.tried.values() if tried.windows]

    def best(self) -> int:
        """Return the means that is best: of those that are fair the one that misses least."""

        def rank(number: int) -> tuple[bool, bool, float, int]:
            standing = self.standing(number)
            assert standing is not None
            unfair = self.unfair(number) is not None
            return (unfair, standing.missed_by > 1, standing.missed_by, number)

        measured = [number for number, tried in self.tried.items() if tried.windows]
        return min(measured, key=rank, default=0)

    def _next(self) -> None:
        """Go on to the next means, or keep the best if there is none.

        If the figures of nothing are those of an earlier search, they may be wrong by now: then
        all is measured anew before the batch is said to starve, or the goals not to be met.
        """
        is_last = self.number == self._means
        if self.remembers and (is_last or self.unfair(self.number) is not None):
            self._restart()
        elif is_last:
            self._set(self.best())
            self._keep_it()
        else:
            self._set(self.number + 1)

    def _keep_it(self) -> None:
        self.decided, self._kept = True, 0
        if self.kept_first is None:
            self.kept_first = self.number

    def _set(self, number: int) -> None:
        if number != self.number:
            self.number = number
            self._settling = self._trial.settling

    def _watch(self, window: GuardWindow) -> None:
        """Go on if a goal that was met is missed for some windows, or back after a time."""
        self._kept += 1
        meets, is_time = self.meets(self.number), self._kept >= self._retry
        if is_time and not (meets and self.number == self.kept_first):
            self._retry = min(2 * self._retry, RETRY_MOST)
            self._go_back(meets=meets)
        elif meets and window.missed_by <= 1:
            self._missing.clear()
        elif meets:
            self._missing.append(window)
            if len(self._missing) >= max(MISSES, self._trial.windows):
                self._retry = RETRY
                self._go_on()

    def _go_back(self, *, meets: bool) -> None:
        """Try the means that was kept first, or all if what is kept does not meet the goals."""
        if not meets or self.kept_first is None:
            self._restart()
            return
        self.tried.pop(self.kept_first, None)
        self._search()
        self._set(self.kept_first)

    def _go_on(self) -> None:
        """Try the means after the one that was kept, of which the last windows count."""
        if self.number == self._means:
            self._restart()
            return
        self.tried = {0: self.tried[0]} if 0 in self.tried else {}
        self.tried[self.number] = Tried(self._missing)
        self._search()
        self._next()

    def _search(self) -> None:
        """Be undecided again."""
        self._missing, self._kept, self.decided, self._confirming = [], 0, False, False

    def _restart(self) -> None:
        """Search again, from the first means on.

        What the programs did without any still counts, unless it is of an earlier search.
        """
        self._search()
        self.kept_first = None
        if self.remembers:
            self.remembers, self.tried = False, {}
            self._set(0)
            return
        self.tried = {0: self.tried[0]} if 0 in self.tried else {}
        self._set(1 if self._means else 0)
