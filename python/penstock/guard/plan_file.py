"""What a guard has found, in a file: the next guard of the disk begins with that means."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError, wrong
from penstock.guard.means import NOTHING
from penstock.guard.remembered import Remembered
from penstock.guard.search import MeansStanding
from penstock.guard.session import Guarded, GuardStatus
from penstock.report import files

MARK = "# A plan of penstock guard"
"""At the beginning of every plan."""

VERSION = 1


class PlanFile:
    """The file with the plan of a disk, which may not be there yet."""

    def __init__(self, path: Path, disk: str) -> None:
        """Read it.

        # Errors
        It is no plan, or that of another disk, or no file can be written there.
        """
        self._path = path
        self.failure: str | None = None
        """Message of the write that failed: the guard goes on without."""
        files.check(path, is_ours=_is_ours, kind="plan")
        self.remembered = _read(path, disk) if path.exists() else None

    def take(self, status: GuardStatus) -> None:
        """Write what is found, unless the file has it."""
        plan = _plan(status.so_far)
        if plan is None or self._has(plan):
            return
        try:
            files.write(self._path, _text(plan).encode())
            self.remembered = plan
        except PenstockError as error:
            self.failure = self.failure or str(error)

    def end(self) -> None:
        """Leave the file as it is."""

    def _has(self, plan: Remembered) -> bool:
        had = self.remembered
        return had is not None and _answer(had) == _answer(plan)


def _plan(result: Guarded) -> Remembered | None:
    """Return the plan of a guard that has decided on a means that meets the goals."""
    if not (result.decided and result.met):
        return None
    return Remembered(
        disk=result.disk,
        means=result.kept,
        goals=result.goals,
        keep=result.keep,
        without=result.standings[NOTHING.name],
        under=result.standings[result.kept],
    )


def _answer(plan: Remembered) -> tuple[str, list[str], float]:
    return plan.means, list(plan.goals), plan.keep


def _text(plan: Remembered) -> str:
    return "".join(f"{line}\n" for line in _lines(plan))


def _lines(plan: Remembered) -> Iterator[str]:
    yield f"{MARK}: the means that met the goals, and the medians by which it was chosen."
    yield "# missed_by is figure / limit; online is requests a second; batch is bytes a second."
    yield f"version = {VERSION}"
    for key in ("disk", "means", "goals", "keep"):
        # Strings, lists of them and numbers are written as in JSON.
        yield f"{key} = {json.dumps(getattr(plan, key), ensure_ascii=False)}"
    for key in ("without", "under"):
        yield from ("", f"[{key}]")
        yield from (f"{name} = {value!r}" for name, value in asdict(getattr(plan, key)).items())


def _is_ours(path: Path) -> bool:
    return path.read_bytes()[: len(MARK)] == MARK.encode()


def _read(path: Path, disk: str) -> Remembered:
    try:
        document = tomllib.loads(path.read_text())
        version, of_disk = document["version"], document["disk"]
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError) as error:
        raise _damaged(path, error) from None
    if version != VERSION:
        message = f"{path}: found version {version!r}; expected {VERSION}"
        raise wrong(message, "use the version of Penstock that has written it, or name a new file")
    if of_disk != disk:
        message = f"{path} is a plan of the disk {of_disk}; expected one of {disk}"
        raise wrong(message, "name another file: each disk has a plan of its own")
    try:
        return Remembered(
            disk=disk,
            means=str(document["means"]),
            goals=[str(goal) for goal in document["goals"]],
            keep=float(document["keep"]),
            without=_standing(document["without"]),
            under=_standing(document["under"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path, error) from None


def _standing(table: Mapping[str, Any]) -> MeansStanding:
    return MeansStanding(**{key: float(value) for key, value in table.items()})


def _damaged(path: Path, error: Exception) -> Exception:
    reason = f"there is no {error}" if isinstance(error, KeyError) else str(error)
    return wrong(f"{path} is a damaged plan: {reason}", "remove it: the guard then searches")
