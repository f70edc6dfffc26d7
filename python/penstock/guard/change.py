"""Changes of threads and control groups, and the way back of each.

A change knows what its subject had and what it gets. Its way back may be taken at any moment:
before the change, after it, or twice. A subject that has gone is no error.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from penstock.errors import wrong
from penstock.guard.processes import Thread


class Priorities(Protocol):
    """I/O priorities of threads, as the engine reads and sets them."""

    def io_priority(self, tid: int, /) -> str:
        """Return the priority of a thread, as `none`, `be:4` or `idle`."""

    def set_io_priority(self, tid: int, priority: str, /) -> None:
        """Set the priority of a thread."""


@dataclass(frozen=True, kw_only=True)
class NotedChange(ABC):
    """A change that is noted before it is made. Its fields are those of its note."""

    kind: ClassVar[str]
    carries: ClassVar[bool] = False
    """Whether the changes before it stay as long as this one."""
    hint: ClassVar[str] = "the kernel refuses this value"
    gets: str

    @property
    @abstractmethod
    def shown(self) -> str:
        """Name of its subject, for messages."""

    @property
    def failure(self) -> str:
        """Message if it cannot be made."""
        return f"{self.shown} cannot be changed to {self.gets}"

    def has_ended(self) -> bool:
        """Whether its subject has ended, and needs no way back."""
        return False

    @abstractmethod
    def make(self, priorities: Priorities) -> None:
        """Make the change.

        # Errors
        `OSError`, unless the subject has gone.
        """

    @abstractmethod
    def revert(self, priorities: Priorities) -> None:
        """Give the subject what it had.

        # Errors
        `OSError`, unless the subject has gone.
        """


@dataclass(frozen=True, kw_only=True)
class ThreadPriority(NotedChange):
    """The I/O priority of a thread."""

    kind: ClassVar[str] = "I/O priority"
    tid: int
    start: int
    pid: int
    had: str

    @property
    def thread(self) -> Thread:
        """The thread."""
        return Thread(self.tid, self.start, self.pid)

    @property
    def shown(self) -> str:
        """The thread and its process."""
        return f"the I/O priority of thread {self.tid} of process {self.pid}"

    def has_ended(self) -> bool:
        """Whether the thread has ended."""
        return not self.thread.lives()

    def make(self, priorities: Priorities) -> None:
        """Set the new priority."""
        self._set(priorities, self.gets)

    def revert(self, priorities: Priorities) -> None:
        """Set the old priority."""
        self._set(priorities, self.had)

    def _set(self, priorities: Priorities, priority: str) -> None:
        thread = self.thread
        try:
            if thread.lives():
                priorities.set_io_priority(self.tid, priority)
        except OSError:
            if thread.lives():
                raise


def write_value(path: str | Path, value: str) -> None:
    """Write a value into a file of the kernel, which takes it in one piece.

    # Errors
    `OSError` if there is no such file, as of a control group that has gone.
    """
    file = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        os.write(file, value.encode())
    finally:
        os.close(file)


WAYS_BACK: Mapping[str, str | None] = {
    "blkio.bfq.weight": None,
    "blkio.throttle.read_bps_device": "0",
    "blkio.throttle.read_iops_device": "0",
    "blkio.throttle.write_bps_device": "0",
    "blkio.throttle.write_iops_device": "0",
    "io.bfq.weight": "default",
    "io.latency": "target=max",
    "io.max": "rbps=max wbps=max riops=max wiops=max",
    "io.weight": "default",
    "memory.high": None,
}
"""Files of control groups that may be changed.

A file with a value for each device takes this text for one that had none; `None` is a file with a
single value. Source: the kernel's documentation, "Control Group v2" and "Block IO Controller".
"""


@dataclass(frozen=True, kw_only=True)
class GroupSetting(NotedChange):
    """A value in a file of a control group."""

    kind: ClassVar[str] = "control group"
    path: str
    had: str

    @classmethod
    def of(cls, path: Path, gets: str) -> "GroupSetting":
        """Return the change of a file to a value, which begins with its device if it has one.

        # Errors
        A file without a known way back, or `OSError` if it cannot be read.
        """
        if path.name not in WAYS_BACK:
            known = ", ".join(WAYS_BACK)
            message = f"{path}: found {path.name}; expected one of {known}"
            raise wrong(message, "other files are not changed: not all take their old value back")
        text, neutral = path.read_text(), WAYS_BACK[path.name]
        if neutral is None:
            return cls(path=str(path), had=text.strip(), gets=gets)
        device = gets.split()[0]
        lines = (line for line in text.splitlines() if line.split()[:1] == [device])
        return cls(path=str(path), had=next(lines, f"{device} {neutral}"), gets=gets)

    @property
    def shown(self) -> str:
        """The file."""
        return self.path

    def make(self, priorities: Priorities) -> None:
        """Write the new value. The group may have gone."""
        with suppress(FileNotFoundError):
            write_value(self.path, self.gets)

    def revert(self, priorities: Priorities) -> None:
        """Write the old value. The group or the device may have gone."""
        with suppress(FileNotFoundError):
            try:
                write_value(self.path, self.had)
            except OSError:
                if self._has_device():
                    raise

    def _has_device(self) -> bool:
        device = self.had.split()[0]
        return ":" not in device or Path("/sys/dev/block", device).exists()
