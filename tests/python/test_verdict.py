"""The verdict in words."""

from typing import cast

import pytest

from penstock.results.json_types import Class, Comparison, Demand, DeviceStats, Merge, Run
from penstock.text.verdict import judged, verdict
from sample import (
    MS,
    bank_day,
    comparison,
    distribution,
    error_count,
    one_class,
    one_run,
    one_schedule,
)

MIB = 1 << 20


def check(before: list[Class], after: list[Class], *, interrupted: bool = False) -> str:
    """The line for a run of `cfq` after one of `noop`."""
    runs = (one_run("noop", before), one_run("cfq", after, interrupted=interrupted))
    *_, line = verdict(comparison(*runs))
    return line


def joined(lines: list[str]) -> list[str]:
    """Lines that were broken, whole again."""
    whole: list[str] = []
    for line in lines:
        assert len(line) <= 160
        if line.startswith("  "):
            whole[-1] += line[1:]
        else:
            whole.append(line)
    return whole


def test_the_main_job() -> None:
    assert verdict(bank_day()) == [
        "size-priority: tellers' p99 5.1× better than noop, balance's p99 5.0× better; "
        "batch keeps 71 %, report keeps 44 %"
    ]


def test_one_run_has_nothing_to_be_compared_with() -> None:
    assert verdict(comparison(one_run("noop", [one_class("tellers")]))) == []
    assert verdict(comparison()) == []


def test_a_line_for_each_run_beyond_the_first() -> None:
    runs = [one_run(policy, [one_class("a")]) for policy in ("noop", "cfq", "deadline")]
    assert [line.split(":")[0] for line in verdict(comparison(*runs))] == ["cfq", "deadline"]


def test_alike() -> None:
    alike = [one_class("tellers", p99=100 * MS)]
    nearly = [one_class("tellers", p99=119 * MS)]
    assert check(alike, nearly) == "cfq: no class differs by more than 20 % from noop"


def test_from_a_fifth_on_it_is_reported() -> None:
    before = [one_class("tellers", p99=100 * MS)]
    assert check(before, [one_class("tellers", p99=120 * MS)]) == (
        "cfq: tellers' p99 1.2× worse than noop"
    )
    assert check(before, [one_class("tellers", p99=4 * MS)]) == (
        "cfq: tellers' p99 25× better than noop"
    )


def test_less_throughput_and_more_latency_are_reported_once() -> None:
    before = [one_class("batch", size=MIB, p99=100 * MS)]
    after = [one_class("batch", requests=6_000, size=MIB, p99=200 * MS)]
    assert check(before, after) == "cfq: batch keeps 50 %, against noop"


def test_more_throughput_and_more_latency_are_both_reported() -> None:
    before = [one_class("batch", size=MIB, p99=100 * MS)]
    after = [one_class("batch", requests=18_000, size=MIB, p99=200 * MS)]
    assert check(before, after) == "cfq: batch's p99 2.0× worse than noop; batch gains 50 %"


def test_an_open_loop_is_judged_by_its_latency_alone() -> None:
    before = [one_class("scan", size=MIB, p99=100 * MS, open_loop=True)]
    after = [one_class("scan", size=MIB, p99=300 * MS, open_loop=True)]
    assert check(before, after) == "cfq: scan's p99 3.0× worse than noop"


def test_of_an_open_loop_that_was_served_sooner_no_throughput_is_gained() -> None:
    before = [one_class("online", p99=2_550 * MS, open_loop=True, duration_s=600)]
    after = [one_class("online", p99=155 * MS, open_loop=True, duration_s=530)]
    assert check(before, after) == "cfq: online's p99 16× better than noop"


def test_a_closed_loop_is_known_by_its_arrivals_however_small() -> None:
    before = [one_class("batch", size=MIB), one_class("report", size=4096)]
    after = [one_class("batch", size=MIB), one_class("report", requests=9_000, size=4096)]
    assert check(before, after) == "cfq: report keeps 75 %, against noop"


def test_a_part_of_a_run_is_not_compared() -> None:
    before = [one_class("batch", p99=100 * MS)]
    after = [one_class("batch", requests=1_050, p99=10 * MS)]
    assert check(before, after, interrupted=True) == (
        "cfq (partial): only a part of the run: nothing is compared"
    )


def test_overload_of_an_open_loop() -> None:
    before = [one_class("scan", size=MIB, open_loop=True)]
    served = one_class("scan", requests=4_000, size=MIB, unfinished=8_000, p99=900 * MS)
    after: list[Class] = [{**served, "open_loop": True}]
    assert check(before, after) == (
        "cfq: scan's p99 5.9× worse than noop; scan keeps 33 %; unfinished: 8,000 of scan"
    )


def test_almost_nothing_is_not_nothing() -> None:
    before = [one_class("batch", size=MIB)]
    after = [one_class("batch", requests=12, size=MIB, p99=900 * MS)]
    assert check(before, after) == "cfq: batch keeps less than 1 %, against noop"


def test_a_starved_class_is_reported_and_never_divided_by() -> None:
    before = [one_class("tellers", p99=100 * MS), one_class("report")]
    after = [one_class("tellers", p99=50 * MS), one_class("report", requests=0, unfinished=7)]
    assert check(before, after) == (
        "cfq: tellers' p99 2.0× better than noop; report finishes nothing; unfinished: 7 of report"
    )


def test_a_class_that_was_empty_is_not_compared() -> None:
    before = [one_class("tellers"), one_class("report", requests=0)]
    after = [one_class("tellers"), one_class("report")]
    assert check(before, after) == "cfq: no class differs by more than 20 % from noop"
    nothing = [one_class("report", requests=0)]
    assert check(nothing, after) == "cfq: nothing to compare: noop finished no request"


def test_of_a_few_requests_nothing_is_claimed() -> None:
    before = [one_class("tellers"), one_class("report", requests=18, p99=100 * MS)]
    after = [one_class("tellers"), one_class("report", requests=19, p99=10 * MS)]
    assert check(before, after) == "cfq: of report only 18 finish, too few to compare, against noop"
    before = [one_class("tellers"), one_class("report", requests=20, p99=100 * MS)]
    after = [one_class("tellers"), one_class("report", requests=20, p99=10 * MS)]
    assert "report's p99 10× better" in check(before, after)


def test_a_policy_that_runs_twice_has_a_number() -> None:
    runs = (one_run("noop", [one_class("a")]), one_run("noop", [one_class("a")]))
    assert verdict(comparison(*runs)) == ["noop (2): no class differs by more than 20 % from noop"]


def test_failures_are_reported_of_the_first_run_too() -> None:
    failing = [one_class("a", errors=3), one_class("b", errors=1_200, unfinished=2)]
    runs = [one_run("noop", failing), one_run("cfq", failing, interrupted=True)]
    first = "first a write of 4,096 bytes at byte 8,192 after 500 ms"
    failed = f"failed: 3 of a (EIO; {first}), 1,200 of b (EIO; {first})"
    assert joined(verdict(comparison(*runs))) == [
        f"noop: {failed}; unfinished: 2 of b",
        f"cfq (partial): only a part of the run: nothing is compared; {failed}",
    ]


def test_what_ended_a_run_comes_first() -> None:
    run = one_run("noop", [one_class("a")], interrupted=True)
    run["ended"], run["failure"] = "timeout", "disk.img: found no answer\nhint: look at it"
    assert verdict(comparison(run)) == ["noop (partial): disk.img: found no answer"]


def test_a_run_of_which_most_requests_failed_says_so_first_and_compares_nothing() -> None:
    before, after = one_class("a", requests=1_000), one_class("a", requests=30, errors=970)
    other = one_class("b", p99=100 * MS)
    after["error_codes"] = {"EIO": error_count(970, at_s=1, start=4_096)}
    runs = one_run("noop", [before, other]), one_run("cfq", [after, one_class("b", p99=10 * MS)])
    first, line = verdict(comparison(*runs))
    assert first == (
        "MOST FAILED: 970 of 1,000 requests of a under cfq "
        "(EIO; first a write of 4,096 bytes at byte 4,096 after 1.00 s)"
    )
    assert line.startswith("cfq: b's p99 10× better than noop; failed: 970 of a (EIO")
    first, line = verdict(comparison(one_run("noop", [before]), one_run("cfq", [after])))
    assert line.startswith("cfq: nothing to compare: most requests failed; failed: 970 of a")


def skewed(name: str, *, p50: int, p95: int, p99: int) -> Class:
    """A class whose percentiles are these."""
    one = one_class(name, p99=p99 * MS)
    one["lat_ns"]["percentile"] |= {"50.000000": p50 * MS, "95.000000": p95 * MS}
    return one


def test_what_moved_is_named_whichever_percentile_it_is() -> None:
    before = [skewed("a", p50=10, p95=50, p99=100)]
    for (p50, p95, p99), words in {
        (10, 50, 25): "a's p99 4.0× better than noop",
        (20, 50, 25): "a's p99 4.0× better than noop but p50 2.0× worse",
        (5, 50, 100): "a's p50 2.0× better than noop and p99 alike",
        (20, 100, 100): "a's p95 2.0× worse than noop and p99 alike",
    }.items():
        assert check(before, [skewed("a", p50=p50, p95=p95, p99=p99)]) == f"cfq: {words}"


def test_a_loop_that_thinks_may_gain_both() -> None:
    before = [one_class("users", p99=800 * MS)]
    after = [one_class("users", requests=13_200, p99=100 * MS)]
    assert check(before, after) == "cfq: users' p99 8.0× better than noop; users gains 10 %"


def four() -> Comparison:
    """One policy that is best for tellers, one for the batch, one for neither and one like noop."""

    def run(policy: str, p99: int, batch: int) -> Run:
        classes = [one_class("tellers", p99=p99 * MS, open_loop=True)]
        return one_run(policy, [*classes, one_class("batch", requests=batch, size=MIB)])

    return comparison(
        run("noop", 200, 30_000),
        run("fcfs", 202, 29_900),
        run("size-priority", 20, 21_000),
        run("cfq", 300, 25_000),
    )


def test_of_more_than_two_the_best_for_each_class_are_named_and_the_useless() -> None:
    ranked = [
        "best for tellers (p99 20.0 ms): size-priority; for batch (52.4 MB/s): noop or fcfs; "
        "no policy is best for all",
        "worse for some class than another policy and better for none: cfq (noop)",
    ]
    assert verdict(four())[:2] == ranked
    two = four()
    del two["runs"][2:]
    assert verdict(two) == ["fcfs: no class differs by more than 20 % from noop"]


def test_the_verdict_as_data() -> None:
    found = judged(four())
    assert found["baseline"] == "noop"
    assert found["best"] == {"tellers": ["size-priority"], "batch": ["noop", "fcfs"]}
    assert found["dominated"] == {"cfq": "noop"}
    assert (found["overload"], found["nothing_to_decide"]) == ([], False)
    change = next(one for one in found["changes"] if one["policy"] == "size-priority")
    assert (change["name"], change["p99"], change["throughput"]) == ("tellers", 10.0, None)
    kept = [one["throughput"] for one in found["changes"] if one["name"] == "batch"]
    assert kept == [pytest.approx(n / 30_000) for n in (29_900, 21_000, 25_000)]


def test_any_policy_can_be_the_baseline() -> None:
    lines = verdict(four(), "size-priority")
    assert lines[2] == "noop: tellers' p99 10× worse than size-priority; batch gains 43 %"
    assert not any(line.startswith("size-priority:") for line in lines)
    kept = four()
    kept["verdict"] = judged(kept, "cfq")
    assert verdict(kept) == verdict(four(), "cfq"), "a result keeps its baseline"


def behind(
    seconds: float, *, growth: float | None = 3.0, lasted: float = 100.0, unfinished: int = 0
) -> Class:
    """A class that asked for 15,000 requests a second, so far behind at the end."""
    demand: Demand = {"iops": 15_000, "lasted_s": lasted, "behind_s": seconds, "growth": growth}
    name = "scan"
    return one_class(name, open_loop=True, demand=demand, unfinished=unfinished, duration_s=58)


def run_of(policy: str, one: Class, *, busy: float = 1.0) -> Run:
    """A run whose device was so busy."""
    return {**one_run(policy, [one]), "device_busy": busy}


OVERLOAD = "OVERLOAD: the device cannot keep up under"
SERVED = "scan asked for 15,000/s, was served 207/s, and its backlog grew to"
LITTLE = (
    "the latencies of scan grow for as long as requests come, and say little about the device: "
    "ask for less, or take a faster device"
)


def test_overload_is_told_first_and_no_latency_of_it_is_compared() -> None:
    runs = [run_of(name, behind(at)) for name, at in (("noop", 65.0), ("cfq", 40.0))]
    first, advice, line = joined(verdict(comparison(*runs)))
    assert first == f"{OVERLOAD} any policy: {SERVED} 65.0 s, at worst"
    assert advice == LITTLE
    assert line == "cfq: nothing to compare: the device cannot keep up"
    (over, _) = judged(comparison(*runs))["overload"]
    assert (over["policy"], over["name"], over["behind_s"]) == ("noop", "scan", 65.0)
    assert verdict(comparison(run_of("noop", behind(65))))[0] == f"{OVERLOAD} noop: {SERVED} 65.0 s"


def test_overload_of_a_trace_has_a_hint_of_its_own() -> None:
    replayed = comparison(run_of("noop", behind(65)))
    replayed["job"]["text"] = 'seed = 1\n\n[trace]\nfile = "day.msr"\n'
    _, advice = joined(verdict(replayed))
    assert advice.endswith(
        "play it slower (--set trace.timing.speed=0.5), let its processes wait for answers "
        "(--set trace.timing=closed), or take a faster device"
    )


@pytest.mark.parametrize(
    "run",
    [
        run_of("noop", behind(4)),
        run_of("noop", behind(65, growth=1.1)),
        run_of("noop", behind(65), busy=0.4),
        run_of("noop", behind(0, growth=None)),
        run_of("noop", one_class("batch")),
    ],
    ids=["at once", "latencies do not grow", "a burst at the end", "nothing known", "closed"],
)
def test_what_is_no_overload(run: Run) -> None:
    assert judged(comparison(run))["overload"] == []


def test_a_run_that_was_cut_is_overloaded_by_what_is_left() -> None:
    (over,) = judged(comparison(run_of("noop", behind(0, unfinished=20_000))))["overload"]
    assert over["behind_s"] == pytest.approx(20_000 / (12_000 / 58))
    most = behind(0, growth=None, unfinished=20_000)
    assert len(judged(comparison(run_of("noop", most)))["overload"]) == 1


def test_one_disk_of_an_array_that_is_overloaded_is_enough() -> None:
    run = run_of("noop", behind(65), busy=0.3)
    part = {"n": 1, "mean": 1.0, "stddev": 0.0, "min": 1.0, "max": 1.0, "percentile": {}}
    disks = [{"service_ms": part, "utilisation": busy} for busy in (1.0, 0.1)]
    run["device_stats"] = cast(
        DeviceStats, {"service_ms": part, "utilisation": 0.55, "disks": disks}
    )
    assert len(judged(comparison(run))["overload"]) == 1


def at_once(name: str, p99: int) -> Class:
    """A class that does not wait above the device."""
    one = one_class(name, p99=p99)
    return {**one, "wait_ns": distribution(0)}


def test_where_nothing_waits_there_is_nothing_to_decide() -> None:
    runs = [one_run(name, [at_once("a", MS)]) for name in ("noop", "cfq")]
    assert joined(verdict(comparison(*runs))) == [
        "nothing to decide: requests hardly wait above the device, so these policies are alike; "
        "more load, or a shorter queue of the drive (--set live.depth=1), "
        "would make them wait there"
    ]
    assert not judged(comparison(runs[0]))["nothing_to_decide"], "one run is like no other"
    runs[1] = one_run("cfq", [at_once("a", 2 * MS)])
    assert not judged(comparison(*runs))["nothing_to_decide"], "it made a difference"
    runs[1] = one_run("cfq", [one_class("a", p99=MS)])
    assert not judged(comparison(*runs))["nothing_to_decide"], "its requests wait"


def test_a_line_has_160_characters_at_most() -> None:
    names = [f"class-number-{n}" for n in range(20)]
    runs = [one_run("noop", [one_class(name) for name in names])]
    runs.append(one_run("cfq", [one_class(name, p99=10 * MS) for name in names]))
    lines = verdict(comparison(*runs))
    assert len(lines) > 3
    assert all(line.endswith(",") for line in lines[:-1])
    (whole,) = joined(lines)
    assert all(name in whole for name in names)


def test_a_schedule_that_was_not_held_is_said_once() -> None:
    late = [one_schedule(p99=8 * MS, within_1ms=share) for share in (0.95, 0.9, 0.97)]
    runs = [
        one_run(policy, [one_class("a", schedule=schedule)], schedule=schedule)
        for policy, schedule in zip(("noop", "cfq", "fcfs"), late, strict=True)
    ]
    *_, said, rest = joined(verdict(comparison(*runs, measured=True)))
    assert said.startswith("under cfq the schedule was not held: 90 % of arrivals")
    assert rest == "it was not held under noop, fcfs either"


def merges(**ended: list[float | None]) -> list[str]:
    """The verdict on merges that under each policy ended at such a time, a round each.

    The sooner they end, the longer their requests take.
    """
    runs: list[Run] = []
    for policy, spans in ended.items():
        for number, span in enumerate(spans):
            p99 = 9000 * MS if span is None else round(100_000 / span) * MS
            run = one_run(policy, [one_class("job0", p99=p99)])
            run["merge"] = cast("Merge", {"makespan_s": span})
            if len(spans) > 1:
                run["round"] = number
            runs.append(run)
    return verdict(comparison(*runs))


def test_merges_are_compared_by_when_the_last_has_ended() -> None:
    assert merges(fcfs=[100.0], read_first=[64.0]) == [
        "read_first: all merged in 64.0 s, 36.0 % sooner than fcfs"
    ]
    assert merges(fcfs=[100.0], noop=[100.5]) == ["noop: all merged in 100 s, as with fcfs"]


def test_of_several_policies_the_one_is_named_under_which_merges_end_soonest() -> None:
    first, *rest = merges(fcfs=[100.0], read_first=[64.0], noop=[110.0])
    assert first == "soonest: read_first, all merged in 64.0 s"
    assert rest == [
        "read_first: all merged in 64.0 s, 36.0 % sooner than fcfs",
        "noop: all merged in 110 s, 10.0 % later than fcfs",
    ]


def test_merges_of_which_some_round_ends_as_with_the_other_are_not_told_apart() -> None:
    assert merges(fcfs=[90.0, 100.0, 110.0], noop=[80.0, 85.0, 95.0]) == [
        "noop: all merged in 85.0 [80.0–95.0] s, and noise hides how far that is from fcfs"
    ]
    assert merges(fcfs=[90.0, 100.0, 110.0], noop=[80.0, 85.0, 89.0]) == [
        "noop: all merged in 85.0 [80.0–89.0] s, 15.0 % sooner than fcfs"
    ]


def test_merges_that_did_not_end_are_compared_as_other_work_is() -> None:
    (line,) = merges(fcfs=[100.0], read_first=[None])
    assert "job0's p99" in line
