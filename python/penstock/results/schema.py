"""What the engine hands over, as types: results and lists in JSON, and steps of long work.

The engine writes the JSON, and what it writes is what `--json` prints. Field names follow fio's
where fio has one; a key that may be absent is `NotRequired`.
"""

from typing import Literal, NotRequired, TypeAlias, TypedDict

Value: TypeAlias = "str | int | bool | Params"
"""A parameter's value."""

Params: TypeAlias = dict[str, Value]
"""Parameters of a policy by name: sizes and times carry their units, a group holds its members."""

World: TypeAlias = Literal["simulated", "emulated", "measured"]
"""Virtual time over a model, real time over a model, real time over a real target."""


class Distribution(TypedDict):
    """A distribution of nanoseconds; all zero if there was nothing to measure."""

    mean: float
    stddev: float
    min: int
    max: int
    percentile: dict[str, int]


class Held(TypedDict):
    """Shares of the arrivals that were due: those handed over at most so late."""

    within_100us: float
    within_1ms: float
    within_10ms: float


class Schedule(TypedDict):
    """How a live run held its schedule, of the arrivals that were due after the warm-up.

    `scheduled` were planned for the whole run; `due` among them fell before its end; `made` among
    them were handed over. Seconds count from the end of the warm-up: to the last planned arrival,
    and to the last that was handed over. `late_while_full` were more than 1 ms late and came while
    the device's queue was full. `processor_wait_s` is there of a run, if the kernel says it: so
    long the generator was ready and had no processor.
    """

    scheduled: int
    due: int
    made: int
    scheduled_s: float
    taken_s: float
    lateness_ns: Distribution
    held: Held
    late_while_full: int
    processor_wait_s: NotRequired[float]


class FirstError(TypedDict):
    """A request that failed, `at_s` seconds into the run."""

    at_s: float
    op: Literal["read", "write", "flush", "discard"]
    start: int
    len: int


class ErrorCount(TypedDict):
    """Requests that failed with one error, and the first of them."""

    requests: int
    first: FirstError


class Programs(TypedDict):
    """What the programs of a class did; arrivals after the warm-up are `n` and `unfinished`.

    `wait_ns` is from asking for I/O until the first piece was sent. `cpu_share` is of the time of
    all processors.
    """

    n: int
    unfinished: int
    time_ns: Distribution
    wait_ns: Distribution
    cpu_time_s: float
    cpu_share: float


class Class(TypedDict):
    """What one class got under one policy.

    `error_codes` has the errors by name, as `EIO`. `schedule` is null in virtual time, and of a
    class that plans nothing ahead. `programs` is there of a job with programs. Rates are of the
    time in which the job asks, and `share` is of the time in which the device was busy.
    """

    name: str
    requests: int
    bytes: int
    iops: float
    bw_bytes: float
    lat_ns: Distribution
    wait_ns: Distribution
    service_ns: Distribution
    device_time_s: float
    share: float
    errors: int
    error_codes: dict[str, ErrorCount]
    unfinished: int
    schedule: Schedule | None
    programs: NotRequired[Programs]


class Row(TypedDict):
    """One class in one window of time; `at_s` is where the window begins."""

    at_s: float
    requests: int
    bytes: int
    p50_ns: int | None
    p99_ns: int | None
    outstanding: float
    device_time_s: float


class ClassDetail(TypedDict):
    """One class in detail.

    Of a distribution each pair is an upper bound in nanoseconds, ascending, and how many lie at or
    below it and above the one before.
    """

    name: str
    lat_ns: list[tuple[int, int]]
    wait_ns: list[tuple[int, int]]
    series: list[Row]


class Emulation(TypedDict):
    """How late the completions of an emulated device were, against its model's own schedule."""

    completions: int
    mean_ns: float
    p50_ns: int
    p99_ns: int
    max_ns: int


class Milliseconds(TypedDict):
    """A distribution of `n` lengths of time in milliseconds; all zero if there were none."""

    n: int
    mean: float
    stddev: float
    min: float
    max: float
    percentile: dict[str, float]


class Disk(TypedDict):
    """What a modelled disk did: accesses that ended after the warm-up and before the run did.

    A device without an arm has neither `seek_ms`, `rotation_ms` nor `transfer_ms`. A disk with its
    cache has those of its accesses to the platter, up to the end of what was asked for; written
    back or read ahead after a hit, they are nobody's request. A hit is a request without an access:
    `service_ms` is of requests then. `utilisation` is the share of the measured time in which it
    was busy.
    """

    seek_ms: NotRequired[Milliseconds]
    rotation_ms: NotRequired[Milliseconds]
    transfer_ms: NotRequired[Milliseconds]
    service_ms: Milliseconds
    utilisation: float


class DeviceStats(Disk):
    """What all disks of a model did together, and in `disks` each of an array."""

    disks: NotRequired[list[Disk]]


class Detail(TypedDict):
    """Whole distributions of a run, and its course over time in windows of `window_s`."""

    window_s: float
    classes: list[ClassDetail]


class Run(TypedDict):
    """One policy's run.

    `schedule` is null in virtual time, and if nothing was planned ahead: closed loops, and traces
    as fast as possible. Each class of a run under the kernel's scheduler has one of its own only.
    `round`, from 0, and its `seed` are there if rounds were asked for. `interrupted` is there, and
    true, if it was ended early, and `ended` says why: somebody asked, the target did not answer, or
    its length changed; of the last two `failure` tells in words. `emulation` is there of an
    emulated device; `device_stats`, if the device was a model; `policy_stats`, if the policy has
    counters of its own; `remarks`, if the machine did not
    grant a live run all that it wanted, or something has to be known to read its figures;
    `schedulers`, the kernel's scheduler in front of each disk below a real target, null of a disk
    without one; `detail`, if it was asked for. Of a trace of measured
    response times there are their mean, the mean here, and how far the two distributions lie apart:
    the root mean square of the horizontal distance between them, and that over the measured mean.
    """

    policy: str
    round: NotRequired[int]
    seed: NotRequired[int]
    params: Params
    rms_ms: NotRequired[float]
    rms_relative: NotRequired[float]
    mean_ms: NotRequired[float]
    measured_mean_ms: NotRequired[float]
    duration_s: float
    interrupted: NotRequired[bool]
    ended: NotRequired[Literal["asked", "timeout", "resized"]]
    failure: NotRequired[str]
    schedule: Schedule | None
    emulation: NotRequired[Emulation]
    remarks: NotRequired[list[str]]
    schedulers: NotRequired[dict[str, str | None]]
    device_busy: float
    device_stats: NotRequired[DeviceStats]
    policy_stats: NotRequired[dict[str, int]]
    classes: list[Class]
    detail: NotRequired[Detail]


class Job(TypedDict):
    """The job of a result: the file as it was named, its text, and what `--set` said."""

    file: str
    text: str
    set: list[str]


class Machine(TypedDict):
    """Where it ran; `engine` says how the target was driven."""

    cpu: str
    cpus: int
    kernel: str
    began_unix_s: int
    engine: NotRequired[str]


class Comparison(TypedDict):
    """What `run` and `compare` print; `remarks`, if something has to be known of all runs."""

    penstock: str
    job: Job
    seed: int
    world: World
    device: str
    machine: Machine
    remarks: NotRequired[list[str]]
    runs: list[Run]


class Difference(TypedDict):
    """Where a replay went another way; what one side lacks is null."""

    decision: int
    recorded: str | None
    replayed: str | None


class Replay(TypedDict):
    """What `replay-decisions` prints."""

    penstock: str
    recorded_by: str
    policy: str
    decisions: int
    alike: int
    requests: int
    first_difference: Difference | None


class Param(TypedDict):
    """A parameter of a policy; the members of a group follow it by their dotted names."""

    name: str
    kind: str
    default: str | int | bool
    doc: str
    source: str


class Policy(TypedDict):
    """An entry of `list policies`."""

    name: str
    summary: str
    params: list[Param]


class Device(TypedDict):
    """An entry of `list devices`."""

    name: str
    summary: str


class Check(TypedDict):
    """A finding of `doctor`: its figures stand in `facts` once more."""

    group: Literal["machine", "engines", "path", "kernel", "time", "leftovers", "extras"]
    name: str
    state: Literal["ok", "limited", "no"]
    found: str
    advice: str | None
    facts: dict[str, str | int | bool | list[str] | None]


class Diagnosis(TypedDict):
    """What `doctor` prints; `able` says whether there is anything to run with."""

    penstock: str
    path: str
    able: bool
    checks: list[Check]


class Creating(TypedDict):
    """A step of long work: an owned file is being written."""

    step: Literal["creating"]
    path: str
    fraction: float


class ClassNow(TypedDict):
    """What one class gets at the moment: in the last window, but for the queue and all errors."""

    name: str
    iops: float
    bw_bytes: float
    p50_ns: int | None
    p99_ns: int | None
    share: float
    outstanding: int
    errors: int


class Now(TypedDict):
    """A run at one moment; with each of its `windows` that has ended come new figures."""

    at_s: float
    planned_s: float
    window_s: float
    windows: int
    classes: list[ClassNow]


class Running(TypedDict):
    """A step of long work: a policy runs, the `number`-th run from 0, `of` so many.

    `round`, from 0, is there if rounds were asked for, `now` if somebody watches.
    """

    step: Literal["running"]
    policy: str
    round: NotRequired[int]
    number: int
    of: int
    fraction: float
    device: str
    world: World
    now: NotRequired[Now]


class Finished(TypedDict):
    """A step of long work: a policy's run has ended."""

    step: Literal["finished"]
    policy: str
    round: NotRequired[int]
    number: int
    of: int
    classes: list[Class]


Step: TypeAlias = Creating | Running | Finished
"""How far long work has come."""


def percentile(distribution: Distribution, percent: float) -> int:
    """A percentile in nanoseconds; the schema has the 50th, 95th, 99th and 99.9th."""
    return distribution["percentile"][f"{percent:.6f}"]
