"""Captures a disk's requests by the kernel's block events, as lines of text.

The events come through a tracefs instance of our own: other tracing is not disturbed, and removing
the instance always switches ours off. Where tracefs is not mounted it is mounted for this process
alone. Source: the kernel's documentation, "Event Tracing" and "ftrace".
"""

import errno
import gzip
import os
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from penstock import _native, signals
from penstock.block_events import ACTIONS, SECTOR, Captured, Disk, Form, Formatter, blkparse
from penstock.errors import CANNOT_HERE, RUN_FAILED, PenstockError, wrong
from penstock.report import files

PLACES = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
"""Mount points of tracefs."""

NEEDED = ("block_bio_queue", "block_rq_complete")
"""Events that every kernel with block tracing has."""

BUFFER_KB = 8192
"""Size of the event buffer of each CPU, enough for about a hundred thousand events."""

PAUSE_S = 0.05
"""Seconds between two reads of the events."""


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
    if path.suffix == ".zst":
        message = f"{path} ends in .zst, and captures are packed by gzip"
        raise wrong(message, f"name it {path.with_suffix('.gz')}")
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
    form: Form = blkparse,
    buffer_kb: int = BUFFER_KB,
    begun: Callable[[], object] = lambda: None,
) -> Captured:
    """Capture the requests of a disk for `seconds`, or until a signal asks for the end.

    With a `command` the capture lasts as long as it runs; its output goes to `printed`, or to our
    own. The file `out` must be new. `form` makes its lines. Each CPU has `buffer_kb` for events
    that are not read yet. `begun` is called when the tracing is on.

    # Errors
    If the kernel refuses to trace, the file cannot be written, or the command cannot be started.
    """
    formatter = Formatter(disk, form)
    captured = formatter.captured
    try:
        with (
            files.new_file(out) as file,
            _text(file, out) as text,
            _signals_wait() as end_signals,
        ):
            start = time.monotonic()
            with _instance(tracefs, disk, buffer_kb) as instance:
                before = _counters(disk)
                begun()
                with _started(command, printed) as process:
                    captured.asked_by = _copy(
                        instance, formatter, text, seconds, end_signals, process
                    )
                after = _counters(disk)
            captured.seconds = time.monotonic() - start
            captured.command = None if process is None else process.returncode
            captured.counted, captured.counted_bytes = (
                now - then for now, then in zip(after, before, strict=True)
            )
    except OSError as error:
        message = f"error: {out} cannot be written: {error.strerror}"
        raise PenstockError(message, exit_code=RUN_FAILED) from None
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


def _counters(disk: Disk) -> tuple[int, int]:
    """Return the commands and the bytes that the kernel has counted of a disk since it is there."""
    major, minor = disk.number.split(",")
    try:
        fields = Path(f"/sys/dev/block/{major}:{minor}/stat").read_text().split()
    except OSError:
        return 0, 0  # The disk is gone.
    counts = [int(field) for field in fields]
    # Reads, writes and discards: commands, merges, sectors, milliseconds.
    kinds = [counts[first : first + 4] for first in (0, 4, 11)]
    commands = sum(kind[0] for kind in kinds if kind)
    return commands, SECTOR * sum(kind[2] for kind in kinds if kind)


@contextmanager
def _text(file: IO[bytes], out: Path) -> Iterator[IO[bytes]]:
    """Yield where lines go, so that they get into the file, which stays open."""
    if out.suffix != ".gz":
        yield file
        return
    with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6) as packed:
        yield packed  # type: ignore[misc]


@contextmanager
def _signals_wait() -> Iterator[set[signal.Signals]]:
    """Block the signals that ask for the end within the block, and yield them.

    So every line is written completely, and tracing is switched off, whenever a signal comes.
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
def _instance(tracefs: Path, disk: Disk, buffer_kb: int) -> Iterator[Path]:
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
            _switch_on(instance, disk, buffer_kb)
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


def _switch_on(instance: Path, disk: Disk, buffer_kb: int) -> None:
    # A common clock for all CPUs, and buffers large enough that no event is lost unread.
    (instance / "trace_clock").write_text("mono")
    (instance / "buffer_size_kb").write_text(str(buffer_kb))
    numbers = (number.split(",") for number in sorted(disk.numbers))
    is_ours = " || ".join(f"dev == {int(major) << 20 | int(minor)}" for major, minor in numbers)
    for event in ACTIONS:
        folder = instance / "events/block" / event
        if event in NEEDED or folder.is_dir():
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


def _copy(
    instance: Path,
    formatter: Formatter,
    text: IO[bytes],
    seconds: float | None,
    end_signals: set[signal.Signals],
    process: subprocess.Popen[bytes] | None,
) -> signal.Signals | None:
    """Copy events for `seconds`, or while the process runs.

    Returns the signal that ended it earlier, if any.
    """
    end = None if seconds is None else time.monotonic() + seconds
    with _tracing_fails():
        pipe = os.open(instance / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        rest = b""
        while True:
            left = PAUSE_S if end is None else min(max(end - time.monotonic(), 0), PAUSE_S)
            came = signal.sigtimedwait(end_signals, left)
            over = came is not None or (end is not None and time.monotonic() >= end)
            over = over or (process is not None and process.poll() is not None)
            if over:
                with _tracing_fails():
                    (instance / "tracing_on").write_text("0")
            rest = _drain(pipe, rest, formatter, text)
            if over:
                by = came and signal.Signals(came.si_signo)
                if by == signal.SIGHUP:
                    signals.detach_from_terminal()
                return by
    finally:
        os.close(pipe)


def _drain(pipe: int, rest: bytes, formatter: Formatter, text: IO[bytes]) -> bytes:
    """Copy the available events. Returns the beginning of an incomplete line."""
    while True:
        try:
            with _tracing_fails():
                read = os.read(pipe, 1 << 16)
        except BlockingIOError:
            return rest
        if not read:
            return rest
        *lines, rest = (rest + read).split(b"\n")
        made = (formatter.line(line.decode(errors="replace")) for line in lines)
        text.write("".join(line for line in made if line).encode())
