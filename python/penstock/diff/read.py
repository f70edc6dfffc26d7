"""Results from files: one file, or a folder of them by name.

Files of a folder whose names differ by a number at their end are sessions of one result if they
ran the same: each was measured at a time of its own.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from penstock.diff.figures import SESSION, MeasuredResult, Rounds, figures
from penstock.errors import PenstockError, wrong
from penstock.results.rounds import Spread

BYTES = 256 << 20
"""A longer file is no result."""

HINT = "results are what run, compare, replay, merge and iozone print with --json"

NamedResults: TypeAlias = Mapping[str, MeasuredResult]
"""Results by name."""

_NUMBERED = re.compile(r"[-_. /]?\d+$")
"""The end of the name of a session."""


def read(first: str, second: str) -> tuple[NamedResults, NamedResults]:
    """Return the results below two paths by name; that of a single file has an empty name.

    # Errors
    If a file is no result, a folder has none, or one path is a file and the other a folder.
    """
    paths = [Path(first), Path(second)]
    results = [_folder(path) if path.is_dir() else {"": _result(path)} for path in paths]
    if paths[0].is_dir() != paths[1].is_dir():
        folder, file = sorted(paths, key=Path.is_dir, reverse=True)
        raise wrong(f"{file} is a file, and {folder} a folder", "name two files or two folders")
    return results[0], results[1]


def _folder(folder: Path) -> NamedResults:
    """Return the results in a folder by name, sessions as one."""
    files = sorted(folder.rglob("*.json"))
    if not files:
        raise wrong(f"{folder} is a folder without results: it has no file *.json", HINT)
    results = {file.relative_to(folder).with_suffix("").as_posix(): _result(file) for file in files}
    groups: dict[str, list[str]] = {}
    for name in results:
        groups.setdefault(_NUMBERED.sub("", name) or "session", []).append(name)
    named: dict[str, MeasuredResult] = {}
    for group, names in groups.items():
        sessions = {name: results[name] for name in names}
        if all(_same(results[names[0]], session) for session in sessions.values()):
            named[group] = pooled(sessions)
        else:
            named.update(sessions)
    return named


def _result(path: Path) -> MeasuredResult:
    """Read the result in a file."""
    try:
        with path.open("rb") as file:
            text = file.read(BYTES + 1)
    except OSError as error:
        message = f"error: {path} cannot be read: {error.strerror}"
        raise PenstockError(f"{message}\nhint: {HINT}") from None
    if len(text) > BYTES:
        raise wrong(f"{path} is no result: it is larger than 256MiB", HINT)
    try:
        result = json.loads(text)
    except (ValueError, RecursionError):
        raise wrong(f"{path} is no result: it is no JSON", HINT) from None
    if not isinstance(result, dict):
        raise wrong(f"{path} is no result: it is no object of JSON", HINT)
    try:
        measured = figures(result)
    except KeyError as error:
        raise wrong(f"{path} is no result: some part has no `{error.args[0]}`", HINT) from None
    except ValueError as error:
        raise wrong(f"{path} is no result: {error}", HINT) from None
    except (ArithmeticError, AttributeError, IndexError, TypeError) as error:
        raise wrong(f"{path} is no result: {error}", HINT) from None
    if not measured.figures:
        raise wrong(f"{path} has no figure: nothing ran", HINT)
    return measured


def _same(first: MeasuredResult, second: MeasuredResult) -> bool:
    """Return whether two results are sessions of one."""
    return (
        all(getattr(first, part) == getattr(second, part) for part in ("kind", "facts", "settings"))
        and first.figures.keys() == second.figures.keys()
    )


def pooled(sessions: NamedResults) -> MeasuredResult:
    """Return sessions as one result, in which each is a round."""
    first, *more = sessions.values()
    if not more:
        return first
    remarks = []
    limited = {name: result.remarks for name, result in sessions.items() if result.remarks}
    for name, (remark, *_) in [*limited.items()][:1]:
        others = f"; and {len(limited) - 1} other sessions" if len(limited) > 1 else ""
        remarks.append(f"session {name}: {remark}{others}")
    return replace(
        first,
        figures={
            figure: {
                f"{SESSION}{name}": _of_session(result.figures[figure])
                for name, result in sessions.items()
            }
            for figure in first.figures
        },
        remarks=tuple(remarks),
    )


def _of_session(rounds: Rounds) -> float | None:
    """Return the median of the rounds of a session, on which a disturbed round has no effect."""
    values = [value for value in rounds.values() if value is not None]
    return Spread.of(values).median if len(values) == len(rounds) else None
