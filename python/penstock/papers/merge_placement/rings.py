"""The model of section 3, simulated: two disks, three, and rings of more."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from statistics import fmean
from typing import Any, TypeAlias, TypeVar

from penstock import _native
from penstock.errors import translated
from penstock.papers.merge_placement import race
from penstock.papers.merge_placement.setting import PlacementSetting
from penstock.papers.published import Row

A = TypeVar("A")
B = TypeVar("B")

READ_MS = 12.0
"""The mean time of a read."""

LONG_S = 1000
"""How long a ring runs."""

COURSE_S, EVERY_MS = 120, 250
"""How long a ring runs for a picture of its queues, and how often these are sampled."""

COURSE_F = 3.0

TWO_S = 10
"""How long two disks run."""

TWO_MOST = 24
"""Terms of a sequence at most: one that comes to rest goes on as it is."""

PEAKS = 4
"""The growth follows from the ratios of so many last peaks."""


@dataclass(frozen=True, kw_only=True)
class Ring:
    """A run of the engine's model. Times are nanoseconds."""

    disks: int
    work_ns: int
    """Mean time of writing what a read has brought."""
    seed: int = 1
    read_ns: int = round(1e6 * READ_MS)
    read_blocks: int = 4
    write_blocks: int = 4
    queued_ns: int = 0
    """What a write takes that is queued at the first disk when the run begins."""
    uniform: bool = True
    """Requests take anything from nothing to twice their mean time."""
    until_ns: int = LONG_S * 10**9
    course_ns: int | None = None
    """How often the queues are looked at, if they are."""


def of(disks: int, f: float) -> Ring:
    """A ring in which writes take `f` times as long as reads."""
    return Ring(disks=disks, work_ns=round(1e6 * READ_MS * f))


Found: TypeAlias = Mapping[Ring, Mapping[str, Any]]
"""Results by run."""


def run(rings: Iterable[Ring]) -> Found:
    """Run the rings, each once, on all cores."""
    every = list(dict.fromkeys(rings))
    with translated():
        return dict(zip(every, json.loads(_native.merge_rings(every)), strict=True))


TWO = ((2.0, 24.0), (2.0, 18.0), (0.5, 306.0))
"""Factors, and the work in milliseconds that is queued at first: as much as a read makes, less, and
much more."""

THREE_READ, THREE_WRITE = 12, 4
"""Blocks of a read and of a write of three disks: the finer writes come, the nearer they are to the
map, which is of a fluid."""

THREE = (0.4, 1.5, 1.8, 1.9, 3.0, 4.0)
"""Factors of three disks."""

RINGS = (
    *((3, f) for f in (3.0, 4.0)),
    *((5, f) for f in (1.8, 2.0, 3.0)),
    (7, 2.0),
    *((disks, f) for disks in (4, 6) for f in (1.5, 3.0)),
)
"""Disks and factors."""


def _chosen(
    usual: Sequence[tuple[A, B]], first: Sequence[A] | None, second: Sequence[B] | None
) -> list[tuple[A, B]]:
    """The usual pairs, with what is set in the place of what is usual, each once."""
    pairs = [
        (a, b)
        for usual_first, usual_second in usual
        for a in first or (usual_first,)
        for b in second or (usual_second,)
    ]
    return list(dict.fromkeys(pairs))


def _two(setting: PlacementSetting) -> list[tuple[float, float]]:
    return _chosen(TWO, setting.two_f, setting.two_n0_ms)


def _two_ring(f: float, n0_ms: float) -> Ring:
    queued_ns, course_ns = round(1e6 * n0_ms), TWO_S * 10**9
    ring = replace(of(2, f), queued_ns=queued_ns, uniform=False, course_ns=course_ns)
    return replace(ring, read_blocks=12, write_blocks=12, until_ns=TWO_S * 10**9)


def _three(setting: PlacementSetting) -> Sequence[float]:
    wanted = setting.ring_disks is None or 3 in setting.ring_disks
    return (setting.ring_f or THREE) if wanted else ()


def _rings(setting: PlacementSetting) -> list[tuple[int, float]]:
    return sorted(_chosen(RINGS, setting.ring_disks, setting.ring_f))


def _seeds(disks: int, f: float, setting: PlacementSetting) -> list[Ring]:
    """A ring at each seed; where every second job starves one is enough."""
    seeds = setting.seeds if disks % 2 else setting.seeds[:1]
    return [replace(of(disks, f), seed=seed) for seed in seeds]


def _three_seeds(f: float, setting: PlacementSetting) -> list[Ring]:
    """Three disks at each seed."""
    return [replace(_of_three(f), seed=seed) for seed in setting.seeds]


def _of_three(f: float) -> Ring:
    return replace(of(3, f), read_blocks=THREE_READ, write_blocks=THREE_WRITE)


def _drawn() -> Ring:
    return replace(_of_three(COURSE_F), until_ns=COURSE_S * 10**9, course_ns=EVERY_MS * 10**6)


def needed(setting: PlacementSetting) -> Iterator[Ring]:
    """Yields the runs, the longest first."""
    for disks, f in reversed(_rings(setting)):
        yield from _seeds(disks, f, setting)
    for f in _three(setting):
        yield from _three_seeds(f, setting)
    for f, n0_ms in _two(setting):
        yield _two_ring(f, n0_ms)
    yield _drawn()


def two_rows(setting: PlacementSetting, results: Found) -> list[Row]:
    """Returns the work that the reads of the first of two jobs found queued, in milliseconds."""
    return [
        {
            "f": f,
            "n0_ms": n0_ms,
            "sequence_ms": [
                ns / 1e6 for ns in results[_two_ring(f, n0_ms)]["queued_ns"][:TWO_MOST]
            ],
        }
        for f, n0_ms in _two(setting)
    ]


def three_rows(setting: PlacementSetting, results: Found) -> list[Row]:
    """How peaks of three disks grow, and at which work they come to rest."""
    return [
        {
            "f": f,
            "predicted_growth": race.growth(3, f=f),
            "simulated_growth": _growth(_three_seeds(f, setting), results),
            "steady_ms": None if f >= race.critical(3) else _mean_peak(f, setting, results),
        }
        for f in _three(setting)
    ]


def ring_rows(setting: PlacementSetting, results: Found) -> list[Row]:
    """How peaks of rings grow; none where every second job starves."""
    return [
        {
            "disks": disks,
            "f": f,
            "predicted": race.growth(disks, f=f),
            "simulated": _growth(_seeds(disks, f, setting), results) if disks % 2 else None,
            "critical_f": race.critical(disks),
        }
        for disks, f in _rings(setting)
    ]


def served_rows(setting: PlacementSetting, results: Found) -> list[Row]:
    """The reads of each job, and the most writes that were at a disk, at the first seed."""
    three = [_three_seeds(f, setting)[0] for f in _three(setting)]
    larger = (_seeds(disks, f, setting)[0] for disks, f in _rings(setting) if disks != 3)
    return [
        {
            "disks": ring.disks,
            "f": ring.work_ns / ring.read_ns,
            "reads": results[ring]["reads"],
            "most_writes": results[ring]["most"],
        }
        for ring in (*three, *larger)
    ]


def queues(results: Found) -> Row:
    """Writes at each of three disks over time, which Figure 3.6 shows."""
    sampled = results[_drawn()]["writes"]
    every_s = EVERY_MS / 1e3
    return {
        "f": COURSE_F,
        "every_s": every_s,
        "writes": [list(disk) for disk in zip(*sampled, strict=True)],
    }


def _growth(seeds: Sequence[Ring], results: Found) -> float | None:
    """The geometric mean over seeds of that of the last ratios of neighbouring peaks."""
    last_peaks = [[peak["writes"] for peak in results[ring]["peaks"][-PEAKS:]] for ring in seeds]
    logs = [log(peaks[-1] / peaks[0]) / (PEAKS - 1) for peaks in last_peaks if len(peaks) == PEAKS]
    return exp(fmean(logs)) if logs else None


def _mean_peak(f: float, setting: PlacementSetting, results: Found) -> float | None:
    """The mean work of a peak in milliseconds; none if no peak was one."""
    peaks_by_seed = (results[ring]["peaks"] for ring in _three_seeds(f, setting))
    writes = [peak["writes"] for peaks in peaks_by_seed for peak in peaks]
    return READ_MS * f * THREE_WRITE / THREE_READ * fmean(writes) if writes else None
