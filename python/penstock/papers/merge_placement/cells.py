"""Cells of the merge-placement paper's experiments: a job under a policy at a seed each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, NamedTuple, TypeAlias

from penstock.experiment.bench import run_all
from penstock.experiment.trial import Setup, check, only_run
from penstock.papers import files
from penstock.papers.merge_placement.setting import (
    NAME,
    PLACEMENTS,
    SETTINGS,
    Buffer,
    PlacementSetting,
)
from penstock.results.json_types import Comparison
from penstock.session import Variant
from penstock.target import Target

BATCH = 500
"""Runs whose results are in memory at once."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A point of the experiments, which runs at each seed."""

    disks: int
    jobs: int
    case: int
    policy: str = "fcfs"
    buffer: Buffer = None
    sets: tuple[str, ...] = ()
    """Changes of the job on top of what is set."""

    @property
    def fits(self) -> bool:
        """Whether the disks are enough for this placement."""
        least = {1: self.jobs + 1, 2: 2, 3: 2}.get(self.case, 1)
        return self.jobs <= self.disks and self.disks >= least

    def changes(self, setting: PlacementSetting) -> list[str]:
        """Returns the settings that turn the paper's job into this point's."""
        memory = () if self.buffer is None else (f"merge.memory.partition={self.buffer}",)
        return [
            *setting.of_job,
            f"device.array.disks={self.disks}",
            f"merge.jobs={self.jobs}",
            f"merge.placement={PLACEMENTS[self.case]}",
            *memory,
            *self.sets,
        ]

    def variant(self, setting: PlacementSetting, seed: int) -> Variant:
        """Returns the session variant that runs this point at a seed."""
        return Variant(
            name="job.toml",
            text=job(),
            sets=[*self.changes(setting), f"seed={seed}"],
            policies=[self.policy],
        )


class Merged(NamedTuple):
    """Figures kept of a run that came to its end."""

    merge: Mapping[str, Any]
    utilisation: Sequence[float]
    """Of each disk."""


def job() -> str:
    """The job file."""
    return files.text(NAME, "job.toml")


@dataclass(frozen=True, kw_only=True)
class PointRuns:
    """Results of a point's seeds, without the runs that ended in a deadlock."""

    merges: Sequence[Mapping[str, Any]]
    utilisation: Sequence[Sequence[float]]
    """Of each disk."""
    deadlocks: int

    def mean(self, figure: Callable[[Mapping[str, Any]], float]) -> float | None:
        """The mean of a figure; none if no run has ended."""
        return fmean(map(figure, self.merges)) if self.merges else None

    @property
    def time_s(self) -> float | None:
        """The mean time until the last job had finished."""
        return self.mean(_makespan)

    @property
    def sd_s(self) -> float | None:
        """How far that differs from seed to seed: the standard deviation."""
        if len(self.merges) < 2:
            return 0.0 if self.merges else None
        return stdev(map(_makespan, self.merges))

    @property
    def divergence(self) -> float | None:
        """The mean of how far jobs were apart at most, as a part of a job."""
        return self.mean(lambda merge: float(merge["divergence_max"]))


def _makespan(merge: Mapping[str, Any]) -> float:
    return float(merge["makespan_s"])


Found: TypeAlias = Mapping[Point, PointRuns]
"""Results by point."""


def run(points: Iterable[Point], setting: PlacementSetting, seeds: Sequence[int]) -> Found:
    """Run the points, each once at each seed, on all cores."""
    every = list(dict.fromkeys(points))
    variants = [point.variant(setting, seed) for point in every for seed in seeds]
    setup = Setup(target=Target(), reduce=_merged, keep_failures=True)
    with SETTINGS.errors(setting.given):
        ended = iter(run_all(setup, variants, batch=BATCH))
    return {point: _runs([next(ended) for _ in seeds]) for point in every}


def _merged(comparison: Comparison) -> Merged | None:
    """Keeps the merges of a run; none of one in which every job waits for memory."""
    run = only_run(comparison)
    if run.get("ended") == "deadlock":
        return None
    check(run)
    disks = run["device_stats"]["disks"]
    return Merged(run["merge"], [disk["utilisation"] for disk in disks])


def _runs(ended: Sequence[Merged | None]) -> PointRuns:
    whole = [merged for merged in ended if merged is not None]
    return PointRuns(
        merges=[merged.merge for merged in whole],
        utilisation=[merged.utilisation for merged in whole],
        deadlocks=len(ended) - len(whole),
    )
