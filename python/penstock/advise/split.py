"""The split length by measurement: how long a piece may be.

Writes of many lengths are timed on the target one at a time, in rounds: in each round every length
has its turn ten times, in an order that is random, so that a mood of the disk meets all of them.
One kind of round writes anywhere, the other one write behind the other.

The rule is that of the paper: the largest length that takes hardly longer than one block, and no
shorter one does. Hardly is 37 % there: 1.26 ms for 10,000 bytes against 0.926 ms for 1,000.

How sure an answer is follows from the rounds: each has a ratio of its own for every length, and two
of these ratios enclose the true median with a known probability, however they are distributed.
With fewer than six rounds not even the least and the greatest do so in 95 of 100 measurements. Then
there is no interval, and the answer says so.

Source: Tanabe and others, "Disk I/O Control Mechanism for Online and Batch Processing" (2019),
section V.B; the price and the rule of the allowed delay are ours. The intervals are those of
Thompson, "On Confidence Ranges for the Median" (1936).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, comb, inf
from os import PathLike, fspath
from statistics import median
from typing import Unpack

from penstock import _native
from penstock.advise.measure import Pattern, Turns, measure
from penstock.errors import RUN_FAILED, PenstockError, translated, wrong
from penstock.results.steps import Progress
from penstock.target import Target, TargetOptions, with_options

TOLERANCE = 0.37
"""Excess time allowed for a piece over a block: 1.26 ms to 0.926 ms in the paper."""

TOLERANCES = (0.1, 0.2, TOLERANCE, 0.5)
"""The answers for these are reported too."""

BLOCK = "4KiB"
"""A short write."""

LONG = "1MB"
"""The long request."""

ROUNDS = 20
"""Rounds of each pattern."""

STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768)
"""Lengths in blocks, as far as they are below the long request; twice and once and a half on."""

CERTAIN = 0.95
"""Least probability that an interval has the true median."""

A_LAW = 0.1
"""Medians that are off by no more follow a law of a time for each write and each byte."""


@dataclass(frozen=True)
class LengthPoint:
    """Writes of one length."""

    size: int
    """Bytes."""
    median_ns: float
    """The median of the medians of rounds."""
    p95_ns: float
    ratio: float
    """This length to one block: the median of the rounds."""
    interval: tuple[float, float] | None
    """Interval of the ratio, as far as rounds show; `None` with too few rounds."""

    @property
    def bytes_per_s(self) -> float:
        """Throughput of writing pieces of this length, one after the other."""
        return self.size / self.median_ns * 1e9


@dataclass(frozen=True)
class Curve:
    """Times of all lengths in one pattern."""

    pattern: Pattern
    points: Sequence[LengthPoint]
    """Points from one block to the long request."""

    def largest(self, tolerance: float) -> int:
        """The largest length within the tolerance, as all shorter ones are."""
        return self._last(lambda point: point.ratio <= 1 + tolerance)

    def certainly(self, tolerance: float) -> int:
        """Returns the largest length up to which all intervals are within the tolerance."""
        return self._last(lambda point: (point.interval or (0, inf))[1] <= 1 + tolerance)

    def perhaps(self, tolerance: float) -> int:
        """Returns the largest length up to which all intervals reach into the tolerance."""
        return self._last(lambda point: (point.interval or (0, inf))[0] <= 1 + tolerance)

    def within(self, delay_ns: int) -> int | None:
        """The largest length of which 95 of 100 take no longer, nor of a shorter one; if any."""
        if self.points[0].p95_ns > delay_ns:
            return None
        return self._last(lambda point: point.p95_ns <= delay_ns)

    def price(self, size: int) -> float:
        """Returns the time of the long request in pieces of `size` over its time in one piece."""
        long = self.points[-1]
        (piece,) = (point for point in self.points if point.size == size)
        return long.size / size * piece.median_ns / long.median_ns

    def _last(self, good: Callable[[LengthPoint], bool]) -> int:
        last = self.points[0].size
        for point in self.points[1:]:
            if not good(point):
                break
            last = point.size
        return last


@dataclass(frozen=True)
class Law:
    """A time for each write and for each byte, if the medians follow one."""

    base_ns: float
    byte_ns: float

    def limit(self, block: int, tolerance: float) -> float:
        """The length that takes the tolerance longer than a block."""
        return block + tolerance * (self.base_ns / self.byte_ns + block)


@dataclass(frozen=True)
class Split:
    """Advised length of a piece on a target."""

    target: str
    world: str
    """`simulated`, `emulated` or `measured`."""
    tolerance: float
    curves: Mapping[Pattern, Curve]
    allow_delay_ns: int | None
    schedulers: Mapping[str, str | None] = field(default_factory=dict)
    """Schedulers as in the result of a run on the target."""
    remarks: Sequence[str] = ()
    """Likewise."""

    @property
    def block(self) -> int:
        """Bytes of the shortest write."""
        return self._random.points[0].size

    @property
    def long(self) -> int:
        """Bytes of the long request."""
        return self._random.points[-1].size

    @property
    def size(self) -> int:
        """The answer in bytes: what holds for both patterns."""
        return min(curve.largest(self.tolerance) for curve in self.curves.values())

    @property
    def between(self) -> tuple[int, int] | None:
        """Interval of the answer, as far as rounds show; `None` with too few rounds."""
        if any(point.interval is None for point in self._random.points):
            return None
        curves = self.curves.values()
        least = min(curve.certainly(self.tolerance) for curve in curves)
        return least, min(curve.perhaps(self.tolerance) for curve in curves)

    @property
    def hidden(self) -> bool:
        """Whether noise hides the answer: it may be any length that was written."""
        return self.between == (self.block, self.long)

    @property
    def by_tolerance(self) -> dict[float, int]:
        """The answers for other tolerances."""
        return {
            tolerance: min(curve.largest(tolerance) for curve in self.curves.values())
            for tolerance in sorted({*TOLERANCES, self.tolerance})
        }

    @property
    def price(self) -> float:
        """Time of the long request in such pieces, one behind the other, over its time in one."""
        return self.curves["sequential"].price(self.size)

    @property
    def within_delay(self) -> int | None:
        """The largest piece of which 95 in 100 delay no request longer than allowed; if any."""
        if self.allow_delay_ns is None:
            return None
        allowed = [curve.within(self.allow_delay_ns) or 0 for curve in self.curves.values()]
        return min(allowed) or None

    @property
    def law(self) -> Law | None:
        """The law that writes anywhere follow, if there is one."""
        return _law(self._random.points)

    @property
    def _random(self) -> Curve:
        return self.curves["random"]


class NoiseHidesAnswer(PenstockError):
    """The rounds differ too much for an answer; `measured` has what they gave."""

    def __init__(self, measured: Split) -> None:
        """An error with all that was measured."""
        message = (
            "error: noise hides the answer: on this target one block and the long request may be "
            "within the tolerance of one another, and may not be"
        )
        hint = "hint: let nothing else run, or take more --rounds"
        super().__init__(f"{message}\n{hint}", exit_code=RUN_FAILED)
        self.measured = measured


@with_options
def split(
    target: str | PathLike[str],
    *,
    block: str = BLOCK,
    long: str = LONG,
    tolerance: float = TOLERANCE,
    allow_delay: str | None = None,
    rounds: int = ROUNDS,
    seed: int = 1,
    progress: Progress | None = None,
    **options: Unpack[TargetOptions],
) -> Split:
    """Measure how long a piece may be on `target`, which is written over.

    `target` is what `compare` takes for `on`. Pieces are multiples of `block`; `long` is the
    request that is to be split. Raises `NoiseHidesAnswer`, a `PenstockError` with the exit code 1,
    if noise hides the answer; it has what was measured.
    """
    return split_on(
        Target(on=fspath(target), options=options),
        block=block,
        long=long,
        tolerance=tolerance,
        allow_delay=allow_delay,
        rounds=rounds,
        seed=seed,
        progress=progress,
    )


def split_on(
    target: Target,
    *,
    block: str = BLOCK,
    long: str = LONG,
    tolerance: float = TOLERANCE,
    allow_delay: str | None = None,
    rounds: int = ROUNDS,
    seed: int = 1,
    progress: Progress | None = None,
) -> Split:
    """Measure how long a piece may be, as `split` does, with the target as one object."""
    with translated():
        bytes_of_block, bytes_of_long = _native.size(block), _native.size(long)
        delay = None if allow_delay is None else _native.duration(allow_delay)
    if not tolerance > 0:
        raise wrong(f"found the tolerance {tolerance}", "it lies above 0, as 0.37")
    if not 0 < 2 * bytes_of_block <= bytes_of_long <= 1 << 30:
        message = f"a long request of {long} in blocks of {block}"
        raise wrong(message, "it has two blocks at least, and 1 GiB at most")
    sizes = lengths(bytes_of_block, bytes_of_long)
    measured = measure(target, sizes, rounds=rounds, seed=seed, progress=progress)
    answer = Split(
        target.on or "",
        measured.world,
        tolerance,
        {
            pattern: Curve(pattern, tuple(_points(sizes, rounds)))
            for pattern, rounds in measured.rounds.items()
        },
        delay,
        measured.schedulers,
        measured.remarks,
    )
    if answer.hidden:
        raise NoiseHidesAnswer(answer)
    return answer


def lengths(block: int, long: int) -> list[int]:
    """Returns the lengths to write: multiples of a block, and the long request in whole blocks."""
    blocks = long // block
    return [block * step for step in (*(step for step in STEPS if step < blocks), blocks)]


def enclosing(count: int) -> tuple[int, int] | None:
    """Returns the two of `count` ordered values that enclose the median of their distribution.

    Each lies below that median with the probability of one half. So the numbers are those of the
    binomial distribution, and nothing else need be known of the values. `None` of too few.
    """
    outside, cut = 0.0, 0
    while (outside := outside + comb(count, cut) / 2**count) <= (1 - CERTAIN) / 2:
        cut += 1
    return (cut - 1, count - cut) if cut > 0 else None


FEWEST_ROUNDS = next(count for count in range(1, 100) if enclosing(count) is not None)
"""Least number of rounds that give an interval."""


def _points(sizes: Sequence[int], rounds: Sequence[Mapping[int, Turns]]) -> Iterator[LengthPoint]:
    ends = enclosing(len(rounds))
    for size in sizes:
        ratios = sorted(round_[size].median_ns / round_[sizes[0]].median_ns for round_ in rounds)
        every = sorted(ns for round_ in rounds for ns in round_[size].every_ns)
        yield LengthPoint(
            size,
            median(round_[size].median_ns for round_ in rounds),
            every[ceil(0.95 * len(every)) - 1],
            median(ratios),
            None if ends is None else (ratios[ends[0]], ratios[ends[1]]),
        )


def _law(points: Sequence[LengthPoint]) -> Law | None:
    """Least squares of what medians are off by, as a share of each."""
    sw, sx, sy, sxx, sxy = 0.0, 0.0, 0.0, 0.0, 0.0
    for point in points:
        weight = point.median_ns**-2
        sw, sx, sy = sw + weight, sx + weight * point.size, sy + weight * point.median_ns
        sxx += weight * point.size**2
        sxy += weight * point.size * point.median_ns
    slope = (sw * sxy - sx * sy) / (sw * sxx - sx * sx)
    base = (sy - slope * sx) / sw
    if base <= 0 or slope <= 0:
        return None
    off = max(abs((base + slope * point.size) / point.median_ns - 1) for point in points)
    return Law(base, slope) if off <= A_LAW else None
