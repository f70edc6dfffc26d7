"""Mounted file systems, as `/proc/self/mountinfo` lists them. Source: proc(5)."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_ESCAPED = re.compile(r"\\([0-7]{3})")
"""A blank, a tab, a line end or a backslash in a path."""


class MountEntry(NamedTuple):
    """A mounted file system."""

    device: int
    """Number that its files have."""
    root: str
    """Its folder that is mounted."""
    at: str
    kind: str
    source: str
    options: str
    """Options of the file system, with commas between them."""


def mounts() -> Iterator[MountEntry]:
    """Each mounted file system that this process sees, the latest last."""
    for line in Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines():
        fields = [_plain(field) for field in line.split()]
        major, _, minor = fields[2].partition(":")
        # A field with a dash ends the optional ones.
        kind, source, options = fields[fields.index("-", 6) + 1 :][:3]
        device = os.makedev(int(major), int(minor))
        yield MountEntry(
            device=device,
            root=fields[3],
            at=fields[4],
            kind=kind,
            source=source,
            options=options,
        )


def _plain(field: str) -> str:
    return _ESCAPED.sub(lambda digits: chr(int(digits[1], 8)), field)
