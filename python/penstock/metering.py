"""Meters the latencies of a disk's requests, by classes of threads, while any programs use it.

A request counts for the thread that queued it: for direct requests and for reads that is the
program's own. What a program writes to the page cache is queued later, mostly by threads of the
kernel, which have the default class unless they are assigned to another.
"""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from penstock import _native, tracing
from penstock.errors import translated
from penstock.results.buckets import LatencyBuckets
from penstock.tracing import Disk, Events

SETTLING_S = 0.002
"""Seconds after which the events of a window are all finished."""


@dataclass(frozen=True, kw_only=True)
class Latencies:
    """Percentiles of latencies from queueing to the completion of the last sector, in nanoseconds.

    A request that waits has at least its age. Each figure is the greater of two, of the requests
    that ended and of all, so none falls because nothing completes; it is a lower bound if requests
    wait.
    """

    p50: int
    p95: int
    p99: int
    max: int


@dataclass(frozen=True, kw_only=True)
class RequestFigures:
    """Requests of a class and a direction in a window."""

    count: int
    """Requests that ended."""
    bytes: int
    """Their bytes."""
    latency_ns: Latencies | None
    """Their latencies; none if no request ended and none waits."""
    waiting: int
    """Requests that wait at the end of the window."""
    oldest_ns: int | None
    """Age of the oldest of them."""
    latency_buckets: LatencyBuckets
    """Latencies of all requests that ended since the meter began."""


@dataclass(frozen=True, kw_only=True)
class ClassFigures:
    """Requests of a class in a window, by direction."""

    read: RequestFigures
    write: RequestFigures
    flush: RequestFigures
    """Flushes of the disk's cache, and writes with one: their bytes count as written."""
    discard: RequestFigures
    """Discards, and zeros that the disk writes by itself."""


@dataclass(frozen=True, kw_only=True)
class MeterWindow:
    """The figures of a window."""

    from_ns: int
    """Its beginning, by the monotonic clock."""
    to_ns: int
    """Its end."""
    lost: int
    """Events that the kernel dropped: the counts lack requests, and some latencies are missing."""
    untracked: int
    """Requests that were not counted, because too many were pending."""
    classes: Mapping[str, ClassFigures]


class Meter:
    """A meter while it runs."""

    def __init__(self, engine: _native.Meter, events: Events) -> None:
        """Read `events` with `engine`."""
        self._engine = engine
        self._events = events

    def assign(self, threads: Mapping[int, str], default: str = "others") -> None:
        """Assign threads to classes, and all others to the class `default`, from now on."""
        with translated():
            self._engine.assign(threads, default)

    def read(self) -> None:
        """Read the events so far: the kernel drops events if nothing is read for long."""
        self._engine.take(self._events.drain())

    def window(self) -> MeterWindow:
        """Close the window that began with the last one, and return its figures."""
        self.read()
        time.sleep(SETTLING_S)
        end_ns = self._events.drain()
        self._events.count_dropped()
        return _window(json.loads(self._engine.window(end_ns)))


def _window(window: dict[str, Any]) -> MeterWindow:
    classes = {name: _class(directions) for name, directions in window["classes"].items()}
    return MeterWindow(**window | {"classes": classes})


def _class(directions: dict[str, dict[str, Any]]) -> ClassFigures:
    return ClassFigures(**{name: _figures(figures) for name, figures in directions.items()})


def _figures(figures: dict[str, Any]) -> RequestFigures:
    latency = figures["latency_ns"]
    times = {
        "latency_ns": latency and Latencies(**latency),
        "latency_buckets": LatencyBuckets(**figures["latency_buckets"]),
    }
    return RequestFigures(**figures | times)


@contextmanager
def meter(disk: Disk) -> Iterator[Meter]:
    """Meter the requests of a disk within the block.

    # Errors
    If the kernel refuses to trace.
    """
    with tracing.mounted() as tracefs:
        with translated():
            numbers = disk.encoded()
            engine = _native.Meter(tracefs, disk.number, numbers, time.monotonic_ns())
        with tracing.traced(tracefs, disk, engine) as events:
            yield Meter(engine, events)
