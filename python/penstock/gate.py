"""`penstock.Gate`: schedules an application's own reads and writes, short ones first.

with penstock.Gate("data.img", create="256MiB", split="64KiB") as gate:
    gate.write(0, record, sync=True)

All reads and writes of all threads go through one policy, as in jobs, and one thread that carries
out its decisions. A waiting call releases the interpreter.
"""

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from types import TracebackType
from typing import Self

from penstock import _native
from penstock.errors import translated, wrong
from penstock.job import Plain, plain
from penstock.metrics.by_class import ClassTotals, of_classes
from penstock.metrics.outlet import outlet
from penstock.metrics.text import Metric, exposition
from penstock.results.buckets import LatencyBuckets
from penstock.results.build import build
from penstock.results.typed import Distribution
from penstock.target import Target


@dataclass(frozen=True, kw_only=True)
class LengthStats:
    """Results of the requests of one kind."""

    requests: int
    queued: int
    """Requests of which no piece is sent yet."""
    in_flight: int
    """Requests of which a piece is sent, and which are not answered."""
    bytes: int
    pieces: int
    """Pieces that were sent."""
    errors: int
    wait_ns: Distribution
    """From the call until the first piece was sent."""
    service_ns: Distribution
    """Device time."""
    latency_ns: Distribution
    """From the call until the last piece was done."""
    latency_buckets: LatencyBuckets
    """These times in buckets."""


@dataclass(frozen=True, kw_only=True)
class GateStats:
    """Results of a gate so far."""

    open_s: float
    """Seconds since it was opened."""
    busy: float
    """Share of that time in which the device was busy."""
    threshold: int
    """The longest short request, in bytes."""
    short: LengthStats
    """Requests up to that length."""
    long: LengthStats
    """Longer ones."""
    flush: LengthStats
    long_first: int
    """Pieces of long requests that the guard sent while a short request waited."""


_INDEX = "paths count from 0, in the order in which the gate got them"

_BYTES = "offsets count from the beginning of the path"


class Gate:
    """A policy that schedules the reads and writes of an application on a disk.

    A path is a file that Penstock owns, made with `create` if it is missing; from then on it holds
    the program's data, and runs refuse it. Or it is a block device, which `i_will_lose_data` names
    again; a device that a gate has written to holds data, and needs `even_if_not_empty` to be
    opened again. With `adopt` the path is the application's own file: its contents may be
    overwritten, and it goes through the page cache and may grow. `emulate` adds a model that
    answers in real time, such as `"hdd-7200"` or `"hdd-7200@10"`; without a path no data is kept.
    Every other keyword is a parameter of `policy`, such as `split="64KiB"` or
    `guard={"after": 4}`.

    Only the bytes of a write change. Concurrent requests have no order, and a long write is not
    atomic against short ones.
    """

    def __init__(
        self,
        *paths: str | PathLike[str],
        policy: str = "size-priority",
        create: str | None = None,
        adopt: bool = False,
        i_will_lose_data: str | PathLike[str] | None = None,
        even_if_not_empty: bool = False,
        emulate: str | None = None,
        engine: str | None = None,
        depth: int = 32,
        timeout: str | None = None,
        metrics: str | None = None,
        **parameters: Plain,
    ) -> None:
        """Open a gate before `paths`, with up to `depth` commands at the disk.

        A command without an answer after `timeout` (by default `"30s"`; `"off"` waits for ever)
        ends the gate: every waiting and every later call raises `TimeoutError`. `metrics` is a file
        that gets metrics for Prometheus once a second, for a node exporter's textfile collector, or
        a `HOST:PORT` that serves them at `/metrics`, until the gate is closed.

        Wrong input raises `penstock.PenstockError` with the command's message.
        """
        target = Target(
            options={
                "create": create,
                "i_will_lose_data": i_will_lose_data,
                "even_if_not_empty": even_if_not_empty,
                "engine": engine,
            }
        )
        self._files = max(len(paths), 1)
        self._target = ", ".join(fspath(path) for path in paths) or str(emulate)
        self._policy = policy
        sets = [part for name, value in parameters.items() for part in _sets(name, value)]
        self._outlet = None if metrics is None else outlet(metrics)
        if self._outlet is not None:
            self._outlet.open()
        try:
            with translated():
                self._native = _native.Gate(
                    [fspath(path) for path in paths],
                    target=target,
                    adopt=adopt,
                    policy=policy,
                    sets=sets,
                    emulate=emulate,
                    depth=depth,
                    timeout=timeout,
                )
        except BaseException:
            if self._outlet is not None:
                self._outlet.close()
            raise
        if self._outlet is not None:
            self._outlet.follow(self._metrics)

    def write(
        self,
        offset: int,
        data: bytes | bytearray | memoryview,
        *,
        sync: bool = False,
        file: int = 0,
    ) -> None:
        """Write `data` at byte `offset` of the path with the index `file`.

        With `sync` the data is on stable media on return. An `OSError` has in `done` the number of
        bytes from the first on that are certainly written, and is a `TimeoutError` if the disk
        does not answer; a range outside the file, or a closed gate, is a `ValueError`.
        """
        self._check(file=file, offset=offset)
        self._native.write(file, offset, bytes(data), sync)

    def read(self, offset: int, length: int, *, file: int = 0) -> bytes:
        """Read up to `length` bytes at byte `offset` of the path with the index `file`."""
        self._check(file=file, offset=offset, length=length)
        return self._native.read(file, offset, length)

    def flush(self, *, file: int = 0) -> None:
        """Flush all completed writes to the path with the index `file` to stable media."""
        self._check(file=file)
        self._native.flush(file)

    def _check(self, *, file: int, **places: int) -> None:
        """Raise an error for a number that is negative, or larger than that of any file."""
        if not 0 <= file < self._files:
            raise wrong(f"found file={file}; expected an index below {self._files}", _INDEX)
        for name, number in places.items():
            if not 0 <= number < 1 << 63:
                raise wrong(f"found {name}={number}; expected a number of bytes from 0 on", _BYTES)

    def stats(self) -> GateStats:
        """Return the results so far."""
        return build(GateStats, json.loads(self._native.stats()))

    def metrics(self) -> str:
        """Return the results so far in the text format of Prometheus."""
        return exposition(self._metrics())

    def _metrics(self) -> list[Metric]:
        stats = self.stats()
        classes = {"short": stats.short, "long": stats.long, "flush": stats.flush}
        return of_classes(
            "gate",
            self._target,
            [
                ClassTotals(
                    labels={"policy": self._policy, "class": name},
                    requests=totals.requests,
                    bytes=totals.bytes,
                    errors=totals.errors,
                    latency=totals.latency_buckets,
                    outstanding=totals.queued + totals.in_flight,
                    queued=totals.queued,
                    in_flight=totals.in_flight,
                )
                for name, totals in classes.items()
            ],
        )

    def close(self) -> None:
        """Carry out the waiting requests and close the gate; a second call does nothing.

        If the disk does not answer, this waits until the time-out.
        """
        self._native.close()
        if self._outlet is not None:
            self._outlet.close()
            if self._outlet.failure is not None:
                warnings.warn(self._outlet.failure, RuntimeWarning, stacklevel=2)
                self._outlet.failure = None

    def __enter__(self) -> Self:
        """Return the gate, which closes when the block ends."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()


def _sets(name: str, value: Plain) -> list[str]:
    if isinstance(value, Mapping):
        return [part for key, member in value.items() for part in _sets(f"{name}.{key}", member)]
    return [f"{name}={value if isinstance(value, str) else plain(value)}"]
