"""Results from files: one file, or a folder of them by name.

Files of a folder whose names differ by a number at their end are sessions of one result if they
ran the same: each was measured at a time of its own.
"""

import json
import re
from collections.abc import Mapping, Sequence
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
        if all(_same(results[names[0]], results[name]) for name in names):
            named[group] = _pooled(names, [results[name] for name in names])
        else:
            named.update({name: results[name] for name in names})
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
    return (first.kind, first.facts, first.figures.keys()) == (
        second.kind,
        second.facts,
        second.figures.keys(),
    )


def _pooled(names: Sequence[str], results: Sequence[MeasuredResult]) -> MeasuredResult:
    """Return sessions as one result, in which each session is a round."""
    if len(results) == 1:
        return results[0]
    return replace(
        results[0],
        figures={
            name: {
                session: _of_session(result.figures[name])
                for session, result in zip(names, results, strict=True)
            }
            for name in results[0].figures
        },
        remarks=tuple(
            f"{session}: {remark}"
            for session, result in zip(names, results, strict=True)
            for remark in result.remarks
        ),
    )


def _of_session(rounds: Rounds) -> float | None:
    values = [value for value in rounds.values() if value is not None]
    return mean(values, logs=min(values) > 0) if len(values) == len(rounds) else None
