"""Sweeps: which settings run, what the frontier is, and what is said of it."""

import json
from pathlib import Path

import polars as pl
import pytest

import penstock
from command import penstock as command
from penstock.errors import PenstockError
from penstock.results import tradeoff
from penstock.results.figure import Figure
from penstock.results.rounds import Spread
from penstock.results.tradeoff import Tradeoff, TradeoffPoint
from penstock.sweeps.run import Sweep
from penstock.sweeps.vary import Setting, factors, settings
from penstock.text import tradeoff as words

SPLITS = ("--vary", "size-priority.split=64KiB..256KiB,off")


class TestLevels:
    """What a factor's levels may be."""

    @pytest.mark.parametrize(
        ("written", "levels"),
        [
            ("a,b , c", ["a", "b", "c"]),
            ("16KiB..64KiB", ["16KiB", "32KiB", "64KiB"]),
            ("16KiB..50KiB", ["16KiB", "32KiB", "50KiB"]),
            ("512KiB..2MiB", ["512KiB", "1MiB", "2MiB"]),
            ("1..8,12", ["1", "2", "4", "8", "12"]),
            ("10/s..40/s", ["10/s", "20/s", "40/s"]),
            ("5%..20%", ["5%", "10%", "20%"]),
            ("500us..2ms", ["500us", "1000us", "2ms"]),
            ("64KiB,64KiB", ["64KiB"]),
            ("1..off", ["1", "2", "4", "8", "16", "32", "64", "off"]),
            ('["0%", "10%"],["0%", "50%"]', ['["0%", "10%"]', '["0%", "50%"]']),
        ],
    )
    def test_a_range_doubles_and_has_both_ends(self, written: str, levels: list[str]) -> None:
        assert factors([f"key={written}"]) == {"key": levels}

    @pytest.mark.parametrize(
        "written",
        ["key", "key=", "=1", "key=1,,2", "key=0..4", "key=4..1", "key=1KiB..4ms", "key=x..4"],
    )
    def test_what_is_no_level_says_how_one_looks(self, written: str) -> None:
        with pytest.raises(PenstockError, match="hint: "):
            factors([written])

    def test_no_factor_is_named_twice(self) -> None:
        with pytest.raises(PenstockError, match="varies twice"):
            factors(["policy=noop", "policies=fcfs"])


class TestSettings:
    """Which combinations run."""

    def test_a_parameter_varies_under_its_own_policy_only(self) -> None:
        found = settings(
            {"policy": ["noop", "size-priority"], "size-priority.split": ["64KiB", "off"]}
        )
        assert [one.label for one in found] == [
            "noop",
            "size-priority split=64KiB",
            "size-priority split=off",
        ]

    def test_a_key_of_the_job_varies_under_all(self) -> None:
        found = settings({"live.depth": ["1", "2"], "policy": ["noop", "fcfs"]})
        assert [one.label for one in found] == [
            "noop live.depth=1",
            "noop live.depth=2",
            "fcfs live.depth=1",
            "fcfs live.depth=2",
        ]

    def test_policies_are_those_whose_parameters_vary(self) -> None:
        assert settings({"cfq.quantum": ["4"]}) == [
            Setting(policy="cfq", changes={"cfq.quantum": "4"})
        ]

    def test_a_policy_that_is_named_twice_runs_once(self) -> None:
        found = settings({"policy": ["noop", "cfq", "noop"]})
        assert [one.label for one in found] == ["noop", "cfq"]

    def test_without_a_policy_nothing_can_run(self) -> None:
        with pytest.raises(PenstockError, match="--vary policy="):
            settings({"live.depth": ["1", "2"]})

    def test_a_parameter_of_a_policy_that_does_not_run_is_refused(self) -> None:
        with pytest.raises(PenstockError, match="size-priority is none of the policies"):
            settings({"policy": ["noop"], "size-priority.split": ["off"]})


def points(**figures: tuple[float, float]) -> Tradeoff:
    """Candidates with a latency and a throughput each."""
    x, y = Figure("a", "p99"), Figure("b", "bw")
    scores = {label: (-one, other) for label, (one, other) in figures.items()}
    found = [
        TradeoffPoint(
            label,
            Spread(a, a, a),
            Spread(b, b, b),
            tradeoff._beaten_by(label, scores),
        )
        for label, (a, b) in figures.items()
    ]
    return Tradeoff(x, y, found)


def test_figures_stand_next_to_their_setting_in_whatever_order_they_come(job: Path) -> None:
    swept = penstock.sweep(job, {"policy": ["noop", "cfq"]}, set={"duration": "2s"})
    turned = Sweep(
        swept.settings,
        {**swept.comparison, "runs": swept.comparison["runs"][::-1]},
        swept.tradeoff._replace(points=swept.tradeoff.points[::-1]),
    )
    found = json.loads(turned.to_json())["settings"]
    assert [(one["setting"], one["policy"]) for one in found] == [("cfq", "cfq"), ("noop", "noop")]


class TestFrontier:
    """What is on the frontier, and what is said of it."""

    def test_what_another_one_beats_is_not_on_it(self) -> None:
        of = points(fast=(1, 10), both=(2, 30), worse=(2, 20), slow=(3, 40), alike=(3, 40))
        assert [one.label for one in of.frontier()] == ["fast", "both", "slow", "alike"]
        assert {one.label: one.beaten_by for one in of.points if one.beaten_by} == {"worse": "both"}

    def test_the_answer_names_its_ends_and_who_keeps_the_first_ones_throughput(self) -> None:
        of = points(base=(9e6, 30e6), short=(1e6, 10e6), most=(2e6, 29e6), long=(8e6, 40e6))
        assert list(words._answer(of)) == [
            "best a.p99: short (a.p99 1.00 ms, b.bw 10.0 MB/s)",
            "best b.bw: long (a.p99 8.00 ms, b.bw 40.0 MB/s)",
            "best a.p99 where b.bw is at least 95 % of that of base: "
            "most (a.p99 2.00 ms, b.bw 29.0 MB/s)",
            "3 of 4 settings are on the frontier; each of the rest is beaten by another one that "
            "is as good in both figures and better in one",
        ]


class TestCommand:
    """The command end to end."""

    def test_each_setting_gives_what_it_gives_alone(self, job: Path) -> None:
        ended = command("sweep", job, "--vary", "policy=noop,size-priority", *SPLITS, "--json")
        assert ended.code == 0, ended.err
        found = json.loads(ended.out)
        assert (found["x"], found["y"]) == ("tellers.p99", "batch.bw")
        assert [one["setting"] for one in found["settings"]] == [
            "noop",
            "size-priority split=64KiB",
            "size-priority split=128KiB",
            "size-priority split=256KiB",
            "size-priority split=off",
        ]
        for one in found["settings"]:
            alone = penstock.compare(job, policies=one["policy"], set=one["set"], detail=False)
            (run,) = alone.raw["runs"]
            assert one["runs"][0]["classes"] == run["classes"]
            assert one["x"]["median"] == alone.runs[0]["tellers"].lat_ns.p99
            assert one["y"]["median"] == alone.runs[0]["batch"].bw_bytes

    def test_the_table_and_the_answer(self, job: Path) -> None:
        out = command(
            "sweep", job, "--vary", "policy=noop,class-priority", *SPLITS[:1], "live.depth=1,2"
        ).out
        assert out.startswith(f"SIMULATED  {job} on hdd-7200, 4 settings\n")
        assert "\nsetting                      tellers.p99   batch.bw" in out
        assert "\nbest" in out

    def test_rounds_have_ranges(self, job: Path) -> None:
        words = ("sweep", job, "--vary", "policy=noop,cfq", "--repeat", "3")
        assert "3 rounds, seeds 7–9" in command(*words).out
        found = json.loads(command(*words, "--json").out)
        for one in found["settings"]:
            assert [run["round"] for run in one["runs"]] == [0, 1, 2]
            assert one["x"]["low"] < one["x"]["high"]

    def test_files(self, job: Path, tmp_path: Path) -> None:
        page, table, folder = tmp_path / "s.html", tmp_path / "s.parquet", tmp_path / "plots"
        words = ("sweep", job, *SPLITS, "--report", page, "--parquet", table, "--plots", folder)
        for _ in range(2):
            ended = command(*words)
            assert ended.code == 0, ended.err
        assert "<svg" in page.read_text()
        frame = pl.read_parquet(table)
        assert frame["size-priority.split"].unique(maintain_order=True).to_list() == [
            "64KiB",
            "128KiB",
            "256KiB",
            "off",
        ]
        assert len(frame) == 8
        assert {one.name for one in folder.iterdir()} == {"tradeoff.png", "tradeoff.svg"}

    def test_a_table_of_another_program_stays(self, job: Path, tmp_path: Path) -> None:
        table = tmp_path / "s.parquet"
        pl.DataFrame({"a": [1]}).write_parquet(table)
        before = table.read_bytes()
        ended = command("sweep", job, *SPLITS, "--parquet", table)
        assert (ended.code, ended.out) == (2, "")
        assert "is no table of penstock" in ended.err
        assert table.read_bytes() == before

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            (("--vary", "size-priority.slit=1KiB"), "unknown key `slit`"),
            (("--vary", "policy=nop"), "unknown policy"),
            ((*SPLITS, "--x", "tellers"), "expected a figure of a class"),
            ((*SPLITS, "--y", "night.bw"), "no class `night`"),
        ],
    )
    def test_what_is_not_there_is_refused(
        self, job: Path, more: tuple[str, ...], message: str
    ) -> None:
        ended = command("sweep", job, *more)
        assert (ended.code, ended.out) == (2, "")
        assert message in ended.err
