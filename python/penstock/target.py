"""A target: where a command runs, and what it may do there."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where a command runs, and what it may do there: the options that all commands share."""

    on: str | None = None
    """A device's name, a device file, a target's path, `emulated:…` or `null`; by default the job's
    own device, or the targets of its files."""
    create: str | None = None
    """Size of the owned file to make at the path if it is missing."""
    i_will_lose_data: Sequence[str] = ()
    """The block devices to run on, repeated by serial number or path: their data may be lost."""
    even_if_not_empty: bool = False
    """The block device may hold data of an unknown format."""
    read_only: bool = False
    """The target is only read, so it may hold data of others."""
    engine: str | None = None
    """I/O engine for a real file; by default the first that works."""


def every_path(names: str | PathLike[str] | Sequence[str | PathLike[str]] | None) -> Sequence[str]:
    """Return one path or several as strings for a target."""
    if names is None:
        return ()
    return (
        [fspath(names)] if isinstance(names, str | PathLike) else [fspath(name) for name in names]
    )


def path(name: str | PathLike[str] | None) -> str | None:
    """Return a path as a string for a target."""
    return None if name is None else fspath(name)
