"""Changes outside of disks' queues: each is noted before it is made, and all are taken back.

They are taken back at the end of a block, after an error or a signal; after `kill -9` by the next
process that changes the same disk, or by `penstock doctor --clean`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from penstock import _native
from penstock.errors import CANNOT_HERE, RUN_FAILED, UNSAFE_TARGET, PenstockError
from penstock.guard.change import GroupSetting, NotedChange, Priorities, ThreadPriority
from penstock.guard.dirty_limit import DirtyLimit
from penstock.guard.group_changes import MadeGroup, MovedProcess
from penstock.guard.lane_changes import LANE_CHANGES
from penstock.guard.notes import NOTES, Note, Owner, cannot_note, changes_in, owner_of
from penstock.guard.processes import GONE, Process, Thread, processes
from penstock.text import units

Change = TypeVar("Change", bound=NotedChange)

ENGINE: Priorities = _native
"""The engine, which reads and sets the priorities of threads."""


_ALL: Sequence[type[NotedChange]] = (
    ThreadPriority,
    GroupSetting,
    MadeGroup,
    MovedProcess,
    DirtyLimit,
    *LANE_CHANGES,
)

KINDS = {change.kind: change for change in _ALL}
"""Changes by the names that notes have for them."""

MANY = 1000
"""Number of notes after which those of threads and processes that have ended are dropped."""


class Changes:
    """Changes that this process makes, by their order."""

    def __init__(self, note: Note, owner: Owner, priorities: Priorities) -> None:
        """Take over a locked note without changes."""
        self._note, self._owner, self._priorities = note, owner, priorities
        self._made: dict[int, NotedChange] = {}
        self._next = 0
        self._dropped_at = MANY

    @classmethod
    def open(
        cls,
        name: str,
        owner: Owner,
        *,
        busy: Callable[[Owner], PenstockError],
        priorities: Priorities = ENGINE,
        folder: Path = NOTES,
        for_tools: bool = False,
        synced: bool = True,
    ) -> "Changes":
        """Lock the note called `name`; changes that a killed process has left are taken back.

        `for_tools` and `synced` are those of `Note.lock`.

        # Errors
        `busy` makes the error if another process has it, or its changes stay. A change that cannot
        be taken back.
        """
        with _locked(folder / name, busy, for_tools=for_tools, synced=synced) as note:
            before = owner_of(note.path)
            if before.stays:
                raise busy(before)
            take_back(note, before, priorities)
            note.replace(owner, [])
        return cls(note, owner, priorities)

    @classmethod
    def resume(
        cls,
        name: str,
        owner: Owner,
        *,
        busy: Callable[[Owner], PenstockError],
        priorities: Priorities = ENGINE,
        folder: Path = NOTES,
        for_tools: bool = False,
    ) -> "Changes":
        """Lock the note called `name` with changes that `keep` has left in force."""
        with _locked(folder / name, busy, for_tools=for_tools) as note:
            changes = cls(note, owner, priorities)
            changes._made = dict(enumerate(listed(note.path)))
            changes._next = len(changes._made)
            changes._write()
        return changes

    @classmethod
    def of_disk(
        cls, disk: str, command: str, *, priorities: Priorities = ENGINE, folder: Path = NOTES
    ) -> "Changes":
        """Open the changes of the guard of a disk, as `sda`; `command` is shown to others."""

        def busy(holder: Owner) -> PenstockError:
            message = f"error: {disk} has a guard: process {holder.pid}, `{holder.command}`"
            hint = "hint: a disk has one guard: end that one first"
            return PenstockError(f"{message}\n{hint}", exit_code=UNSAFE_TARGET)

        owner = Owner(command=command)
        # Threads, groups and limits do not survive what a sync would guard against.
        return cls.open(
            f"guard.{disk}", owner, busy=busy, priorities=priorities, folder=folder, synced=False
        )

    def __enter__(self) -> "Changes":
        """Begin a block, after which all changes are taken back."""
        return self

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        """End the block."""
        self.close()

    @property
    def made(self) -> Sequence[NotedChange]:
        """All changes that were made, in their order."""
        return list(self._made.values())

    def make(self, *changes: NotedChange) -> None:
        """Note changes, and then make them.

        # Errors
        The system refuses one. It and those before it are noted.
        """
        try:
            self._note.add(map(as_line, changes))
        except OSError as error:
            raise cannot_note(self._note.path, error) from None
        for change in changes:
            self._made[self._next] = change
            self._next += 1
        for change in changes:
            try:
                change.make(self._priorities)
            except OSError as error:
                raise _refused(change, error) from None
        if len(self._made) > self._dropped_at:
            self._drop_ended()

    def update(self, change: Change, gets: str) -> Change:
        """Make a noted change once more, with a value; its note stays, with the way back.

        # Errors
        The system refuses.
        """
        updated = replace(change, gets=gets)
        try:
            updated.make(self._priorities)
        except OSError as error:
            raise _refused(updated, error) from None
        return updated

    def set_priority(self, threads: Iterable[Thread], gets: str) -> None:
        """Give threads an I/O priority, as `idle`; those that have it are left alone.

        A thread begins with the priority of the thread that started it. If that got it here, the
        new thread goes back to what its creator had.

        # Errors
        The system refuses, as for threads of other users.
        """
        current: dict[Thread, str] = {}
        before: dict[int, str] = {}
        for change in self._made.values():
            if isinstance(change, ThreadPriority):
                current[change.thread] = change.gets
                before.setdefault(change.pid, change.had)
        new = []
        for thread in threads:
            if current.get(thread) == gets:
                continue
            try:
                had = self._priorities.io_priority(thread.tid)
            except OSError:
                # It has ended, or setting it will say why not.
                continue
            if had == gets:
                had = _of_creator(thread, before) or had
            if had != gets:
                tid, start, pid = thread
                new.append(ThreadPriority(tid=tid, start=start, pid=pid, had=had, gets=gets))
        if new:
            self.make(*new)

    def _drop_ended(self) -> None:
        """Forget threads and processes that have ended: a guard may run for months."""
        self._made = {
            number: change for number, change in self._made.items() if not change.has_ended()
        }
        self._dropped_at = 2 * len(self._made) + MANY
        self._write()

    def mark(self) -> int:
        """Return the place of the next change, for `undo`."""
        return self._next

    def undo(self, to: int = 0) -> None:
        """Take changes back, the last first: all, or those since `mark` returned `to`.

        # Errors
        The system refuses; then those changes stay noted.
        """
        undone = {number: change for number, change in self._made.items() if number >= to}
        failed = revert(
            list(undone.values()), self._priorities, noted=_threads_of(self._made.values())
        )
        for number, change in undone.items():
            if change not in failed:
                del self._made[number]
        self._write()
        if failed:
            raise _stays(failed)

    def keep(self, changes: Sequence[NotedChange]) -> None:
        """End with these changes in force, which `take_back` reverts some day."""
        owner = Owner(command=self._owner.command, stays=True)
        try:
            self._note.replace(owner, [as_line(change) for change in changes])
        except OSError as error:
            raise cannot_note(self._note.path, error) from None
        self._note.release()

    def close(self) -> None:
        """Take all changes back, and remove the note.

        # Errors
        The system refuses; then the note stays, for `penstock doctor --clean`.
        """
        try:
            self.undo()
        except BaseException:
            self._note.release()
            raise
        self._note.remove()

    def _write(self) -> None:
        try:
            self._note.replace(self._owner, [as_line(change) for change in self._made.values()])
        except OSError as error:
            raise cannot_note(self._note.path, error) from None


@contextmanager
def _locked(
    path: Path, busy: Callable[[Owner], PenstockError], *, for_tools: bool, synced: bool = True
) -> Iterator[Note]:
    """Yield the locked note at `path`, which stays locked unless the block fails.

    # Errors
    `busy` makes the error if another process has it.
    """
    try:
        note = Note.lock(path, for_tools=for_tools, synced=synced)
        if note is None:
            raise busy(owner_of(path))
        try:
            yield note
        except BaseException:
            note.release()
            raise
    except OSError as error:
        raise cannot_note(path, error) from None


def as_line(change: NotedChange) -> dict[str, Any]:
    """Return a change as its note has it."""
    return {"kind": change.kind, **asdict(change)}


def from_line(line: Mapping[str, Any]) -> NotedChange:
    """Return the change of a line of a note.

    # Errors
    `ValueError` if this version does not know it.
    """
    fields = dict(line)
    try:
        return KINDS[fields.pop("kind")](**fields)
    except (KeyError, TypeError):
        raise ValueError(f"{line} is no change that this version knows") from None


def listed(path: Path) -> list[NotedChange]:
    """Return the changes that a note lists.

    # Errors
    Another version has written it.
    """
    try:
        return [from_line(line) for line in changes_in(path)]
    except ValueError as error:
        message = f"error: {path}: {error}\nhint: use the version that has written it"
        raise PenstockError(message, exit_code=RUN_FAILED) from None


def take_back(note: Note, owner: Owner, priorities: Priorities = ENGINE) -> None:
    """Take back the changes that a note of another process lists.

    # Errors
    The system refuses; then those changes stay noted.
    """
    changes = listed(note.path)
    if failed := revert(changes, priorities, noted=_threads_of(changes)):
        note.replace(owner, [as_line(change) for change in failed])
        raise _stays(failed)


def _threads_of(changes: Iterable[NotedChange]) -> set[Thread]:
    return {change.thread for change in changes if isinstance(change, ThreadPriority)}


def revert(
    changes: Sequence[NotedChange], priorities: Priorities, *, noted: Collection[Thread]
) -> dict[NotedChange, OSError]:
    """Revert changes, the last first; returns those that the system refuses, in their order.

    The threads that `noted` ones have started since, and that are not noted, are reverted too.
    """
    failed: dict[NotedChange, OSError] = {}
    for place, change in reversed(list(enumerate(changes))):
        try:
            change.revert(priorities)
        except OSError as error:
            failed[change] = error
            if change.carries:
                failed |= dict.fromkeys(changes[:place], error)
                break
    threads = [change for change in changes if isinstance(change, ThreadPriority)]
    # A thread may start another one before it has its own priority again.
    for _ in range(5):
        if not threads or not _revert_inherited(threads, priorities, noted):
            break
    return {change: failed[change] for change in changes if change in failed}


def _revert_inherited(
    threads: Sequence[ThreadPriority], priorities: Priorities, noted: Collection[Thread]
) -> bool:
    """Revert threads that the processes of `threads`, and their children, have started since.

    Returns whether there were any. If none of the ancestors of a process lives, the priorities of
    its threads cannot be told from those that others have set, and stay.
    """
    creators: dict[int, ThreadPriority] = {}
    for change in threads:
        creators.setdefault(change.pid, change)
    passed_on = {(change.pid, change.gets) for change in threads}
    running = {process.pid: process for process in processes()}
    reverted = False
    for process in running.values():
        creator = _creator(process, running, creators)
        if creator is None:
            continue
        try:
            for thread in process.threads():
                if thread in noted or thread.start < creator.start:
                    continue
                if (creator.pid, priorities.io_priority(thread.tid)) in passed_on:
                    priorities.set_io_priority(thread.tid, creator.had)
                    reverted = True
        except OSError:
            # It has ended, or belongs to another user and is none of those that were changed.
            continue
    return reverted


def _creator(
    process: Process, running: Mapping[int, Process], creators: Mapping[int, ThreadPriority]
) -> ThreadPriority | None:
    """Return the change of a thread of a process, or of its nearest ancestor with one."""
    ancestor: Process | None = process
    while ancestor is not None:
        change = creators.get(ancestor.pid)
        # A later process may have the number.
        if change is not None and ancestor.start <= change.start:
            return change
        ancestor = running.get(ancestor.parent)
    return None


def _of_creator(thread: Thread, before: Mapping[int, str]) -> str | None:
    """Return what the process of a thread, or its nearest ancestor in `before`, had."""
    pid = thread.pid
    try:
        while pid:
            if pid in before:
                return before[pid]
            pid = Process(pid).parent
    except GONE:
        pass
    return None


def _refused(change: NotedChange, error: OSError) -> PenstockError:
    message = f"error: {change.failure}: {error.strerror}"
    if isinstance(error, PermissionError):
        hint = "hint: what belongs to other users is for root"
        return PenstockError(f"{message}\n{hint}", exit_code=CANNOT_HERE)
    return PenstockError(f"{message}\nhint: {change.hint}", exit_code=RUN_FAILED)


def _stays(failed: Mapping[NotedChange, OSError]) -> PenstockError:
    # The first that failed: the last change was tried first.
    change, error = list(failed.items())[-1]
    others = len({id(error) for error in failed.values()}) - 1
    more = f", and {units.many(others, 'more change')}" if others else ""
    message = f"error: {change.shown} cannot be put back: {error.strerror}{more}"
    hint = "hint: as root: `penstock doctor --clean`"
    return PenstockError(f"{message}\n{hint}", exit_code=RUN_FAILED)
