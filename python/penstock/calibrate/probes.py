"""Probes: small jobs that are run on a target to learn what it is, and what one of them gave."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, TypeAlias

from penstock.job import Agent, Job, Plain
from penstock.results.json_types import Class
from penstock.results.percentile import percentile

Op: TypeAlias = Literal["read", "write"]
Pattern: TypeAlias = Literal["random", "sequential"]

Region: TypeAlias = tuple[str, str]

WHOLE: Region = ("0%", "100%")
NEAR: Region = ("0%", "1%")
"""So near to each other that an arm hardly moves."""
END: Region = ("90%", "100%")
"""Region where the tracks of a disk are shortest."""

POLICY = "fcfs"
"""First come, first served: what is measured is the target, not a policy."""


@dataclass(frozen=True)
class Probe:
    """Requests of one kind, `depth` of them always on their way."""

    op: Op
    pattern: Pattern
    size: int
    depth: int
    region: Region = WHOLE

    def __str__(self) -> str:
        """Returns the probe in words."""
        size = f"{self.size >> 20} MiB" if self.size >= 1 << 20 else f"{self.size >> 10} KiB"
        where = "" if self.region == WHOLE else f" in {'–'.join(self.region)}"
        return f"{self.pattern} {self.op}s of {size}{where}, {self.depth} at a time"

    def fits(self, capacity: int) -> bool:
        """Whether its region of so many bytes has room for two requests."""
        first, last = (int(edge.removesuffix("%")) for edge in self.region)
        return capacity * (last - first) // 100 >= 2 * self.size

    def job(self, seconds: float, device: "Plain | None" = None, seed: int = 1) -> Job:
        """The job that measures it, a fifth of its time for warming up."""
        agent = Agent(
            class_="probe",
            op=self.op,
            size=f"{self.size}B",
            pattern=self.pattern,
            region=self.region,
            arrivals={"kind": "closed", "depth": self.depth},
        )
        return Job(
            name="calibrate",
            seed=seed,
            duration=f"{round(seconds * 1e9)}ns",
            warmup=f"{round(seconds / 5 * 1e9)}ns",
            classes=["probe"],
            agents=[agent],
            live={"depth": self.depth},
            device=device,  # type: ignore[arg-type]
        )


@dataclass(frozen=True)
class ProbeFigures:
    """Results of a probe."""

    iops: float
    p50_ns: float

    @classmethod
    def of(cls, result: Class) -> "ProbeFigures":
        """The figures of the only class there is."""
        return cls(result["iops"], percentile(result["lat_ns"], 50))


@dataclass(frozen=True)
class MeasuredProbe:
    """A probe and what its rounds gave."""

    probe: Probe
    rounds: Sequence[ProbeFigures]

    @property
    def middle(self) -> ProbeFigures:
        """The medians of the rounds."""
        return ProbeFigures(
            median(round_.iops for round_ in self.rounds),
            median(round_.p50_ns for round_ in self.rounds),
        )

    @property
    def spread(self) -> float:
        """Largest deviation of a round from the median, as a ratio of at least 1."""
        middle = self.middle
        pairs = [(round_.iops, middle.iops) for round_ in self.rounds]
        pairs += [(round_.p50_ns, middle.p50_ns) for round_ in self.rounds]
        return max(max(a / b, b / a) for a, b in pairs)


SIZES = ((4 << 10, (1, 8, 32)), (64 << 10, (1, 8)), (1 << 20, (1, 4)))
"""Probes to fit on: each size with its depths, random and sequential."""

PLACES: tuple[tuple[Pattern, int, int, Region], ...] = (
    ("random", 4 << 10, 1, NEAR),
    ("random", 4 << 10, 1, ("0%", "10%")),
    ("sequential", 1 << 20, 4, END),
)
"""Probes that show a disk with an arm: reads here and there."""

UNSEEN: tuple[tuple[Pattern, int, int], ...] = (
    ("random", 16 << 10, 4),
    ("sequential", 256 << 10, 2),
)
"""Probes that the fit does not see: pattern, size, depth; for reads and writes."""


def plan(ops: Sequence[Op], capacity: int) -> tuple[list[Probe], list[Probe]]:
    """The probes that are fitted on, and those that are predicted, of so many bytes."""
    patterns: tuple[Pattern, ...] = ("random", "sequential")
    fitted = [
        Probe(op, pattern, size, depth)
        for op in ops
        for pattern in patterns
        for size, depths in SIZES
        for depth in depths
    ]
    places = [Probe("read", *place) for place in PLACES]
    fitted += [probe for probe in places if probe.fits(capacity)]
    unseen = [Probe(op, pattern, size, depth) for op in ops for pattern, size, depth in UNSEEN]
    return fitted, unseen
