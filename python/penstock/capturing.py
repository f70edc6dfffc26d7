"""Captures a disk's requests by the kernel's block events.

The engine reads the events and makes the file.
"""

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from penstock import _native, signals
from penstock.errors import RUN_FAILED, PenstockError, translated, wrong
from penstock.report import files
from penstock.tracing import BUFFER_KB, Disk, Events, folder, traced

PAUSE_S = 0.05
"""Seconds between two reads of the events."""

SUFFIX = ".ptrace"
"""End of the name of a capture."""

SECTOR = 512
"""Bytes of a sector in the kernel's counters."""


@dataclass(kw_only=True)
class Captured:
    """Counts of a capture."""

    requests: int = 0
    """Requests of programs: what was queued."""
    merges: int = 0
    """Requests that the kernel merged into others."""
    completions: int = 0
    """Commands that the disk completed."""
    completed_bytes: int = 0
    """Bytes of these commands."""
    lost: int = 0
    """Events that the kernel dropped because they were not read in time."""
    counted: int | None = 0
    """Commands that the kernel's own counters of the disk have; none if the disk is gone."""
    counted_bytes: int | None = 0
    """Bytes of those commands."""
    seconds: float = 0.0
    command: int | None = None
    """Exit code of the command that was run meanwhile, if one was given."""
    asked_by: signal.Signals | None = None
    """The signal that ended it early."""


def check_out(path: Path) -> None:
    """Raise an error unless a new capture can be written to `path`."""
    if path.suffix != SUFFIX:
        raise wrong(
            f"{path} does not end in {SUFFIX}",
            f"name it {path.name.split('.')[0]}{SUFFIX}; `penstock trace convert` makes other "
            "formats of it",
        )
    files.check_new(path)


def capture(
    disk: Disk,
    out: Path,
    *,
    seconds: float | None,
    tracefs: Path,
    command: Sequence[str] = (),
    printed: IO[bytes] | None = None,
    buffer_kb: int = BUFFER_KB,
    begun: Callable[[], object] = lambda: None,
) -> Captured:
    """Capture the requests of a disk for `seconds`, or until a signal asks for the end.

    With a `command` the capture lasts as long as it runs; its output goes to `printed`, or to our
    own. The file `out` must be new. Each CPU has `buffer_kb` for events that are not read yet.
    `begun` is called when the tracing is on. A disk that goes away ends the capture.

    # Errors
    If the kernel refuses to trace, the file cannot be written, or the command cannot be started.
    """
    with translated():
        recorder = _native.Recorder(tracefs, disk.number, disk.encoded())
    captured = Captured()
    try:
        with files.new_file(out) as file, signals.held_back() as end_signals:
            start = time.monotonic()
            with traced(tracefs, disk, recorder, buffer_kb) as events:
                before = _counters(disk)
                begun()
                with _started(command, printed) as process:
                    captured.asked_by = _copy(
                        events,
                        recorder,
                        file,
                        disk=disk,
                        seconds=seconds,
                        end_signals=end_signals,
                        process=process,
                    )
                after = _counters(disk)
            captured.seconds = time.monotonic() - start
            captured.command = None if process is None else process.returncode
            captured.counted, captured.counted_bytes = (
                None if now is None or then is None else now - then
                for now, then in zip(after, before, strict=True)
            )
    except OSError as error:
        message = f"error: {out} cannot be written: {error.strerror}"
        raise PenstockError(message, exit_code=RUN_FAILED) from None
    for key, count in json.loads(recorder.counts()).items():
        setattr(captured, key, count)
    return captured


@contextmanager
def _started(
    command: Sequence[str], printed: IO[bytes] | None
) -> Iterator[subprocess.Popen[bytes] | None]:
    """Yield the process of a command, which is ended with the block, or `None` if there is none."""
    if not command:
        yield None
        return
    try:
        process = subprocess.Popen(command, stdout=printed, preexec_fn=signals.as_usual)
    except OSError as error:
        raise wrong(
            f"{command[0]} cannot be started: {error.strerror}", "name a program that is there"
        ) from None
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait()


def _counters(disk: Disk) -> tuple[int, int] | tuple[None, None]:
    """Return the commands and the bytes that the kernel has counted of a disk since it is there.

    A disk that is gone has none.
    """
    try:
        fields = (folder(disk) / "stat").read_text().split()
    except OSError:
        return None, None
    counts = [int(field) for field in fields]
    # Reads, writes and discards: commands, merges, sectors, milliseconds.
    kinds = [counts[first : first + 4] for first in (0, 4, 11)]
    commands = sum(kind[0] for kind in kinds if kind)
    return commands, SECTOR * sum(kind[2] for kind in kinds if kind)


def _copy(
    events: Events,
    recorder: _native.Recorder,
    file: IO[bytes],
    *,
    disk: Disk,
    seconds: float | None,
    end_signals: set[signal.Signals],
    process: subprocess.Popen[bytes] | None,
) -> signal.Signals | None:
    """Copy events for `seconds`, or while the process runs and the disk is there.

    Returns the signal that ended it earlier, if any.
    """
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        left = PAUSE_S if end is None else min(max(end - time.monotonic(), 0), PAUSE_S)
        came = signal.sigtimedwait(end_signals, left)
        over = came is not None or (end is not None and time.monotonic() >= end)
        over = over or (process is not None and process.poll() is not None)
        # A command may go on without the disk.
        if over or (process is None and not folder(disk).exists()):
            events.end()
            file.write(recorder.take())
            by = came and signal.Signals(came.si_signo)
            if by == signal.SIGHUP:
                signals.detach_from_terminal()
            return by
        file.write(recorder.take(events.drain()))
