"""Figures of a class by name: `tellers.p99`, `batch.bw`."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from penstock.errors import wrong
from penstock.results import rounds
from penstock.results.json_types import Class
from penstock.results.percentile import percentile
from penstock.results.rounds import Rounds, Spread


class Kind(NamedTuple):
    """A figure that every class has."""

    value: Callable[[Class], float]
    more_is_better: bool
    title: str


def _latency(percent: float) -> Kind:
    # A modelled request may take no time at all; a nanosecond is the least that is reported.
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
"""Latencies in nanoseconds, `bw` in bytes a second, `iops` in requests a second."""


class Figure(NamedTuple):
    """A figure of a class."""

    of: str
    """The class."""
    what: str
    """One of `KINDS`."""

    @classmethod
    def parse(cls, text: str) -> "Figure":
        """What `tellers.p99` names."""
        for kind in KINDS:
            name = text.removesuffix(f".{kind}")
            if name and name != text:
                return cls(name, kind)
        hint = f"a class and one of {', '.join(KINDS)}, as in tellers.p99"
        raise wrong(f"found `{text}`; expected a figure of a class", hint)

    @property
    def kind(self) -> Kind:
        """What it is of any class."""
        return KINDS[self.what]

    @property
    def is_latency(self) -> bool:
        """Whether it is a length of time in nanoseconds."""
        return not self.kind.more_is_better

    @property
    def title(self) -> str:
        """As an axis has it."""
        return f"{self.of}: {self.kind.title}"

    def __str__(self) -> str:
        """As it is written."""
        return f"{self.of}.{self.what}"

    def over(self, policy: Rounds) -> Spread | None:
        """Its range over rounds; none if the class took no part, or finished nothing."""
        return policy.spread(self.of, self.kind.value)


def check(figure: Figure, names: Sequence[str]) -> None:
    """Raise a `PenstockError` unless its class is one of those that ran."""
    if figure.of not in names:
        raise wrong(f"no class `{figure.of}` of {figure} ran", f"one of {', '.join(names)}")


def usual(policies: Sequence[Rounds]) -> tuple[Figure, Figure] | None:
    """What a trade-off is between, if nothing is said: who is protected, and who may pay.

    The 99th percentile of the first class that asks at its own pace, or else of the first; against
    it the throughput of the class that moves most, of those that wait for answers. Where there is
    none it is the 99th percentile of the next class. Nothing if there is one class.
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
