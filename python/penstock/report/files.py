"""Files that are written: whole or not at all, and never over a file of another program."""

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from penstock.errors import RUN_FAILED, PenstockError, wrong
from penstock.text.names import shown

PAGE_MARK = b"<!-- penstock report -->"
"""Near the beginning of every page of ours."""

PICTURE_MARK = b"tEXtSoftware\0penstock"
"""A chunk of every picture of ours, the first after its header."""

PICTURE = ".png"

DRAWING = ".svg"

DRAWING_MARK = b"<!-- penstock picture -->"
"""At the beginning of every drawing (SVG) of ours."""

WORKBOOK_MARK = b"<cp:keywords>penstock report</cp:keywords>"
"""Among the properties of every workbook of ours."""

PARQUET_MARK = "made-by"
"""Key of the metadata of every table (Parquet) of ours."""

UNFINISHED = ".penstock-unfinished"
"""How the name of a file ends until it is whole; `penstock doctor --clean` knows it too."""

HEAD = 512
"""A mark lies within so many bytes."""


def is_page(path: Path) -> bool:
    """Whether a report of ours lies there."""
    return PAGE_MARK in _head(path)


def is_picture(path: Path) -> bool:
    """Whether a picture of ours lies there."""
    return PICTURE_MARK in _head(path)


def is_drawing(path: Path) -> bool:
    """Whether a drawing of ours lies there."""
    return DRAWING_MARK in _head(path)


def is_workbook(path: Path) -> bool:
    """Whether a workbook of ours lies there."""
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return WORKBOOK_MARK in archive.read("docProps/core.xml")
    except (zipfile.BadZipFile, KeyError):
        return False


def is_parquet(path: Path) -> bool:
    """Whether a table of ours lies there."""
    import polars as pl

    try:
        with path.open("rb") as file:
            return pl.read_parquet_metadata(file).get(PARQUET_MARK) == "penstock"
    except pl.exceptions.PolarsError:
        return False


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD)


def check(
    path: Path, *, is_ours: Callable[[Path], bool], kind: str, ending: str | None = None
) -> None:
    """Raise an error unless a `kind`, whose name has this `ending`, may be written to `path`."""
    _check_name(path)
    if path.is_dir():
        raise wrong(f"{path} is a directory", f"name a file for the {kind}")
    _check_folder_of(path)
    if path.exists():
        _check_ours(path, is_ours=is_ours, kind=kind)
    if ending is not None and path.suffix.lower() != ending:
        message = f"{path} does not end in {ending}, as a {kind} does"
        raise wrong(message, f"name it {path.with_suffix(ending)}")


def _check_ours(path: Path, *, is_ours: Callable[[Path], bool], kind: str) -> None:
    try:
        ours = path.is_file() and is_ours(path)
    except OSError as error:
        raise wrong(f"{path} cannot be read: {error.strerror}", "name another file") from None
    if not ours:
        raise wrong(
            f"{path} exists and is no {kind} of penstock",
            "nothing else is overwritten: name another file, or move this one away",
        )


def check_folder(folder: Path) -> None:
    """Raise an error unless pictures may be written into `folder`, or it can be made.

    Which there will be depends on what a run gives: so no picture may be there but ours.
    """
    _check_name(folder)
    if folder.is_dir():
        _check_writable(folder, folder)
        for ending, is_ours in ((PICTURE, is_picture), (DRAWING, is_drawing)):
            for picture in sorted(folder.glob(f"*{ending}")):
                check(picture, is_ours=is_ours, kind="picture")
        return
    if folder.exists():
        raise wrong(f"{folder} is not a directory", "pictures are several files: name a folder")
    _check_folder_of(folder)


def _check_name(path: Path) -> None:
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            problem = f"{path} leads in a circle of symbolic links"
            raise wrong(problem, "name the place itself") from None
        if error.errno == errno.EACCES:
            message = f"{path} cannot be written: {error.strerror}"
            raise wrong(message, "name a place that you may write to") from None
        if error.errno == errno.ENAMETOOLONG:
            message = f"{path} cannot be written: {error.strerror}"
            raise wrong(message, "shorten the name") from None


def _check_folder_of(path: Path) -> None:
    folder = path.parent
    if not folder.is_dir():
        raise wrong(f"there is no directory {folder} for {path.name}", "make it first")
    _check_writable(folder, path)


def _check_writable(folder: Path, path: Path) -> None:
    """Try it: permissions do not show a file system that is read-only, full or none at all."""
    trial = _unfinished(folder / (path.name or "trial"))
    try:
        trial.open("xb").close()
        trial.unlink()
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise wrong(message, "name a place in another directory") from None
        if error.errno == errno.ENAMETOOLONG:
            raise wrong(message, "shorten the name: it is longer until the file is whole") from None
        raise _unwritable(path, error) from None


def check_new(path: Path) -> None:
    """Raise an error unless a new file can be made at `path`."""
    _check_name(path)
    if path.is_symlink() or path.exists():
        raise wrong(f"{path} is there already", "nothing is overwritten: name a new file")
    _check_folder_of(path)


def _unfinished(path: Path) -> Path:
    """Return the path of the file for `path` until it is whole."""
    return path.with_name(f".{path.name}.{os.getpid()}{UNFINISHED}")


def make_folder(folder: Path) -> None:
    """Make a folder, unless it is there."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from None


def write_new(path: Path, content: str | bytes) -> None:
    """Write the whole of `content` to a file that is not there yet, or nothing."""
    try:
        with new_file(path) as file:
            file.write(shown(content).encode() if isinstance(content, str) else content)
    except OSError as error:
        raise _unwritable(path, error) from None


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a new file that gets the name `path` after the block; an error in it leaves nothing.

    # Errors
    `OSError`, as of a file that has taken the name meanwhile.
    """
    unfinished = _unfinished(path)
    with unfinished.open("xb") as file:
        try:
            # So that `doctor --clean` knows it from one whose command was killed.
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
            file.flush()
            os.fsync(file.fileno())
            _name(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)


def _name(unfinished: Path, path: Path) -> None:
    """Give a file a name that is free."""
    try:
        os.link(unfinished, path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links.
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        unfinished.rename(path)


def _unwritable(path: Path, error: OSError) -> PenstockError:
    message = f"error: {path} cannot be written: {error.strerror}"
    return PenstockError(message, exit_code=RUN_FAILED)


def write(path: Path, content: bytes | Callable[[Path], object], *, durable: bool = True) -> None:
    """Write the whole of `content`, which may be a function that writes to the path it gets.

    Until then what was there before stays. A file that is not `durable` may be lost in a crash.
    """
    # A link goes on pointing to what is written.
    path = Path(os.path.realpath(path))
    unfinished = _unfinished(path)
    try:
        try:
            with unfinished.open("xb") as file:
                # So that `doctor --clean` knows it from one whose command was killed.
                fcntl.flock(file, fcntl.LOCK_EX)
                if callable(content):
                    content(unfinished)
                else:
                    file.write(content)
                    file.flush()
                if durable:
                    os.fsync(file.fileno())
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from None
