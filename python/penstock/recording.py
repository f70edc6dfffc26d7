r"""Records a disk's requests by the kernel's block tracing, as the text that `blkparse` prints.

The events come through a tracefs instance of our own: other tracing is not disturbed, and removing
the instance always switches ours off. A recording reads

    dd-549  [001] ..... 16358.390794: block_bio_queue: 7,0 WS 8 + 16 [dd]
    <idle>-0  [000] ..s.. 16358.391148: block_rq_complete: 7,0 WS () 8 + 16 be,0,4 [0]

and writes a `Q` and a `C` event, with times from the first event. Times are whole microseconds, as
the kernel prints them. Requests to partitions become requests of the disk. Requests of this
process, which writes the file, and commands to the device itself are left out. Source: the kernel's
documentation, "Event Tracing" and "ftrace", and the format of each event in tracefs.
"""

import errno
import gzip
import os
import re
import signal
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from penstock import signals
from penstock.errors import CANNOT_HERE, RUN_FAILED, PenstockError, wrong
from penstock.report import files

PLACES = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
"""Mount points of tracefs."""

ACTIONS = {"block_bio_queue": "Q", "block_rq_complete": "C", "block_bio_complete": "C"}
"""The kernel's events, and their names in `blkparse`.

Devices without a request queue, such as LVM volumes, send `block_bio_complete`; others complete
requests only.
"""

NEEDED = ("block_bio_queue", "block_rq_complete")
"""Events that every kernel with block tracing has."""

BUFFER_KB = 8192
"""Size of the event buffer of each CPU, enough for about a hundred thousand events."""

PAUSE_S = 0.05
"""Seconds between two reads of the events."""

_EVENT = re.compile(
    r"\s*.*-(?P<pid>\d+)\s+(?:\([\s\d-]+\)\s+)?\[(?P<cpu>\d+)\]\s+(?:\S+\s+)?"
    r"(?P<s>\d+)\.(?P<us>\d{6}): (?P<event>block_\w+): (?P<what>.*)"
)
_WHAT = re.compile(
    r"(?P<device>\d+,\d+) (?P<letters>\S+) (?:\((?P<command>[^)]*)\) )?"
    r"(?P<sector>\d+) \+ (?P<sectors>\d+) (?:[^\s\[]+ )?\[(?P<name>.*)\]"
)
_LOST = re.compile(r"CPU:\d+ \[LOST (\d+) EVENTS\]")


@dataclass(frozen=True, kw_only=True)
class Disk:
    """A disk, as the kernel numbers it."""

    name: str
    number: str
    """Device number, such as `8,0`."""
    numbers: frozenset[str]
    """Device numbers of the disk and its partitions."""


@dataclass(kw_only=True)
class Recorded:
    """Counts of a recording."""

    requests: int = 0
    completions: int = 0
    lost: int = 0
    """Events that the kernel dropped because they were not read in time."""
    seconds: float = 0.0
    asked_by: signal.Signals | None = None
    """The signal that ended it early."""


class Formatter:
    """Converts the kernel's lines to lines of `blkparse`."""

    def __init__(self, disk: Disk) -> None:
        """Create a formatter for the events of a disk and its partitions."""
        self.disk = disk
        self.recorded = Recorded()
        self._own = str(os.getpid())
        self._origin: int | None = None
        self._number = 0

    def line(self, text: str) -> str | None:
        """Return the line of an event; `None` if it is not about a request to the disk."""
        lost = _LOST.search(text)
        if lost:
            self.recorded.lost += int(lost[1])
        event = _EVENT.fullmatch(text)
        details = event and _WHAT.fullmatch(event["what"])
        if (
            not event
            or not details
            or details["device"] not in self.disk.numbers
            or details["command"]
        ):
            return None
        action = ACTIONS.get(event["event"])
        by_recorder = action == "Q" and event["pid"] == self._own
        if action is None or by_recorder or details["letters"].startswith("N"):
            return None
        now = int(event["s"]) * 1_000_000 + int(event["us"])
        if self._origin is None:
            self._origin = now
        since = max(now - self._origin, 0)
        if action == "Q":
            self.recorded.requests += 1
        else:
            self.recorded.completions += 1
        self._number += 1
        # A flush has no address: the kernel prints an arbitrary sector.
        sector = details["sector"] if details["sectors"] != "0" else "0"
        return (
            f"{self.disk.number:>6} {int(event['cpu']):>4} {self._number:>8} "
            f"{since // 1_000_000:>5}.{since % 1_000_000:06}000 {event['pid']:>5}  {action} "
            f"{details['letters']:>3} {sector} + {details['sectors']} [{details['name']}]\n"
        )


def disk(path: Path, sys: Path = Path("/sys")) -> Disk:
    """Return the disk with the device file `path`.

    # Errors
    If `path` is not a disk, or is a partition.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise wrong(f"{path} cannot be recorded: {error.strerror}", _NAME_A_DISK) from None
    if not stat.S_ISBLK(status.st_mode):
        raise wrong(f"{path} is no block device", _NAME_A_DISK)
    major, minor = os.major(status.st_rdev), os.minor(status.st_rdev)
    folder = (sys / f"dev/block/{major}:{minor}").resolve()
    if (folder / "partition").exists():
        disk_path = f"/dev/{folder.parent.name}"
        raise wrong(
            f"{path} is a partition, and completions are known of whole disks only",
            f"record {disk_path}: a rule of a job with `range` selects the partition's requests",
        )
    parts = (part.read_text().strip().replace(":", ",") for part in folder.glob("*/dev"))
    number = f"{major},{minor}"
    return Disk(name=str(path), number=number, numbers=frozenset({number, *parts}))


_NAME_A_DISK = "name the device file of a disk, such as /dev/sdb"


def check_out(path: Path) -> None:
    """Raise an error unless a new recording can be written to `path`."""
    if path.suffix == ".zst":
        message = f"{path} ends in .zst, and recordings are packed by gzip"
        raise wrong(message, f"name it {path.with_suffix('.gz')}")
    files.check_new(path)


def tracing() -> Path:
    """Return the folder of the kernel's block tracing.

    # Errors
    If there is none that this process may use.
    """
    for place in PLACES:
        if all((place / "events/block" / event).is_dir() for event in NEEDED):
            if not (place / "instances").is_dir():
                raise _missing(
                    "tracefs has no `instances`", "this kernel is too old, or was built without"
                )
            return place
    if os.geteuid() != 0:
        raise _missing("only root may see it", "run this as root")
    types = Path("/proc/filesystems").read_text().split()
    if "tracefs" not in types:
        raise _missing("the kernel has no tracefs, or hides it", "take a kernel with tracing")
    raise _missing(
        "tracefs is not mounted, or has no block events",
        "mount it with `mount -t tracefs tracefs /sys/kernel/tracing`; the kernel needs "
        "CONFIG_BLK_DEV_IO_TRACE or other block tracing",
    )


def _missing(reason: str, hint: str) -> PenstockError:
    message = f"error: this machine cannot record block I/O: {reason}\nhint: {hint}"
    return PenstockError(message, exit_code=CANNOT_HERE)


def record(disk: Disk, out: Path, *, seconds: float | None, tracefs: Path) -> Recorded:
    """Record the requests of a disk for `seconds`, or until a signal asks for the end.

    The file `out` must be new. It is removed if no request was recorded.

    # Errors
    If the kernel refuses to trace, the file cannot be written, or no request came.
    """
    formatter = Formatter(disk)
    recorded = formatter.recorded
    try:
        with files.new_file(out) as file:
            with _text(file, out) as text, _signals_wait() as end_signals:
                begun = time.monotonic()
                with _instance(tracefs, disk) as instance:
                    recorded.asked_by = _copy(instance, formatter, text, seconds, end_signals)
                recorded.seconds = time.monotonic() - begun
            if recorded.requests == 0:
                raise PenstockError(
                    f"error: no request came to {disk.name} in {recorded.seconds:.1f} s\n"
                    "hint: let a program use the disk meanwhile; what memory answers is no request",
                    exit_code=RUN_FAILED,
                )
    except OSError as error:
        message = f"error: {out} cannot be written: {error.strerror}"
        raise PenstockError(message, exit_code=RUN_FAILED) from None
    return recorded


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
def _instance(tracefs: Path, disk: Disk) -> Iterator[Path]:
    """Make a tracefs instance that traces a disk, and remove it after the block."""
    instances = tracefs / "instances"
    for left in instances.glob("penstock-*"):
        if not Path("/proc", left.name.removeprefix("penstock-")).exists():
            # Left by a recording that was killed.
            with suppress(OSError):
                left.rmdir()
    instance = instances / f"penstock-{os.getpid()}"
    with _tracing_fails():
        instance.mkdir()
    try:
        with _tracing_fails():
            _switch_on(instance, disk)
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


def _switch_on(instance: Path, disk: Disk) -> None:
    # A common clock for all CPUs, and buffers large enough that no event is lost unread.
    (instance / "trace_clock").write_text("mono")
    (instance / "buffer_size_kb").write_text(str(BUFFER_KB))
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
) -> signal.Signals | None:
    """Copy events for `seconds`. Returns the signal that ended it earlier, if any."""
    end = None if seconds is None else time.monotonic() + seconds
    with _tracing_fails():
        pipe = os.open(instance / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        rest = b""
        while True:
            left = PAUSE_S if end is None else min(max(end - time.monotonic(), 0), PAUSE_S)
            came = signal.sigtimedwait(end_signals, left)
            over = came is not None or (end is not None and time.monotonic() >= end)
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
