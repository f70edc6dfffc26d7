"""The race of section 3 in formulas: two disks, three, and a ring of any number of them.

In a ring job `i` reads from disk `i` and writes to the next. `f` is the time of writing a block
over that of reading one. Times are in the unit of `read`, the time of one read.

The maps of two and of three disks follow from the paper's model. What holds of more disks does not
stand there: in the fluid limit a job is blocked while work is queued on its disk, the disk that a
job writes grows at `f - 1` while that job runs, and any other shrinks at 1.
"""

from collections.abc import Callable
from math import log

STEPS = 200
"""Halvings of an interval: more than a float has digits."""


def next_of_two(n: float, *, f: float, read: float) -> float:
    """The work that is queued when the next of two jobs' read comes, if `n` was."""
    work = f * read
    return work + f * (n - work)


def rises(queued: float, *, f: float, read: float) -> float:
    """The rate at which work grows on the second of three disks with so much queued."""
    return f - queued / (queued + read)


def falls(queued: float, *, f: float, read: float) -> float:
    """The rate at which work shrinks on the third."""
    return 1 - f * read / (queued + read)


def before(n: float, *, f: float, read: float) -> float:
    """The work that was queued on the third of three disks, if the second ends with `n`.

    Both rates above, integrated over what is queued on the second.
    """
    a, c, d = f - 1, (1 - f) * read, f * read
    if a == 0:
        return (n * n / 2 + c * n) / d
    return n / a + (c - d / a) / a * log(1 + a * n / d)


def after(n: float, *, f: float, read: float) -> float:
    """The work queued on the second of three disks, if it was `n` on the third; f above 1."""
    return _root(lambda end: before(end, f=f, read=read) - n, least=read)


def steady(*, f: float, read: float) -> float | None:
    """The work at which three disks come to rest; none if they do not, or have next to none."""
    if not 1 < f < 2:
        return None
    # Where the rates are equal the difference is least; it is nothing at twice that and more.
    crossing = read * (2 * f - 1) / (2 - f)
    return _root(lambda end: before(end, f=f, read=read) - end, least=crossing)


def growth(disks: int, *, f: float) -> float | None:
    """By how much peaks grow from one to the next; none where every second job starves."""
    if disks % 2 == 0:
        return None
    turns = (disks - 1) // 2
    root = _root(lambda x: x**turns - (f - 1) * sum(x**n for n in range(turns)), least=0.0)
    return max(root, 1.0)


def critical(disks: int) -> float:
    """The `f` above which a ring races."""
    return 1.0 if disks % 2 == 0 else (disks + 1) / (disks - 1)


def _root(function: Callable[[float], float], *, least: float) -> float:
    """Where a function that is negative at `least`, or soon behind it, is positive again."""
    low, high = least, max(2 * least, 1.0)
    while function(high) < 0:
        low, high = high, 2 * high
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return high
