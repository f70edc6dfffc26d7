"""`penstock paper merge-placement`: rows, rings, the threshold, claims, settings.

Figures of every cell against an independent program are in `crates/run/tests/merge.rs`, those of
the rings in `merge_ring.rs`. Here is what the command makes of them.
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from command import penstock
from penstock.papers import files
from penstock.papers.merge_placement import cells, race, setting
from penstock.papers.merge_placement.claims import STATEMENTS
from penstock.papers.merge_placement.paper import KEYS, PAPER
from penstock.papers.merge_placement.setting import NAME
from penstock.papers.published import Row
from reading import Page


@pytest.fixture(scope="module")
def ours(paper_report: Callable[[str], Path]) -> Mapping[str, Any]:
    """All figures."""
    figures: Mapping[str, Any] = PAPER.read(
        json.loads(Page(paper_report(PAPER.name).read_text()).data)
    )
    return figures


TURN_MS = 16.667


def row(ours: Mapping[str, Any], disks: int, jobs: int, case: int, **of: object) -> Row:
    """The row of a placement, first come first served and without a limit if not said otherwise."""
    wanted = {"disks": disks, "jobs": jobs, "case": case, "policy": "fcfs", "buffer": None, **of}
    (found,) = (one for one in ours["rows"] if wanted.items() <= one.items())
    return dict(found)


def test_the_job_has_the_figures_of_the_paper() -> None:
    of = files.published(NAME)["model"]
    text = cells.job()
    for line in (
        f'run = "{of["run_blocks"]}blocks"',
        f"runs = {of['runs']}",
        f"read = {of['read_blocks']}",
        f"write = {of['write_blocks']}",
        f'seek = "{1e3 * of["seek_ms_per_cylinder"]:g}us"',
        f'transfer = "{of["transfer_ms_per_block"]}ms"',
        # A turn is twice the mean wait, of which the paper has two digits after the point.
        f'turn = "{TURN_MS}ms"',
    ):
        assert f"\n{line}\n" in text
    assert abs(TURN_MS / 2 - of["latency_ms"]) < 0.005
    layout = next(one for one in files.published(NAME)["figure"] if one["number"] == "2.1")
    assert f"disks = {layout['disks']}\n" in text
    assert f"jobs = {layout['jobs']}\n" in text


def test_rows_have_the_figures_that_they_promise(ours: Mapping[str, Any]) -> None:
    assert tuple(ours) == KEYS
    for one in ours["rows"]:
        assert list(one) == [
            "disks",
            "jobs",
            "case",
            "policy",
            "buffer",
            "time_s",
            "sd_s",
            "first_finisher_s",
            "divergence",
            "utilisation",
            "max_queued_writes",
            "deadlocks",
            "seeds",
        ]
        assert one["seeds"] == 10
        assert (one["time_s"] is None) == (one["deadlocks"] == 10)
    for key, figures in {
        "threshold": ["disks", "jobs", "n", "m", "f_eff", "divergence"],
        "two_disk": ["f", "n0_ms", "sequence_ms"],
        "three_disk": ["f", "predicted_growth", "simulated_growth", "steady_ms"],
        "ring": ["disks", "f", "predicted", "simulated", "critical_f"],
    }.items():
        assert all(list(one) == figures for one in ours[key])


def test_placements_differ_as_they_should(ours: Mapping[str, Any]) -> None:
    times = {
        (case, jobs): row(ours, 5, jobs, case)["time_s"]
        for case in (1, 2, 3, 4)
        for jobs in range(1, 6 if case > 1 else 5)
    }
    assert times[1, 1] == times[2, 1] == times[3, 1], "one job is bound by its writes"
    assert 1.15 <= times[2, 2] / times[3, 2] <= 1.35
    assert 1.2 <= times[2, 5] / times[3, 5] <= 1.45
    assert 1.8 <= times[2, 2] / times[2, 1] <= 2.0
    assert 1.10 <= times[4, 2] / times[3, 2] <= 1.25
    assert 0.97 <= times[4, 5] / times[3, 5] <= 1.03
    assert times[1, 2] < 1.15 * times[1, 1]
    assert 1.1 <= times[1, 3] / times[3, 3] <= 1.4
    assert times[1, 4] > 2.5 * times[3, 4]
    for jobs in range(2, 6):
        assert row(ours, 5, jobs, 2)["divergence"] > 0.6
        assert max(row(ours, 5, jobs, case)["divergence"] for case in (3, 4)) < 0.15


def test_policies_and_buffers_act_as_they_should(ours: Mapping[str, Any]) -> None:
    for jobs, most in ((2, 1.4), (5, 1.55)):
        usual = row(ours, 5, jobs, 2)["time_s"]
        for policy, low, high in (("round-robin", 0.75, 0.86), ("read-first", 0.62, 0.77)):
            assert low <= row(ours, 5, jobs, 2, policy=policy)["time_s"] / usual <= high
            little, much = (
                row(ours, 5, jobs, 2, policy=policy, buffer=buffer)["time_s"]
                for buffer in (480, 1500)
            )
            assert abs(little / much - 1) < 0.02
        times = {
            one["buffer"]: one["time_s"]
            for one in ours["rows"]
            if (one["disks"], one["jobs"], one["case"], one["policy"]) == (5, jobs, 2, "fcfs")
            and one["deadlocks"] == 0
        }
        best = min(times, key=lambda buffer: times[buffer])
        assert best in (560, 580, 600)
        assert times[720] / times[best] >= 1.08
        assert 1.2 <= times[None] / times[best] <= most


def test_runs_that_come_to_no_end_are_told(ours: Mapping[str, Any]) -> None:
    found = {blocks: row(ours, 5, 2, 2, buffer=blocks) for blocks in (420, 440, 460, 480)}
    assert [found[blocks]["deadlocks"] for blocks in (420, 480)] == [10, 0]
    assert found[440]["deadlocks"] >= 8
    assert 0 < found[460]["deadlocks"] < 10
    assert found[420]["time_s"] is None
    assert abs(found[460]["time_s"] / found[480]["time_s"] - 1) < 0.02


def test_the_race_begins_where_writes_take_longer(ours: Mapping[str, Any]) -> None:
    rows = [one for one in ours["threshold"] if one["jobs"] == 2]
    below = [one["divergence"] for one in rows if one["f_eff"] < 0.9]
    above = [one["divergence"] for one in rows if one["f_eff"] > 1.2]
    assert len(below) >= 4
    assert len(above) >= 6
    assert max(below) < 0.12
    assert min(above) >= 0.3
    assert {one["disks"] for one in rows} == {2, 3, 4, 5}


def test_two_disks_have_the_exact_sequence(ours: Mapping[str, Any]) -> None:
    found = {(one["f"], one["n0_ms"]): one["sequence_ms"] for one in ours["two_disk"]}
    exact = [48, 72, 120, 216, 408, 792, 1560, 3096, 6168]
    assert found[2.0, 24.0] == exact
    assert found[0.5, 306.0][-1] == 6.0


def test_three_disks_grow_or_rest_as_their_map_says(ours: Mapping[str, Any]) -> None:
    found = {one["f"]: one for one in ours["three_disk"]}
    for f in (3.0, 4.0):
        assert found[f]["predicted_growth"] == pytest.approx(f - 1)
        assert found[f]["simulated_growth"] == pytest.approx(f - 1, rel=0.03)
        assert found[f]["steady_ms"] is None
    assert found[1.8]["steady_ms"] == pytest.approx(565, rel=0.15)
    assert race.steady(f=1.8, read=12) == pytest.approx(565, abs=1)
    assert race.steady(f=0.4, read=12) is None
    periods = [20.0]
    for _ in range(6):
        periods.append(race.after(periods[-1], f=3, read=12))
    assert [round(n) for n in periods[1:]] == [128, 386, 940, 2080, 4390, 9042]
    assert race.before(race.after(50, f=1, read=12), f=1, read=12) == pytest.approx(50)


def test_rings_grow_by_the_root(ours: Mapping[str, Any]) -> None:
    odd = [one for one in ours["ring"] if one["disks"] % 2]
    assert {one["disks"] for one in odd} == {3, 5, 7}
    for one in odd:
        turns = (one["disks"] - 1) // 2
        assert one["critical_f"] == pytest.approx(1 + 1 / turns)
        powers = sum(one["predicted"] ** n for n in range(turns))
        assert one["predicted"] ** turns == pytest.approx((one["f"] - 1) * powers)
        assert one["simulated"] == pytest.approx(one["predicted"], rel=0.03)
    starved = [one for one in ours["served"] if one["disks"] % 2 == 0]
    assert {one["disks"] for one in starved} == {4, 6}
    for one in starved:
        few, many = sorted((one["reads"][::2], one["reads"][1::2]), key=sum)
        assert 20 * max(few) < min(many)


def test_every_statement_is_decided_and_what_does_not_hold_is_known(
    ours: Mapping[str, Any],
) -> None:
    found = PAPER.claims(ours)
    assert [one["id"] for one in found] == [one.id for one in STATEMENTS]
    assert [one["id"] for one in found if not one["holds"]] == [
        "2.2-seeks",
        "3-two-high",
        "3-requests",
        "3-cycle",
        "3-bound",
    ]


def test_a_statement_about_rows_that_did_not_run_is_left_out(ours: Mapping[str, Any]) -> None:
    less = {**ours, "rows": [one for one in ours["rows"] if one["case"] == 2], "variants": []}
    ids = {one["id"] for one in PAPER.claims(less)}
    assert "2.2-case-3" not in ids
    assert "2.2-seeks" not in ids
    assert {"2.2-serial", "2.4-more", "3-two"} <= ids


QUICK = ("disks=5", "jobs=2", "seeds=2", "ring.disks=3", "ring.f=3", "two.f=3", "two.n0=40ms")


def run(*given: str) -> Any:  # noqa: ANN401 - what JSON holds
    words = [word for one in given for word in ("--set", one)]
    ended = penstock("paper", NAME, *words, "--json")
    assert (ended.code, ended.err) == (0, "")
    return json.loads(ended.out)


def test_a_setting_restricts_the_rows_to_it() -> None:
    found = run(*QUICK, "cases=2,3", "policies=fcfs,round-robin", "buffers=500,unlimited")
    assert {(one["disks"], one["jobs"], one["seeds"]) for one in found["rows"]} == {(5, 2, 2)}
    assert len(found["rows"]) == 8
    assert {one["buffer"] for one in found["rows"]} == {500, None}
    assert {(one["disks"], one["jobs"]) for one in found["threshold"]} == {(5, 2)}
    assert [(one["f"], one["n0_ms"]) for one in found["two_disk"]] == [(3, 40)]
    assert [one["f"] for one in found["three_disk"]] == [3]
    assert [(one["disks"], one["f"]) for one in found["ring"]] == [(3, 3)]


def test_settings_reach_the_model() -> None:
    usual, changed = (
        run(*QUICK, "cases=2", "policies=fcfs", "buffers=unlimited", *more)
        for more in (
            (),
            ("n=6", "m=20", "seek=0us", "latency=constant", "depletion=64", "run=500blocks"),
        )
    )
    assert changed["rows"][0]["time_s"] < 0.7 * usual["rows"][0]["time_s"]
    assert {(one["n"], one["m"]) for one in changed["threshold"]} == {(6, 20)}
    assert changed["layouts"][0]["run"] == 500
    short = run(*QUICK, "cases=2", "policies=fcfs", "buffers=unlimited", "run=15blocks", "m=10")
    assert max(one["n"] for one in short["threshold"]) == 12
    staggered = run(*QUICK, "cases=2", "policies=fcfs", "buffers=unlimited", "stagger=60s")
    assert staggered["rows"][0]["time_s"] > 80


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("disks=five",), "disks: found five; expected whole numbers from 1 to 64"),
        (("jobs=7", "disks=5"), "no placement has so many jobs on so few disks"),
        (("cases=1", "jobs=5", "disks=5"), "case 1 takes a disk more than there are jobs"),
        (("cases=5",), "cases: found 5; expected whole numbers from 1 to 4"),
        (("policies=fifo",), "expected some of fcfs, round-robin, read-first"),
        (("buffers=0",), "buffers: found 0; expected blocks for each job, or unlimited"),
        (("buffers=520,100",), "with 100 blocks of memory no job can end: it takes 288"),
        (("n=4,5",), "n: found 4,5; expected a whole number from 1 to 1000000"),
        (("n=2000",), "  --> --set n=2000\n   |          ^^^^\n"),
        (("m=0",), "as --set m=40"),
        (("run=x",), "expected a size, found `x`"),
        (("blocks_per_cylinder=0",), "expected a whole number of at least 1, found `0`"),
        (("seek=40",), "40 has no unit; expected a length of time"),
        (("latency=none",), "expected `uniform` or `constant`, found `none`"),
        (("depletion=even",), "expected random-block, or how many random keys a block has"),
        (("layout=side",), "expected `output-last` or `output-first` or `output-middle`"),
        (("seeds=0",), "expected how many there are, from 1 to 1000"),
        (("ring.disks=1",), "ring.disks: found 1; expected whole numbers from 2 to 64"),
        (("ring.f=0",), "ring.f: found 0; expected numbers above 0, up to 100"),
        (("two.f=-1",), "two.f: found -1; expected numbers above 0, up to 100"),
        (("two.n0=5",), "two.n0: found 5; expected times above zero"),
        (("stagger=5",), "5 has no unit; expected a length of time"),
    ],
)
def test_a_wrong_setting_is_refused_with_a_hint(given: tuple[str, ...], expected: str) -> None:
    words = [word for one in given for word in ("--set", one)]
    ended = penstock("paper", NAME, *words, "--json")
    assert (ended.code, ended.out) == (2, "")
    assert expected in ended.err
    assert "hint: " in ended.err
    assert "merge." not in ended.err, "arguments are shown as they were given"


def test_every_key_of_the_command_is_checked() -> None:
    with pytest.raises(Exception, match="unknown key"):
        setting.SETTINGS.read(["memory=1"])


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="takes two processors")
def test_equal_seeds_give_equal_bytes_on_any_number_of_processors(tmp_path: Path) -> None:
    words = ["paper", NAME, *(word for one in QUICK for word in ("--set", one)), "--json"]
    two, again = (penstock(*words).out for _ in range(2))
    usual = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(usual)})
    try:
        one = penstock(*words).out
    finally:
        os.sched_setaffinity(0, usual)
    assert one == two == again
