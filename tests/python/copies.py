"""Copies of the repository in which something is added, and which files that touches."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from command import ROOT

BUILT = ("__pycache__", "*.so")
"""What a copy of a folder does without."""


class Touched(NamedTuple):
    """What was done to a copy: paths of files from its root."""

    changed: list[str]
    new: list[str]
    more_lines: int
    """So many more the changed files have."""


def copied(copy: Path, paths: Sequence[str]) -> None:
    """Copy files and folders of the repository."""
    for path in paths:
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / path).is_dir():
            ignored = shutil.ignore_patterns(*BUILT)
            shutil.copytree(ROOT / path, copy / path, symlinks=True, ignore=ignored)
        else:
            shutil.copy(ROOT / path, copy / path)


def contents(copy: Path) -> dict[str, bytes]:
    """What is in each file, by its path from the root of the copy."""
    files = (path for path in copy.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(copy)): path.read_bytes() for path in files}


def touched(copy: Path, before: dict[str, bytes]) -> Touched:
    """What differs from `before`."""
    now = contents(copy)
    changed = sorted(path for path in before if now.get(path) != before[path])
    lines = [now[path].count(b"\n") - before[path].count(b"\n") for path in changed]
    return Touched(changed, sorted(now.keys() - before.keys()), sum(lines))
