"""The experiments with merges: our rows of Figures 2.2 to 2.4, and what they depend on."""

from collections.abc import Iterator
from statistics import fmean
from typing import NamedTuple

from penstock.papers.merge_placement import grids
from penstock.papers.merge_placement.cells import Point, PointRuns, run
from penstock.papers.merge_placement.setting import PlacementSetting, depletion
from penstock.papers.published import Row

READ, WRITE = 12, 40
"""Blocks that are read and written at once, as the paper has them."""

GEOMETRIES = (16, 20, 32, 64, 128, 256)
"""Blocks of a cylinder."""

VARIANT_SEEDS = 5
"""Seeds of a variant at most."""


def rows(setting: PlacementSetting) -> list[Row]:
    """Rows of Figures 2.2, 2.3 and 2.4."""
    results = run(grids.points(setting), setting, setting.seeds)
    return [_row(point, runs) for point, runs in results.items()]


def _row(point: Point, runs: PointRuns) -> Row:
    disks = [fmean(shares) for shares in runs.utilisation]
    return {
        "disks": point.disks,
        "jobs": point.jobs,
        "case": point.case,
        "policy": point.policy,
        "buffer": point.buffer,
        "time_s": runs.time_s,
        "sd_s": runs.sd_s,
        "first_finisher_s": runs.mean(lambda merge: min(merge["finish_s"])),
        "divergence": runs.divergence,
        "utilisation": fmean(disks) if disks else None,
        "max_queued_writes": runs.mean(lambda merge: merge["max_queued_writes"]),
        "deadlocks": runs.deadlocks,
        "seeds": len(runs.merges) + runs.deadlocks,
    }


class Threshold(NamedTuple):
    """Jobs of case 2 that read so many blocks at once, and write so many."""

    disks: int
    jobs: int
    n: int = READ
    m: int = WRITE

    @property
    def point(self) -> Point:
        """The point that runs."""
        sets = (f"merge.read={self.n}", f"merge.write={self.m}")
        return Point(disks=self.disks, jobs=self.jobs, case=2, sets=sets)


THRESHOLDS = (
    *(Threshold(2, 2, n) for n in (8, 12, 20)),
    *(Threshold(3, 2, n) for n in (5, 6, 7, 8, 9, 10, 12)),
    *(Threshold(4, 2, n) for n in (3, 4, 5, 6, 9)),
    *(Threshold(5, 2, n) for n in (2, 4, 12)),
    *(Threshold(3, 3, n) for n in (5, 7, 9)),
    *(Threshold(4, 4, n) for n in (3, 4, 5)),
    *(Threshold(5, 5, n) for n in (2, 3, 4)),
    *(Threshold(3, 2, m=m) for m in (10, 20, 100, 200)),
)
"""Around where the race begins."""


def _thresholds(setting: PlacementSetting) -> list[Threshold]:
    """Returns the thresholds, with set values for the usual ones. One job alone does not race."""
    if not setting.includes(cases=[2]):
        return []
    thresholds = [
        Threshold(disks, jobs, setting.n or n, setting.m or m)
        for usual_disks, usual_jobs, n, m in THRESHOLDS
        for disks in setting.disks or (usual_disks,)
        for jobs in setting.jobs or (usual_jobs,)
    ]
    if "run" in setting.given:
        # The rows say what a run is too short for.
        most_n, most_m = setting.n or READ, setting.m or WRITE
        thresholds = [
            threshold for threshold in thresholds if threshold.n <= most_n and threshold.m <= most_m
        ]
    return [
        threshold
        for threshold in dict.fromkeys(thresholds)
        if threshold.point.fits and threshold.jobs > 1
    ]


def threshold_rows(setting: PlacementSetting) -> list[Row]:
    """How far jobs drift apart on either side of the threshold."""
    every = _thresholds(setting)
    results = run([threshold.point for threshold in every], setting, setting.seeds)
    return [
        {
            **threshold._asdict(),
            "f_eff": results[threshold.point].mean(lambda merge: merge["f_eff"]),
            "divergence": results[threshold.point].divergence,
        }
        for threshold in every
    ]


class Change(NamedTuple):
    """A change of the model, in words and as settings."""

    text: str
    sets: tuple[str, ...]


def _changes(setting: PlacementSetting) -> Iterator[Change]:
    """Yields changes of what the paper leaves open or the model simplifies, except what is set."""
    if not setting.includes(cases=[2, 3]):
        return
    changed = setting.given
    if "blocks_per_cylinder" not in changed and "seek" not in changed:
        for blocks in GEOMETRIES:
            yield Change(f"{blocks} blocks in a cylinder", (f"device.per_cylinder={blocks}",))
        yield Change("no seeks", ("device.seek=0us",))
    if "depletion" not in changed:
        for keys in ("1", "64", "1024"):
            noun = "random key" if keys == "1" else "random keys"
            yield Change(f"{keys} {noun} in a block", tuple(depletion(keys)))
    if "layout" not in changed:
        for at in ("first", "middle"):
            yield Change(f"outputs {at} on their disks", (f"merge.layout=output-{at}",))
    if "latency" not in changed:
        yield Change("every wait half a turn", ("device.latency=constant",))
    if "stagger" not in changed:
        for seconds in (10, 30):
            yield Change(f"jobs begin {seconds} s apart", (f"merge.stagger={seconds}s",))


def _variants(setting: PlacementSetting) -> list[tuple[Change, Point]]:
    """Cases 2 and 3 with one thing changed each."""
    disks = (setting.disks or (5,))[0]
    jobs = setting.jobs or (2, 5)
    every = [
        (change, Point(disks=disks, jobs=many, case=case, sets=change.sets))
        for change in _changes(setting)
        for many in jobs
        for case in (2, 3)
    ]
    return [(change, point) for change, point in every if point.fits]


def variant_rows(setting: PlacementSetting) -> list[Row]:
    """Results of the merges, from some of the seeds."""
    every = _variants(setting)
    results = run([point for _, point in every], setting, setting.seeds[:VARIANT_SEEDS])
    return [
        {
            "variant": change.text,
            "disks": point.disks,
            "jobs": point.jobs,
            "case": point.case,
            "time_s": results[point].time_s,
            "sd_s": results[point].sd_s,
            "divergence": results[point].divergence,
        }
        for change, point in every
    ]
