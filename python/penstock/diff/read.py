"""Results from files: one file, or a folder of them by name.

Files of a folder whose names differ by a number at their end are sessions of one result if they
ran the same: each was measured at a time of its own.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from penstock.diff.figures import MeasuredResult, Rounds, figures, mean
from penstock.errors import PenstockError, wrong

BYTES = 256 << 20
"""A longer file is no result."""

HINT = "results are what run, compare, replay, merge and iozone print with --json"

_NUMBERED = re.compile(r"[-_. /]?\d+$")
"""The end of the name of a session."""


def read(path: str) -> Mapping[str, MeasuredResult]:
    """Return the results below a path by name; that of a single file has an empty name.

    # Errors
    If a file is no result, or a folder has none.
    """
    folder = Path(path)
    if not folder.is_dir():
        return {"": _result(folder)}
    files = sorted(folder.rglob("*.json"))
    if not files:
        raise wrong(f"{path} is a folder without results: it has no file *.json", HINT)
    results = {file.relative_to(folder).with_suffix("").as_posix(): _result(file) for file in files}
    groups: dict[str, list[str]] = {}
    for name in results:
        groups.setdefault(_NUMBERED.sub("", name), []).append(name)
    named: dict[str, MeasuredResult] = {}
    for group, names in groups.items():
        sessions = {name: results[name] for name in names}
        if all(_same(results[names[0]], session) for session in sessions.values()):
            named[group] = _pooled(sessions)
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


def _pooled(sessions: Mapping[str, MeasuredResult]) -> MeasuredResult:
    """Return sessions as one result, in which each is a round."""
    first, *more = sessions.values()
    if not more:
        return first
    remarks = [f"each of its {len(sessions)} sessions counts as a round"]
    limited = {name: result.remarks for name, result in sessions.items() if result.remarks}
    for name, (remark, *_) in [*limited.items()][:1]:
        others = f"; and {len(limited) - 1} other sessions" if len(limited) > 1 else ""
        remarks.append(f"session {name}: {remark}{others}")
    return replace(
        first,
        figures={
            figure: {
                f"session {name}": _of_session(result.figures[figure])
                for name, result in sessions.items()
            }
            for figure in first.figures
        },
        remarks=tuple(remarks),
    )


def _of_session(rounds: Rounds) -> float | None:
    values = [value for value in rounds.values() if value is not None]
    return mean(values, logs=min(values) > 0) if len(values) == len(rounds) else None
