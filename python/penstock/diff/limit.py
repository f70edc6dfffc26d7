"""Limits of changes, as `tellers.p99 > 5%`: which figure may not get worse, and by how much."""

import re
from collections.abc import Iterator, Sequence
from operator import ge, gt, le, lt
from typing import NamedTuple

from penstock.diff.compare import FigureChange, ResultDifference
from penstock.errors import PenstockError, wrong
from penstock.results.figure import BOUND

_RELATIONS = {"<": lt, "<=": le, ">": gt, ">=": ge}

_PERCENT = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*%")


class FailedLimit(NamedTuple):
    """A limit, and a figure that changed beyond it."""

    text: str
    change: FigureChange


class ChangeLimit(NamedTuple):
    """A figure, and the change of it that fails."""

    figure: str
    relation: str
    percent: float
    text: str
    """The limit as it was written."""

    @classmethod
    def parse(cls, text: str) -> "ChangeLimit":
        """Parse a limit such as `tellers.p99 > 5%`."""
        match = BOUND.fullmatch(text)
        percent = match and _PERCENT.fullmatch(match[3])
        if not match or not percent:
            hint = "as in --fail-on 'tellers.p99 > 5%' or 'batch.bw < -5%'"
            raise wrong(f"found the limit `{text}`; expected a figure and its change", hint)
        return cls(match[1], match[2], float(percent[1]), text.strip())

    def failures(self, difference: ResultDifference) -> Iterator[FailedLimit]:
        """Yield the figures that changed by more than noise and beyond the limit.

        # Errors
        If there is no such figure, if it is no worse beyond the limit, or if no rounds say what is
        noise.
        """
        named = [change for change in difference.ranked() if str(change.name) == self.figure]
        if not named:
            raise self._unknown(difference.changes)
        self._check_direction(more_is_better=named[0].name.quantity.more_is_better)
        for change in named:
            if change.verdict == "unknown":
                raise wrong(
                    f"--fail-on: noise of {self.figure} cannot be judged without rounds",
                    difference.remedy,
                )
            if change.changed and _RELATIONS[self.relation](change.change_pct, self.percent):
                yield FailedLimit(self.text, change)

    def hidden(self, difference: ResultDifference) -> Iterator[FigureChange]:
        """Yield the figures in which noise may hide a change beyond the limit."""
        for change in difference.ranked():
            if str(change.name) == self.figure and not change.changed:
                end = change.worst_pct
                if end is not None and _RELATIONS[self.relation](end, self.percent):
                    yield change

    def _unknown(self, changes: Sequence[FigureChange]) -> PenstockError:
        names = [change.name for change in changes]
        measures = [
            name.quantity.name for name in names if self.figure.startswith(f"{name.of_class}.")
        ]
        classes = [
            f"one of the classes {', '.join(dict.fromkeys(name.of_class for name in names))}"
        ]
        hint = f"one of {', '.join(dict.fromkeys(measures))}" if measures else classes[0]
        return wrong(f"--fail-on: there is no figure `{self.figure}`", hint)

    def _check_direction(self, *, more_is_better: bool) -> None:
        """Raise an error if the limit forbids that the figure gets better."""
        loss = -self.percent if more_is_better else self.percent
        if self.relation.startswith("<") == more_is_better and loss >= 0:
            return
        change = "falls" if more_is_better else "grows"
        limit = f"{self.figure} < -5%" if more_is_better else f"{self.figure} > 5%"
        raise wrong(
            f"the limit `{self.text}` does not say how much worse {self.figure} may be: it is "
            f"worse if it {change}",
            f"as in --fail-on '{limit}'",
        )
