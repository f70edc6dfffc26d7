"""A target: where a verb runs, and what it may do there."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where a verb runs, and what it may do there: the options that all verbs share."""

    on: str | None = None
    """A device's name, a device file, a target's path, `emulated:…` or `null`; the job's own
    device, or the targets of its files, if not given."""
    create: str | None = None
    """Size of the owned file to make at a path, if it is missing."""
    i_will_lose_data: Sequence[str] = ()
    """Block devices to run on once more, each by serial number or path: what is on them may be
    lost."""
    even_if_not_empty: bool = False
    """The block device may hold data that no format announces."""
    read_only: bool = False
    """The target is only read: it may be anybody's."""
    engine: str | None = None
    """How a real file is driven; the first engine that works if not given."""


def every_path(names: str | PathLike[str] | Sequence[str | PathLike[str]] | None) -> Sequence[str]:
    """One path or several, as a target has them."""
    if names is None:
        return ()
    return (
        [fspath(names)] if isinstance(names, str | PathLike) else [fspath(name) for name in names]
    )


def path(name: str | PathLike[str] | None) -> str | None:
    """A path as a target has it."""
    return None if name is None else fspath(name)
