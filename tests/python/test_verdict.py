"""The verdict in words."""

from penstock.results.json_types import Class
from penstock.text.verdict import verdict
from sample import MS, bank_day, comparison, error_count, one_class, one_run

MIB = 1 << 20


def check(before: list[Class], after: list[Class], *, interrupted: bool = False) -> str:
    """The line for a run of `cfq` after one of `noop`."""
    runs = (one_run("noop", before), one_run("cfq", after, interrupted=interrupted))
    *_, line = verdict(comparison(*runs))
    return line


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
    assert check(before, after) == "cfq: scan keeps 33 %, against noop; unfinished: 8,000 of scan"


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
    assert check(before, after) == "cfq: of report too few finish to compare, against noop"
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
    assert verdict(comparison(*runs)) == [
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
