"""What `--set` changes of the merge-placement paper's experiments."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from penstock.errors import PenstockError, wrong
from penstock.papers.settings import Settings, listed, milliseconds, seeds

NAME = "merge-placement"
"""The paper's name."""

T = TypeVar("T")

PLACEMENTS: Mapping[int, str] = {1: "dedicated", 2: "separate", 3: "shared", 4: "all"}
"""The paper's cases, as `merge.placement` calls them."""

POLICIES = ("fcfs", "round-robin", "read-first")

UNLIMITED = "unlimited"

RANDOM_BLOCK = "random-block"

Buffer: TypeAlias = int | None
"""Blocks of each job's partition; none: no limit."""

SETTINGS = Settings(
    keys={
        "disks": (),
        "jobs": (),
        "cases": (),
        "policies": (),
        "buffers": ("merge.memory.partition",),
        "n": ("merge.read",),
        "m": ("merge.write",),
        "runs": ("merge.runs",),
        "run": ("merge.run",),
        "blocks_per_cylinder": ("device.per_cylinder",),
        "seek": ("device.seek",),
        "latency": ("device.latency",),
        "depletion": ("merge.depletion.keys",),
        "layout": ("merge.layout",),
        "seeds": (),
        "ring.disks": (),
        "ring.f": (),
        "two.f": (),
        "two.n0": (),
        "stagger": ("merge.stagger",),
    },
    examples=("cases=2,3", "buffers=560,720", "ring.f=1.8,3"),
)

OF_JOB = (
    "n",
    "m",
    "runs",
    "run",
    "blocks_per_cylinder",
    "seek",
    "latency",
    "layout",
    "stagger",
)
"""Keys that change the job itself, as they are."""

SEEDS = 10
"""Seeds that a figure is the mean of."""

DISKS_MOST = 64

FACTOR_MOST = 100

BLOCKS_MOST = 1_000_000


@dataclass(frozen=True, kw_only=True)
class PlacementSetting:
    """All of it, read; none of what is not set."""

    given: Mapping[str, str]
    seeds: Sequence[int]
    disks: Sequence[int] | None = None
    jobs: Sequence[int] | None = None
    cases: Sequence[int] | None = None
    policies: Sequence[str] | None = None
    buffers: Sequence[Buffer] | None = None
    n: int | None = None
    m: int | None = None
    ring_disks: Sequence[int] | None = None
    ring_f: Sequence[float] | None = None
    two_f: Sequence[float] | None = None
    two_n0_ms: Sequence[float] | None = None

    @property
    def of_job(self) -> tuple[str, ...]:
        """Returns the changes of every job."""
        of_jobs = {key: self.given[key] for key in OF_JOB if key in self.given}
        return (*SETTINGS.of_job(of_jobs), *self._depletion())

    def _depletion(self) -> Sequence[str]:
        order = self.given.get("depletion")
        return () if order is None else depletion(order)

    def includes(self, *, cases: Sequence[int]) -> bool:
        """Whether these cases are wanted as they are usual: first come first served, unlimited."""
        return (
            (self.cases is None or set(cases) <= set(self.cases))
            and (self.policies is None or POLICIES[0] in self.policies)
            and (self.buffers is None or None in self.buffers)
        )


def depletion(order: str) -> Sequence[str]:
    """An order of depletion as a change of the job: a word, or so many random keys to a block."""
    if order == RANDOM_BLOCK:
        return (f"merge.depletion={order}",)
    if not order.isdecimal():
        expected = f"{RANDOM_BLOCK}, or how many random keys a block has"
        raise _wrong("depletion", order, expected, "64")
    return (f"merge.depletion.keys={order}",)


def read(arguments: Mapping[str, str]) -> PlacementSetting:
    """Returns the setting of the simulation."""
    reader = _Reader(arguments)
    return PlacementSetting(
        given=arguments,
        seeds=seeds(arguments, SEEDS),
        disks=reader.whole("disks", 1, DISKS_MOST, "5,10"),
        jobs=reader.whole("jobs", 1, DISKS_MOST, "2,5"),
        cases=reader.whole("cases", min(PLACEMENTS), max(PLACEMENTS), "2,3"),
        policies=reader.each("policies", _policy),
        buffers=reader.each("buffers", _buffer),
        n=reader.one("n", "12"),
        m=reader.one("m", "40"),
        ring_disks=reader.whole("ring.disks", 2, DISKS_MOST, "3,5"),
        ring_f=reader.factors("ring.f", "1.8,3"),
        two_f=reader.factors("two.f", "0.5,2"),
        two_n0_ms=reader.each("two.n0", lambda text: milliseconds("two.n0", text, "24ms,306ms")),
    )


class _Reader:
    """Lists, as `--set` has them; of a key that is not set there is none."""

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._given = arguments

    def each(self, key: str, value: Callable[[str], T]) -> list[T] | None:
        """The value of each part, once."""
        text = self._given.get(key)
        return None if text is None else list(dict.fromkeys(map(value, listed(text))))

    def whole(self, key: str, low: int, high: int, example: str) -> list[int] | None:
        """Whole numbers within bounds."""

        def value(text: str) -> int:
            if not text.isdecimal() or not low <= int(text) <= high:
                raise _wrong(key, text, f"whole numbers from {low} to {high}", example)
            return int(text)

        return self.each(key, value)

    def one(self, key: str, example: str) -> int | None:
        """A number of blocks."""
        text = self._given.get(key)
        if text is not None and not (text.isdecimal() and 0 < int(text) <= BLOCKS_MOST):
            raise _wrong(key, text, f"a whole number from 1 to {BLOCKS_MOST}", example)
        return None if text is None else int(text)

    def factors(self, key: str, example: str) -> list[float] | None:
        """Numbers above zero."""

        def value(text: str) -> float:
            if not re.fullmatch(r"\d+(\.\d+)?", text) or not 0 < float(text) <= FACTOR_MOST:
                raise _wrong(key, text, f"numbers above 0, up to {FACTOR_MOST}", example)
            return float(text)

        return self.each(key, value)


def _policy(text: str) -> str:
    if text not in POLICIES:
        raise _wrong("policies", text, f"some of {', '.join(POLICIES)}", ",".join(POLICIES[:2]))
    return text


def _buffer(text: str) -> Buffer:
    if text != UNLIMITED and not (text.isdecimal() and int(text)):
        raise _wrong("buffers", text, f"blocks for each job, or {UNLIMITED}", f"580,{UNLIMITED}")
    return None if text == UNLIMITED else int(text)


def _wrong(key: str, value: str, expected: str, example: str) -> PenstockError:
    return wrong(f"--set {key}: found {value}; expected {expected}", f"as --set {key}={example}")
