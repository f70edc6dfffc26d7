"""A comparison as people read it."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from penstock.answer.terminal import show
from penstock.results.json_types import Comparison
from penstock.text.overview import blocks
from penstock.text.verdict import verdict
from sample import MS, bank_day, comparison, error_count, one_class, one_run, one_schedule

TABLES = Path(__file__).parent / "tables"


def shown(result: Comparison, *, width: int, colour: bool = False, detail: bool = True) -> str:
    """What stands on a console so many columns wide."""
    stream = StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=colour,
        color_system="truecolor" if colour else None,
        highlight=False,
    )
    show(console, blocks(result, verdict(result), width, detail=detail))
    return stream.getvalue()


def partial() -> Comparison:
    """A live run that was interrupted, with one class that got nothing."""
    classes = [
        one_class("tellers", errors=1),
        one_class("report", requests=0, unfinished=5),
    ]
    held = one_schedule(p99=12_345, within_1ms=0.9999, made=2_500)
    return comparison(one_run("noop", classes, interrupted=True, schedule=held), measured=True)


def test_a_policy_with_its_parameters_and_a_row_for_each_class() -> None:
    assert shown(bank_day(), width=120) == (TABLES / "whole.txt").read_text()


def test_the_verdict_comes_first_and_then_one_table_of_all_policies() -> None:
    assert shown(bank_day(), width=120, detail=False) == (TABLES / "overview.txt").read_text()


def test_six_policies_take_at_most_forty_lines_and_the_answer_the_first_five() -> None:
    names = ("tellers", "balance", "batch", "report")
    late = [one_class(name, p99=400 * MS, open_loop=True) for name in names[:2]]
    soon = [one_class(name, p99=20 * MS, open_loop=True) for name in names[:2]]
    rest = [one_class(name, size=1 << 20) for name in names[2:]]
    runs = [one_run(f"policy-{n}", [*(soon if n == 5 else late), *rest]) for n in range(6)]
    for width in (80, 120, 200):
        lines = shown(comparison(*runs), width=width, detail=False).splitlines()
        assert len(lines) <= 40
        assert any(line.startswith("best for tellers (p99 20.0 ms)") for line in lines[:5])


def test_figures_in_the_table_of_all_policies_suit_the_class() -> None:
    classes = [
        one_class("open", open_loop=True),
        one_class("short"),
        one_class("long", size=1 << 20),
    ]
    text = shown(comparison(*(one_run(p, classes) for p in "ab")), width=120, detail=False)
    heading = next(line for line in text.splitlines() if line.startswith("policy"))
    assert heading.split() == ["policy", "p50", "p99", "p50", "p99", "IOPS", "p50", "p99", "MB/s"]


def test_a_part_of_a_run_and_remarks_are_reported_without_detail() -> None:
    runs = [one_run(policy, [one_class("a")], interrupted=policy == "c") for policy in "abc"]
    runs[0]["remarks"] = runs[1]["remarks"] = ["the buffer is full"]
    for run in runs:
        run["remarks"] = [*run.get("remarks", []), "the disk lies in memory"]
    text = shown(comparison(*runs), width=120, detail=False)
    assert "\na, b: note: the buffer is full\n" in text
    assert "\nnote: the disk lies in memory\n" in text
    assert "\nc: PARTIAL: " in text


def test_where_a_line_would_be_too_long_the_table_has_two_parts() -> None:
    assert shown(partial(), width=80) == (TABLES / "parts.txt").read_text()


@pytest.mark.parametrize("width", [20, 80, 120, 200])
@pytest.mark.parametrize("result", [bank_day(), partial()])
def test_nothing_is_cut_off(result: Comparison, width: int) -> None:
    text = shown(result, width=width)
    assert "…" not in text
    for run in result["runs"]:
        for one in run["classes"]:
            assert f"{one['name']} " in text
            assert f"{one['requests']:,}" in text


def test_tables_of_one_comparison_align() -> None:
    headings = {line for line in shown(bank_day(), width=120).splitlines() if "p99.9" in line}
    assert len(headings) == 1


def test_parameters_stand_as_in_a_job() -> None:
    written = "split = 512KiB, guard = { after = 16, stall = 100ms }, priority = true"
    assert f"size-priority  {written}\n" in shown(bank_day(), width=80)


def test_what_the_machine_did_not_grant_is_reported() -> None:
    result = partial()
    result["runs"][0]["remarks"] = ["buffers are not registered"]
    assert "  note: buffers are not registered\n" in shown(result, width=120)


def test_schedulers_of_the_kernel_stand_in_the_heading_or_with_each_run_that_differs() -> None:
    result = comparison(
        *(one_run(name, [one_class("a")]) for name in ("noop", "kernel:bfq")), measured=True
    )
    assert "scheduler" not in shown(result, width=120)
    for run in result["runs"]:
        run["schedulers"] = {"sda": "mq-deadline", "sdb": None}
    same = "  sda under the kernel's scheduler mq-deadline, sdb without a scheduler\n"
    text = shown(result, width=120)
    assert text.count(same) == 1
    assert text.index(same) > text.index("\nkernel:bfq\n")
    result["runs"][1]["schedulers"]["sda"] = "bfq"
    text = shown(result, width=120)
    assert text.index("\nnoop\n") < text.index(same) < text.index("\nkernel:bfq\n")
    assert text.index("\nkernel:bfq\n") < text.index("  sda under the kernel's scheduler bfq, ")


def test_names_are_no_markup() -> None:
    result = comparison(one_run("noop", [one_class("a")]))
    result["device"] = "[red]disk[/red].img"
    assert "[red]disk[/red].img" in shown(result, width=120)


def test_style_carries_no_meaning_alone() -> None:
    plain, styled = (shown(partial(), width=120, colour=colour) for colour in (False, True))
    assert "\x1b" not in plain
    assert "\x1b" in styled
    for word in ("MEASURED", "PARTIAL"):
        assert word in plain


def test_where_most_requests_failed_that_stands_before_the_figures() -> None:
    failing = one_class("a", requests=30, errors=970)
    failing["error_codes"] = {"EIO": error_count(970, at_s=1, start=4_096)}
    text = shown(comparison(one_run("noop", [failing])), width=120)
    assert text.index("MOST FAILED: 970 of 1,000 requests of a under noop") < text.index("\nnoop")


def test_what_was_discarded_has_a_column_where_something_was() -> None:
    plain = comparison(one_run("noop", [one_class("all")]))
    assert "discarded" not in shown(plain, width=200)
    trimmed = comparison(one_run("noop", [one_class("all") | {"discarded_bytes": 2 << 30}]))
    lines = shown(trimmed, width=200).splitlines()
    heading = next(line for line in lines if line.startswith("class"))
    assert heading.split()[1:5] == ["requests", "IOPS", "MB/s", "discarded"]
    assert any("2.15 GB" in line for line in lines)


def test_the_price_of_a_served_device_is_a_column_after_the_median() -> None:
    inside = one_run("noop", [one_class("all")])
    served = one_run("served:noop", [one_class("all") | {"added_ns": -3_210}])
    lines = shown(comparison(inside, served), width=120, detail=False).splitlines()
    (heading,) = (line for line in lines if line.startswith("policy"))
    assert heading.split()[:4] == ["policy", "p50", "added", "p99"]
    rows = [line.split() for line in lines if line.startswith(("noop ", "served:noop "))]
    assert [row[3] for row in rows] == ["–", "-3.21"]
    assert rows[1][4] == "µs"
