"""The folder of a study: what it is, and its rows, which are on the disk once a run counts as made.

One process at a time writes to it. Rows come in parts, each written under another name, made
durable and renamed, so that a process that is killed leaves whole parts only.
"""

import errno
import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock import _native
from penstock.errors import RUN_FAILED, PenstockError, wrong
from penstock.study import rows
from penstock.text.names import escaped

if TYPE_CHECKING:
    import polars as pl

LOCK = "lock"
"""The file that the process that writes holds locked."""

UNFINISHED = ".tmp"
"""Ends the name of a file that is being written."""


class Folder:
    """The folder of a study, locked for this process until it is closed."""

    def __init__(self, path: Path, *, resume: bool) -> None:
        """Make it, or with `resume` go on with one that is there. A refusal leaves nothing."""
        self.path = path
        self._made: list[Path] = []
        """Folders that this process made, the innermost first."""
        try:
            if path.exists():
                self._check(resume=resume)
            else:
                missing = [folder for folder in (path, *path.parents) if not folder.exists()]
                self._make(missing)
            self._lock()
        except OSError as error:
            self._unmake()
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                message = f"error: {path} cannot be written: {error.strerror}"
                raise PenstockError(message, exit_code=RUN_FAILED) from None
            raise wrong(
                f"{path} cannot be written: {error.strerror}", "name a folder of yours"
            ) from None
        for left in _unfinished(path):
            left.unlink(missing_ok=True)
        self._parts = len(rows.every_part(path))

    def _make(self, missing: Sequence[Path]) -> None:
        for folder in reversed(missing):
            folder.mkdir()
            self._made.insert(0, folder)

    def _unmake(self) -> None:
        """Remove what was made for a study that could not begin."""
        with suppress(OSError):
            for folder in self._made:
                folder.rmdir()

    def _lock(self) -> None:
        self._lock_file = os.open(self.path / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock_file)
            raise wrong(
                f"another run writes to {self.path}",
                f"`penstock study watch {self.path}` shows how far it is",
            ) from None

    def _check(self, *, resume: bool) -> None:
        """Raise an error unless it holds this study, or one that was killed before it began."""
        if not self.path.is_dir():
            raise wrong(f"{self.path} is no directory", "name a new folder")
        if is_written(self.path):
            return
        known = (self.path / rows.ABOUT).exists()
        if known and not resume:
            hint = "go on with it by --resume, or name another folder"
            raise wrong(f"{self.path} holds a study already", hint)
        names = {file.name for file in self.path.iterdir()}
        unbegun = names <= {LOCK, *(file.name for file in _unfinished(self.path))}
        if known or (unbegun and (names or not resume)):
            return
        if resume:
            hint = "name the folder that -o of `study run` named"
            raise wrong(f"{self.path} holds no study", hint)
        raise wrong(f"{self.path} exists already", "name a new folder")

    @property
    def about(self) -> dict[str, Any] | None:
        """Description of the study; `None` if it has not begun."""
        return about(self.path)

    def begin(self, about: Mapping[str, Any]) -> None:
        """Write down what the study is."""
        text = json.dumps(about, ensure_ascii=False, indent=2) + "\n"
        self._write(rows.ABOUT, escaped(text).encode())

    def append(self, frame: "pl.DataFrame") -> None:
        """Add rows; they are on the disk when this returns."""
        import io

        written = io.BytesIO()
        frame.write_parquet(written)
        self._parts += 1
        self._write(f"part-{self._parts:06}.parquet", written.getvalue())

    def _write(self, name: str, data: bytes) -> None:
        """Write a file that is there as a whole or not at all."""
        unfinished = self.path / f"{name}{UNFINISHED}"
        try:
            try:
                with unfinished.open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                unfinished.rename(self.path / name)
            finally:
                unfinished.unlink(missing_ok=True)
            folder = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            message = f"error: {self.path / name} cannot be written: {error.strerror}"
            hint = "hint: what is recorded stays; go on by --resume when there is room"
            raise PenstockError(f"{message}\n{hint}", exit_code=RUN_FAILED) from None

    def close(self) -> None:
        """Let it go; one whose study could not begin is removed again, unless it was there."""
        if not (self.path / rows.ABOUT).exists():
            (self.path / LOCK).unlink(missing_ok=True)
            self._unmake()
        os.close(self._lock_file)


def _unfinished(path: Path) -> list[Path]:
    """Returns the files that a killed process left half written in the folder of a study."""
    names = (f"{rows.ABOUT}{UNFINISHED}", f"{rows.PARTS}{UNFINISHED}")
    return [file for name in names for file in path.glob(name)]


def about(path: Path) -> dict[str, Any] | None:
    """Returns the description of the study in a folder, if there is one."""
    try:
        text = _native.text_file(path / rows.ABOUT, "description of the study", "")
        document: dict[str, Any] = json.loads(text)
    except (_native.Failure, ValueError, RecursionError):
        return None
    return document


def is_written(path: Path) -> bool:
    """Whether a process writes to it now."""
    try:
        lock = os.open(path / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Returns the differences between two descriptions of a study, in words."""
    differences = []
    for key in dict.fromkeys([*before, *after]):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if key == "factors":
            differences += _factors(old or [], new or [])
        elif isinstance(old, str) and isinstance(new, str) and "\n" in old:
            differences.append(f"{key}: {_line(old, new)}")
        else:
            differences.append(f"`{key}` was {_shown(old)} and is {_shown(new)}")
    return differences


def _factors(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[str]:
    before, after = ({factor["name"]: factor for factor in every} for every in (old, new))
    differences = [f"factor {name} is gone" for name in before if name not in after]
    differences += [f"factor {name} is new" for name in after if name not in before]
    for name in before:
        for key in before[name] if name in after else ():
            was, now = before[name][key], after[name][key]
            if was != now:
                differences.append(
                    f"the {key} of factor {name} were {_shown(was)} and are {_shown(now)}"
                )
    return differences or ["the order of the factors"]


def _line(old: str, new: str) -> str:
    """The first line that differs."""
    before, after = old.splitlines(), new.splitlines()
    for was, now in zip(before, after, strict=False):
        if was != now:
            return f"`{was}` is now `{now}`"
    return f"it had {len(before)} lines and has {len(after)}"


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
