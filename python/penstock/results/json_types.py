"""Results in JSON, as types. tools/result_types.py writes this file.

Fields are declared and explained in crates/run/src/result.
Names follow fio's where fio has one; a key that may be left out is `NotRequired`.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

Value: TypeAlias = "str | int | bool | Params"
"""A parameter's value: a size or a length of time as text with its unit, a device, a number, a
switch, or the members of a group."""

CounterKind: TypeAlias = Literal["total", "level"]
"""How the value of a counter moves. `total`: It only grows. `level`: It goes up and down."""

Ended: TypeAlias = Literal["asked", "timeout", "resized", "deadlock", "differs", "record-lost"]
"""Why a run ended early. `asked`: On request, as by Ctrl-C. `timeout`: The target did not answer.
`resized`: The target's length changed. `deadlock`: Every merge waits for memory, and no request is
outstanding. `differs`: Data was not what was written, where it is verified. `record-lost`: The
record of verified writes was lost."""

Op: TypeAlias = Literal["read", "write", "flush", "discard"]
"""What a request asks for. `read`: Data from the device. `write`: Data to the device. `flush`: What
was written goes to stable media. `discard`: Data is given up."""

Params: TypeAlias = dict[str, Value]
"""Parameters of a policy by name."""

World: TypeAlias = Literal["simulated", "emulated", "measured"]
"""Whether a figure comes from a model or from the machine. `simulated`: Virtual time over a
modelled device. `emulated`: Real time over a modelled device. `measured`: Real time over a real
target."""


class Comparison(TypedDict):
    """What `compare` and `run` print with `--json`."""

    penstock: str
    """Version of Penstock."""
    job: Job
    """The job as it was read, with what `--set` changed."""
    seed: int
    """Seed of every random number."""
    world: World
    """`simulated`, `emulated` or `measured`."""
    device: str
    """Name of the modelled device, or path of the target."""
    machine: Machine
    """Where it ran."""
    runs: list[Run]
    """One for each policy, in the order in which they were named."""
    remarks: NotRequired[list[str]]
    """What has to be known of all runs to read their figures, in words; left out if there is
    nothing to say."""
    verdict: NotRequired[Verdict]
    """What follows from the figures; left out of what the engine hands to the package."""


class Arm(TypedDict):
    """The arm of a disk in a stretch of a run."""

    from_ns: int
    """Where the stretch begins, in nanoseconds of the run."""
    until_ns: int
    """Where it ends: as far as was asked, or before, with the run or the last access that is
    kept."""
    accesses: list[ArmAccess]
    """Accesses that began in it, in their order."""
    held: list[HeldIdle]
    """When the disk stood idle although requests were queued for it, in their order: the policy
    held it for a request to come. None is known of a policy that serves several disks."""


class ArmAccess(TypedDict):
    """One access of an arm."""

    begins_ns: int
    """When it begins, in nanoseconds of the run."""
    arrives_ns: int
    """When the arm is there."""
    ends_ns: int
    """When the last sector has passed."""
    start: int
    """Cylinder from which the arm moves."""
    first: int
    """Cylinder of the first track."""
    last: int
    """Cylinder where the access ends; of a disk with its cache, where its first track does."""
    write: bool
    """Whether it writes."""


class Asked(TypedDict):
    """What a run asked for, however it was split or merged."""

    reads: int
    """Requests that read."""
    read_bytes: int
    """Bytes that they read."""
    writes: int
    """Requests that wrote."""
    write_bytes: int
    """Bytes that they wrote."""


class Blocked(TypedDict):
    """Seconds that a merge could not use up a block."""

    read: float
    """It waited for blocks that it had asked for."""
    memory: float
    """It waited for memory."""


class ByOp(TypedDict):
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


class Change(TypedDict):
    """What one class got under one policy, against the baseline.

     Ratios are of medians if there are rounds, and null where too few requests finished or noise
    hides how they differ.
    """

    policy: str
    """The policy."""
    name: str
    """Name of the class."""
    p50: float | None
    """How many times shorter its median latency is."""
    p95: float | None
    """How many times shorter its 95th percentile is."""
    p99: float | None
    """How many times shorter its 99th percentile is."""
    throughput: float | None
    """How many times higher its throughput is; null too for an open loop that is served, which gets
    what it asks for."""


class Characteristic(TypedDict):
    """How unstable one characteristic is."""

    name: str
    """`size`, `rate`, `pattern`, `type` or `service time`."""
    instability: float
    """0 if it is the same in every block; 1 if it varies by as much as its mean."""
    lag1: float | None
    """Correlation of each block with the next; `None` if all are equal."""


class Class(TypedDict):
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
    error_codes: dict[str, ErrorCount]
    """How many of them with which error, by its name."""
    unfinished: int
    """Requests that had not finished when the run ended."""
    schedule: Schedule | None
    """How its schedule was held; null in virtual time, and if nothing was planned ahead."""
    ops: NotRequired[Ops]
    """The same by operation; left out of a class of which no agent mixes operations or asks for
    flushes."""
    programs: NotRequired[Programs]
    """What its programs did; left out of a job without programs."""


class ClassDetail(TypedDict):
    """One class of a run in detail.

    What is due before the warm-up's end is in the series only.
    """

    name: str
    """Name of the class."""
    lat_ns: list[tuple[int, int]]
    """Latencies: upper bounds in nanoseconds, ascending, and how many lie at or below each and
    above the one before."""
    wait_ns: list[tuple[int, int]]
    """The same of waits."""
    series: list[Row]
    """Over time, a row for each window."""


class ClassStability(TypedDict):
    """How stable the requests of a class are."""

    requests: int
    """Reads and writes that were asked for."""
    blocks: int
    """Complete blocks of them."""
    block: int
    """Requests of a block."""
    service_ns: int | None
    """Mean device time of those that completed without error; `None` if none did."""
    characteristics: list[Characteristic]
    """Each characteristic that is known of two blocks or more."""


class CounterSeries(TypedDict):
    """One counter of the policy over time."""

    name: str
    """Its name, as in `policy_stats`."""
    counter: str
    """The same without the disk and the class that it is of."""
    of_class: str | None
    """The class that it is of; null if it is of none."""
    disk: int | None
    """The disk whose policy it is of; null if one policy has all."""
    kind: CounterKind
    """Whether it only grows (`total`), or goes up and down (`level`)."""
    values: list[int | None]
    """A value for each window of a class: of a total what was added in it, of a level the value at
    its end; null before there was one."""


class Demand(TypedDict):
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


class Detail(TypedDict):
    """One run in detail."""

    window_s: float
    """Seconds that a window lasts."""
    classes: list[ClassDetail]
    """One for each class, in the order of the job."""
    arm: NotRequired[Arm]
    """What the arm did in the stretch of the run that is drawn, of the first disk; left out of a
    device without an arm."""
    policy: NotRequired[list[CounterSeries]]
    """The policy's own counters over time; left out of a policy that has none. Of classes, those of
    the first eight that the policy names, and of all others sixteen; where each disk has a policy
    of its own, none of classes, and those of the first eight disks."""


class DeviceStats(TypedDict):
    """What the disks of a model did: all of them together, and each if there are several."""

    service_ms: Milliseconds
    """The whole access, overhead and bus included; with a cache, and without an arm, what each
    request took."""
    utilisation: float
    """Share of the measured time in which the disk was busy; of several, the mean."""
    disks: NotRequired[list[EachDisk]]
    """One for each disk of an array, or of the devices that files are on or those of a trace are
    played on, in their order; left out if there is one."""
    rotation_ms: NotRequired[Milliseconds]
    """Until the first wanted sector came round."""
    seek_ms: NotRequired[Milliseconds]
    """Arm, head switch and settling, to the first track."""
    transfer_ms: NotRequired[Milliseconds]
    """From there until the last wanted sector had passed."""
    travel: NotRequired[Travel]
    """How far the arm moved."""


class Difference(TypedDict):
    """A block that was not what was written."""

    file: str
    """The target."""
    offset: int
    """The first byte of the block in the target."""
    expected: str
    """What should be there: what was acknowledged last, and what was in flight."""
    found: str
    """What is there."""


class Distribution(TypedDict):
    """A distribution of nanoseconds; all zero if there was nothing to measure."""

    mean: float
    """Arithmetic mean."""
    stddev: float
    """Standard deviation."""
    min: int
    """The least."""
    max: int
    """The greatest."""
    percentile: dict[str, int]
    """Percentiles, by percent with six decimals as fio writes them."""


class EachDisk(TypedDict):
    """What one of several disks did."""

    service_ms: Milliseconds
    """The whole access, overhead and bus included; with a cache, and without an arm, what each
    request took."""
    utilisation: float
    """Share of the measured time in which the disk was busy; of several, the mean."""
    device: NotRequired[str]
    """The file that is on it, or the device of the trace that is played on it, where each has a
    device of its own."""
    rotation_ms: NotRequired[Milliseconds]
    """Until the first wanted sector came round."""
    seek_ms: NotRequired[Milliseconds]
    """Arm, head switch and settling, to the first track."""
    transfer_ms: NotRequired[Milliseconds]
    """From there until the last wanted sector had passed."""
    travel: NotRequired[Travel]
    """How far the arm moved."""


class Emulation(TypedDict):
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


class ErrorCount(TypedDict):
    """Requests of one class that failed in the same way."""

    requests: int
    """How many."""
    first: FirstError
    """The first of them."""


class File(TypedDict):
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
    device: NotRequired[str]
    """Name of the modelled device that it is on; left out of a real target."""
    device_busy: NotRequired[float]
    """Share of the measured time in which its real target had something to do; left out of a model,
    whose `device_stats` have it, and of a single file, of which it is that of the run."""
    device_stats: NotRequired[DeviceStats]
    """What the disks of its device did; left out of a real target."""
    path: NotRequired[str]
    """Path of the real target; left out of a model."""


class FirstError(TypedDict):
    """A request that failed."""

    at_s: float
    """Seconds of the run until then."""
    op: Op
    """What it asked for."""
    start: int
    """First byte."""
    len: int
    """Bytes."""


class Held(TypedDict):
    """Shares of the arrivals that were due."""

    within_100us: float
    """Handed over at most 100 µs late."""
    within_1ms: float
    """At most 1 ms late."""
    within_10ms: float
    """At most 10 ms late."""


class HeldIdle(TypedDict):
    """A disk stood idle although requests were queued for it."""

    from_ns: int
    """From then on, in nanoseconds of the run."""
    until_ns: int
    """Until then."""


class Job(TypedDict):
    """The job of a result."""

    file: str
    """The file, as it was named."""
    text: str
    """The whole job as TOML, with every default in place."""
    set: list[str]
    """What `--set` said, in order."""


class Kernel(TypedDict):
    """What a live run asked for, warm-up included, and what the kernel counted meanwhile."""

    asked: Asked
    """What the run asked for."""
    disks: dict[str, KernelDisk]
    """What the kernel counted of each disk, by its name."""


class KernelDisk(TypedDict):
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


class Machine(TypedDict):
    """The machine that ran it."""

    cpu: str
    """Model name of the processor."""
    cpus: int
    """Processors that this run could use."""
    kernel: str
    """Name and release of the kernel."""
    began_unix_s: NotRequired[int]
    """When a live comparison began, in seconds since 1970. A model's result does not depend on
    it."""
    engine: NotRequired[str]
    """How the target was driven; left out for a model."""


class Merge(TypedDict):
    """What the merges of a job did, from the beginning of the run on, whatever its warm-up.

    Lists have an entry for each job, in the order of the classes.
    """

    makespan_s: float | None
    """Seconds until the last job had written its last block; null if one had not when the run
    ended."""
    finish_s: list[float | None]
    """Seconds until each job had written its last block; null of one that had not."""
    divergence_max: float
    """How far the jobs were apart at most: the blocks that the first of them had used up more than
    the last, as a part of a job."""
    divergence_mean: float
    """The mean of that over time, until the last job had finished."""
    max_queued_writes: int
    """The most writes that were at one disk at once, waiting or in service."""
    blocked_s: list[Blocked]
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


class Milliseconds(TypedDict):
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
    percentile: dict[str, float]
    """Percentiles, by percent with six decimals."""


class Ops(TypedDict):
    """What one class got, by operation."""

    read: ByOp
    """Its reads."""
    write: ByOp
    """Its writes."""
    discard: NotRequired[ByOp]
    """Its trims; left out if there are none."""
    flush: NotRequired[ByOp]
    """Its flushes; left out if there are none."""


class Overload(TypedDict):
    """A class that asked for more than it was served."""

    policy: str
    """The policy."""
    name: str
    """Name of the class."""
    asked_iops: float
    """Requests a second that it asked for."""
    served_iops: float
    """Requests a second that were served."""
    behind_s: float
    """Seconds of work that waited when the last request came."""


class Programs(TypedDict):
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


class Row(TypedDict):
    """One class in one window."""

    at_s: float
    """Where the window begins, in seconds from the beginning of the run."""
    requests: int
    """Requests that completed in it."""
    bytes: int
    """Their bytes."""
    p50_ns: int | None
    """Median of their latencies in nanoseconds; null if there were none."""
    p99_ns: int | None
    """99th percentile of their latencies; null if there were none."""
    outstanding: float
    """Requests outstanding, in the mean over the window."""
    device_time_s: float
    """Device time in seconds of what completed in it."""


class Run(TypedDict):
    """One policy's run."""

    policy: str
    """Name of the policy."""
    params: Params
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
    classes: list[Class]
    """One for each class, in the order of the job."""
    files: list[File]
    """One for each file, in the order of the job, or for each device of a trace of several; one,
    `target`, of a job without files."""
    detail: NotRequired[Detail]
    """Whole distributions and the course over time, if they were asked for; `--json` does not print
    them."""
    device_stats: NotRequired[DeviceStats]
    """What the disks of a model did; left out of what was measured on a real target."""
    emulation: NotRequired[Emulation]
    """How late a model answered in real time; left out elsewhere."""
    ended: NotRequired[Ended]
    """Why it was ended early, if it was."""
    failure: NotRequired[str]
    """What failed, in words, if the run could not go on."""
    interrupted: NotRequired[bool]
    """It was ended early, and the figures are of the part that ran; left out if it was not."""
    kernel: NotRequired[Kernel]
    """What the kernel counted of the disks below a real target; left out elsewhere, and where no
    disk is listed."""
    mean_ms: NotRequired[float]
    """Mean response time of the run, against `measured_mean_ms`."""
    measured_mean_ms: NotRequired[float]
    """Mean of the response times that were measured."""
    merge: NotRequired[Merge]
    """What the merges of a job did; left out of a job without."""
    policy_stats: NotRequired[dict[str, int]]
    """Counters of the policy's own, by name; left out of a policy that has none."""
    remarks: NotRequired[list[str]]
    """What the machine did not grant to a live run, in words; left out if there is nothing to
    say."""
    rms_ms: NotRequired[float]
    """Of a trace of measured response times: root mean square of the horizontal distance between
    their distribution function and that of the run."""
    rms_relative: NotRequired[float]
    """`rms_ms` as a share of the mean that was measured."""
    round: NotRequired[int]
    """Number of the round, from 0, if there are several."""
    schedulers: NotRequired[dict[str, str | None]]
    """The kernel's scheduler in front of each disk below a real target, by its name; null of a disk
    without one. Left out elsewhere, and where no disk is listed."""
    seed: NotRequired[int]
    """Seed of the round, if there are several."""
    survey: NotRequired[Survey]
    """What a survey of stability found; left out if none was asked for."""
    verify: NotRequired[Verified]
    """What was verified; left out of a job without `verify`."""


class Schedule(TypedDict):
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
    held: Held
    """How many were on time."""
    late_while_full: int
    """Requests more than 1 ms late that came while the device's queue was full."""
    processor_wait_s: NotRequired[float]
    """Seconds of the run in which the generator was ready and had no processor; left out of a
    class, and where the kernel does not say."""


class Survey(TypedDict):
    """What the length of a cycle of `fairio` depends on, beside the figures of the run."""

    disks: int
    """Disks that work side by side."""
    load: int
    """Requests that were at the device at once, at most."""
    classes: list[ClassStability]
    """How stable the requests of each class are, in the order of the job."""


class Travel(TypedDict):
    """How far the arms of disks moved."""

    cylinders: int
    """Cylinders crossed in all accesses and on the way from each to the next: seeks, tracks further
    in, and what is read ahead."""
    per_request: float
    """The same for each request, a hit of a disk's cache included."""


class Verdict(TypedDict):
    """What follows from the figures of a comparison, as data and in words."""

    baseline: str | None
    """The policy that the others are compared with; null if none serves all classes."""
    overload: list[Overload]
    """Classes that asked for more than they were served, under each policy where one did."""
    nothing_to_decide: bool
    """Requests hardly waited above the device, and no class differs by more than a fifth: there was
    nothing for a policy to decide."""
    best: dict[str, list[str]]
    """For each class the policies that serve it best, and as well as the best: within 5 %."""
    dominated: dict[str, str]
    """Policies for which another one is better for some class and as good for all, with that
    one."""
    changes: list[Change]
    """Each policy against the baseline, class by class."""
    lines: list[str]
    """The same in words, a line each."""


class Verified(TypedDict):
    """What was verified in a run, in blocks of 4096 bytes."""

    records: list[str]
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
    differences: list[Difference]
    """The first of them, 16 at most."""
