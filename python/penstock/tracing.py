"""The kernel's block events of a disk, on their way to a reader of the engine.

They come through a tracefs instance of our own: other tracing is not disturbed, and removing the
instance always switches ours off. Where tracefs is not mounted it is mounted for this process
alone. Source: the kernel's documentation, "Event Tracing" and "ftrace".
"""

import errno
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from penstock import _native
from penstock.errors import CANNOT_HERE, PenstockError, translated, wrong

PLACES = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
"""Mount points of tracefs."""

NEEDED = ("block_bio_queue", "block_rq_complete")
"""Events that every kernel with block tracing has."""

BUFFER_KB = 8192
"""Size of the event buffer of each CPU, enough for about a hundred thousand events."""

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


class Reader(Protocol):
    """The part of the engine that reads the events."""

    @property
    def events(self) -> list[str]:
        """Names of the kernel's events to switch on."""

    def add(self, cpu: int, page: bytes) -> None:
        """Add a page of events of a processor."""

    def lose(self, events: int) -> None:
        """Note that the kernel lost events."""


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


def folder(disk: Disk) -> Path:
    """Return the folder of a disk in /sys."""
    return Path("/sys/dev/block", disk.number.replace(",", ":"))


@contextmanager
def mounted() -> Iterator[Path]:
    """Yield the folder of the kernel's block tracing, mounted for this process if it is not.

    # Errors
    If there is none that this process may use.
    """
    place = next((place for place in PLACES if _traces(place)), None)
    if place is not None:
        yield place
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


class Events:
    """The events of an instance, on their way to a reader."""

    def __init__(self, instance: Path, reader: Reader) -> None:
        """Open nothing yet."""
        self._instance = instance
        self._reader = reader
        self._settled_ns = 0
        self._dropped = 0
        self._pipes: dict[int, int] = {}

    def __enter__(self) -> "Events":
        """Open the buffers of all CPUs."""
        with _tracing_fails():
            for folder in sorted(self._instance.glob("per_cpu/cpu*")):
                pipe = os.open(folder / "trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)
                self._pipes[int(folder.name.removeprefix("cpu"))] = pipe
        return self

    def __exit__(self, *_: object) -> None:
        """Close them."""
        for pipe in self._pipes.values():
            os.close(pipe)

    def drain(self) -> int:
        """Read the available events, and return the time before which no other can come.

        That is the time of the call before this one: an event may be finished a little after its
        time.
        """
        now_ns = time.monotonic_ns()
        self._read()
        settled_ns, self._settled_ns = self._settled_ns, now_ns
        return settled_ns

    def count_dropped(self) -> None:
        """Let the reader know how many events the kernel has dropped since the last call."""
        with _tracing_fails():
            texts = [path.read_text() for path in self._instance.glob("per_cpu/cpu*/stats")]
        dropped = sum(int(count) for text in texts for count in _DROPPED.findall(text))
        self._reader.lose(dropped - self._dropped)
        self._dropped = dropped

    def end(self) -> None:
        """Stop the tracing, and read the remaining events."""
        with _tracing_fails():
            (self._instance / "tracing_on").write_text("0")
        self._read()
        self.count_dropped()

    def _read(self) -> None:
        for cpu, pipe in self._pipes.items():
            while page := self._page(pipe):
                with translated():
                    self._reader.add(cpu, page)

    def _page(self, pipe: int) -> bytes:
        try:
            with _tracing_fails():
                return os.read(pipe, PAGE)
        except BlockingIOError:
            return b""


_DROPPED = re.compile(r"^(?:overrun|dropped events): (\d+)$", re.MULTILINE)


@contextmanager
def traced(
    tracefs: Path, disk: Disk, reader: Reader, buffer_kb: int = BUFFER_KB
) -> Iterator[Events]:
    """Trace a disk in an instance of its own, and yield its events.

    Each CPU has `buffer_kb` for events that are not read yet.

    # Errors
    If the kernel refuses to trace.
    """
    instances = tracefs / "instances"
    for left in instances.glob("penstock-*"):
        if not Path("/proc", left.name.split("-")[1]).exists():
            # Left by a process that was killed.
            with suppress(OSError):
                left.rmdir()
    instance = instances / f"penstock-{os.getpid()}-{disk.number}"
    with _tracing_fails():
        instance.mkdir()
    try:
        with _tracing_fails():
            _switch_on(instance, reader, disk, buffer_kb)
        with Events(instance, reader) as events:
            yield events
    finally:
        with _tracing_fails():
            _remove(instance)


@contextmanager
def _tracing_fails() -> Iterator[None]:
    """Report errors of the system within the block as errors of tracing, not of an output file."""
    try:
        yield
    except BlockingIOError:
        raise
    except OSError as error:
        reason = f"{error.filename or 'its events'}: {error.strerror}"
        raise _missing(reason, "run this as root; `penstock doctor` checks tracing") from None


def _switch_on(instance: Path, reader: Reader, disk: Disk, buffer_kb: int) -> None:
    # All events begin at one moment: a request would seem to wait if its completion were missed.
    (instance / "tracing_on").write_text("0")
    # A common clock for all CPUs, and buffers large enough that no event is lost unread.
    (instance / "trace_clock").write_text("mono")
    (instance / "buffer_size_kb").write_text(str(buffer_kb))
    is_ours = " || ".join(f"dev == {number}" for number in disk.encoded())
    for event in reader.events:
        folder = instance / "events/block" / event
        (folder / "filter").write_text(is_ours)
        (folder / "enable").write_text("1")
    (instance / "tracing_on").write_text("1")


def _remove(instance: Path) -> None:
    for _ in range(50):
        try:
            return instance.rmdir()
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            time.sleep(0.02)
    instance.rmdir()
