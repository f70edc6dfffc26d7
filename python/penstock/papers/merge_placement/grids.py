"""Which points the merge-placement paper's figures have, and what they are without `--set`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from penstock.errors import wrong
from penstock.papers.merge_placement.cells import Point
from penstock.papers.merge_placement.setting import POLICIES, Buffer, PlacementSetting

BUFFERS = (480, 520, 560, 580, 600, 640, 680, 720, 800, 1000, 1500, 3000)

KEYS = ("disks", "jobs", "cases", "policies", "buffers")


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Every point of some disks, jobs, cases, policies and buffers."""

    disks: Sequence[int] = (5,)
    jobs: Sequence[int] = (1, 2, 3, 4, 5)
    cases: Sequence[int] = (2,)
    policies: Sequence[str] = ("fcfs",)
    buffers: Sequence[Buffer] = (None,)

    def points(self, setting: PlacementSetting) -> Iterator[Point]:
        """Yields the points with enough disks, with set values in place of the usual ones."""
        chosen = {key: getattr(setting, key) for key in KEYS}
        grid = replace(
            self, **{key: values for key, values in chosen.items() if values is not None}
        )
        every = product(grid.disks, grid.jobs, grid.cases, grid.policies, grid.buffers)
        for disks, jobs, case, policy, buffer in every:
            point = Point(disks=disks, jobs=jobs, case=case, policy=policy, buffer=buffer)
            if point.fits:
                yield point


GRIDS = (
    # Figure 2.2.
    Grid(cases=(1, 2, 3, 4)),
    Grid(disks=(10,), jobs=(1, 2, 3, 5, 8, 10), cases=(1, 2, 3, 4)),
    # Figure 2.3, and how little it depends on the buffer.
    Grid(policies=POLICIES[1:]),
    Grid(policies=POLICIES[1:], jobs=(2, 5), buffers=(480, 1500)),
    # Figure 2.4, and those that do not react.
    Grid(jobs=(2, 5), buffers=BUFFERS),
    Grid(disks=(10,), jobs=(5,), buffers=(480, 580, 640, 720, 1000, 3000)),
    Grid(jobs=(2,), cases=(3, 4), buffers=(520, 1000)),
    Grid(jobs=(1,), buffers=(520, 1000)),
    # Too little memory.
    Grid(jobs=(2,), buffers=(420, 440, 460)),
)


def points(setting: PlacementSetting) -> list[Point]:
    """The points of all figures, each once."""
    every = list(dict.fromkeys(point for grid in GRIDS for point in grid.points(setting)))
    if not every:
        arguments = " ".join(
            f"--set {key}={setting.given[key]}" for key in KEYS[:3] if key in setting.given
        )
        raise wrong(
            f"{arguments}: no placement has so many jobs on so few disks",
            "case 1 takes a disk more than there are jobs, the others one for each",
        )
    return every
