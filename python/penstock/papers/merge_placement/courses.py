"""Single runs as they are drawn: where everything lies, and how jobs and queues go on over time."""

import json
from bisect import bisect_right
from collections.abc import Iterator

from penstock import _native
from penstock.errors import translated
from penstock.papers.merge_placement.cells import Point, job
from penstock.papers.merge_placement.setting import PLACEMENTS, SETTINGS, PlacementSetting
from penstock.papers.published import Row
from penstock.results.requests import Requests
from penstock.session import compare
from penstock.target import Target

SAMPLES = 240
"""Times at which a run is looked at."""

SEED = 1


def _points(setting: PlacementSetting, cases: list[int]) -> Iterator[Point]:
    """The first of the disks and jobs that are set, or those of the paper's picture."""
    for case in cases:
        disks, jobs = (setting.disks or (5,))[0], (setting.jobs or (2,))[0]
        point = Point(disks=disks, jobs=jobs, case=case)
        if point.fits:
            yield point


def layouts(setting: PlacementSetting) -> list[Row]:
    """Where the runs and outputs of each case lie."""
    cases = [case for case in PLACEMENTS if setting.cases is None or case in setting.cases]
    with SETTINGS.errors(setting.given), translated():
        return [
            {
                "case": point.case,
                **json.loads(_native.merge_layout("job.toml", job(), point.changes(setting))),
            }
            for point in _points(setting, cases)
        ]


def courses(setting: PlacementSetting) -> list[Row]:
    """A run of case 2 and one of case 3."""
    cases = [case for case in (2, 3) if setting.includes(cases=[case])]
    return [_course(point, setting) for point in _points(setting, cases)]


def _course(point: Point, setting: PlacementSetting) -> Row:
    """The blocks that each job has used up, and the writes at each disk that has an output."""
    variant, kept = point.variant(setting, SEED), Requests()
    with SETTINGS.errors(setting.given):
        comparison = json.loads(compare(variant, Target(), requests=kept.take))
    writes = kept.frame(comparison).collect().filter(op="write").sort("due_ns")
    of_jobs = [writes.filter(**{"class": f"job{number}"}) for number in range(point.jobs)]
    (run,) = comparison["runs"]
    every_ns = int(1e9 * run["merge"]["makespan_s"] / SAMPLES) + 1
    times = [every_ns * sample for sample in range(SAMPLES + 1)]
    used, queued = [], []
    for job_writes in of_jobs:
        due, done = job_writes["due_ns"].to_list(), job_writes["done_ns"].sort().to_list()
        # A write is asked for when its blocks are used up.
        blocks = [0, *(job_writes["length"] // BLOCK).cum_sum().to_list()]
        used.append([blocks[bisect_right(due, time)] for time in times])
        queued.append([bisect_right(due, time) - bisect_right(done, time) for time in times])
    return {"case": point.case, "every_s": every_ns / 1e9, "used": used, "writes": queued}


BLOCK = 4096
"""Bytes of a block."""
