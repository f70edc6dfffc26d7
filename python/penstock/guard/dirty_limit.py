"""Limits of all dirty pages of the machine, as the kernel keeps them in `/proc/sys/vm`.

Each limit is a pair of files, in bytes and in percent of the memory. Writing one of a pair zeroes
the other, so the way back writes the one that was in force. Source: the kernel's documentation,
"Documentation for /proc/sys/vm".
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from penstock.errors import CANNOT_HERE, PenstockError
from penstock.guard.change import NotedChange, Priorities, write_value

FOLDER = Path("/proc/sys/vm")


@dataclass(frozen=True, kw_only=True)
class DirtyLimit(NotedChange):
    """A limit of the machine's dirty pages, in bytes."""

    kind: ClassVar[str] = "dirty pages"
    hint: ClassVar[str] = "the kernel takes no less than two pages, as 8KiB"
    path: str
    back: str
    """The file of the pair that was in force."""
    had: str

    @property
    def shown(self) -> str:
        """The file."""
        return self.path

    def make(self, priorities: Priorities) -> None:
        """Write the new limit."""
        write_value(self.path, self.gets)

    def revert(self, priorities: Priorities) -> None:
        """Write the limit that was in force, in its own unit."""
        if self.had == "0":
            # The kernel heeds changes alone: its file has 0 while the other is in force.
            write_value(self.back, "1")
        write_value(self.back, self.had)


def dirty_limits(size: int, folder: Path = FOLDER) -> Iterator[DirtyLimit]:
    """Yield the changes that bound dirty pages: half of `size` starts their writing.

    # Errors
    The limits cannot be read.
    """
    for name, limit in (("dirty_background", size // 2), ("dirty", size)):
        in_bytes, in_percent = folder / f"{name}_bytes", folder / f"{name}_ratio"
        back, had = in_bytes, _read(in_bytes)
        if had == "0":
            back, had = in_percent, _read(in_percent)
        yield DirtyLimit(path=str(in_bytes), back=str(back), had=had, gets=str(limit))


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError as error:
        message = f"error: the limit of dirty pages {path} cannot be read: {error.strerror}"
        hint = "hint: leave --dirty-bytes out: containers often hide the settings of the machine"
        raise PenstockError(f"{message}\n{hint}", exit_code=CANNOT_HERE) from None
