"""The result of a run, as frozen dataclasses. tools/result_types.py writes this file.

An attribute is the field of the same name in the JSON that `--json` prints. What the JSON omits or
has as null is None, false or empty.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from penstock.results.build import lifted, shaped
from penstock.results.json_types import Ended, Op, Value
from penstock.results.mixins import ByClass, Percentiles, against_measured, by_percent


@shaped(by_percent)
@dataclass(frozen=True, kw_only=True)
class Distribution(Percentiles):
    """A distribution of nanoseconds; all zero if there was nothing to measure."""

    mean: float
    """Arithmetic mean."""
    stddev: float
    """Standard deviation."""
    min: int
    """Smallest value."""
    max: int
    """Largest value."""
    percentiles: Mapping[float, int]
    """The 50th, 95th, 99th and 99.9th by their percents."""


@shaped(lifted("held"))
@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How many requests that were planned ahead a live run handed over, and how late."""

    scheduled: int
    """Arrivals that were planned for the whole run. Here and in `due`, at most 4,194,304 arrivals
    that were not handed over are counted."""
    due: int
    """Planned arrivals that were due before the run ended."""
    made: int
    """Planned arrivals that were handed over."""
    scheduled_s: float
    """Seconds from the end of the warm-up until the last planned arrival."""
    taken_s: float
    """Seconds from the end of the warm-up until the last arrival was handed over."""
    lateness_ns: Distribution
    """Lateness of the arrivals that were handed over."""
    held_within_100us: float
    """Handed over at most 100 µs late."""
    held_within_1ms: float
    """Handed over at most 1 ms late."""
    held_within_10ms: float
    """Handed over at most 10 ms late."""
    late_while_full: int
    """Requests more than 1 ms late that came while the device's queue was full."""
    processor_wait_s: float | None
    """Seconds of the run in which the generator was ready but had no processor; left out for a
    class, and if the kernel does not report it."""


@dataclass(frozen=True, kw_only=True)
class Demand:
    """Demand of an open loop, and how far the device was behind it when the last request came."""

    iops: float
    """Requests a second that were due, from the end of the warm-up until the last of them."""
    lasted_s: float
    """Seconds from the end of the warm-up until the last request was due."""
    behind_s: float
    """Seconds from the last due request until all were served, or until the run ended."""
    growth: float | None
    """Mean latency of the requests due in the second half of the time in which the load asks, over
    that of the first half: far above 1 where a backlog grows. Null if no request of one half
    completed."""


@shaped(lifted("first"))
@dataclass(frozen=True, kw_only=True)
class ErrorCount:
    """Requests of one class that failed in the same way."""

    requests: int
    """Number of these requests."""
    first_at_s: float
    """When it failed, in seconds from the beginning of the run."""
    first_op: Op
    """The operation that it asked for."""
    first_start: int
    """First byte."""
    first_len: int
    """Length in bytes."""


@dataclass(frozen=True, kw_only=True)
class ByOp:
    """Figures of one operation of a class, in the fields of the class."""

    requests: int
    """Requests that were due after the warm-up and completed without error."""
    bytes: int
    """Bytes that they read or wrote."""
    iops: float
    """Requests a second."""
    bw_bytes: float
    """Bytes a second."""
    lat_ns: Distribution
    """Time from the intended arrival until the last piece was done."""


@dataclass(frozen=True, kw_only=True)
class Ops:
    """Figures of one class, by operation."""

    read: ByOp
    """Its reads."""
    write: ByOp
    """Its writes."""
    discard: ByOp | None
    """Its trims; left out if there are none."""
    flush: ByOp | None
    """Its flushes; left out if there are none."""


@dataclass(frozen=True, kw_only=True)
class Programs:
    """Figures of the programs of a class.

    Arrivals after the warm-up = n + unfinished.
    """

    n: int
    """Programs that arrived after the warm-up and have ended."""
    unfinished: int
    """Programs that arrived after the warm-up and had not ended when the run did."""
    time_ns: Distribution
    """Time from a program's arrival until its end."""
    wait_ns: Distribution
    """Time from asking for I/O until the first piece was sent; over everything sent in the measured
    time, whether or not it has finished. The end of the run belongs to the measured time."""
    cpu_time_s: float
    """Seconds of the measured time in which they had a processor."""
    cpu_share: float
    """Share of the time of all processors that they had."""


@dataclass(frozen=True, kw_only=True)
class ClassResult:
    """Figures of one class.

    Arrivals = requests + unfinished + errors.
    """

    name: str
    """Name of the class."""
    open_loop: bool
    """Whether all its requests come when they are planned, whatever the device does. Its throughput
    is then what it asks for, unless requests are left unfinished; only latency then shows what it
    gets."""
    demand: Demand | None
    """Demand of an open loop; null for other classes, and if nothing came after the warm-up."""
    requests: int
    """Requests that were due after the warm-up and completed without error."""
    bytes: int
    """Bytes that they read or wrote."""
    discarded_bytes: int
    """Bytes that they discarded, which no throughput counts."""
    iops: float
    """Requests a second: those that completed without error after the warm-up, whenever they were
    due, over the time in which the job asks. The job asks from the end of the warm-up until no
    agent asks any more, or until the last arrival of a trace. It is longer for a class that was
    served later, until its last completion, and shorter if the run ended before. A load without a
    fixed length, such as a trace played as fast as possible, asks until the run ends."""
    bw_bytes: float
    """Bytes a second, of the requests that `iops` counts, over the same time."""
    lat_ns: Distribution
    """Time from the intended arrival until the last piece was done."""
    wait_ns: Distribution
    """Time from the intended arrival until the first piece was dispatched."""
    service_ns: Distribution
    """Device time of all pieces of a request."""
    device_time_s: float
    """Device time of the class in seconds, failed requests included."""
    share: float
    """Its share of the device time of all classes."""
    weight: int
    """Its weight, relative to the weights of the other classes."""
    weight_is_given: bool
    """Whether the job gives the weight. If not, it follows from the I/O priority, and nothing
    promises the class a share."""
    ideal_share: float | None
    """Its weight over the sum of the weights of all classes that had requests after the warm-up;
    null if it had none."""
    share_error_pct: float | None
    """`share` less `ideal_share`, in percentage points."""
    limited_by_demand: bool
    """Whether it got less than its ideal share because it asked for less. For an open loop: all its
    requests, unfinished ones included, need less device time than its ideal share of the device
    time that all classes used. For another class: on average less than one of its requests waited
    above the device, so that there was nothing more to send."""
    of_alone: float | None
    """Its throughput over its throughput when it runs alone on the device, in bytes a second or,
    without bytes, in requests a second; null unless the same round has a run of `alone:CLASS`."""
    felt_error_pct: float | None
    """Its share of the sum of all classes' `of_alone`, less `ideal_share`, in percentage points;
    null unless every class with requests also ran alone."""
    errors: int
    """Requests that failed."""
    error_codes: Mapping[str, ErrorCount]
    """Failed requests by the name of the error."""
    unfinished: int
    """Requests that had not finished when the run ended."""
    schedule: Schedule | None
    """How well its schedule was kept; null in virtual time, and if nothing was planned ahead."""
    added_ns: int | None
    """Nanoseconds that the way through the kernel adds to the median latency: that on a served
    device less that under the same policy in this process; left out unless the same round ran
    both."""
    kernel_weight: int | None
    """Weight of the control group of its threads, under a scheduler of the kernel that divides by
    them; left out of other runs."""
    ops: Ops | None
    """Figures by operation; left out if no agent of the class mixes operations or asks for
    flushes."""
    programs: Programs | None
    """Figures of its programs; left out if the job has no programs."""


@shaped(by_percent)
@dataclass(frozen=True, kw_only=True)
class Milliseconds:
    """A distribution of milliseconds; all zero if there was nothing to measure."""

    n: int
    """Number of values."""
    mean: float
    """Arithmetic mean."""
    stddev: float
    """Standard deviation."""
    min: float
    """Smallest value."""
    max: float
    """Largest value."""
    percentiles: Mapping[float, float]
    """The 50th, 95th, 99th and 99.9th by their percents."""


@dataclass(frozen=True, kw_only=True)
class Travel:
    """How far the arms of disks moved."""

    cylinders: int
    """Cylinders crossed in all accesses and on the way from each to the next: seeks, further tracks
    of an access, and read-ahead."""
    per_request: float
    """Cylinders crossed per request, where a hit of a disk's cache counts as a request too."""


@dataclass(frozen=True, kw_only=True)
class DiskStats:
    """Figures of the disks of a model: of all together, and of each one if there are several."""

    service_ms: Milliseconds
    """Time of the whole access, overhead and bus included; with a cache, and without an arm, device
    time of each request."""
    utilisation: float
    """Share of the measured time in which the disk was busy; the mean if there are several
    disks."""
    disks: tuple[Self, ...]
    """Figures of each disk: of an array, or of the devices that files are on or that the devices of
    a trace are played on, in their order; left out if there is one disk."""
    rotation_ms: Milliseconds | None
    """Time until the first wanted sector came round."""
    seek_ms: Milliseconds | None
    """Time to move the arm to the first track, head switch and settling included."""
    transfer_ms: Milliseconds | None
    """Time from the first wanted sector until the last had passed."""
    travel: Travel | None
    """How far the arm moved."""
    device: str | None
    """The file on it, or the device of the trace that is played on it, where each has a device of
    its own."""


@dataclass(frozen=True, kw_only=True)
class FileResult:
    """Figures of one file, over the requests of all classes."""

    name: str
    """Name of the file. A job without files has one, `target`, which is the whole device or target;
    a trace of several devices has one for each, under the name that the trace gives it."""
    requests: int
    """Requests that were due after the warm-up and completed without error."""
    bytes: int
    """Bytes that they read or wrote."""
    bw_bytes: float
    """Bytes a second of the requests that completed without error after the warm-up, whenever they
    were due, over the time in which the job asks, as for a class."""
    device: str | None
    """Name of the modelled device that it is on; left out for a real target."""
    device_busy: float | None
    """Share of the measured time in which its real target had something to do; left out for a
    model, whose `device_stats` have it, and for a single file, where it is `device_busy` of the
    run."""
    device_stats: DiskStats | None
    """Figures of the disks of its device, whatever other files are on it; left out for a real
    target."""
    path: str | None
    """Path of the real target; left out for a model."""
    shared: str | None
    """Name in the job of the device or real target that it shares with other files: for a target,
    the first of them; left out if it shares none."""


@dataclass(frozen=True, kw_only=True)
class Emulation:
    """How late the completions of an emulated device were, against its model's own schedule."""

    completions: int
    """Number of completions."""
    mean_ns: float
    """Arithmetic mean of their lateness in nanoseconds."""
    p50_ns: int
    """Median of their lateness in nanoseconds."""
    p99_ns: int
    """99th percentile of their lateness in nanoseconds."""
    max_ns: int
    """Largest lateness in nanoseconds."""
    head_start_ns: int | None
    """Nanoseconds by which an idle model begins before a request arrives, as the kernel takes them
    there and back; only served devices have it."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Requests and bytes that a run asked for, however they were split or merged."""

    reads: int
    """Requests that read."""
    read_bytes: int
    """Bytes that they read."""
    writes: int
    """Requests that wrote."""
    write_bytes: int
    """Bytes that they wrote."""


@dataclass(frozen=True, kw_only=True)
class KernelDisk:
    """The kernel's counts for a disk (`/proc/diskstats`)."""

    reads: int
    """Reads that the disk completed."""
    reads_merged: int
    """Reads that were merged into others before they reached the disk."""
    read_bytes: int
    """Bytes that were read."""
    writes: int
    """Writes that the disk completed."""
    writes_merged: int
    """Writes that were merged into others before they reached the disk."""
    write_bytes: int
    """Bytes that were written."""
    in_flight: float
    """Mean number of requests in the queue or at the disk over time."""


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """Requests that a live run asked for, warm-up included, and the kernel's counts meanwhile."""

    asked: Asked
    """Requests and bytes that the run asked for."""
    disks: Mapping[str, KernelDisk]
    """The kernel's counts for each disk, by name."""


@dataclass(frozen=True, kw_only=True)
class Blocked:
    """Seconds that a merge could not use up a block."""

    read: float
    """Seconds of waiting for blocks that it had asked for."""
    memory: float
    """Seconds of waiting for memory."""


@dataclass(frozen=True, kw_only=True)
class Merge:
    """Figures of the merges of a job, from the beginning of the run on, warm-up included.

    Lists have an entry for each job, in the order of the classes.
    """

    makespan_s: float | None
    """Seconds until the last job had written its last block; null if one had not when the run
    ended."""
    finish_s: tuple[float | None, ...]
    """Seconds until each job had written its last block; null for a job that had not."""
    divergence_max: float
    """Largest lead of the first job over the last one, in blocks used up, as a part of the blocks
    of a job."""
    divergence_mean: float
    """Mean of that lead over time, until the last job had finished."""
    max_queued_writes: int
    """The most writes that were at one disk at once, waiting or in service."""
    blocked_s: tuple[Blocked, ...]
    """Seconds that each job waited, by reason."""
    read_ms: float
    """Mean device time of a read, in milliseconds; 0 if there was none."""
    write_ms: float
    """Mean device time of a write, in milliseconds; 0 if there was none."""
    f_eff: float | None
    """Write time per block, times the number of disks less one, over read time per block: the load
    on the disk of the output if a job reads from all other disks in parallel. From about 1 on, jobs
    race if each writes a disk from which the other jobs read and it does not. Null if nothing was
    read or written."""


@dataclass(frozen=True, kw_only=True)
class AgainstMeasured:
    """How far a run is from response times that were measured on a drive."""

    rms_ms: float
    """Root mean square of the horizontal distance between the distribution function of the measured
    response times and that of the run."""
    rms_relative: float
    """`rms_ms` as a share of the mean that was measured."""
    mean_ms: float
    """Mean response time of the run, against `measured_mean_ms`."""
    measured_mean_ms: float
    """Mean of the response times that were measured."""


@dataclass(frozen=True, kw_only=True)
class Characteristic:
    """How unstable one characteristic is."""

    name: str
    """`size`, `rate`, `pattern`, `type` or `service time`."""
    instability: float
    """0 if it is the same in every block; 1 if it varies by as much as its mean."""
    lag1: float | None
    """Correlation of each block with the next; `None` if all are equal."""


@dataclass(frozen=True, kw_only=True)
class ClassStability:
    """How stable the requests of a class are."""

    requests: int
    """Reads and writes that were asked for."""
    blocks: int
    """Complete blocks of these requests."""
    block: int
    """Requests of a block."""
    service_ns: int | None
    """Mean device time of the requests that completed without error; `None` if none did."""
    characteristics: tuple[Characteristic, ...]
    """Each characteristic that is known of two blocks or more."""


@dataclass(frozen=True, kw_only=True)
class Survey:
    """Inputs to the cycle length of `fairio`, in addition to the figures of the run."""

    disks: int
    """Disks that work side by side."""
    load: int
    """Largest number of requests at the device at once."""
    classes: tuple[ClassStability, ...]
    """How stable the requests of each class are, in the order of the job."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A block that differed from what was written."""

    file: str
    """Path of the target."""
    offset: int
    """The first byte of the block in the target."""
    expected: str
    """The versions that may be there: the one acknowledged last, and those in flight."""
    found: str
    """A description of the data that is there."""


@dataclass(frozen=True, kw_only=True)
class Verified:
    """Results of verification in a run, in blocks of 4096 bytes."""

    records: tuple[str, ...]
    """Paths of the records of verified writes, one for each target; empty over models."""
    written: int
    """Blocks that were written with a stamp and acknowledged, warm-up included."""
    checked: int
    """Blocks that were read and compared with what is recorded, warm-up included."""
    unchecked: int
    """Blocks that were read where reads are checked, but could not be compared: no verified write
    of them is recorded, or too many were under way at once."""
    read_again: int
    """Blocks that were read again at the end, and compared."""
    different: int
    """Blocks that differed from what was written."""
    differences: tuple[Difference, ...]
    """The first different blocks, at most 16."""


@shaped(against_measured)
@dataclass(frozen=True, kw_only=True)
class Run(ByClass):
    """The run of one policy."""

    policy: str
    """Name of the policy."""
    params: Mapping[str, Value]
    """Its parameters, with every default in place."""
    duration_s: float
    """Seconds that were measured: from the end of the warm-up to the end of the run. A run that
    finishes its work early still counts as long as planned."""
    schedule: Schedule | None
    """How well the schedule was kept; null in virtual time, and if nothing was planned ahead, as in
    closed loops and traces played as fast as possible. Under the kernel's scheduler only classes
    have one."""
    device_busy: float
    """Share of the measured time in which the device had something to do; the mean if there are
    several disks."""
    classes: tuple[ClassResult, ...]
    """Figures of each class, in the order of the job."""
    files: tuple[FileResult, ...]
    """Figures of each file, in the order of the job, or of each device of a trace with several
    devices; a job without files has one, `target`."""
    device_stats: DiskStats | None
    """Figures of the disks of a model; left out of a run on a real target."""
    emulation: Emulation | None
    """How late a model answered in real time; left out of other runs."""
    ended: Ended | None
    """Why it was ended early, if it was."""
    failure: str | None
    """Description of the failure, if the run could not go on."""
    interrupted: bool
    """Whether it was ended early, so that the figures are of the part that ran; left out if not."""
    kernel: Kernel | None
    """The kernel's counts for the disks below a real target; left out of other runs, and where no
    disk is listed."""
    merge: Merge | None
    """Figures of the merges of a job; left out if the job has none."""
    policy_stats: Mapping[str, int]
    """The policy's own counters, by name; left out if it has none."""
    remarks: tuple[str, ...]
    """Facts that limit what the figures of this run say, in words; left out if there are none."""
    against_measured: AgainstMeasured | None
    """None unless a trace has measured response times."""
    round: int | None
    """Number of the round, from 0, if there are several."""
    schedulers: Mapping[str, str | None]
    """The kernel's scheduler in front of each disk below a real target, by the name of the disk;
    null for a disk without one. Left out of other runs, and where no disk is listed."""
    seed: int | None
    """Seed of the round, if there are several."""
    survey: Survey | None
    """Results of a survey of stability; left out if none was asked for."""
    verify: Verified | None
    """Results of verification; left out if the job has no `verify`."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The machine that ran the job."""

    cpu: str
    """Model name of the processor."""
    cpus: int
    """Processors that this run could use."""
    kernel: str
    """Name and release of the kernel."""
    began_unix_s: int | None
    """When a live comparison began, in seconds since 1970. A model's result does not depend on
    it."""
    engine: str | None
    """How the target was driven; left out for a model."""
