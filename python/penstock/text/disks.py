"""Lines and tables of the disks of a model."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from penstock.answer.table import NONE
from penstock.results import rounds
from penstock.results.json_types import Comparison, DeviceStats, EachDisk, Milliseconds, Run
from penstock.results.rounds import Rounds, Spread
from penstock.text import ranges, units

_NS = 1_000_000
"""Nanoseconds of a millisecond."""

_PARTS: tuple[tuple[str, Callable[[DeviceStats | EachDisk], Milliseconds | None]], ...] = (
    ("seek", lambda disk: disk.get("seek_ms")),
    ("turn", lambda disk: disk.get("rotation_ms")),
    ("transfer", lambda disk: disk.get("transfer_ms")),
)
"""Parts of an access of a disk with an arm."""


class DiskRow(NamedTuple):
    """Disks, and the cells of each figure."""

    disks: str
    cells: list[str]


HEADINGS = (
    "requests",
    "accesses",
    "seek",
    "turn",
    "transfer",
    "travel",
    "service",
    "service p99",
    "busy",
)
"""Headings of a row's cells: two counts, five means, a percentile and a share.

Travel is in cylinders per request.
"""


def line(runs: Sequence[Run]) -> str | None:
    """Return the mean access over rounds; `None` without a modelled disk that has an arm."""
    stats = _known(runs)
    parts = [
        f"{name} {_mean([part for disk in stats if (part := figure(disk))])}"
        for name, figure in _PARTS
        if any(figure(disk) for disk in stats)
    ]
    if not parts:
        return None
    busy = ranges.figure(Spread.of(disk["utilisation"] for disk in stats), units.percent)
    return f"{_name(stats[0])}: {', '.join(parts)}, busy {busy}"


def rows(policy: Rounds) -> Iterator[DiskRow]:
    """Yield a row for all disks of a policy's median round, and one for each of several disks."""
    for stats in _known([policy.middle()]):
        yield _row(_name(stats), stats)
        for number, disk in enumerate(stats.get("disks", [])):
            yield _row(_device(disk, number), disk)


def table(comparison: Comparison) -> list[tuple[str, list[DiskRow]]]:
    """Return the rows of each policy whose disks were modelled."""
    tables = [(policy.label, list(rows(policy))) for policy in rounds.by_policy(comparison)]
    return [(label, lines) for label, lines in tables if lines]


def _known(runs: Sequence[Run]) -> list[DeviceStats]:
    return [run["device_stats"] for run in runs if "device_stats" in run]


def _name(stats: DeviceStats) -> str:
    count = len(stats.get("disks", []))
    return f"{count} disks" if count else "disk"


def _device(disk: EachDisk, number: int) -> str:
    """Return the name of one of several disks, with its device if a trace has one for each."""
    name = disk.get("device")
    return f"disk {number}" if name is None else f"disk {number} ({name})"


def _row(name: str, disk: DeviceStats | EachDisk) -> DiskRow:
    service = disk["service_ms"]
    parts = [figure(disk) for _, figure in _PARTS]
    numbers = [units.count(part["n"]) if part else NONE for part in (service, parts[0])]
    means = [_mean([part]) if part else NONE for part in parts]
    travel = disk.get("travel")
    crossed = units.count(round(travel["per_request"])) if travel else NONE
    tail = units.latency(service["percentile"]["99.000000"] * _NS)
    served = _mean([service])
    return DiskRow(
        name, [*numbers, *means, crossed, served, tail, units.percent(disk["utilisation"])]
    )


def _mean(parts: Sequence[Milliseconds]) -> str:
    return ranges.latency(Spread.of(part["mean"] * _NS for part in parts))
