"""The figures of a test, as IOzone's documentation defines them.

A rate of a worker is its own amount over its own time. The children see the sum of these rates; the
parent sees the whole amount over the time until all workers had ended. A kilobyte has 1024 bytes.
"""

from dataclasses import dataclass

from penstock.iozone.flags import KIB
from penstock.iozone.runner import MeasuredTest, Worker

_SECOND_NS = 1e9

_MICROSECOND_NS = 1e3

PER_OPERATION = "us"
"""The unit whose figures are times."""


@dataclass(frozen=True)
class FigureUnit:
    """The names of a unit."""

    line: str
    """Stands behind the figures of lines."""
    output: str
    """Stands where the output says what it is in."""
    amount: str
    """Stands behind what a worker transferred."""


UNITS = {
    "kB": FigureUnit("kB/sec", "kBytes/sec", "kB"),
    "ops": FigureUnit("ops/sec", "ops/sec", "ops"),
    PER_OPERATION: FigureUnit("microseconds/op", "microseconds/op", "ops"),
}


@dataclass(frozen=True)
class IozoneFigures:
    """The figures of a test in one unit."""

    children: float
    parent: float
    least: float
    greatest: float
    average: float
    least_amount: float
    """The least that a worker transferred."""
    workers: tuple[tuple[float, float], ...]
    """What each worker transferred, and its rate or time."""


def figures(measured: MeasuredTest, unit: str) -> IozoneFigures:
    """Return the figures of a test in a unit of `UNITS`.

    In microseconds per operation the children see the mean over all operations, and the parent its
    own time over all of them.
    """
    workers = measured.workers
    amounts = [_amount(worker, unit) for worker in workers]
    if unit == PER_OPERATION:
        rates = [
            _over(worker.ns / _MICROSECOND_NS, amount)
            for worker, amount in zip(workers, amounts, strict=True)
        ]
        children = _over(sum(worker.ns for worker in workers) / _MICROSECOND_NS, sum(amounts))
        parent = _over(measured.parent_ns / _MICROSECOND_NS, sum(amounts))
        average = sum(rates) / len(rates)
    else:
        rates = [
            _over(amount * _SECOND_NS, worker.ns)
            for worker, amount in zip(workers, amounts, strict=True)
        ]
        children = sum(rates)
        parent = _over(sum(amounts) * _SECOND_NS, measured.parent_ns)
        average = children / len(rates)
    return IozoneFigures(
        children=children,
        parent=parent,
        least=min(rates),
        greatest=max(rates),
        average=average,
        least_amount=min(amounts),
        workers=tuple(zip(amounts, rates, strict=True)),
    )


def _amount(worker: Worker, unit: str) -> float:
    return worker.bytes / KIB if unit == "kB" else worker.calls


def _over(amount: float, by: float) -> float:
    """Divide; a worker that was stopped before its first record has no rate."""
    return amount / by if by else 0.0
