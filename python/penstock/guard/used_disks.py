"""Disks on which programs have files open: a guard may be asked about the wrong one."""

import os
from dataclasses import dataclass
from pathlib import Path

from penstock.guard.disks import SYS, disks_below, folder_of
from penstock.guard.mounts import MountEntry, mounts
from penstock.guard.processes import GONE, Process
from penstock.guard.who import Scan


@dataclass(frozen=True)
class UsedDisk:
    """A disk on which a program has files open."""

    selector: str
    """The selector that names the program."""
    disk: str
    at: str
    """Where a file system of it is mounted; the device file if that is open itself."""


def used_disks(scan: Scan, name: str, sys: Path = SYS) -> list[UsedDisk]:
    """Return the disks of the open files of a class, as far as they can be known."""
    mounted = list(mounts())
    used: dict[tuple[str, str], UsedDisk] = {}
    for pid in sorted({thread.pid for thread in scan.threads[name]}):
        try:
            files = Process(pid).open_files
        except (*GONE, PermissionError):
            continue
        selector = scan.selectors[pid].text
        for device, path in sorted(files):
            mount = _mount(device, path, mounted)
            folder = folder_of(_number(device, mount), sys)
            at = path if mount is None else mount.at
            for disk in [] if folder is None else disks_below(folder):
                used.setdefault((selector, disk), UsedDisk(selector, disk, at))
    return list(used.values())


def _mount(device: int, path: str, mounted: list[MountEntry]) -> MountEntry | None:
    """Return the mounted file system with a file, seen as this process sees it."""
    above = [
        mount
        for mount in mounted
        if mount.device == device and f"{path}/".startswith(f"{mount.at.rstrip('/')}/")
    ]
    return max(above, key=lambda mount: len(mount.at), default=None)


def _number(device: int, mount: MountEntry | None) -> int:
    """Return the number of the block device; files of some file systems have another one."""
    if os.major(device) or mount is None or not mount.source.startswith("/"):
        return device
    try:
        return os.stat(mount.source).st_rdev
    except OSError:
        return device
