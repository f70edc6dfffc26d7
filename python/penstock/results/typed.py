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
    """The least."""
    max: int
    """The greatest."""
    percentiles: Mapping[float, int]
    """The 50th, 95th, 99th and 99.9th by their percents."""


@shaped(lifted("held"))
@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How a live run held its schedule.

    Of the requests that were planned ahead, and due after the warm-up, it counts those that were
    handed over, and how late.
    """

    scheduled: int
    """Arrivals that were planned for the whole run. Of those that were not made the first 4,194,304
    are counted, here and in `due`."""
    due: int
    """Those among them that were due before it ended."""
    made: int
    """Those among them that were handed over."""
    scheduled_s: float
    """Seconds from the end of the warm-up until the last planned arrival."""
    taken_s: float
    """Seconds from there until the last that was made was handed over."""
    lateness_ns: Distribution
    """How late those that were made were handed over."""
    held_within_100us: float
    """Handed over at most 100 µs late."""
    held_within_1ms: float
    """At most 1 ms late."""
    held_within_10ms: float
    """At most 10 ms late."""
    late_while_full: int
    """Requests more than 1 ms late that came while the device's queue was full."""
    processor_wait_s: float | None
    """Seconds of the run in which the generator was ready and had no processor; left out of a
    class, and where the kernel does not say."""


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What an open loop asked for.

    It says too how far the device was behind when the last request came.
    """

    iops: float
    """Requests a second that were due, from the end of the warm-up until the last of them."""
    lasted_s: float
    """Seconds between these."""
    behind_s: float
    """Seconds from the last of them until all were served, or until the run ended."""
    growth: float | None
    """Mean latency of those due in the second half of the time in which the load asks, over that of
    the first half: far above 1 where a backlog grows. Null if none of a half completed."""


@shaped(lifted("first"))
@dataclass(frozen=True, kw_only=True)
class ErrorCount:
    """Requests of one class that failed in the same way."""

    requests: int
    """How many."""
    first_at_s: float
    """Seconds of the run until then."""
    first_op: Op
    """What it asked for."""
    first_start: int
    """First byte."""
    first_len: int
    """Bytes."""


@dataclass(frozen=True, kw_only=True)
class ByOp:
    """What the requests of a class got that ask for the same, in the fields of the class."""

    requests: int
    """Requests that were due after the warm-up and completed without error."""
    bytes: int
    """Bytes that they read or wrote."""
    iops: float
    """Requests a second."""
    bw_bytes: float
    """Bytes a second."""
    lat_ns: Distribution
    """From the intended arrival until the last piece was done."""


@dataclass(frozen=True, kw_only=True)
class Ops:
    """What one class got, by operation."""

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
    """What the programs of a class did.

    Arrivals after the warm-up = n + unfinished.
    """

    n: int
    """Programs that arrived after the warm-up and have ended."""
    unfinished: int
    """Those that had not ended when the run did."""
    time_ns: Distribution
    """From a program's arrival until its end."""
    wait_ns: Distribution
    """From asking for I/O until the first piece was sent; of all that was sent in the measured
    time, its end included, whether or not it has finished."""
    cpu_time_s: float
    """Seconds that they had a processor, of the measured time."""
    cpu_share: float
    """The same as a share of the time of all processors."""


@dataclass(frozen=True, kw_only=True)
class ClassResult:
    """What one class got.

    Arrivals = requests + unfinished + errors.
    """

    name: str
    """Name of the class."""
    open_loop: bool
    """All its requests come when they are planned, whatever the device does. Its throughput is then
    what it asks for, unless requests are left unfinished; latency alone says what it gets."""
    demand: Demand | None
    """What it asked for if it is one; null if not, or if nothing came after the warm-up."""
    requests: int
    """Requests that were due after the warm-up and completed without error."""
    bytes: int
    """Bytes that they read or wrote."""
    discarded_bytes: int
    """Bytes that they discarded, which no throughput counts."""
    iops: float
    """Requests a second: those that completed without error after the warm-up, whenever they were
    due, over the time in which the job asks. That is the time from the end of the warm-up until no
    agent asks any more, or until the last arrival of a trace. It is longer for a class that was
    served later, until its last completion, and shorter if the run ended before. A load that is as
    long as it takes, as a trace played as fast as possible, asks until the run ends."""
    bw_bytes: float
    """Bytes a second, of the same requests over the same time."""
    lat_ns: Distribution
    """From the intended arrival until the last piece was done."""
    wait_ns: Distribution
    """From the intended arrival until the first piece was dispatched."""
    service_ns: Distribution
    """Device time of all its pieces."""
    device_time_s: float
    """Device time of the class in seconds, failed requests included."""
    share: float
    """Its part of the time in which the device was busy: its device time over the sum of all
    classes'."""
    weight: int
    """Its weight, relative to the weights of the other classes."""
    ideal_share: float | None
    """Its weight over the weights of all classes that had requests after the warm-up; null if it
    had none."""
    share_error_pct: float | None
    """`share` less `ideal_share`, in percentage points."""
    limited_by_demand: bool
    """It got less than its ideal share because it asked for less. An open loop did if all its
    requests, those left unfinished too, need less device time than its part of what all classes
    used; another class did if on average less than one of its requests waited above the device, so
    that there was nothing more to send."""
    of_alone: float | None
    """Its throughput over its throughput alone on the device, in bytes a second or, without bytes,
    in requests; null unless the same round has a run of `alone:CLASS`."""
    felt_error_pct: float | None
    """Its part of the sum of all classes' `of_alone`, less `ideal_share`, in percentage points;
    null unless every class with requests ran alone too."""
    errors: int
    """Requests that failed."""
    error_codes: Mapping[str, ErrorCount]
    """How many of them with which error, by its name."""
    unfinished: int
    """Requests that had not finished when the run ended."""
    schedule: Schedule | None
    """How its schedule was held; null in virtual time, and if nothing was planned ahead."""
    ops: Ops | None
    """The same by operation; left out of a class of which no agent mixes operations or asks for
    flushes."""
    programs: Programs | None
    """What its programs did; left out of a job without programs."""


@shaped(by_percent)
@dataclass(frozen=True, kw_only=True)
class Milliseconds:
    """A distribution of milliseconds; all zero if there was nothing to measure."""

    n: int
    """How many values there are."""
    mean: float
    """Arithmetic mean."""
    stddev: float
    """Standard deviation."""
    min: float
    """The least."""
    max: float
    """The greatest."""
    percentiles: Mapping[float, float]
    """The 50th, 95th, 99th and 99.9th by their percents."""


@dataclass(frozen=True, kw_only=True)
class Travel:
    """How far the arms of disks moved."""

    cylinders: int
    """Cylinders crossed in all accesses and on the way from each to the next: seeks, tracks further
    in, and what is read ahead."""
    per_request: float
    """The same for each request, a hit of a disk's cache included."""


@dataclass(frozen=True, kw_only=True)
class DiskStats:
    """What the disks of a model did: all of them together, and each if there are several."""

    service_ms: Milliseconds
    """The whole access, overhead and bus included; with a cache, and without an arm, what each
    request took."""
    utilisation: float
    """Share of the measured time in which the disk was busy; of several, the mean."""
    disks: tuple[Self, ...]
    """One for each disk of an array, or of the devices that files are on or those of a trace are
    played on, in their order; left out if there is one."""
    rotation_ms: Milliseconds | None
    """Until the first wanted sector came round."""
    seek_ms: Milliseconds | None
    """Arm, head switch and settling, to the first track."""
    transfer_ms: Milliseconds | None
    """From there until the last wanted sector had passed."""
    travel: Travel | None
    """How far the arm moved."""
    device: str | None
    """The file that is on it, or the device of the trace that is played on it, where each has a
    device of its own."""


@dataclass(frozen=True, kw_only=True)
class FileResult:
    """What one file got.

    Requests and bytes are those of all classes.
    """

    name: str
    """Name of the file. A job without files has one, `target`, which is the whole device or target;
    a trace of several devices has one for each, by the name that the trace has for it."""
    requests: int
    """Requests that were due after the warm-up and completed without error."""
    bytes: int
    """Bytes that they read or wrote."""
    bw_bytes: float
    """Bytes a second of what completed without error after the warm-up, whenever it was due, over
    the time in which the job asks, as of a class."""
    device: str | None
    """Name of the modelled device that it is on; left out of a real target."""
    device_busy: float | None
    """Share of the measured time in which its real target had something to do; left out of a model,
    whose `device_stats` have it, and of a single file, of which it is that of the run."""
    device_stats: DiskStats | None
    """What the disks of its device did; left out of a real target."""
    path: str | None
    """Path of the real target; left out of a model."""


@dataclass(frozen=True, kw_only=True)
class Emulation:
    """How late the completions of an emulated device were, against its model's own schedule."""

    completions: int
    """Completions."""
    mean_ns: float
    """Arithmetic mean of their lateness in nanoseconds."""
    p50_ns: int
    """Median."""
    p99_ns: int
    """99th percentile."""
    max_ns: int
    """The worst."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a run asked for, however it was split or merged."""

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
    """What the kernel counted of a disk (`/proc/diskstats`)."""

    reads: int
    """Reads that the disk completed."""
    reads_merged: int
    """Reads that were merged into others before."""
    read_bytes: int
    """Bytes that were read."""
    writes: int
    """Writes that the disk completed."""
    writes_merged: int
    """Writes that were merged into others before."""
    write_bytes: int
    """Bytes that were written."""
    in_flight: float
    """Requests in the queue or at the disk, in the mean over time."""


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """What a live run asked for, warm-up included, and what the kernel counted meanwhile."""

    asked: Asked
    """What the run asked for."""
    disks: Mapping[str, KernelDisk]
    """What the kernel counted of each disk, by its name."""


@dataclass(frozen=True, kw_only=True)
class Blocked:
    """Seconds that a merge could not use up a block."""

    read: float
    """It waited for blocks that it had asked for."""
    memory: float
    """It waited for memory."""


@dataclass(frozen=True, kw_only=True)
class Merge:
    """What the merges of a job did, from the beginning of the run on, whatever its warm-up.

    Lists have an entry for each job, in the order of the classes.
    """

    makespan_s: float | None
    """Seconds until the last job had written its last block; null if one had not when the run
    ended."""
    finish_s: tuple[float | None, ...]
    """Seconds until each job had written its last block; null of one that had not."""
    divergence_max: float
    """How far the jobs were apart at most: the blocks that the first of them had used up more than
    the last, as a part of a job."""
    divergence_mean: float
    """The mean of that over time, until the last job had finished."""
    max_queued_writes: int
    """The most writes that were at one disk at once, waiting or in service."""
    blocked_s: tuple[Blocked, ...]
    """What each job waited for."""
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
    """Of a trace of measured response times: root mean square of the horizontal distance between
    their distribution function and that of the run."""
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
    """Complete blocks of them."""
    block: int
    """Requests of a block."""
    service_ns: int | None
    """Mean device time of those that completed without error; `None` if none did."""
    characteristics: tuple[Characteristic, ...]
    """Each characteristic that is known of two blocks or more."""


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What the length of a cycle of `fairio` depends on, beside the figures of the run."""

    disks: int
    """Disks that work side by side."""
    load: int
    """Requests that were at the device at once, at most."""
    classes: tuple[ClassStability, ...]
    """How stable the requests of each class are, in the order of the job."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A block that was not what was written."""

    file: str
    """The target."""
    offset: int
    """The first byte of the block in the target."""
    expected: str
    """What should be there: what was acknowledged last, and what was in flight."""
    found: str
    """What is there."""


@dataclass(frozen=True, kw_only=True)
class Verified:
    """What was verified in a run, in blocks of 4096 bytes."""

    records: tuple[str, ...]
    """Where the records of verified writes are, one for each target; none over models."""
    written: int
    """Blocks that were written with a stamp and acknowledged, in the warm-up too."""
    checked: int
    """Blocks that were read and compared with what is recorded, in the warm-up too."""
    unchecked: int
    """Blocks that were read where reads are checked, and that could not be compared: no verified
    write of them is recorded, or too many were under way at once."""
    read_again: int
    """Blocks that were read again at the end, and compared."""
    different: int
    """Blocks that were not what was written."""
    differences: tuple[Difference, ...]
    """The first of them, 16 at most."""


@shaped(against_measured)
@dataclass(frozen=True, kw_only=True)
class Run(ByClass):
    """One policy's run."""

    policy: str
    """Name of the policy."""
    params: Mapping[str, Value]
    """Its parameters, with every default in place."""
    duration_s: float
    """Seconds that were measured: from the end of the warm-up to the end of the run. A run that has
    done everything early lasts as long as it might have been asked."""
    schedule: Schedule | None
    """How the schedule was held; null in virtual time, and if nothing was planned ahead, as by
    closed loops and traces as fast as possible. Under the kernel's scheduler only classes have
    one."""
    device_busy: float
    """Share of the measured time in which the device had something to do; of several disks, the
    mean."""
    classes: tuple[ClassResult, ...]
    """One for each class, in the order of the job."""
    files: tuple[FileResult, ...]
    """One for each file, in the order of the job, or for each device of a trace of several; one,
    `target`, of a job without files."""
    device_stats: DiskStats | None
    """What the disks of a model did; left out of what was measured on a real target."""
    emulation: Emulation | None
    """How late a model answered in real time; left out elsewhere."""
    ended: Ended | None
    """Why it was ended early, if it was."""
    failure: str | None
    """What failed, in words, if the run could not go on."""
    interrupted: bool
    """It was ended early, and the figures are of the part that ran; left out if it was not."""
    kernel: Kernel | None
    """What the kernel counted of the disks below a real target; left out elsewhere, and where no
    disk is listed."""
    merge: Merge | None
    """What the merges of a job did; left out of a job without."""
    policy_stats: Mapping[str, int]
    """Counters of the policy's own, by name; left out of a policy that has none."""
    remarks: tuple[str, ...]
    """What the machine did not grant to a live run, in words; left out if there is nothing to
    say."""
    against_measured: AgainstMeasured | None
    """None unless a trace has measured response times."""
    round: int | None
    """Number of the round, from 0, if there are several."""
    schedulers: Mapping[str, str | None]
    """The kernel's scheduler in front of each disk below a real target, by its name; null of a disk
    without one. Left out elsewhere, and where no disk is listed."""
    seed: int | None
    """Seed of the round, if there are several."""
    survey: Survey | None
    """What a survey of stability found; left out if none was asked for."""
    verify: Verified | None
    """What was verified; left out of a job without `verify`."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The machine that ran it."""

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
