"""The disk of a guard: the one that has a scheduler, below a partition or a mapped device.

Source: the kernel's documentation, "ABI/stable/sysfs-block" and "ABI/testing/sysfs-block-dm".
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from penstock.errors import wrong
from penstock.guard.means import schedulers

SYS = Path("/sys")


class GuardedDisk(NamedTuple):
    """The disk that a guard sets."""

    name: str
    """Its name, as `sda`."""
    note: str | None = None
    """How it lies below the device that was named, if that is another."""


def guarded_disk(named: str, sys: Path = SYS) -> GuardedDisk:
    """Return the disk of a device, which may be a partition of it or be mapped onto it.

    A name that no device has is returned as it is.

    # Errors
    The device lies on several disks.
    """
    folder = _folder(named, sys)
    if folder is None:
        return GuardedDisk(named.removeprefix("/dev/"))
    (name, *others) = disks_below(folder)
    if others:
        raise wrong(
            f"{_shown(folder)} lies on {', '.join([name, *others])}; expected a device on one disk",
            f"a guard sets one disk: guard each of them, as with `penstock guard {name}`",
        )
    if name == folder.name:
        return GuardedDisk(name)
    if (folder / "partition").exists() and folder.parent.name == name:
        return GuardedDisk(
            name, f"{folder.name} is a partition of {name}: the whole disk is guarded"
        )
    note = f"{_shown(folder)} lies on {name}: guarded there"
    if any(_attribute(layer / "dm/uuid").startswith("CRYPT-") for layer in _layers(folder)):
        note += "; threads of the kernel write for dm-crypt, so writes through it count for no one"
    return GuardedDisk(name, note)


def disks_below(folder: Path) -> list[str]:
    """Return the disks below the device with this folder in `/sys`, by their names.

    They are the devices with a scheduler, or with nothing below them.
    """
    layers = list(_layers(folder))
    return list(dict.fromkeys(layer.name for layer in layers if not _lower(layer)))


def _layers(folder: Path) -> Iterator[Path]:
    yield folder
    for lower in _lower(folder):
        yield from _layers(lower)


def _lower(folder: Path) -> list[Path]:
    """Return the devices right below one without a scheduler."""
    if (folder / "partition").exists():
        return [folder.parent]
    _, known = schedulers({"scheduler": _attribute(folder / "queue/scheduler")})
    links = folder / "slaves"
    if not links.is_dir() or set(known) - {"none"}:
        return []
    return [link.resolve() for link in sorted(links.iterdir())]


def folder_of(number: int, sys: Path = SYS) -> Path | None:
    """Return the folder of the block device with a number; `None` if there is none."""
    folder = sys / f"dev/block/{os.major(number)}:{os.minor(number)}"
    return folder.resolve() if folder.exists() else None


def _folder(named: str, sys: Path) -> Path | None:
    name = named.removeprefix("/dev/")
    folder = sys / "class/block" / name
    if "/" not in name and folder.exists():
        return folder.resolve()
    try:
        status = Path("/dev", named).stat()
    except OSError:
        return None
    return folder_of(status.st_rdev, sys) if stat.S_ISBLK(status.st_mode) else None


def _shown(folder: Path) -> str:
    """Return the name of a device, and the one that a mapping has by itself."""
    mapped = _attribute(folder / "dm/name")
    return f"{folder.name} ({mapped})" if mapped else folder.name


def _attribute(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
