"""Processes and threads as `/proc` shows them.

A thread is known by its number and the time when it started: the kernel uses numbers again.
Source: proc(5).
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

KERNEL_THREAD = 0x0020_0000
"""Bit in the flags of a process that the kernel runs for itself."""

GONE = (FileNotFoundError, ProcessLookupError)
"""What reading from `/proc` raises when a process or a thread has ended."""


class Thread(NamedTuple):
    """A thread of a process."""

    tid: int
    start: int
    """Ticks of the clock between the start of the machine and that of the thread."""
    pid: int
    """Its process."""

    def lives(self) -> bool:
        """Whether it is still there, and no later thread with its number."""
        try:
            return _stat(f"{self.pid}/task/{self.tid}").start == self.start
        except GONE:
            return False


class _Stat(NamedTuple):
    name: str
    parent: int
    is_kernel: bool
    start: int


def _stat(place: str) -> _Stat:
    with open(f"/proc/{place}/stat", "rb") as file:
        text = os.fsdecode(file.read())
    # A name may have blanks and brackets.
    number_and_name, _, rest = text.rpartition(")")
    fields = rest.split()
    return _Stat(
        name=number_and_name.partition("(")[2],
        parent=int(fields[1]),
        is_kernel=bool(int(fields[6]) & KERNEL_THREAD),
        start=int(fields[19]),
    )


class Process:
    """A process; what it is asked for is read once.

    Every property raises one of `GONE` if it has ended, and `PermissionError` if the user may not
    know.
    """

    def __init__(self, pid: int) -> None:
        """Read its name, its parent and when it started."""
        self.pid = pid
        self.name, self.parent, self.is_kernel, self.start = _stat(str(pid))

    @property
    def shown(self) -> str:
        """Its number and its name, for messages."""
        return f"{self.pid} ({self.name})"

    def threads(self) -> Iterator[Thread]:
        """Each of its threads that has not ended."""
        for name in os.listdir(f"/proc/{self.pid}/task"):
            try:
                yield Thread(int(name), _stat(f"{self.pid}/task/{name}").start, self.pid)
            except GONE:
                continue

    @cached_property
    def program(self) -> str:
        """Base name of the first word of its command line; empty if it has none."""
        with open(f"/proc/{self.pid}/cmdline", "rb") as file:
            word = file.read(4096).partition(b"\0")[0]
        return os.fsdecode(word.rpartition(b"/")[2])

    @cached_property
    def user(self) -> int:
        """Number of the user with whose rights it works."""
        with open(f"/proc/{self.pid}/status", "rb") as file:
            line = next(line for line in file if line.startswith(b"Uid:"))
        return int(line.split()[2])

    @cached_property
    def groups(self) -> frozenset[str]:
        """Its control groups, by their paths in each hierarchy."""
        return frozenset(self.group_of.values())

    @cached_property
    def group_of(self) -> Mapping[str, str]:
        """Its control group for each controller; that of version 2 has an empty name."""
        with open(f"/proc/{self.pid}/cgroup", "rb") as file:
            lines = [line.split(":", 2) for line in os.fsdecode(file.read()).splitlines()]
        return {name: path for _, names, path in lines for name in names.split(",")}

    @cached_property
    def paths(self) -> frozenset[str]:
        """Paths of its folder, its root, its open files and its mappings."""
        linked = {path for path in map(_link, self._links()) if path and path.startswith("/")}
        return frozenset(linked | {path for _, path in self._mappings if path.startswith("/")})

    @cached_property
    def devices(self) -> frozenset[int]:
        """Devices that these files are on, and those that are such files themselves."""
        numbers = {number for number, _ in self._mappings}
        for link in self._links():
            path = _link(link)
            if path is None or not path.startswith("/"):
                continue
            try:
                status = os.stat(link)
            except GONE:
                continue
            numbers |= {status.st_dev, status.st_rdev}
        return frozenset(numbers - {0})

    @cached_property
    def open_files(self) -> frozenset[tuple[int, str]]:
        """Device and path of each open file, and of each block device that is open itself."""
        opened = set()
        for name in os.listdir(f"/proc/{self.pid}/fd"):
            link = f"/proc/{self.pid}/fd/{name}"
            path = _link(link)
            try:
                status = os.stat(link)
            except GONE:
                continue
            if path is not None and stat.S_ISREG(status.st_mode):
                opened.add((status.st_dev, path))
            elif path is not None and stat.S_ISBLK(status.st_mode):
                opened.add((status.st_rdev, path))
        return frozenset(opened)

    def _links(self) -> Iterator[str]:
        place = f"/proc/{self.pid}"
        yield f"{place}/cwd"
        yield f"{place}/root"
        for name in os.listdir(f"{place}/fd"):
            yield f"{place}/fd/{name}"

    @cached_property
    def _mappings(self) -> frozenset[tuple[int, str]]:
        """Device and path of each mapping of a file."""
        with open(f"/proc/{self.pid}/maps", "rb") as file:
            lines = [line.split(None, 5) for line in file]
        files = {(line[3], line[5]) for line in lines if len(line) == 6 and line[4] != b"0"}
        mapped = set()
        for device, path in files:
            major, minor = (int(number, 16) for number in device.split(b":"))
            mapped.add((os.makedev(major, minor), os.fsdecode(path.rstrip(b"\n"))))
        return frozenset(mapped)


def tasks(pid: int) -> Iterator[tuple[int, Sequence[int]]]:
    """Yield each thread of a process with the processes that it has started, as far as they run.

    There is nothing if it has ended, and no started process if the kernel does not list them.
    """
    with suppress(*GONE):
        for name in os.listdir(f"/proc/{pid}/task"):
            started: list[int] = []
            with suppress(*GONE), open(f"/proc/{pid}/task/{name}/children", "rb") as file:
                started = [int(word) for word in file.read().split()]
            yield int(name), started


def _link(path: str) -> str | None:
    """Return where a link leads; `None` for a file that has been closed meanwhile."""
    try:
        return os.readlink(path)
    except GONE:
        return None


def processes() -> Iterator[Process]:
    """Each process of a program, this one left out: a guard does not guard itself."""
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdigit()]
    for pid in pids:
        try:
            process = Process(pid)
        except GONE:
            continue
        if not process.is_kernel and pid != os.getpid():
            yield process
