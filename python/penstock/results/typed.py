"""What came of a run, as frozen dataclasses: named as in the JSON that `--json` prints."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from penstock.results import modelled, schema
from penstock.results.modelled import AgainstMeasured, DiskStats


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


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How a live run held its schedule, of the arrivals that were due after the warm-up."""

    scheduled: int
    """Arrivals planned for the whole run."""
    due: int
    """Those that fell before its end."""
    made: int
    """Those that were handed over."""
    scheduled_s: float
    """From the end of the warm-up to the last planned arrival."""
    taken_s: float
    """From there to the last that was handed over."""
    lateness_ns: Distribution
    """How late they were handed over."""
    held_within_100us: float
    """The share of those that were due that was handed over so soon."""
    held_within_1ms: float
    held_within_10ms: float
    late_while_full: int
    """Those more than 1 ms late that came while the device's queue was full."""
    processor_wait_s: float | None
    """So long the generator was ready and had no processor; none of a class, or if unknown."""


@dataclass(frozen=True, kw_only=True)
class Programs:
    """What the programs of a class did; arrivals after the warm-up are `n` and `unfinished`."""

    n: int
    unfinished: int
    time_ns: Distribution
    """From a program's arrival until its end."""
    wait_ns: Distribution
    """From asking for I/O until the first piece was sent."""
    cpu_time_s: float
    cpu_share: float
    """Of the time of all processors."""


@dataclass(frozen=True, kw_only=True)
class ErrorCount:
    """Requests of a class that failed with one error, and the first of them."""

    requests: int
    first_at_s: float
    first_op: Literal["read", "write", "flush", "discard"]
    first_start: int
    first_len: int


@dataclass(frozen=True, kw_only=True)
class ClassResult:
    """What one class got under one policy. Arrivals: requests, unfinished and errors together."""

    name: str
    requests: int
    bytes: int
    iops: float
    """Requests a second of the time in which the job asks, or until its last completion."""
    bw_bytes: float
    lat_ns: Distribution
    """From the intended arrival until the last piece was done."""
    wait_ns: Distribution
    """From the intended arrival until the first piece was sent."""
    service_ns: Distribution
    """Device time of all its pieces."""
    device_time_s: float
    share: float
    """Of the time in which the device was busy."""
    errors: int
    error_codes: Mapping[str, ErrorCount]
    """The errors by name, as `EIO`."""
    unfinished: int
    schedule: Schedule | None
    """None in virtual time, and if it plans nothing ahead."""
    programs: Programs | None
    """None of a job without programs."""


@dataclass(frozen=True, kw_only=True)
class Emulation:
    """How late the completions of an emulated device were, against its model's own schedule."""

    completions: int
    mean_ns: float
    p50_ns: int
    p99_ns: int
    max_ns: int


@dataclass(frozen=True, kw_only=True)
class Run:
    """One policy's run; `run["tellers"]` is what that class got."""

    policy: str
    round: int | None
    """Its round, from 0; none if no rounds were asked for."""
    seed: int | None
    """The seed of its round."""
    params: Mapping[str, schema.Value]
    against_measured: AgainstMeasured | None
    """Of a trace of measured response times; none of others."""
    duration_s: float
    interrupted: bool
    """It was ended early; the figures are of the part that ran."""
    ended: Literal["asked", "timeout", "resized"] | None
    """Why: somebody asked, the target did not answer, or its length changed."""
    failure: str | None
    """What failed, in words, if the run could not go on."""
    schedule: Schedule | None
    """How the schedule was held; none in virtual time, and if nothing was planned ahead."""
    emulation: Emulation | None
    """Of an emulated device; none elsewhere."""
    remarks: tuple[str, ...]
    """What the machine did not grant, and what has to be known to read the figures."""
    schedulers: Mapping[str, str | None]
    """The kernel's scheduler in front of each disk below a real target; none of a disk without."""
    device_busy: float
    device_stats: DiskStats | None
    """What the disks of a model did; none of what was measured on a real target."""
    policy_stats: Mapping[str, int]
    """Counters of the policy's own, by name; empty of a policy that has none."""
    classes: tuple[ClassResult, ...]

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


def distribution(one: schema.Distribution) -> Distribution:
    """A distribution as JSON has it, typed."""
    return Distribution(
        mean=one["mean"],
        stddev=one["stddev"],
        min=one["min"],
        max=one["max"],
        percentiles={float(percent): ns for percent, ns in one["percentile"].items()},
    )


def _schedule(one: schema.Schedule | None) -> Schedule | None:
    if one is None:
        return None
    held = one["held"]
    return Schedule(
        scheduled=one["scheduled"],
        due=one["due"],
        made=one["made"],
        scheduled_s=one["scheduled_s"],
        taken_s=one["taken_s"],
        lateness_ns=distribution(one["lateness_ns"]),
        held_within_100us=held["within_100us"],
        held_within_1ms=held["within_1ms"],
        held_within_10ms=held["within_10ms"],
        late_while_full=one["late_while_full"],
        processor_wait_s=one.get("processor_wait_s"),
    )


def _programs(one: schema.Programs | None) -> Programs | None:
    if one is None:
        return None
    return Programs(
        n=one["n"],
        unfinished=one["unfinished"],
        time_ns=distribution(one["time_ns"]),
        wait_ns=distribution(one["wait_ns"]),
        cpu_time_s=one["cpu_time_s"],
        cpu_share=one["cpu_share"],
    )


def _errors(of: schema.ErrorCount) -> ErrorCount:
    first = of["first"]
    return ErrorCount(
        requests=of["requests"],
        first_at_s=first["at_s"],
        first_op=first["op"],
        first_start=first["start"],
        first_len=first["len"],
    )


def _class(one: schema.Class) -> ClassResult:
    return ClassResult(
        name=one["name"],
        requests=one["requests"],
        bytes=one["bytes"],
        iops=one["iops"],
        bw_bytes=one["bw_bytes"],
        lat_ns=distribution(one["lat_ns"]),
        wait_ns=distribution(one["wait_ns"]),
        service_ns=distribution(one["service_ns"]),
        device_time_s=one["device_time_s"],
        share=one["share"],
        errors=one["errors"],
        error_codes={name: _errors(of) for name, of in one["error_codes"].items()},
        unfinished=one["unfinished"],
        schedule=_schedule(one["schedule"]),
        programs=_programs(one.get("programs")),
    )


def run_of(run: schema.Run) -> Run:
    """A run as JSON has it, typed."""
    return Run(
        policy=run["policy"],
        round=run.get("round"),
        seed=run.get("seed"),
        params=run["params"],
        against_measured=modelled.against_measured(run),
        duration_s=run["duration_s"],
        interrupted=run.get("interrupted", False),
        ended=run.get("ended"),
        failure=run.get("failure"),
        schedule=_schedule(run["schedule"]),
        emulation=Emulation(**run["emulation"]) if "emulation" in run else None,
        remarks=tuple(run.get("remarks", [])),
        schedulers=run.get("schedulers", {}),
        device_busy=run["device_busy"],
        device_stats=modelled.device_stats(run),
        policy_stats=run.get("policy_stats", {}),
        classes=tuple(_class(one) for one in run["classes"]),
    )
