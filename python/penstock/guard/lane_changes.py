"""Changes that make a lane: a folder, a file, a loop device with its queue, and a mount."""

import errno
import json
import os
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from penstock import _native
from penstock.guard.change import NotedChange, Priorities
from penstock.guard.mounts import mounts
from penstock.report.files import UNFINISHED
from penstock.text.linux import in_use

BLOCKS = Path("/sys/block")

PATIENCE_S = 5.0
"""How long a detached loop device may have its file: another program may look at it meanwhile."""

UNDONE = "what was done before is undone"


def tool(*words: str | Path) -> str:
    """Run a tool of the system, and return its output.

    # Errors
    `OSError` with the last line that it wrote.
    """
    environment = os.environ | {"LC_ALL": "C"}
    done = subprocess.run(
        # It holds the lock of the note too.
        words,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        close_fds=False,
    )
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise OSError(errno.EIO, said[-1].removeprefix(f"{Path(words[0]).name}: "))
    return done.stdout.strip()


@dataclass(frozen=True, kw_only=True)
class MadeFolder(NotedChange):
    """A new folder to mount a lane at."""

    kind: ClassVar[str] = "folder"
    hint: ClassVar[str] = UNDONE
    gets: str = "a folder"
    path: str

    @property
    def shown(self) -> str:
        """The folder."""
        return self.path

    def make(self, priorities: Priorities) -> None:
        """Make the folder."""
        os.mkdir(self.path)

    def revert(self, priorities: Priorities) -> None:
        """Remove the folder, unless it has contents by now."""
        try:
            os.rmdir(self.path)
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise


@dataclass(frozen=True, kw_only=True)
class MadeFile(NotedChange):
    """A new file of a lane, which `files.new_file` makes."""

    kind: ClassVar[str] = "file"
    gets: str = "a file"
    path: str
    device: int
    inode: int

    @property
    def shown(self) -> str:
        """The file."""
        return self.path

    def make(self, priorities: Priorities) -> None:
        """Do nothing: it gets its name when it is whole."""

    def revert(self, priorities: Priorities) -> None:
        """Remove the file, whole or not."""
        path = Path(self.path)
        # Listed, not matched: a name may have the signs of a pattern.
        with suppress(FileNotFoundError):
            for name in os.listdir(path.parent):
                if name == path.name or name.endswith(UNFINISHED):
                    self._remove(path.with_name(name))

    def _remove(self, path: Path) -> None:
        with suppress(FileNotFoundError):
            status = path.lstat()
            if (status.st_dev, status.st_ino) == (self.device, self.inode):
                path.unlink()


@dataclass(frozen=True, kw_only=True)
class LoopAttachment(NotedChange):
    """A file behind a loop device, past the page cache."""

    kind: ClassVar[str] = "loop device"
    hint: ClassVar[str] = UNDONE
    node: str
    block: int
    """Bytes of its logical blocks, which are those of the disk below."""

    @property
    def shown(self) -> str:
        """The loop device and its file."""
        return f"{self.node} over {self.gets}"

    @property
    def failure(self) -> str:
        """Message if it cannot be made."""
        return f"{self.gets} cannot be put behind {self.node}"

    def make(self, priorities: Priorities) -> None:
        """Attach the file."""
        block = ("--sector-size", str(self.block))
        tool("losetup", "--nooverlap", "--direct-io=on", *block, self.node, self.gets)

    def revert(self, priorities: Priorities) -> None:
        """Detach the file, if the device still has it."""
        if not self.is_attached():
            return
        if self.is_used():
            raise OSError(errno.EBUSY, "it is mounted or held")
        tool("losetup", "--detach", self.node)
        end = time.monotonic() + PATIENCE_S
        while self.is_attached():
            if time.monotonic() > end:
                raise OSError(errno.EBUSY, "another program has it open")
            time.sleep(0.01)

    def is_attached(self) -> bool:
        """Whether the device has this file."""
        try:
            file = BLOCKS / Path(self.node).name / "loop/backing_file"
            text = file.read_text(errors="surrogateescape").removesuffix("\n")
        except OSError:
            return False
        return text.removesuffix(" (deleted)") == self.gets

    def is_used(self) -> bool:
        """Whether the device is mounted, or another one holds it."""
        try:
            os.close(os.open(self.node, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
        except OSError as error:
            return error.errno == errno.EBUSY
        return False


@dataclass(frozen=True, kw_only=True)
class QueueSetting(NotedChange):
    """The scheduler of a disk and settings of its queue, in the words of `penstock linux set`."""

    kind: ClassVar[str] = "queue"
    hint: ClassVar[str] = UNDONE
    disk: str
    had: str

    @classmethod
    def of(cls, disk: str, gets: str) -> "QueueSetting":
        """Return the change of a disk that is under the scheduler of `gets`, or to it alone."""
        queue, tunables = _queue(disk)
        scheduler = in_use(queue["scheduler"])
        wanted, *settings = gets.split()
        if wanted == scheduler:
            keys = [setting.partition("=")[0] for setting in settings]
            old = {key: queue.get(key, tunables.get(key, "")) for key in keys}
        else:
            # A switch back brings the usual values of these.
            depth = {"nr_requests": queue["nr_requests"]}
            old = {**tunables, **depth}
        had = " ".join([scheduler, *(f"{key}={value}" for key, value in old.items())])
        return cls(disk=disk, had=had, gets=gets)

    @property
    def shown(self) -> str:
        """The queue."""
        return f"the queue of {self.disk}"

    @property
    def failure(self) -> str:
        """Message if it cannot be made."""
        return f"{self.disk} cannot be set to {self.gets}"

    def make(self, priorities: Priorities) -> None:
        """Set the scheduler and the settings."""
        self._set(self.gets)

    def revert(self, priorities: Priorities) -> None:
        """Set the old ones; they stay with a loop device for its next file."""
        if (BLOCKS / self.disk).exists():
            self._set(self.had)

    def _set(self, words: str) -> None:
        scheduler, *settings = words.split()
        try:
            _native.set_disk(self.disk, scheduler, settings)
        except _native.Failure as failure:
            reason = str(failure).splitlines()[0].removeprefix("error: ")
            raise OSError(errno.EIO, reason) from None


def _queue(disk: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the attributes of a queue, and the tunables of its scheduler."""
    (shown,) = json.loads(_native.disks(disk))["disks"]
    return shown["queue"], shown["tunables"]


@dataclass(frozen=True, kw_only=True)
class MountedLane(NotedChange):
    """The mounted file system of a lane, which discards nothing."""

    kind: ClassVar[str] = "mount"
    carries: ClassVar[bool] = True
    hint: ClassVar[str] = UNDONE
    at: str

    @property
    def shown(self) -> str:
        """The mount point."""
        return f"the mount of {self.gets} at {self.at}"

    @property
    def failure(self) -> str:
        """Message if it cannot be made."""
        return f"{self.gets} cannot be mounted at {self.at}"

    def make(self, priorities: Priorities) -> None:
        """Mount the file system."""
        tool("mount", "-t", "ext4", "-o", "nodiscard,nosuid,nodev", self.gets, self.at)

    def revert(self, priorities: Priorities) -> None:
        """Unmount it, if it is mounted there."""
        if self.is_mounted():
            tool("umount", self.at)

    def is_mounted(self) -> bool:
        """Whether the device is what is mounted there."""
        here = [mount.device for mount in mounts() if mount.at == self.at]
        try:
            return here[-1:] == [os.stat(self.gets).st_rdev]
        except FileNotFoundError:
            return False


@dataclass(frozen=True, kw_only=True)
class UnitFile(NotedChange):
    """A unit of systemd."""

    kind: ClassVar[str] = "unit"
    hint: ClassVar[str] = UNDONE
    path: str
    had: str | None
    """Its text; `None` if it was not there."""

    @property
    def shown(self) -> str:
        """The file."""
        return self.path

    @property
    def failure(self) -> str:
        """Message if it cannot be made."""
        return f"{self.path} cannot be written"

    def make(self, priorities: Priorities) -> None:
        """Write the unit."""
        self._write(self.gets)

    def revert(self, priorities: Priorities) -> None:
        """Write its old text, or remove it."""
        self._unfinished.unlink(missing_ok=True)
        if self.had is None:
            Path(self.path).unlink(missing_ok=True)
        else:
            self._write(self.had)

    @property
    def _unfinished(self) -> Path:
        path = Path(self.path)
        return path.with_name(f".{path.name}{UNFINISHED}")

    def _write(self, text: str) -> None:
        self._unfinished.write_text(text, errors="surrogateescape")
        self._unfinished.replace(self.path)


LANE_CHANGES: tuple[type[NotedChange], ...] = (
    MadeFolder,
    MadeFile,
    LoopAttachment,
    QueueSetting,
    MountedLane,
    UnitFile,
)
