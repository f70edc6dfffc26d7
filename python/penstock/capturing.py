"""Captures a disk's requests by the kernel's block events.

The events come through a tracefs instance of our own: other tracing is not disturbed, and removing
the instance always switches ours off. Where tracefs is not mounted it is mounted for this process
alone. The engine reads the events and makes the file. Source: the kernel's documentation, "Event
Tracing" and "ftrace".
"""

import errno
import json
import os
import re
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from penstock import _native, signals
from penstock.errors import CANNOT_HERE, RUN_FAILED, PenstockError, translated, wrong
from penstock.report import files

PLACES = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
"""Mount points of tracefs."""

NEEDED = ("block_bio_queue", "block_rq_complete")
"""Events that every kernel with block tracing has."""

BUFFER_KB = 8192
"""Size of the event buffer of each CPU, enough for about a hundred thousand events."""

PAUSE_S = 0.05
"""Seconds between two reads of the events."""

SUFFIX = ".ptrace"
"""End of the name of a capture."""

SECTOR = 512
"""Bytes of a sector in the kernel's counters."""

PAGE = 1 << 16
"""More bytes than a page of the event buffer has."""


@dataclass(frozen=True, kw_only=True)
class Disk:
    """A disk, as the kernel numbers it."""

    name: str
    number: str
    """Device number, such as `8,0`."""
    numbers: frozenset[str]
    """Device numbers of the disk and its partitions."""

    def encoded(self) -> list[int]:
        """Return the numbers as the events have them."""
        parts = (number.split(",") for number in sorted(self.numbers))
        return [int(major) << 20 | int(minor) for major, minor in parts]


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


def disk(path: Path, sys: Path = Path("/sys")) -> Disk:
    """Return the disk with the device file `path`.

    # Errors
    If `path` is not a disk, or is a partition.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise wrong(f"{path} cannot be captured: {error.strerror}", _NAME_A_DISK) from None
    if not stat.S_ISBLK(status.st_mode):
        raise wrong(f"{path} is no block device", _NAME_A_DISK)
    major, minor = os.major(status.st_rdev), os.minor(status.st_rdev)
    folder = (sys / f"dev/block/{major}:{minor}").resolve()
    if (folder / "partition").exists():
        disk_path = f"/dev/{folder.parent.name}"
        raise wrong(
            f"{path} is a partition, and completions are known of whole disks only",
            f"capture {disk_path}: a rule of a job with `range` selects the partition's requests",
        )
    parts = (part.read_text().strip().replace(":", ",") for part in folder.glob("*/dev"))
    number = f"{major},{minor}"
    return Disk(name=str(path), number=number, numbers=frozenset({number, *parts}))


_NAME_A_DISK = "name the device file of a disk, such as /dev/sdb"


def check_out(path: Path) -> None:
    """Raise an error unless a new capture can be written to `path`."""
    if path.suffix != SUFFIX:
        raise wrong(
            f"{path} does not end in {SUFFIX}",
            f"name it {path.name.split('.')[0]}{SUFFIX}; `penstock trace convert` makes other "
            "formats of it",
        )
    files.check_new(path)


@contextmanager
def tracing() -> Iterator[Path]:
    """Yield the folder of the kernel's block tracing, mounted for this process if it is not.

    # Errors
    If there is none that this process may use.
    """
    mounted = next((place for place in PLACES if _traces(place)), None)
    if mounted is not None:
        yield mounted
        return
    try:
        descriptor = _native.tracefs()
    except OSError as error:
        if os.geteuid() != 0:
            raise _missing("only root may see it", "run this as root") from None
        reason = f"tracefs cannot be mounted: {error.strerror}"
        raise _missing(reason, "take a kernel with tracing, of version 5.2 or later") from None
    try:
        place = Path(f"/proc/self/fd/{descriptor}")
        if not _traces(place):
            raise _missing("it has no block events", "take a kernel with CONFIG_BLK_DEV_IO_TRACE")
        yield place
    finally:
        os.close(descriptor)


def _traces(place: Path) -> bool:
    """Whether tracefs is there, with block events and instances."""
    has_events = all((place / "events/block" / event).is_dir() for event in NEEDED)
    return has_events and (place / "instances").is_dir()


def _missing(reason: str, hint: str) -> PenstockError:
    message = f"error: this machine cannot capture block I/O: {reason}\nhint: {hint}"
    return PenstockError(message, exit_code=CANNOT_HERE)


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
        with files.new_file(out) as file, _signals_wait() as end_signals:
            start = time.monotonic()
            with _instance(tracefs, recorder, disk, buffer_kb) as instance:
                before = _counters(disk)
                begun()
                with (
                    _started(command, printed) as process,
                    _Events(instance, recorder, file) as events,
                ):
                    captured.asked_by = _copy(events, disk, seconds, end_signals, process)
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
    # The signals that we wait for are its own to handle.
    ours = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        process = subprocess.Popen(
            command,
            stdout=printed,
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, ours),
        )
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
        fields = (_folder(disk) / "stat").read_text().split()
    except OSError:
        return None, None
    counts = [int(field) for field in fields]
    # Reads, writes and discards: commands, merges, sectors, milliseconds.
    kinds = [counts[first : first + 4] for first in (0, 4, 11)]
    commands = sum(kind[0] for kind in kinds if kind)
    return commands, SECTOR * sum(kind[2] for kind in kinds if kind)


def _folder(disk: Disk) -> Path:
    """Return the folder of a disk in /sys."""
    return Path("/sys/dev/block", disk.number.replace(",", ":"))


@contextmanager
def _signals_wait() -> Iterator[set[signal.Signals]]:
    """Block the signals that ask for the end within the block, and yield them.

    So the file is whole, and tracing is switched off, whenever a signal comes.
    """
    end_signals = set(signals.ours())
    before = signal.pthread_sigmask(signal.SIG_BLOCK, end_signals)
    try:
        yield end_signals
    finally:
        while end_signals and signal.sigtimedwait(end_signals, 0):
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _instance(
    tracefs: Path, recorder: _native.Recorder, disk: Disk, buffer_kb: int
) -> Iterator[Path]:
    """Make a tracefs instance that traces a disk, and remove it after the block."""
    instances = tracefs / "instances"
    for left in instances.glob("penstock-*"):
        if not Path("/proc", left.name.removeprefix("penstock-")).exists():
            # Left by a capture that was killed.
            with suppress(OSError):
                left.rmdir()
    instance = instances / f"penstock-{os.getpid()}"
    with _tracing_fails():
        instance.mkdir()
    try:
        with _tracing_fails():
            _switch_on(instance, recorder, disk, buffer_kb)
        yield instance
    finally:
        with _tracing_fails():
            _remove(instance)


@contextmanager
def _tracing_fails() -> Iterator[None]:
    """Report errors of the system within the block as errors of tracing, not of the output file."""
    try:
        yield
    except BlockingIOError:
        raise
    except OSError as error:
        reason = f"{error.filename or 'its events'}: {error.strerror}"
        raise _missing(reason, "run this as root; `penstock doctor` checks tracing") from None


def _switch_on(instance: Path, recorder: _native.Recorder, disk: Disk, buffer_kb: int) -> None:
    # A common clock for all CPUs, and buffers large enough that no event is lost unread.
    (instance / "trace_clock").write_text("mono")
    (instance / "buffer_size_kb").write_text(str(buffer_kb))
    is_ours = " || ".join(f"dev == {number}" for number in disk.encoded())
    for event in recorder.events:
        folder = instance / "events/block" / event
        (folder / "filter").write_text(is_ours)
        (folder / "enable").write_text("1")


def _remove(instance: Path) -> None:
    for _ in range(50):
        try:
            return instance.rmdir()
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            time.sleep(0.02)
    instance.rmdir()


class _Events:
    """The events of an instance, on their way to the file."""

    def __init__(self, instance: Path, recorder: _native.Recorder, file: IO[bytes]) -> None:
        self._instance = instance
        self._recorder = recorder
        self._file = file
        self._settled_ns = 0
        self._pipes: dict[int, int] = {}

    def __enter__(self) -> "_Events":
        with _tracing_fails():
            for folder in sorted(self._instance.glob("per_cpu/cpu*")):
                pipe = os.open(folder / "trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)
                self._pipes[int(folder.name.removeprefix("cpu"))] = pipe
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self._pipes.values():
            os.close(pipe)

    def drain(self) -> None:
        """Read the available events, and write those that no other can precede."""
        now_ns = time.monotonic_ns()
        self._read()
        # An event may be finished a little after its time: until the next look.
        self._file.write(self._recorder.take(self._settled_ns))
        self._settled_ns = now_ns

    def end(self) -> None:
        """Stop the tracing, and write the remaining events."""
        with _tracing_fails():
            (self._instance / "tracing_on").write_text("0")
        self._read()
        self._recorder.lose(self._dropped())
        self._file.write(self._recorder.take())

    def _read(self) -> None:
        for cpu, pipe in self._pipes.items():
            while page := self._page(pipe):
                with translated():
                    self._recorder.add(cpu, page)

    def _page(self, pipe: int) -> bytes:
        try:
            with _tracing_fails():
                return os.read(pipe, PAGE)
        except BlockingIOError:
            return b""

    def _dropped(self) -> int:
        """Return how many events the kernel has dropped."""
        with _tracing_fails():
            texts = [path.read_text() for path in self._instance.glob("per_cpu/cpu*/stats")]
        return sum(int(dropped) for text in texts for dropped in _DROPPED.findall(text))


_DROPPED = re.compile(r"^(?:overrun|dropped events): (\d+)$", re.MULTILINE)


def _copy(
    events: _Events,
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
        if over or (process is None and not _folder(disk).exists()):
            events.end()
            by = came and signal.Signals(came.si_signo)
            if by == signal.SIGHUP:
                signals.detach_from_terminal()
            return by
        events.drain()
