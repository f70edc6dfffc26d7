"""Progress of a study, read from its folder while another process writes to it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import wrong
from penstock.study import folder, rows
from penstock.study.schedule import references

LATELY_S = 30.0
"""The rate is that of these last seconds."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A study at one moment."""

    runs: int
    """Runs of the study, those of the reference cell included."""
    done: int
    """Number of runs that are recorded."""
    written: bool
    """A process writes to the folder."""
    rate: float | None
    """Runs a second, if that is known."""
    remarks: Sequence[str | None]
    """The remarks of each recorded run."""


def look(path: Path) -> Seen:
    """The study in the folder at `path` as it is now."""
    about = folder.about(path)
    if about is None:
        raise wrong(f"{path} holds no study", "name the folder that -o of `study run` named")
    written = folder.is_written(path)
    now = time.time()
    remarks: list[str | None] = []
    lately, oldest = 0, now
    for part in rows.every_part(path):
        of_part = rows.remarks([part])
        remarks += of_part
        at = part.stat().st_mtime
        if now - at <= LATELY_S:
            # What the first part holds was run before it was written.
            lately += len(of_part) if oldest < now else 0
            oldest = min(oldest, at)
    rate = lately / (now - oldest) if lately and now > oldest else None
    return Seen(
        runs=about["runs"] + references(about["runs"], about["reference"]),
        done=len(remarks),
        written=written,
        rate=rate,
        remarks=remarks,
    )
