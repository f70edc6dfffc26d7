"""What each file of a job got, as people read it, where that is more than one sum says."""

from collections.abc import Iterator, Sequence

from penstock.answer.table import NONE
from penstock.results.json_types import File
from penstock.results.rounds import Rounds
from penstock.text import units

HEADINGS = ("file", "device", "requests", "MB/s", "busy")
"""Headings of a row."""

_APART = 1.1
"""The fastest is so many times as fast as the slowest: otherwise each got the same part."""

_SHOWN = 8
"""Of more files, the slowest and the fastest are shown."""


def rows(policy: Rounds) -> Iterator[Sequence[str]]:
    """The files of a policy's run in the middle, if there are several of different rates."""
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
