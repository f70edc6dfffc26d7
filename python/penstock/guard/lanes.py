"""Lanes: volumes for work in the background, with a short queue of their own.

A lane is a file behind a loop device that has few requests in flight and short ones, with a file
system of its own. Work on it cannot flood the disk below, whatever it does. The note of a lane in
`NOTES` lists what `remove` takes back: the mount, the settings of the loop device, which would stay
for its next file, and the device. The file has a label by which it is known, and stays.
"""

import os
import re
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import CANNOT_HERE, RUN_FAILED, UNSAFE_TARGET, PenstockError, wrong
from penstock.guard import lane_unit
from penstock.guard.change import NotedChange
from penstock.guard.changes import Changes, listed
from penstock.guard.lane_changes import (
    BLOCKS,
    UNDONE,
    LoopAttachment,
    MadeFile,
    MadeFolder,
    MountedLane,
    QueueSetting,
    UnitFile,
    tool,
)
from penstock.guard.mounts import mounts
from penstock.guard.notes import NOTES, Owner, owner_of
from penstock.guard.processes import GONE, processes
from penstock.guard.selectors import user_number
from penstock.report import files
from penstock.text import units

LABEL = b"penstock-lane"
"""Label of the file system of a lane."""

TOOLS = {
    "losetup": "util-linux",
    "mount": "util-linux",
    "umount": "util-linux",
    "fallocate": "util-linux",
    "mkfs.ext4": "e2fsprogs",
}
"""Programs that make a lane, each with the package that has it."""

BLOCK = 4096
"""Bytes of a block of the file system."""

LEAST = 64 << 20
"""Least bytes of a lane: a smaller file system has no room for a journal worth its name."""

TRIES = 16
"""Number of tries for a loop device: other processes may take a free one first."""


@dataclass(frozen=True, kw_only=True)
class NewLane:
    """A lane to be made."""

    at: Path
    file: Path | None = None
    """Its file, new or of a lane that there was; by default next to the mount point."""
    size: int | None = None
    """Bytes of a new file."""
    depth: int = 4
    """Number of requests in flight."""
    piece: int = 128 << 10
    """Bytes of its longest request."""
    user: str | None = None
    """Owner of its topmost folder."""
    unit: bool = False
    """Whether systemd makes it again when the machine starts."""


@dataclass(frozen=True, kw_only=True)
class Lane:
    """A lane that there is."""

    name: str
    at: str
    file: str
    node: str
    mounted: bool
    size: int | None
    depth: int | None
    piece: int | None
    read_ahead: int | None
    """Bytes; `None`, as the others, if the device has gone."""
    unit: str | None
    """Path of its unit; `None` if it has none."""


def make(new: NewLane) -> Lane:
    """Make a lane; if a step fails, those before it are undone.

    # Errors
    Anything in its way is reported before a change: a file of something else, a mount point in use,
    a full disk, a missing tool.
    """
    _check_machine()
    at = Path(os.path.realpath(new.at))
    _check_mount_point(at)
    file = Path(os.path.realpath(new.file or at.with_name(f"{at.name}.lane")))
    name = _name(at)
    _check_queue(new)
    owner = None if new.user is None else user_number("--user", new.user)
    is_new = _check_file(file, new.size)
    unit = None
    if new.unit:
        unit = lane_unit.unit(name, file, at, depth=new.depth, piece=new.piece)
    process = Owner(command=f"penstock guard lane make --at {at}")
    changes = Changes.open(
        _note(name), process, busy=lambda holder: _busy(name, holder), for_tools=True
    )
    try:
        if not at.exists():
            changes.make(MadeFolder(path=str(at)))
        if is_new:
            assert new.size is not None
            _make_file(changes, file, new.size)
        node = _attach(changes, file)
        disk = Path(node).name
        if not (scheduled := QueueSetting.of(disk, "none")).had.startswith("none"):
            changes.make(scheduled)
        # As much as the lane carries at once.
        read_ahead = new.depth * new.piece // 1024
        settings = f"nr_requests={new.depth} max_sectors_kb={new.piece // 1024}"
        queue = f"none {settings} read_ahead_kb={read_ahead}"
        changes.make(QueueSetting.of(disk, queue))
        changes.make(MountedLane(at=str(at), gets=node))
        if owner is not None:
            _give(at, owner)
        if unit is not None:
            changes.make(unit)
        # The file and the unit outlive the machine's next start.
        stays = [change for change in changes.made if not isinstance(change, MadeFile | UnitFile)]
        changes.keep(stays)
    except BaseException:
        changes.close()
        raise
    return _lane(name, stays)


def lanes() -> Iterator[Lane]:
    """Each lane of this machine, by its name."""
    for path in sorted(NOTES.glob(_note("*"))):
        if owner_of(path).stays:
            yield _lane(path.name.removeprefix(_note("")), listed(path))


def remove(which: str, *, data: bool = False, keep_unit: bool = False) -> Lane:
    """Remove a lane, by its name or its mount point; with `data` its file too.

    # Errors
    There is no such lane, or a process uses it; then it stays.
    """
    lane = _named(which)
    if os.geteuid() != 0:
        raise _cannot("only root may remove a lane", "run this as root")
    if users := _users(lane):
        message = f"error: {lane.at} is in use by {', '.join(users)}"
        hint = "hint: end them, or let them leave it; nothing was changed"
        raise PenstockError(f"{message}\n{hint}", exit_code=UNSAFE_TARGET)
    owner = Owner(command=f"penstock guard lane remove {lane.name}")
    changes = Changes.resume(
        _note(lane.name), owner, busy=lambda holder: _busy(lane.name, holder), for_tools=True
    )
    complete = changes.made
    try:
        changes.undo()
    except BaseException:
        # It can be removed once more.
        changes.keep(complete)
        raise
    changes.close()
    if not keep_unit:
        lane_unit.remove(lane.name)
    if data and is_lane(Path(lane.file)):
        Path(lane.file).unlink(missing_ok=True)
    return lane


def is_lane(path: Path) -> bool:
    """Whether a file has the file system of a lane, by its label."""
    try:
        with path.open("rb") as file:
            # The superblock of ext4.
            file.seek(1024)
            block = file.read(1024)
    except OSError:
        return False
    return block[56:58] == b"\x53\xef" and block[120:136].rstrip(b"\0") == LABEL


def _note(name: str) -> str:
    return f"lane.{name}"


def _name(at: Path) -> str:
    """Return the name of a lane: its mount point, as a name of a file."""
    return re.sub(r"[^\w.-]", "_", "-".join(at.parts[1:]), flags=re.ASCII)


def _busy(name: str, holder: Owner) -> PenstockError:
    if holder.stays:
        message = f"error: there is a lane {name} already"
        hint = f"hint: `penstock guard lane remove {name}` removes it"
    else:
        message = f"error: lane {name} is being changed: process {holder.pid}, `{holder.command}`"
        hint = "hint: wait for its end"
    return PenstockError(f"{message}\n{hint}", exit_code=UNSAFE_TARGET)


def _cannot(reason: str, hint: str) -> PenstockError:
    return PenstockError(f"error: {reason}\nhint: {hint}", exit_code=CANNOT_HERE)


def _unsafe(reason: str, hint: str) -> PenstockError:
    return PenstockError(f"error: {reason}\nhint: {hint}", exit_code=UNSAFE_TARGET)


def _check_machine() -> None:
    if os.geteuid() != 0:
        raise _cannot("only root may make a lane", "run this as root")
    if not Path("/dev/loop-control").exists():
        hint = "load the module as root (`modprobe loop`); containers often have none"
        raise _cannot("there is no /dev/loop-control: this machine has no loop devices", hint)
    for name, package in TOOLS.items():
        if shutil.which(name) is None:
            raise _cannot(f"{name} is not installed", f"it is in the package {package}")


def _check_queue(new: NewLane) -> None:
    if new.depth < 4:
        raise wrong(f"--depth: found {new.depth}; expected 4 or more", "the kernel has no less")
    if new.piece < BLOCK or new.piece % BLOCK:
        message = f"--piece: found {new.piece} bytes; expected a multiple of 4KiB"
        raise wrong(message, "as --piece 128KiB")


def _check_file(file: Path, size: int | None) -> bool:
    """Check the file of a lane; returns whether it has to be made."""
    try:
        status = file.stat()
    except FileNotFoundError:
        _check_new(file, size)
        return True
    except OSError as error:
        raise wrong(f"{file} cannot be read: {error.strerror}", "name another file") from None
    if not stat.S_ISREG(status.st_mode) or not is_lane(file):
        hint = "nothing else is overwritten: name a new file, with --size"
        raise _unsafe(f"{file} exists and is no lane's", hint)
    if size is not None and size != status.st_size:
        message = f"--size: {file} has {status.st_size} bytes; expected {size}"
        raise wrong(message, "leave out --size: the file stays as it is")
    for backing in BLOCKS.glob("loop*/loop/backing_file"):
        if backing.read_text(errors="surrogateescape").removesuffix("\n") == str(file):
            node = f"/dev/{backing.parts[3]}"
            hint = f"`losetup --detach {node}` frees it, if it is not mounted"
            raise _unsafe(f"{file} is behind {node} already", hint)
    return False


def _check_new(file: Path, size: int | None) -> None:
    if size is None:
        raise wrong(f"there is no file {file}", "a new one needs a size, as --size 100GiB")
    if size < LEAST or size % BLOCK:
        message = f"--size: found {size} bytes; expected 64MiB or more, in multiples of 4KiB"
        raise wrong(message, "as --size 100GiB")
    files.check_new(file)
    room = os.statvfs(file.parent)
    free = room.f_bavail * room.f_frsize
    # A file system that does not count its blocks may have room.
    if room.f_blocks and free < size:
        message = f"--size: {file.parent} has {units.size(free)} free; expected {units.size(size)}"
        raise wrong(message, "name a smaller size, or a file on another disk")


def _check_mount_point(at: Path) -> None:
    if at == Path("/"):
        raise _unsafe("--at: / is in use", "name an empty folder, or a new one")
    if not at.exists():
        if not at.parent.is_dir():
            raise wrong(f"--at: there is no directory {at.parent} for {at.name}", "make it first")
        return
    if not at.is_dir():
        raise wrong(f"--at: {at} is no folder", "name an empty folder, or a new one")
    if any(mount.at == str(at) for mount in mounts()):
        raise _unsafe(f"--at: {at} is in use: a file system is mounted there", "name another one")
    if next(at.iterdir(), None) is not None:
        hint = "a mount would hide what is in it: name an empty folder, or a new one"
        raise _unsafe(f"--at: {at} is not empty", hint)


def _make_file(changes: Changes, file: Path, size: int) -> None:
    """Make the file, with room for all of it, and its file system."""
    try:
        with files.new_file(file) as unfinished:
            path = Path(os.fsdecode(unfinished.name))
            status = os.fstat(unfinished.fileno())
            changes.make(MadeFile(path=str(file), device=status.st_dev, inode=status.st_ino))
            os.fchmod(unfinished.fileno(), 0o600)
            _reserve(path, size)
            # Without discards, which would give the room back.
            options = ("-q", "-F", "-b", str(BLOCK), "-m", "0", "-E", "nodiscard")
            tool("mkfs.ext4", *options, "-L", LABEL.decode(), path)
    except OSError as error:
        message = f"error: {file} cannot be made: {error.strerror}"
        raise PenstockError(f"{message}\nhint: {UNDONE}", exit_code=RUN_FAILED) from None


def _reserve(path: Path, size: int) -> None:
    """Give a file its size, and its room where the file system can do so.

    A write to a new place of a file commits to the journal of the file system below.
    """
    try:
        tool("fallocate", "--length", str(size), path)
    except OSError as error:
        if "not supported" not in (error.strerror or ""):
            raise
        os.truncate(path, size)


def _attach(changes: Changes, file: Path) -> str:
    """Put the file behind a free loop device; returns its node."""
    block = _logical_block(file)
    for attempt in range(1, TRIES + 1):
        try:
            node = tool("losetup", "--find")
        except OSError as error:
            reason = f"there is no free loop device: {error.strerror}"
            raise _cannot(reason, "`losetup --list` lists those in use") from None
        mark = changes.mark()
        attachment = LoopAttachment(node=node, gets=str(file), block=block)
        try:
            changes.make(attachment)
            break
        except PenstockError:
            changes.undo(mark)
            if attempt == TRIES or not (BLOCKS / Path(node).name / "loop").exists():
                raise
    dio = BLOCKS / Path(node).name / "loop/dio"
    if dio.read_text().strip() != "1":
        reason = f"{file} cannot be read and written past the page cache"
        raise _cannot(reason, "name a file on another file system")
    return node


def _give(at: Path, owner: int) -> None:
    try:
        os.chown(at, owner, -1)
    except OSError as error:
        message = f"error: {at} cannot be given to user {owner}: {error.strerror}"
        raise PenstockError(f"{message}\nhint: {UNDONE}", exit_code=RUN_FAILED) from None


def _logical_block(file: Path) -> int:
    """Return the bytes of a logical block of the disk below a file."""
    device = file.stat().st_dev
    folder = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    for place in (folder, folder.parent):
        attribute = place / "queue/logical_block_size"
        if attribute.exists():
            return int(attribute.read_text())
    return 512


def _lane(name: str, changes: Sequence[NotedChange]) -> Lane:
    """Return a lane, of the changes that its note lists and of what the kernel has now."""
    (attachment,) = (change for change in changes if isinstance(change, LoopAttachment))
    (mount,) = (change for change in changes if isinstance(change, MountedLane))
    queue = BLOCKS / Path(attachment.node).name / "queue"
    is_there = attachment.is_attached()
    size = None
    with suppress(OSError):
        size = os.stat(attachment.gets).st_size

    def number(attribute: str, scale: int = 1) -> int | None:
        return int((queue / attribute).read_text()) * scale if is_there else None

    return Lane(
        name=name,
        at=mount.at,
        file=attachment.gets,
        node=attachment.node,
        mounted=is_there and mount.is_mounted(),
        size=size,
        depth=number("nr_requests"),
        piece=number("max_sectors_kb", 1024),
        read_ahead=number("read_ahead_kb", 1024),
        unit=lane_unit.path_of(name),
    )


def _named(which: str) -> Lane:
    known = list(lanes())
    at = os.path.realpath(which)
    for lane in known:
        if lane.name == which or lane.at == at:
            return lane
    names = ", ".join(lane.name for lane in known)
    hint = f"there are {names}" if known else "there is none; `penstock guard lane make` makes one"
    raise wrong(f"there is no lane {which}", hint)


def _users(lane: Lane) -> list[str]:
    """Return the processes that have files of a lane open, at most three of them."""
    if not lane.mounted:
        return []
    device = os.stat(lane.node).st_rdev
    users = []
    for process in processes():
        try:
            if device in process.devices:
                users.append(process.shown)
        except (PermissionError, *GONE):
            continue
    return users[:3]
