"""Figures that a program prints of itself, a time a line, in place of the latencies of requests.

A database knows waits that no block request shows: for a lock, a journal, room in the page cache.
"""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Thread

from penstock import _native, signals
from penstock.errors import RUN_FAILED, PenstockError, wrong


class Feed:
    """The times that a command prints."""

    def __init__(self, command: str, process: "subprocess.Popen[str]") -> None:
        """Begin to read them."""
        self._command, self._process = command, process
        self._lines: SimpleQueue[str] = SimpleQueue()
        # A pipe cannot be waited for and left in the same way everywhere; a thread can.
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)

    def take(self) -> list[float]:
        """Return the times since the last call, in nanoseconds.

        # Errors
        A line that is no time; the command has ended.
        """
        ended = self._process.poll()
        times = []
        while True:
            try:
                line = self._lines.get_nowait().strip()
            except Empty:
                break
            times.append(_time(line))
        if ended is not None and not times:
            message = f"error: {self._command} has ended, with exit code {ended}"
            hint = "hint: let it print a time a line for as long as the guard runs"
            raise PenstockError(f"{message}\n{hint}", exit_code=RUN_FAILED)
        return times


def _time(line: str) -> float:
    try:
        return float(_native.duration(line))
    except _native.Failure:
        raise wrong(
            f"--goal-from: found the line {line!r}; expected a time, as 3.2ms",
            "a time has a unit: ns, us, ms or s",
        ) from None


@contextmanager
def feed(command: str) -> Iterator[Feed]:
    """Run a command of the shell for as long as the block, and yield what it prints."""
    with subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=signals.as_usual,
    ) as process:
        try:
            yield Feed(command, process)
        finally:
            # What the shell has started holds the pipe too.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
