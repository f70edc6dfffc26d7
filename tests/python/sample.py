"""Results made by hand, in the schema that the engine writes."""

from typing import cast

from penstock.results.json_types import (
    Class,
    Comparison,
    Demand,
    Distribution,
    ErrorCount,
    FirstError,
    Params,
    Run,
    Schedule,
)

MS = 1_000_000


def distribution(p99: int, /) -> Distribution:
    """A distribution whose 99th percentile is `p99`, the rest in proportion."""
    return {
        "mean": p99 / 4,
        "stddev": p99 / 5,
        "min": p99 // 100,
        "max": 2 * p99,
        "percentile": {
            "50.000000": p99 // 5,
            "95.000000": p99 // 2,
            "99.000000": p99,
            "99.900000": p99 * 3 // 2,
        },
    }


def one_class(
    name: str,
    *,
    requests: int = 12_000,
    size: int = 4096,
    p99: int = 152 * MS,
    share: float = 0.25,
    errors: int = 0,
    unfinished: int = 0,
    schedule: Schedule | None = None,
    duration_s: float = 600.0,
    open_loop: bool = False,
    demand: Demand | None = None,
    weight: int = 100,
    weight_is_given: bool = False,
    ideal_share: float | None = None,
    felt_error_pct: float | None = None,
    limited_by_demand: bool = False,
) -> Class:
    """What a class got that asked for `requests` of `size` bytes."""
    return {
        "name": name,
        "open_loop": open_loop,
        "demand": demand,
        "requests": requests,
        "bytes": requests * size,
        "discarded_bytes": 0,
        "iops": requests / duration_s,
        "bw_bytes": requests * size / duration_s,
        "lat_ns": distribution(p99 if requests else 0),
        "wait_ns": distribution(p99 * 4 // 5 if requests else 0),
        "service_ns": distribution(p99 // 5 if requests else 0),
        "device_time_s": share * duration_s,
        "share": share,
        "weight": weight,
        "weight_is_given": weight_is_given,
        "ideal_share": ideal_share,
        "share_error_pct": None if ideal_share is None else 100 * (share - ideal_share),
        "limited_by_demand": limited_by_demand,
        "of_alone": None,
        "felt_error_pct": felt_error_pct,
        "errors": errors,
        "error_codes": {"EIO": error_count(errors)} if errors else {},
        "unfinished": unfinished,
        "schedule": schedule,
    }


def error_count(requests: int, *, at_s: float = 0.5, start: int = 8192) -> ErrorCount:
    """Writes that failed, the first of them early."""
    first = {"at_s": at_s, "op": "write", "start": start, "len": 4096}
    return {"requests": requests, "first": cast(FirstError, first)}


def one_schedule(
    *, p99: int, within_1ms: float = 1.0, made: int = 10_000, full: int = 0
) -> Schedule:
    """Ten thousand arrivals, some of them late."""
    return {
        "scheduled": 10_000,
        "due": made,
        "made": made,
        "scheduled_s": 600.0,
        "taken_s": 600.0,
        "lateness_ns": distribution(p99),
        "held": {"within_100us": within_1ms / 2, "within_1ms": within_1ms, "within_10ms": 1.0},
        "late_while_full": full,
    }


def one_run(
    policy: str,
    classes: list[Class],
    *,
    params: Params | None = None,
    interrupted: bool = False,
    schedule: Schedule | None = None,
) -> Run:
    """A run of ten minutes."""
    run: Run = {
        "policy": policy,
        "params": params or {},
        "duration_s": 600.0,
        "schedule": schedule,
        "device_busy": 0.987,
        "classes": classes,
        "files": [
            {
                "name": "target",
                "requests": sum(one["requests"] for one in classes),
                "bytes": sum(one["bytes"] for one in classes),
                "bw_bytes": sum(one["bw_bytes"] for one in classes),
            }
        ],
    }
    if interrupted:
        run["interrupted"] = True
    return run


def comparison(*runs: Run, measured: bool = False) -> Comparison:
    """A comparison of these runs."""
    result: Comparison = {
        "penstock": "0.1.0",
        "job": {"file": "examples/bank-day.toml", "text": "", "set": []},
        "seed": 1,
        "world": "measured" if measured else "simulated",
        "device": "data.img" if measured else "hdd-7200",
        "machine": {
            "cpu": "Example CPU",
            "cpus": 2,
            "kernel": "Linux 6.1",
            "began_unix_s": 1_700_000_000,
        },
        "runs": list(runs),
    }
    if measured:
        result["machine"]["engine"] = "io_uring"
        result["job"]["set"] = ["duration=15s"]
    return result


def bank_day() -> Comparison:
    """The main job as it might come out: short requests gain, the batch pays."""
    mib = 1 << 20
    baseline = one_run(
        "noop",
        [
            one_class("tellers", share=0.2),
            one_class("balance", requests=6_000, size=8192, p99=160 * MS, share=0.1),
            one_class("batch", requests=30_000, size=mib, p99=210 * MS, share=0.6),
            one_class("report", requests=9_000, size=mib // 4, p99=170 * MS, share=0.1),
        ],
        params={"max_sectors": "1280KiB"},
    )
    control = one_run(
        "size-priority",
        [
            one_class("tellers", p99=30 * MS, share=0.3),
            one_class("balance", requests=6_000, size=8192, p99=32 * MS, share=0.2),
            one_class("batch", requests=21_300, size=mib, p99=300 * MS, share=0.42),
            one_class("report", requests=4_000, size=mib // 4, p99=410 * MS, share=0.08),
        ],
        params={"split": "512KiB", "guard": {"after": 16, "stall": "100ms"}, "priority": True},
    )
    return comparison(baseline, control)


def rounds_of(*rounds: list[Run], measured: bool = True) -> Comparison:
    """A comparison of these rounds, with the seeds 1, 2, …."""
    runs: list[Run] = []
    for number, row in enumerate(rounds):
        runs += [{**run, "round": number, "seed": 1 + number} for run in row]
    return comparison(*runs, measured=measured)


def protected() -> Comparison:
    """Three rounds on a disk: tellers alone, under the kernel, under control."""
    mib = 1 << 20

    def batch(requests: int) -> Class:
        return one_class("batch", requests=requests, size=mib, p99=40 * MS, share=0.9)

    def one_round(alone: int, kernel: int, control: int, kept: int) -> list[Run]:
        return [
            one_run("alone:tellers", [one_class("tellers", p99=alone, share=1.0)]),
            one_run("kernel:none", [one_class("tellers", p99=kernel), batch(60_000)]),
            one_run("size-priority", [one_class("tellers", p99=control), batch(kept)]),
        ]

    us = MS // 1000
    return rounds_of(
        one_round(370 * us, 107 * MS, 520 * us, 49_800),
        one_round(350 * us, 140 * MS, 490 * us, 52_800),
        one_round(390 * us, 90 * MS, 610 * us, 47_400),
    )
