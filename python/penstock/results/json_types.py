"""Results in JSON, as types. tools/result_types.py writes this file.

Fields are declared and explained in crates/run/src/result.
Names follow fio's where fio has one; a key that may be left out is `NotRequired`.
"""

from typing import Literal, NotRequired, TypeAlias, TypedDict

Value: TypeAlias = "str | int | bool | Params"
"""A parameter's value: a size or a length of time as text with its unit, a device, a number, a
switch, or the members of a group."""

CounterKind: TypeAlias = Literal["total", "level"]
"""How the value of a counter moves. `total`: A value that only grows. `level`: A value that goes up
and down."""

Ended: TypeAlias = Literal["asked", "timeout", "resized", "deadlock", "differs", "record-lost"]
"""Why a run ended early. `asked`: Someone asked for it, for example by Ctrl-C. `timeout`: The
target did not answer. `resized`: The target's length changed. `deadlock`: Every merge waits for
memory, and no request is outstanding. `differs`: Data differed from what was written, where it is
verified. `record-lost`: The record of verified writes was lost."""

Op: TypeAlias = Literal["read", "write", "flush", "discard"]
"""The operation of a request. `read`: Reads data from the device. `write`: Writes data to the
device. `flush`: Moves written data to stable media. `discard`: Discards data."""

Params: TypeAlias = dict[str, Value]
"""Parameters of a policy by name."""

World: TypeAlias = Literal["simulated", "emulated", "measured"]
"""Whether a figure comes from a model or from the machine. `simulated`: Virtual time over a
modelled device. `emulated`: Real time over a modelled device. `measured`: Real time over a real
target."""


class Job(TypedDict):
    """The job of a result."""

    file: str
    """The file, as it was given."""
    text: str
    """The whole job as TOML, with every default in place."""
    set: list[str]
    """The changes made with `--set`, in order."""


class Machine(TypedDict):
    """The machine that ran the job."""

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


class AgentDetail(TypedDict):
    """Requests and time of an agent.

    Its flushes move the end of its time and are not counted.
    """

    of_class: str
    """Name of its class."""
    requests: int
    """Requests that completed without an error."""
    bytes: int
    """Bytes of these requests."""
    began_s: float | None
    """Seconds from the beginning of the run until its first request was due; null if it issued
    none."""
    ended_s: float | None
    """Seconds from the beginning of the run until its last request completed; null if none did."""


class ArmAccess(TypedDict):
    """An access of the arm."""

    begins_ns: int
    """When it begins, in nanoseconds of the run."""
    arrives_ns: int
    """When the arm reaches the first track."""
    ends_ns: int
    """When the last sector has passed."""
    start: int
    """Cylinder from which the arm moves."""
    first: int
    """Cylinder of the first track."""
    last: int
    """Cylinder where the access ends; for a disk with its cache, where its first track ends."""
    write: bool
    """Whether it writes."""


class HeldIdle(TypedDict):
    """A period in which a disk was idle although requests were queued for it."""

    from_ns: int
    """Start of the period, in nanoseconds of the run."""
    until_ns: int
    """End of the period, in nanoseconds of the run."""


class Asked(TypedDict):
    """Requests and bytes that a run asked for, however they were split or merged."""

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
    """Seconds of waiting for blocks that it had asked for."""
    memory: float
    """Seconds of waiting for memory."""


class Distribution(TypedDict):
    """A distribution of nanoseconds; all zero if there was nothing to measure."""

    mean: float
    """Arithmetic mean."""
    stddev: float
    """Standard deviation."""
    min: int
    """Smallest value."""
    max: int
    """Largest value."""
    percentile: dict[str, int]
    """Percentiles, by percent with six decimals as fio writes them."""


class Change(TypedDict):
    """Difference of one class under one policy from the baseline.

     Ratios are of medians if there are rounds. They are null where too few requests finished or
    noise hides the difference.
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
    """How many times higher its throughput is; null too for an open loop that is fully served,
    since it gets what it asks for."""


class Characteristic(TypedDict):
    """How unstable one characteristic is."""

    name: str
    """`size`, `rate`, `pattern`, `type` or `service time`."""
    instability: float
    """0 if it is the same in every block; 1 if it varies by as much as its mean."""
    lag1: float | None
    """Correlation of each block with the next; `None` if all are equal."""


class Demand(TypedDict):
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


class Row(TypedDict):
    """Figures of one class in one window."""

    at_s: float
    """Where the window begins, in seconds from the beginning of the run."""
    requests: int
    """Requests that completed in it."""
    bytes: int
    """Bytes of these requests."""
    p50_ns: int | None
    """Median of their latencies in nanoseconds; null if there were none."""
    p99_ns: int | None
    """99th percentile of their latencies; null if there were none."""
    outstanding: float
    """Mean number of requests outstanding over the window."""
    device_time_s: float
    """Device time in seconds of the requests that completed in it."""


class CounterSeries(TypedDict):
    """A counter of the policy over time."""

    name: str
    """Its name, as in `policy_stats`."""
    counter: str
    """The name without disk and class."""
    of_class: str | None
    """The class that it counts; null if it belongs to no class."""
    disk: int | None
    """The disk whose policy it belongs to; null if one policy serves all disks."""
    kind: CounterKind
    """Whether it only grows (`total`), or goes up and down (`level`)."""
    values: list[int | None]
    """A value for each window: for a total what was added in the window, for a level the value at
    its end; null before the counter existed."""


class Milliseconds(TypedDict):
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
    percentile: dict[str, float]
    """Percentiles, by percent with six decimals."""


class Travel(TypedDict):
    """How far the arms of disks moved."""

    cylinders: int
    """Cylinders crossed in all accesses and on the way from each to the next: seeks, further tracks
    of an access, and read-ahead."""
    per_request: float
    """Cylinders crossed per request, where a hit of a disk's cache counts as a request too."""


class Difference(TypedDict):
    """A block that differed from what was written."""

    file: str
    """Path of the target."""
    offset: int
    """The first byte of the block in the target."""
    expected: str
    """The versions that may be there: the one acknowledged last, and those in flight."""
    found: str
    """A description of the data that is there."""


class Emulation(TypedDict):
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
    head_start_ns: NotRequired[int]
    """Nanoseconds by which an idle model begins before a request arrives, as the kernel takes them
    there and back; only served devices have it."""


class FirstError(TypedDict):
    """A request that failed."""

    at_s: float
    """When it failed, in seconds from the beginning of the run."""
    op: Op
    """The operation that it asked for."""
    start: int
    """First byte."""
    len: int
    """Length in bytes."""


class Held(TypedDict):
    """Shares of the due arrivals that were handed over on time."""

    within_100us: float
    """Handed over at most 100 µs late."""
    within_1ms: float
    """Handed over at most 1 ms late."""
    within_10ms: float
    """Handed over at most 10 ms late."""


class KernelDisk(TypedDict):
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


class Arm(TypedDict):
    """The arm of a disk in a stretch of a run."""

    from_ns: int
    """Where the stretch begins, in nanoseconds of the run."""
    until_ns: int
    """Where it ends: as requested, or earlier, with the run or with the last access that is
    kept."""
    accesses: list[ArmAccess]
    """Accesses that began in the stretch, in their order."""
    held: list[HeldIdle]
    """Periods in which the disk was idle although requests were queued for it, in their order: the
    policy held it for a request to come. Empty for a policy that serves several disks."""


class Merge(TypedDict):
    """Figures of the merges of a job, from the beginning of the run on, warm-up included.

    Lists have an entry for each job, in the order of the classes.
    """

    makespan_s: float | None
    """Seconds until the last job had written its last block; null if one had not when the run
    ended."""
    finish_s: list[float | None]
    """Seconds until each job had written its last block; null for a job that had not."""
    divergence_max: float
    """Largest lead of the first job over the last one, in blocks used up, as a part of the blocks
    of a job."""
    divergence_mean: float
    """Mean of that lead over time, until the last job had finished."""
    max_queued_writes: int
    """The most writes that were at one disk at once, waiting or in service."""
    blocked_s: list[Blocked]
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


class ByOp(TypedDict):
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


class Programs(TypedDict):
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


class ClassStability(TypedDict):
    """How stable the requests of a class are."""

    requests: int
    """Reads and writes that were asked for."""
    blocks: int
    """Complete blocks of these requests."""
    block: int
    """Requests of a block."""
    service_ns: int | None
    """Mean device time of the requests that completed without error; `None` if none did."""
    characteristics: list[Characteristic]
    """Each characteristic that is known of two blocks or more."""


class ClassDetail(TypedDict):
    """Details of one class of a run.

    Requests due before the end of the warm-up count in the series only.
    """

    name: str
    """Name of the class."""
    lat_ns: list[tuple[int, int]]
    """Latencies as pairs: the upper bound of a bucket in nanoseconds, ascending, and the number of
    values in the bucket."""
    wait_ns: list[tuple[int, int]]
    """Waits, as pairs like those of `lat_ns`."""
    series: list[Row]
    """Figures over time, a row for each window."""


class EachDisk(TypedDict):
    """Figures of one of several disks."""

    service_ms: Milliseconds
    """Time of the whole access, overhead and bus included; with a cache, and without an arm, device
    time of each request."""
    utilisation: float
    """Share of the measured time in which the disk was busy; the mean if there are several
    disks."""
    device: NotRequired[str]
    """The file on it, or the device of the trace that is played on it, where each has a device of
    its own."""
    rotation_ms: NotRequired[Milliseconds]
    """Time until the first wanted sector came round."""
    seek_ms: NotRequired[Milliseconds]
    """Time to move the arm to the first track, head switch and settling included."""
    transfer_ms: NotRequired[Milliseconds]
    """Time from the first wanted sector until the last had passed."""
    travel: NotRequired[Travel]
    """How far the arm moved."""


class Verified(TypedDict):
    """Results of verification in a run, in blocks of 4096 bytes."""

    records: list[str]
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
    differences: list[Difference]
    """The first different blocks, at most 16."""


class ErrorCount(TypedDict):
    """Requests of one class that failed in the same way."""

    requests: int
    """Number of these requests."""
    first: FirstError
    """The first of them."""


class Schedule(TypedDict):
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
    held: Held
    """Shares of the arrivals that were on time."""
    late_while_full: int
    """Requests more than 1 ms late that came while the device's queue was full."""
    processor_wait_s: NotRequired[float]
    """Seconds of the run in which the generator was ready but had no processor; left out for a
    class, and if the kernel does not report it."""


class Kernel(TypedDict):
    """Requests that a live run asked for, warm-up included, and the kernel's counts meanwhile."""

    asked: Asked
    """Requests and bytes that the run asked for."""
    disks: dict[str, KernelDisk]
    """The kernel's counts for each disk, by name."""


class Verdict(TypedDict):
    """Conclusions from the figures of a comparison, as data and in words."""

    baseline: str | None
    """The policy that the others are compared with; null if none serves all classes."""
    overload: list[Overload]
    """Classes that asked for more than they were served, under each policy where one did."""
    nothing_to_decide: bool
    """Whether there was nothing for a policy to decide: requests hardly waited above the device,
    and no class differs by more than a fifth."""
    best: dict[str, list[str]]
    """Policies that serve each class best, or within 5 % of the best."""
    dominated: dict[str, str]
    """Policies for which another policy is better for some class and as good for all, each with
    that other policy."""
    changes: list[Change]
    """Differences of each policy from the baseline, class by class."""
    lines: list[str]
    """Conclusions in words, one line each."""


class Ops(TypedDict):
    """Figures of one class, by operation."""

    read: ByOp
    """Its reads."""
    write: ByOp
    """Its writes."""
    discard: NotRequired[ByOp]
    """Its trims; left out if there are none."""
    flush: NotRequired[ByOp]
    """Its flushes; left out if there are none."""


class Survey(TypedDict):
    """Inputs to the cycle length of `fairio`, in addition to the figures of the run."""

    disks: int
    """Disks that work side by side."""
    load: int
    """Largest number of requests at the device at once."""
    classes: list[ClassStability]
    """How stable the requests of each class are, in the order of the job."""


class Detail(TypedDict):
    """Details of one run."""

    window_s: float
    """Seconds that a window lasts."""
    classes: list[ClassDetail]
    """Details of each class, in the order of the job."""
    agents: NotRequired[list[AgentDetail]]
    """Requests and times of each agent, in the order of the job, a copy or file after the other;
    left out for a workload without agents."""
    arm: NotRequired[Arm]
    """Accesses of the arm of the first disk in the stretch of the run that is drawn; left out for a
    device without an arm."""
    policy: NotRequired[list[CounterSeries]]
    """The policy's own counters over time; left out if it has none. At most the counters of the
    first eight classes that the policy names, and sixteen others; where each disk has a policy of
    its own, no counters of classes, and only those of the first eight disks."""


class DeviceStats(TypedDict):
    """Figures of the disks of a model: of all together, and of each one if there are several."""

    service_ms: Milliseconds
    """Time of the whole access, overhead and bus included; with a cache, and without an arm, device
    time of each request."""
    utilisation: float
    """Share of the measured time in which the disk was busy; the mean if there are several
    disks."""
    disks: NotRequired[list[EachDisk]]
    """Figures of each disk: of an array, or of the devices that files are on or that the devices of
    a trace are played on, in their order; left out if there is one disk."""
    rotation_ms: NotRequired[Milliseconds]
    """Time until the first wanted sector came round."""
    seek_ms: NotRequired[Milliseconds]
    """Time to move the arm to the first track, head switch and settling included."""
    transfer_ms: NotRequired[Milliseconds]
    """Time from the first wanted sector until the last had passed."""
    travel: NotRequired[Travel]
    """How far the arm moved."""


class Class(TypedDict):
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
    error_codes: dict[str, ErrorCount]
    """Failed requests by the name of the error."""
    unfinished: int
    """Requests that had not finished when the run ended."""
    schedule: Schedule | None
    """How well its schedule was kept; null in virtual time, and if nothing was planned ahead."""
    added_ns: NotRequired[int]
    """Nanoseconds that the way through the kernel adds to the median latency: that on a served
    device less that under the same policy in this process; left out unless the same round ran
    both."""
    kernel_weight: NotRequired[int]
    """Weight of the control group of its threads, under a scheduler of the kernel that divides by
    them; left out of other runs."""
    ops: NotRequired[Ops]
    """Figures by operation; left out if no agent of the class mixes operations or asks for
    flushes."""
    programs: NotRequired[Programs]
    """Figures of its programs; left out if the job has no programs."""


class File(TypedDict):
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
    device: NotRequired[str]
    """Name of the modelled device that it is on; left out for a real target."""
    device_busy: NotRequired[float]
    """Share of the measured time in which its real target had something to do; left out for a
    model, whose `device_stats` have it, and for a single file, where it is `device_busy` of the
    run."""
    device_stats: NotRequired[DeviceStats]
    """Figures of the disks of its device, whatever other files are on it; left out for a real
    target."""
    path: NotRequired[str]
    """Path of the real target; left out for a model."""
    shared: NotRequired[str]
    """Name in the job of the device or real target that it shares with other files: for a target,
    the first of them; left out if it shares none."""


class Run(TypedDict):
    """The run of one policy."""

    policy: str
    """Name of the policy."""
    params: Params
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
    classes: list[Class]
    """Figures of each class, in the order of the job."""
    files: list[File]
    """Figures of each file, in the order of the job, or of each device of a trace with several
    devices; a job without files has one, `target`."""
    detail: NotRequired[Detail]
    """Complete distributions and figures over time, if they were asked for; `--json` does not print
    them."""
    device_stats: NotRequired[DeviceStats]
    """Figures of the disks of a model; left out of a run on a real target."""
    emulation: NotRequired[Emulation]
    """How late a model answered in real time; left out of other runs."""
    ended: NotRequired[Ended]
    """Why it was ended early, if it was."""
    failure: NotRequired[str]
    """Description of the failure, if the run could not go on."""
    interrupted: NotRequired[bool]
    """Whether it was ended early, so that the figures are of the part that ran; left out if not."""
    kernel: NotRequired[Kernel]
    """The kernel's counts for the disks below a real target; left out of other runs, and where no
    disk is listed."""
    mean_ms: NotRequired[float]
    """Mean response time of the run, against `measured_mean_ms`."""
    measured_mean_ms: NotRequired[float]
    """Mean of the response times that were measured."""
    merge: NotRequired[Merge]
    """Figures of the merges of a job; left out if the job has none."""
    policy_stats: NotRequired[dict[str, int]]
    """The policy's own counters, by name; left out if it has none."""
    remarks: NotRequired[list[str]]
    """Facts that limit what the figures of this run say, in words; left out if there are none."""
    rms_ms: NotRequired[float]
    """Root mean square of the horizontal distance between the distribution function of the measured
    response times and that of the run."""
    rms_relative: NotRequired[float]
    """`rms_ms` as a share of the mean that was measured."""
    round: NotRequired[int]
    """Number of the round, from 0, if there are several."""
    schedulers: NotRequired[dict[str, str | None]]
    """The kernel's scheduler in front of each disk below a real target, by the name of the disk;
    null for a disk without one. Left out of other runs, and where no disk is listed."""
    seed: NotRequired[int]
    """Seed of the round, if there are several."""
    survey: NotRequired[Survey]
    """Results of a survey of stability; left out if none was asked for."""
    verify: NotRequired[Verified]
    """Results of verification; left out if the job has no `verify`."""


class Comparison(TypedDict):
    """The output of `compare` and `run` with `--json`."""

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
    """The machine that ran it."""
    runs: list[Run]
    """The run of each policy, in the order in which they were named."""
    remarks: NotRequired[list[str]]
    """Facts about all runs that a reader of their figures must know, in words; left out if there
    are none."""
    verdict: NotRequired[Verdict]
    """Conclusions from the figures; left out of the result that the engine hands to the package."""
