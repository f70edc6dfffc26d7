"""Notes of changes: files that their process locks for as long as it lives.

A note lists changes in the order in which they are made; a line is written before its change is
made. Its first line names the process. A process that was killed leaves its note, and the next
process that locks it takes the changes back. A line that a kill has cut does not count: its change
was not made. Notes of what survives a power cut, as files and units, are synced; others are not,
because a sync on a disk under a flood takes seconds.
"""

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from penstock.errors import CANNOT_HERE, RUN_FAILED, PenstockError

NOTES = Path("/run/penstock")
"""The folder with the notes. Like what they are about, it does not survive a reboot."""


@dataclass(frozen=True, kw_only=True)
class Owner:
    """Process that makes the changes of a note."""

    pid: int = field(default_factory=os.getpid)
    command: str = ""
    """Its work, in words of the command line."""
    stays: bool = False
    """Whether the changes are complete, and stay when the process has ended."""


class Note:
    """A note that this process has locked."""

    def __init__(self, path: Path, file: int, *, for_tools: bool, synced: bool) -> None:
        """Take over an open file, which is locked."""
        self.path = path
        self._file, self._for_tools, self._synced = file, for_tools, synced
        os.set_inheritable(file, for_tools)

    @classmethod
    def lock(cls, path: Path, *, for_tools: bool = False, synced: bool = True) -> "Note | None":
        """Lock the note at `path`, which may exist; returns `None` if another process has it.

        What is `synced` is durable when it is noted.

        With `for_tools`, a program that is started with open files holds the lock too: if this
        process is killed, nothing is taken back before that has ended.

        # Errors
        `OSError`
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
                return None
            # Otherwise its process has removed or replaced it in between.
            if os.fstat(file).st_nlink:
                return cls(path, file, for_tools=for_tools, synced=synced)
            os.close(file)

    def add(self, changes: Iterable[Mapping[str, Any]]) -> None:
        """Append changes; they are written when this returns.

        # Errors
        `OSError`; then it lists none of them.
        """
        self._append(changes)

    def _append(self, lines: Iterable[Mapping[str, Any]]) -> None:
        before = os.fstat(self._file).st_size
        text = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
        try:
            while text:
                text = text[os.write(self._file, text) :]
            if self._synced:
                os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, before)
            raise

    def replace(self, owner: Owner, changes: Sequence[Mapping[str, Any]]) -> None:
        """List these changes alone, in one step."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        file = os.open(self._next, flags, 0o644)
        new = Note(self.path, file, for_tools=self._for_tools, synced=self._synced)
        try:
            # Before it has the name that others look for.
            fcntl.flock(new._file, fcntl.LOCK_EX)
            new._append([asdict(owner), *changes])
            self._next.replace(self.path)
        except BaseException:
            os.close(new._file)
            raise
        before, self._file = self._file, new._file
        os.close(before)
        if self._synced:
            _sync_folder(self.path)

    def remove(self) -> None:
        """Remove it, when all its changes have been taken back."""
        self._next.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)
        self.release()

    @property
    def _next(self) -> Path:
        """Its path until it has replaced what was there; no pattern of `abandoned` matches it."""
        return self.path.with_name(f".{self.path.name}")

    def release(self) -> None:
        """Unlock it as it is."""
        os.close(self._file)


def _sync_folder(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a note; what follows a line that a kill has cut does not count."""
    lines = []
    for line in path.read_bytes().splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break
        lines.append(json.loads(line))
    return lines


def changes_in(path: Path) -> list[dict[str, Any]]:
    """Return the changes that a note lists, in their order."""
    return _lines(path)[1:]


def owner_of(path: Path) -> Owner:
    """Return the process that has written a note; one that was killed before has process 0."""
    with suppress(OSError, ValueError, TypeError, IndexError):
        return Owner(**_lines(path)[0])
    return Owner(pid=0)


@dataclass(frozen=True, kw_only=True)
class LeftNote:
    """A note whose process has ended before it took its changes back."""

    path: Path
    owner: Owner
    changes: Sequence[Mapping[str, Any]]


def abandoned(pattern: str, folder: Path = NOTES) -> Iterator[LeftNote]:
    """Yield the notes of processes that have ended, by the pattern of their names."""
    for path in sorted(folder.glob(pattern)):
        try:
            with path.open("rb") as file:
                # A living process has it locked.
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                owner, changes = owner_of(path), changes_in(path)
        except (OSError, ValueError):
            continue
        if not owner.stays:
            yield LeftNote(path=path, owner=owner, changes=changes)


def cannot_note(path: Path, error: OSError) -> PenstockError:
    """Make the error of a note that cannot be written."""
    message = f"error: {path} cannot be written: {error.strerror}"
    if isinstance(error, PermissionError):
        hint = "hint: changes of other programs are noted there, which only root may"
        return PenstockError(f"{message}\n{hint}", exit_code=CANNOT_HERE)
    hint = "hint: a change is noted before it is made: nothing was changed"
    return PenstockError(f"{message}\n{hint}", exit_code=RUN_FAILED)
