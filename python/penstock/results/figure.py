"""Figures of a class by name, such as `tellers.p99` and `batch.bw`."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from penstock.errors import wrong
from penstock.results import rounds
from penstock.results.json_types import Class
from penstock.results.percentile import percentile
from penstock.results.rounds import Rounds, Spread

BOUND = re.compile(r"\s*(\S+)\s*(<=|>=|<|>)\s*(.+?)\s*")
"""The text of a bound: a figure, how it compares, and a limit."""


class Kind(NamedTuple):
    """A figure that every class has."""

    value: Callable[[Class], float]
    more_is_better: bool
    title: str


def _latency(percent: float) -> Kind:
    # A modelled request may take no time at all; the least that is reported is a nanosecond.
    def value(class_: Class) -> float:
        return max(percentile(class_["lat_ns"], percent), 1)

    return Kind(value, more_is_better=False, title=f"p{percent:g} of latency")


KINDS = {
    "p50": _latency(50),
    "p95": _latency(95),
    "p99": _latency(99),
    "p99.9": _latency(99.9),
    "mean": Kind(lambda class_: max(class_["lat_ns"]["mean"], 1), False, "mean latency"),
    "bw": Kind(lambda class_: class_["bw_bytes"], True, "throughput"),
    "iops": Kind(lambda class_: class_["iops"], True, "requests a second"),
}
"""Kinds of figures: latencies in ns, `bw` in bytes a second, `iops` in requests a second."""


class Figure(NamedTuple):
    """A figure of a class."""

    of: str
    """The class."""
    what: str
    """A name in `KINDS`."""

    @classmethod
    def parse(cls, text: str) -> "Figure":
        """Parse a figure such as `tellers.p99`."""
        for kind in KINDS:
            name = text.removesuffix(f".{kind}")
            if name and name != text:
                return cls(name, kind)
        hint = f"a class and one of {', '.join(KINDS)}, as in tellers.p99"
        raise wrong(f"found `{text}`; expected a figure of a class", hint)

    @property
    def kind(self) -> Kind:
        """Its kind, from `KINDS`."""
        return KINDS[self.what]

    @property
    def is_latency(self) -> bool:
        """Whether it is a time in nanoseconds."""
        return not self.kind.more_is_better

    @property
    def title(self) -> str:
        """Title of its axis."""
        return f"{self.of}: {self.kind.title}"

    def __str__(self) -> str:
        """Return its name, which `parse` accepts."""
        return f"{self.of}.{self.what}"

    def over(self, policy: Rounds) -> Spread | None:
        """Return its range over rounds; `None` if the class took no part or finished no request."""
        return policy.spread(self.of, self.kind.value)


def check(figure: Figure, names: Sequence[str]) -> None:
    """Raise a `PenstockError` unless its class is one of those that ran."""
    if figure.of not in names:
        raise wrong(f"no class `{figure.of}` of {figure} ran", f"one of {', '.join(names)}")


def usual(policies: Sequence[Rounds]) -> tuple[Figure, Figure] | None:
    """Return the default figures of a trade-off: one to protect, and one that may suffer.

    The first is the p99 of the first open-loop class, or else of the first class. The second is the
    throughput of the closed-loop class that has the most, or, if there is no other such class, the
    p99 of the next class. `None` if there is only one class.
    """
    names = rounds.class_names([run for policy in policies for run in policy.runs])
    classes = {
        name: [class_ for policy in policies for class_ in policy.of(name)] for name in names
    }
    if len(names) < 2:
        return None
    open_loops = [name for name in names if any(class_["open_loop"] for class_ in classes[name])]
    protected = next(iter([*open_loops, *names]))
    loops = [name for name in names if name not in open_loops and name != protected]
    if loops:
        most = max(
            loops, key=lambda name: max((class_["bw_bytes"] for class_ in classes[name]), default=0)
        )
        return Figure(protected, "p99"), Figure(most, "bw")
    second = next(name for name in names if name != protected)
    return Figure(protected, "p99"), Figure(second, "p99")
