"""The result of a run, as frozen dataclasses.

An attribute is the field of the same name in the JSON that `--json` prints, and is explained there:
in `json_types`, and on the page "Result fields" of the documentation. What is explained here has
another shape in Python. What the JSON omits or has as null is None, false or empty.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from penstock.results.build import Json, lifted, shaped
from penstock.results.json_types import Ended, Op, Value


def _percentiles(one: Json) -> Json:
    return {**one, "percentiles": {float(at): value for at, value in one["percentile"].items()}}


def _against_measured(run: Json) -> Json:
    """Of a trace of measured response times a run has four figures more, which are one value."""
    return {**run, "against_measured": run if "rms_ms" in run else None}


@shaped(_percentiles)
@dataclass(frozen=True, kw_only=True)
class Distribution:
    """A distribution of nanoseconds; all zero if there was nothing to measure."""

    mean: float
    stddev: float
    min: int
    max: int
    percentiles: Mapping[float, int]
    """The 50th, 95th, 99th and 99.9th by their percents."""

    @property
    def p50(self) -> int:
        """The median."""
        return self.percentiles[50.0]

    @property
    def p95(self) -> int:
        """The 95th percentile."""
        return self.percentiles[95.0]

    @property
    def p99(self) -> int:
        """The 99th percentile."""
        return self.percentiles[99.0]

    @property
    def p999(self) -> int:
        """The 99.9th percentile."""
        return self.percentiles[99.9]


@shaped(_percentiles)
@dataclass(frozen=True, kw_only=True)
class Milliseconds:
    """A distribution of `n` lengths of time in milliseconds; all zero if there were none."""

    n: int
    mean: float
    stddev: float
    min: float
    max: float
    percentiles: Mapping[float, float]
    """The 50th, 95th, 99th and 99.9th by their percents."""


@dataclass(frozen=True, kw_only=True)
class Travel:
    """How far the arms of disks moved, in cylinders."""

    cylinders: int
    per_request: float


@dataclass(frozen=True, kw_only=True)
class DiskStats:
    """What a modelled disk did, or all of an array: accesses that ended after the warm-up."""

    seek_ms: Milliseconds | None
    rotation_ms: Milliseconds | None
    transfer_ms: Milliseconds | None
    travel: Travel | None
    service_ms: Milliseconds
    utilisation: float
    device: str | None
    disks: tuple[Self, ...]
    """Each disk of an array; empty if there is one."""


@dataclass(frozen=True, kw_only=True)
class AgainstMeasured:
    """How far a run is from response times that were measured on a drive."""

    rms_ms: float
    rms_relative: float
    mean_ms: float
    measured_mean_ms: float


@shaped(lifted("held"))
@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How a live run held its schedule, of the arrivals that were due after the warm-up."""

    scheduled: int
    due: int
    made: int
    scheduled_s: float
    taken_s: float
    lateness_ns: Distribution
    held_within_100us: float
    """The share of those that were due that was handed over so soon."""
    held_within_1ms: float
    held_within_10ms: float
    late_while_full: int
    processor_wait_s: float | None


@dataclass(frozen=True, kw_only=True)
class Programs:
    """What the programs of a class did; arrivals after the warm-up are `n` and `unfinished`."""

    n: int
    unfinished: int
    time_ns: Distribution
    wait_ns: Distribution
    cpu_time_s: float
    cpu_share: float


@shaped(lifted("first"))
@dataclass(frozen=True, kw_only=True)
class ErrorCount:
    """Requests of a class that failed with one error, and the first of them."""

    requests: int
    first_at_s: float
    first_op: Op
    first_start: int
    first_len: int


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What an open loop asked for, and how far the device was behind."""

    iops: float
    lasted_s: float
    behind_s: float
    growth: float | None


@dataclass(frozen=True, kw_only=True)
class ByOp:
    """What the requests of a class got that ask for the same."""

    requests: int
    bytes: int
    iops: float
    bw_bytes: float
    lat_ns: Distribution


@dataclass(frozen=True, kw_only=True)
class Ops:
    """What a class got whose agents mix operations, by operation."""

    read: ByOp
    write: ByOp
    discard: ByOp | None
    flush: ByOp | None


@dataclass(frozen=True, kw_only=True)
class ClassResult:
    """What one class got under one policy. Arrivals: requests, unfinished and errors together."""

    name: str
    open_loop: bool
    demand: Demand | None
    requests: int
    bytes: int
    discarded_bytes: int
    iops: float
    bw_bytes: float
    ops: Ops | None
    lat_ns: Distribution
    wait_ns: Distribution
    service_ns: Distribution
    device_time_s: float
    share: float
    weight: int
    ideal_share: float | None
    share_error_pct: float | None
    limited_by_demand: bool
    of_alone: float | None
    felt_error_pct: float | None
    errors: int
    error_codes: Mapping[str, ErrorCount]
    unfinished: int
    schedule: Schedule | None
    programs: Programs | None


@dataclass(frozen=True, kw_only=True)
class Emulation:
    """How late the completions of an emulated device were, against its model's own schedule."""

    completions: int
    mean_ns: float
    p50_ns: int
    p99_ns: int
    max_ns: int


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a live run asked for, however it was split or merged."""

    reads: int
    read_bytes: int
    writes: int
    write_bytes: int


@dataclass(frozen=True, kw_only=True)
class KernelDisk:
    """What the kernel counted of a disk."""

    reads: int
    reads_merged: int
    read_bytes: int
    writes: int
    writes_merged: int
    write_bytes: int
    in_flight: float


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """What a live run asked for, and what the kernel counted of the disks below meanwhile."""

    asked: Asked
    disks: Mapping[str, KernelDisk]


@dataclass(frozen=True, kw_only=True)
class Blocked:
    """Seconds that a merge could not use up a block: for want of reads, and of memory."""

    read: float
    memory: float


@dataclass(frozen=True, kw_only=True)
class Merge:
    """What the merges of a job did; lists have an entry for each."""

    makespan_s: float | None
    finish_s: tuple[float | None, ...]
    divergence_max: float
    divergence_mean: float
    max_queued_writes: int
    blocked_s: tuple[Blocked, ...]
    read_ms: float
    write_ms: float
    f_eff: float | None


@dataclass(frozen=True, kw_only=True)
class FileResult:
    """What one file got, of all classes together; `target` is that of a job without files."""

    name: str
    device: str | None
    path: str | None
    requests: int
    bytes: int
    bw_bytes: float
    device_busy: float | None
    device_stats: DiskStats | None


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A block that was not what was written."""

    file: str
    offset: int
    expected: str
    found: str


@dataclass(frozen=True, kw_only=True)
class Verified:
    """What was verified in a run."""

    records: tuple[str, ...]
    written: int
    checked: int
    unchecked: int
    read_again: int
    different: int
    differences: tuple[Difference, ...]


@shaped(_against_measured)
@dataclass(frozen=True, kw_only=True)
class Run:
    """One policy's run; `run["tellers"]` is what that class got."""

    policy: str
    round: int | None
    seed: int | None
    params: Mapping[str, Value]
    against_measured: AgainstMeasured | None
    """Of a trace of measured response times; none of others."""
    duration_s: float
    interrupted: bool
    ended: Ended | None
    failure: str | None
    schedule: Schedule | None
    emulation: Emulation | None
    remarks: tuple[str, ...]
    schedulers: Mapping[str, str | None]
    kernel: Kernel | None
    device_busy: float
    device_stats: DiskStats | None
    merge: Merge | None
    verify: Verified | None
    policy_stats: Mapping[str, int]
    classes: tuple[ClassResult, ...]
    files: tuple[FileResult, ...]

    def __getitem__(self, name: str) -> ClassResult:
        """The class called `name`."""
        for one in self.classes:
            if one.name == name:
                return one
        raise KeyError(name)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where it ran."""

    cpu: str
    cpus: int
    kernel: str
    began_unix_s: int | None
    engine: str | None
