"""Rows of the files of a job, if their rates differ."""

from collections.abc import Iterator, Sequence

from penstock.answer.table import NONE
from penstock.results.json_types import File
from penstock.results.rounds import Rounds
from penstock.text import units

HEADINGS = ("file", "device", "requests", "MB/s", "busy")
"""Headings of a row."""

_APART = 1.1
"""Least ratio of the fastest file's rate to the slowest's; below, all files count as alike."""

_SHOWN = 8
"""Most rows; of more files, the slowest and the fastest are shown."""


def rows(policy: Rounds) -> Iterator[Sequence[str]]:
    """Yield the files of a policy's median round, if there are several with different rates."""
    files = policy.middle()["files"]
    rates = [file["bw_bytes"] for file in files]
    if len(files) < 2 or max(rates) <= min(rates) * _APART:
        return
    if len(files) <= _SHOWN:
        yield from map(_row, files)
        return
    by_rate = sorted(files, key=lambda file: file["bw_bytes"])
    half = _SHOWN // 2
    yield from map(_row, by_rate[:half])
    between = f"… {len(files) - _SHOWN} more"
    yield (between, *[""] * (len(HEADINGS) - 1))
    yield from map(_row, by_rate[-half:])


def _row(file: File) -> Sequence[str]:
    stats = file.get("device_stats")
    share = stats["utilisation"] if stats else file.get("device_busy")
    busy = NONE if share is None else units.percent(share)
    place = file.get("device") or file.get("path") or NONE
    rate = units.megabytes(file["bw_bytes"])
    return (file["name"], place, units.count(file["requests"]), rate, busy)
