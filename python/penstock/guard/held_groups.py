"""Control groups that a means holds: which processes are in them, and what their files have."""

from contextlib import suppress
from pathlib import Path

from penstock.guard.change import GroupSetting
from penstock.guard.changes import Changes
from penstock.guard.group_changes import MadeGroup, moves
from penstock.guard.group_means import GroupControl
from penstock.guard.means import NOTHING, Means
from penstock.guard.processes import GONE
from penstock.guard.rate import Rate
from penstock.guard.who import Scan


class HeldGroups:
    """The groups of the means that is in force; `Changes` takes back what it does."""

    def __init__(self, changes: Changes, control: GroupControl, *, batch: str, keep: float) -> None:
        """Hold nothing yet; the processes of the class `batch` are those that are moved."""
        self._changes, self._control = changes, control
        self._batch, self._keep = batch, keep
        self._means = NOTHING
        self._rate: Rate | None = None
        self._settings: dict[GroupSetting, int | None] = {}
        self._sent = 0

    def set(self, means: Means, before: float) -> None:
        """Set what a means has, when the one before was taken back.

        `before` are the bytes a second of the batch without a guard.
        """
        self._means, self._settings, self._rate = means, {}, None
        groups = self._control.groups(means)
        if not means.grouped or isinstance(groups, str):
            return
        if groups.made:
            self._changes.make(MadeGroup(path=str(groups.folders[0])))
        if means.throttle:
            self._rate = Rate(before, keep=self._keep)
            self._sent = self._control.sent()
        for path, value in self._wanted():
            with suppress(*GONE):
                change = GroupSetting.of(path, value)
                self._changes.make(change)
                self._settings[change] = _inode(path)

    def _wanted(self) -> list[tuple[Path, str]]:
        rate = None if self._rate is None else self._rate.bytes_s
        return list(self._control.settings(self._means, rate=rate))

    def follow(self, scan: Scan) -> None:
        """Move the batch's processes that are new; set anew what a unit that started again has."""
        groups = self._control.groups(self._means)
        if not self._means.grouped or isinstance(groups, str):
            return
        if groups.made:
            pids = sorted({thread.pid for thread in scan.threads[self._batch]})
            places = {pid: groups.tree.folder_of(pid) for pid in pids}
            folders = {pid: str(place) for pid, place in places.items() if place is not None}
            new = moves(self._changes.made, pids, folders, str(groups.folders[0]))
            if new:
                self._changes.make(*new)
        for change, inode in self._settings.items():
            now = _inode(Path(change.path))
            if now not in (inode, None):
                self._changes.update(change, change.gets)
                self._settings[change] = now

    def sent(self) -> int | None:
        """Return the bytes that went to the disk since the last call; `None` without a throttle.

        What a throttle has delayed is queued by threads of the kernel, and counts for no class.
        """
        if self._rate is None:
            return None
        before, self._sent = self._sent, self._control.sent()
        return max(self._sent - before, 0)

    def regulate(self, *, missed: bool, batch: float) -> None:
        """Give a throttle its rate for the next window, after what the last one showed."""
        if self._rate is None:
            return
        before = self._rate.bytes_s
        self._rate.take(missed=missed, batch=batch)
        if self._rate.bytes_s == before:
            return
        wanted = {str(path): value for path, value in self._wanted()}
        renewed = {}
        for change, inode in self._settings.items():
            renewed[self._changes.update(change, wanted[change.path])] = inode
        self._settings = renewed


def _inode(path: Path) -> int | None:
    """Return the number of a group's folder; `None` if it has gone."""
    try:
        return path.parent.stat().st_ino
    except GONE:
        return None
