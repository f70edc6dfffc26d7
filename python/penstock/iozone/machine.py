"""Facts about the machine and the disk below the files."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

from penstock.text.linux import in_use

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")

_BLOCK_DEVICES = Path("/sys/dev/block")


@dataclass(frozen=True)
class MachineFacts:
    """The facts that outputs name."""

    kernel: str
    architecture: str
    cpus: int
    memory_bytes: int
    cache_kib: int | None
    """The processor's largest cache."""
    cache_line_bytes: int | None


def machine() -> MachineFacts:
    """Read the facts of this machine."""
    system = platform.uname()
    sizes = [_number(cache / "size") for cache in _CACHES.glob("index*")]
    lines = [_number(cache / "coherency_line_size") for cache in _CACHES.glob("index*")]
    return MachineFacts(
        kernel=f"{system.system} {system.release}",
        architecture=system.machine,
        cpus=os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        cache_kib=max(filter(None, sizes), default=None),
        cache_line_bytes=max(filter(None, lines), default=None),
    )


def disk_below(file: str) -> tuple[str, str] | None:
    """Return the disk that a file is or will be on, and its scheduler; `None` if there is none."""
    try:
        device = os.stat(Path(file).resolve().parent).st_dev
        disk = (_BLOCK_DEVICES / f"{os.major(device)}:{os.minor(device)}").resolve(strict=True)
        if (disk / "partition").exists():
            disk = disk.parent
        return disk.name, in_use((disk / "queue/scheduler").read_text())
    except OSError:
        return None


def _number(path: Path) -> int | None:
    """Return the number in a file of sysfs, which may have a K behind it."""
    try:
        return int(path.read_text().strip().removesuffix("K"))
    except (OSError, ValueError):
        return None
