"""Places for metrics: a file for a node exporter's textfile collector, or an address."""

import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from penstock import signals
from penstock.errors import PenstockError
from penstock.metrics.address import Address
from penstock.metrics.text import BEGINNING, Metric, exposition
from penstock.report import files

EVERY_S = 1.0
"""Seconds between two times at which a file is written."""

Collect: TypeAlias = Callable[[], Sequence[Metric]]
"""Returns the metrics of the moment."""


class Outlet:
    """A place for metrics, which has none until it gets some."""

    failure: str | None = None
    """Message of the first write that failed: the work goes on without."""

    def open(self) -> None:
        """Begin.

        # Errors
        Metrics cannot be written there.
        """
        raise NotImplementedError

    def put(self, metrics: Sequence[Metric]) -> None:
        """Replace the metrics."""
        raise NotImplementedError

    def follow(self, collect: Collect) -> None:
        """Have those of the moment from now on; threads of the outlet call `collect`."""
        raise NotImplementedError

    def close(self) -> None:
        """End; a second call does nothing."""
        raise NotImplementedError


def outlet(place: str) -> Outlet:
    """Return the outlet that `place` names: a file, unless it has the form of an address.

    # Errors
    It names neither, or a file that may not be written.
    """
    if "/" in place or not re.search(r":|^\d*$", place):
        return _File(Path(place))
    return _Server(Address.parse(place))


class _File(Outlet):
    """A file, which is replaced as a whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ended = threading.Event()
        self._writer: threading.Thread | None = None
        self.open()

    def open(self) -> None:
        files.check(self._path, is_ours=_is_ours, kind="metrics file")

    def put(self, metrics: Sequence[Metric]) -> None:
        """Write metrics, whole or not at all.

        They are not flushed to the disk: they are worth nothing after a crash, and a flush every
        second would be a load of its own on the disk that they may be about.
        """
        try:
            files.write(self._path, exposition(metrics).encode(), durable=False)
        except PenstockError as error:
            self.failure = self.failure or str(error)

    def follow(self, collect: Collect) -> None:
        self._writer = threading.Thread(target=self._write_on, args=[collect], daemon=True)
        with signals.kept_from_threads():
            self._writer.start()

    def close(self) -> None:
        self._ended.set()
        if self._writer is not None:
            self._writer.join()

    def _write_on(self, collect: Collect) -> None:
        self.put(collect())
        while not self._ended.wait(EVERY_S):
            self.put(collect())
        self.put(collect())


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        text = file.read(len(BEGINNING)).decode(errors="replace")
    return text in (BEGINNING, "")


class _Server(Outlet):
    """An address whose server answers with the metrics of the moment."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._collect: Collect = tuple
        self._close: Callable[[], None] = lambda: None

    def open(self) -> None:
        # Most commands serve nothing, and its import takes a while.
        from penstock.metrics.endpoint import serve

        self._close = serve(self._address, lambda: exposition(self._collect()))

    def put(self, metrics: Sequence[Metric]) -> None:
        self._collect = lambda: metrics

    def follow(self, collect: Collect) -> None:
        self._collect = collect

    def close(self) -> None:
        self._close()
