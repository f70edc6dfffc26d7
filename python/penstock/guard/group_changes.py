"""Changes that put processes into a new control group of version 1, and the way back of each."""

import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from penstock.guard.change import NotedChange, Priorities, write_value
from penstock.guard.processes import GONE, Process, Thread

PROCESSES = "cgroup.procs"

PASSES = 20
"""Most passes over a group until it is empty: a process may start another one in between."""


def members(folder: str | Path) -> list[int]:
    """Return the processes of a control group; none if it has gone."""
    try:
        return [int(word) for word in Path(folder, PROCESSES).read_text().split()]
    except (*GONE, NotADirectoryError):
        return []
    except OSError as error:
        if error.errno == errno.ENODEV:
            return []
        raise


def _move(pid: int, folder: str) -> None:
    """Move a process into a group, or into the nearest that is left above it."""
    for place in (Path(folder), *Path(folder).parents):
        try:
            write_value(place / PROCESSES, str(pid))
        except FileNotFoundError:
            continue
        except ProcessLookupError:
            pass
        except OSError as error:
            if error.errno == errno.ENODEV:
                continue
            raise
        return


@dataclass(frozen=True, kw_only=True)
class MadeGroup(NotedChange):
    """A new control group."""

    kind: ClassVar[str] = "new control group"
    hint: ClassVar[str] = "groups may be made by root, unless it is in a container"
    gets: str = "a control group"
    path: str

    @property
    def shown(self) -> str:
        """The folder of the group."""
        return self.path

    @property
    def failure(self) -> str:
        """Message if it cannot be made."""
        return f"{self.path} cannot be made"

    def make(self, priorities: Priorities) -> None:
        """Make the group."""
        with suppress(FileExistsError):
            os.mkdir(self.path)

    def revert(self, priorities: Priorities) -> None:
        """Remove the group; processes that are left in it go to the group above."""
        for _ in range(PASSES):
            for pid in members(self.path):
                _move(pid, str(Path(self.path).parent))
            try:
                os.rmdir(self.path)
            except FileNotFoundError:
                return
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
            else:
                return
        raise OSError(errno.EBUSY, "it has processes, or groups below it")


@dataclass(frozen=True, kw_only=True)
class MovedProcess(NotedChange):
    """The control group of a process; `had` and `gets` are the folders of groups."""

    kind: ClassVar[str] = "group of a process"
    hint: ClassVar[str] = "the kernel does not move it there"
    pid: int
    start: int
    had: str

    @property
    def shown(self) -> str:
        """The process."""
        return f"the control group of process {self.pid}"

    def has_ended(self) -> bool:
        """Whether the process has ended."""
        return not Thread(self.pid, self.start, self.pid).lives()

    def make(self, priorities: Priorities) -> None:
        """Move the process into its new group."""
        if not self.has_ended():
            with suppress(ProcessLookupError):
                write_value(Path(self.gets, PROCESSES), str(self.pid))

    def revert(self, priorities: Priorities) -> None:
        """Move the process back, and its descendants that are in the new group.

        Processes that others have moved since are left alone.
        """
        if self.has_ended():
            return
        for _ in range(PASSES):
            there = members(self.gets)
            line = [pid for pid in there if pid == self.pid or self.pid in ancestors(pid)]
            for pid in line:
                _move(pid, self.had)
            if not line:
                return


def ancestors(pid: int) -> Iterator[int]:
    """Yield the parent of a process, and so on, as far as they live."""
    with suppress(*GONE):
        while pid := Process(pid).parent:
            yield pid


def moves(
    made: Iterable[NotedChange], pids: Sequence[int], folders: Mapping[int, str], group: str
) -> list[MovedProcess]:
    """Return the changes that put processes into a group, which are not among those `made`.

    `folders` are the groups of the processes now. A process that was born in the new group goes
    back to where its nearest ancestor came from.
    """
    noted = {
        (change.pid, change.start): change for change in made if isinstance(change, MovedProcess)
    }
    origin = {change.pid: change.had for change in noted.values() if not change.has_ended()}
    moved = []
    for pid, start in sorted(_starts(pids), key=lambda process: process[1]):
        if (pid, start) in noted or pid not in folders:
            continue
        had = folders[pid]
        if had == group:
            line = (origin[above] for above in ancestors(pid) if above in origin)
            had = next(line, str(Path(group).parent))
        origin[pid] = had
        moved.append(MovedProcess(pid=pid, start=start, had=had, gets=group))
    return moved


def _starts(pids: Sequence[int]) -> Iterator[tuple[int, int]]:
    for pid in pids:
        with suppress(*GONE):
            yield pid, Process(pid).start
