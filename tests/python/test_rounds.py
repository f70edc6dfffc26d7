"""Rounds: medians and ranges in tables, verdicts, frames and types, and what they are not."""

import json
from pathlib import Path

import polars as pl
import pytest

import penstock
from command import JOB, interrupted
from command import penstock as command
from penstock.results import rounds
from penstock.results.json_types import Class, Comparison
from penstock.results.percentile import percentile
from penstock.results.rounds import Spread
from penstock.text import ranges, units
from penstock.text.verdict import verdict
from sample import MS, comparison, one_class, one_run, one_schedule, protected, rounds_of
from test_table import TABLES, shown

US = MS // 1000


def of_p99s(baseline: list[int], other: list[int]) -> str:
    """The verdict's last line on tellers' 99th percentiles, round by round."""
    runs = [
        [
            one_run("noop", [one_class("tellers", p99=a)]),
            one_run("cfq", [one_class("tellers", p99=b)]),
        ]
        for a, b in zip(baseline, other, strict=True)
    ]
    *_, line = verdict(rounds_of(*runs))
    return line


class TestFigures:
    """A median and its range."""

    def test_a_median_is_a_figure_of_one_round(self) -> None:
        assert Spread.of([5, 1, 9]) == (5, 1, 9)
        assert Spread.of([5, 1, 9, 7]) == (5, 1, 9), "the lower of the two in the middle"
        assert Spread.of([4]) == (4, 4, 4)

    @pytest.mark.parametrize(
        ("ns", "text"),
        [
            ((510 * US, 470 * US, 720 * US), "510 [470–720] µs"),
            ((3_560_000, 12_000, 107 * MS), "3.56 [0.0120–107] ms"),
            ((999_600, 1, 2_000_000), "1.00 [0.00000100–2.00] ms"),
            ((5_000, 5_000, 5_000), "5.00 µs"),
            ((0, 0, 900), "0 [0–900] ns"),
        ],
    )
    def test_a_latency_is_reported_in_the_unit_of_the_median(
        self, ns: tuple[int, int, int], text: str
    ) -> None:
        assert ranges.latency(Spread(*ns)) == text

    def test_a_unit_is_said_once_if_it_is_one(self) -> None:
        assert ranges.figure(Spread(0.5, 0.25, 0.75), units.percent) == "50.0 [25.0–75.0] %"
        assert ranges.figure(Spread(1.5, 0.5, 2), units.seconds) == "1.50 s [500 ms–2.00 s]"

    def test_ranges_that_touch_overlap(self) -> None:
        assert Spread(2, 1, 3).overlaps(Spread(4, 3, 5))
        assert not Spread(2, 1, 2.9).overlaps(Spread(4, 3, 5))


class TestTable:
    """What stands on a terminal."""

    def test_the_whole(self) -> None:
        assert shown(protected(), width=110) == (TABLES / "rounds.txt").read_text()

    @pytest.mark.parametrize("width", [60, 100, 120])
    def test_it_can_be_read_in_a_hundred_columns(self, width: int) -> None:
        names = ("tellers", "balance", "batch", "report")
        runs = [
            [one_run("size-priority", [one_class(name, p99=p99 * MS) for name in names])]
            for p99 in (100, 210, 152)
        ]
        text = shown(rounds_of(*runs), width=width)
        assert "…" not in text
        tables = [line for line in text.splitlines() if "  " in line and not line.startswith("  ")]
        assert all(len(line) <= max(width, 100) for line in tables)
        assert text.count("152 [100–210] ms") == len(names)

    def test_a_class_that_took_no_part_has_dashes(self) -> None:
        rows = shown(protected(), width=200, detail=False).splitlines()
        (row,) = (row for row in rows if row.startswith("alone:tellers  "))
        assert row.split("  ")[-1].strip() == "–"

    def test_a_round_that_finished_nothing_leaves_a_dash(self) -> None:
        runs = [[one_run("noop", [one_class("a", requests=n)])] for n in (0, 5)]
        row = next(
            line for line in shown(rounds_of(*runs), width=100).splitlines() if "p99 " in line
        )
        assert "–" in shown(rounds_of(*runs), width=100), row

    def test_a_round_that_was_interrupted_is_left_out_if_there_are_others(self) -> None:
        partial = one_run("noop", [one_class("a", p99=900 * MS)], interrupted=True)
        text = shown(
            rounds_of([one_run("noop", [one_class("a", p99=5 * MS)])], [partial]), width=100
        )
        assert "PARTIAL: its last round was interrupted and is left out" in text
        assert "900 ms" not in text
        assert "PARTIAL: interrupted" in shown(rounds_of([partial]), width=100)

    def test_how_the_schedule_was_held_is_reported_of_the_round_that_did_worst(self) -> None:
        held, late = (one_schedule(p99=8 * MS, within_1ms=share) for share in (0.999, 0.9))
        runs = [[one_run("noop", [one_class("a", schedule=s)], schedule=s)] for s in (held, late)]
        text = shown(rounds_of(*runs), width=100)
        assert "  in 1 of 2 rounds the schedule was not held: 90 % of arrivals" in text
        text = shown(rounds_of(runs[0], runs[0]), width=100)
        assert "worst 16.0 ms), in the round that did worst" in text

    def test_where_each_class_has_its_own_schedule_the_worst_is_reported(self) -> None:
        held, late = (one_schedule(p99=8 * MS, within_1ms=share) for share in (0.999, 0.9))
        for schedule, said in ((held, "was held for a: 99.9 %"), (late, "was not held: 90 %")):
            run = one_run("kernel:none", [one_class("a", schedule=schedule), one_class("b")])
            assert f"the schedule {said}" in shown(comparison(run, measured=True), width=100)


class TestVerdict:
    """Claims, and where there is none."""

    def test_who_is_protected_and_who_pays(self) -> None:
        assert verdict(protected()) == [
            "kernel:none: tellers' p99 107 [90.0–140] ms in 3 rounds, 290× what it is alone",
            "size-priority: tellers' p99 520 [490–610] µs in 3 rounds, 1.4× what it is alone, "
            "210× better than kernel:none; batch keeps 83 [79–88] %",
        ]

    def test_where_ranges_overlap_noise_hides_it(self) -> None:
        assert of_p99s([100 * MS, 300 * MS], [40 * MS, 110 * MS]) == (
            "cfq: tellers' p99 40.0 [40.0–110] ms in 2 rounds, noise hides how it differs from noop"
        )
        assert of_p99s([120 * MS, 300 * MS], [40 * MS, 110 * MS]) == (
            "cfq: tellers' p99 40.0 [40.0–110] ms in 2 rounds, 3.0× better than noop"
        )

    def test_noise_hides_throughput_too(self) -> None:
        def batch(n: int) -> list[Class]:
            return [one_class("batch", requests=n, size=1 << 20)]

        pairs = ((10_000, 5_000), (4_000, 3_000))
        runs = [[one_run("noop", batch(a)), one_run("cfq", batch(b))] for a, b in pairs]
        assert verdict(rounds_of(*runs)) == ["cfq: noise hides what batch keeps, against noop"]

    def test_alike_is_alike(self) -> None:
        assert of_p99s([100 * MS, 110 * MS], [111 * MS, 112 * MS]) == (
            "cfq: no class differs by more than 20 % from noop"
        )

    def test_a_single_round_is_judged_as_a_single_run(self) -> None:
        assert of_p99s([100 * MS], [50 * MS]) == "cfq: tellers' p99 2.0× better than noop"

    def test_a_policy_that_runs_alone_is_compared_with_none(self) -> None:
        runs = protected()["runs"][:3]
        for run in runs:
            del run["round"], run["seed"]
        assert verdict(comparison(*runs)) == [
            "kernel:none: tellers' p99 290× what it is alone",
            "size-priority: tellers' p99 1.4× what it is alone, 210× better than kernel:none; "
            "batch keeps 83 %",
        ]
        assert verdict(comparison(runs[0])) == []

    def test_nothing_but_noise_from_being_alone(self) -> None:
        def tellers(p99: int) -> list[Class]:
            return [one_class("tellers", p99=p99)]

        def said(alone: list[int], shared: list[int]) -> list[str]:
            pairs = zip(alone, shared, strict=True)
            return verdict(
                rounds_of(
                    *(
                        [one_run("alone:tellers", tellers(a)), one_run("noop", tellers(b))]
                        for a, b in pairs
                    )
                )
            )

        words = "noop: tellers' p99 10.0 [10.0–20.0] ms in 2 rounds,"
        assert said([10 * MS, 20 * MS], [10 * MS, 20 * MS]) == [
            f"{words} as it is alone but for noise"
        ]
        assert said([3 * MS, 20 * MS], [10 * MS, 20 * MS]) == [
            f"{words} noise hides how far it is from being alone"
        ]

    def test_troubles_of_all_rounds_are_reported(self) -> None:
        late = one_schedule(p99=8 * MS, within_1ms=0.9)
        runs = [
            [one_run("noop", [one_class("a", errors=n, schedule=late)], schedule=late)]
            for n in (3, 4)
        ]
        failed, held = verdict(rounds_of(*runs))
        assert failed.startswith("noop: failed: 7 of a (EIO; first a write")
        assert held.startswith("under noop in all 2 rounds the schedule was not held: 90 %")


class TestEmulated:
    """A model that answers in real time, and nothing that answers at once."""

    def emulated(self) -> Comparison:
        run = one_run("noop", [one_class("a")])
        late = {"completions": 1234, "mean_ns": 2e4, "p50_ns": 10_500}
        run["emulation"] = {**late, "p99_ns": 80_000, "max_ns": 1_200_000}  # type: ignore[typeddict-item]
        result = comparison(run, measured=True)
        result["world"], result["device"] = "emulated", "emulated:hdd-7200"
        del result["machine"]["engine"]
        return result

    def test_it_is_named_and_explained_with_its_lateness(self) -> None:
        text = shown(self.emulated(), width=120)
        assert text.startswith("EMULATED  examples/bank-day.toml on emulated:hdd-7200\n")
        assert "  a model of the device answers in real time: " in text
        assert "Example CPU, 2 CPUs, Linux 6.1\n" in text
        late = "p50 10.5 µs, p99 80.0 µs, worst 1.20 ms (1,234 completions)"
        assert f"  the model answered late by {late}\n" in text

    def test_it_has_a_type(self) -> None:
        result = penstock.Comparison.from_json(json.dumps(self.emulated()))
        late = result["noop"].emulation
        assert late is not None
        assert (late.completions, late.p99_ns, result.world) == (1234, 80_000, "emulated")

    def test_nothing_is_no_disk(self) -> None:
        result = self.emulated()
        result["world"], result["device"] = "measured", "null"
        assert "what is measured is what asks and decides, not a disk" in shown(result, width=120)


@pytest.fixture(scope="module")
def result() -> penstock.Comparison:
    """Three rounds of two policies and of the tellers alone, on a model."""
    return penstock.compare(
        penstock.Job.from_toml(JOB),
        policies=["alone:tellers", "noop", "size-priority"],
        repeat=3,
    )


class TestTypes:
    """Rounds in Python."""

    def test_every_run_knows_its_round_and_seed(self, result: penstock.Comparison) -> None:
        assert result.rounds == 3
        assert [(run.round, run.seed) for run in result.of("noop")] == [(0, 7), (1, 8), (2, 9)]
        assert result["noop"] is result.of("noop")[0]
        assert result.of("deadline") == ()
        assert [one.name for one in result["alone:tellers"].classes] == ["tellers"]

    def test_frames_report_rounds_and_seeds(self, result: penstock.Comparison) -> None:
        frame = result.summary()
        assert frame.columns[:4] == ["policy", "round", "seed", "class"]
        assert frame.height == 3 * (1 + 2 + 2)
        assert frame.filter(policy="noop", **{"class": "batch"})["seed"].to_list() == [7, 8, 9]
        for frame in (result.series(), result.distribution()):
            assert frame.select("policy", "round").unique().height == 9

    def test_without_rounds_they_are_null(self, job: Path) -> None:
        plain = penstock.compare(job, policies=["noop"])
        assert plain.rounds == 1
        assert plain["noop"].round is None
        assert plain.summary()["round"].null_count() == 2
        assert plain.summary()["round"].dtype == result_type(plain)


def result_type(plain: penstock.Comparison) -> pl.DataType:
    """Of the column of rounds where there are values and where there are none."""
    return plain.series()["round"].dtype


class TestCommand:
    """`--repeat`."""

    def test_json_has_all_rounds(self, job: Path) -> None:
        words = (job, "--policies", "alone:tellers,noop", "--repeat", "2", "--json")
        ended = command("compare", *words)
        assert (ended.code, ended.err) == (0, "")
        runs = json.loads(ended.out)["runs"]
        found = [(run["policy"], run["round"], run["seed"]) for run in runs]
        assert found == [
            *(("alone:tellers", 0, 7), ("noop", 0, 7)),
            *(("alone:tellers", 1, 8), ("noop", 1, 8)),
        ]

    @pytest.mark.parametrize("name", ["run", "watch"])
    def test_every_command_that_runs_can_repeat(self, job: Path, name: str) -> None:
        policy = ("--policy", "noop") if name == "run" else ("--policies", "noop", "--speed", "max")
        ended = command(name, job, *policy, "--repeat", "2")
        assert ended.code == 0, ended.err
        assert "2 rounds, seeds 7–8: each figure is the median" in ended.out
        if name == "watch":
            assert "noop, round 2 has ended: p99 " in ended.err

    def test_an_interrupt_says_how_many_runs_are_missing(self, job: Path) -> None:
        words = ("compare", job, "--policies", "noop,cfq", "--repeat", "3")
        ended = interrupted(*words, "--set", "duration=100000h", when="noop")
        assert ended.code == 130
        assert "5 of 6 runs did not run" in ended.err

    def test_a_report_of_rounds_that_hardly_differ_has_its_pictures(
        self, job: Path, tmp_path: Path
    ) -> None:
        page = tmp_path / "page.html"
        ended = command(
            "compare", job, "--policies", "noop,noop", "--repeat", "1", "--report", page
        )
        assert (ended.code, page.exists()) == (0, True), ended.err

    @pytest.mark.parametrize("repeat", [0, -1, 1001, 2**40, 2.5, "2"])
    def test_a_number_of_rounds_that_is_none_is_reported(self, job: Path, repeat: int) -> None:
        with pytest.raises(penstock.PenstockError, match="expected a number from 1 to 1000"):
            penstock.compare(job, policies=["noop"], repeat=repeat)

    def test_rounds_and_a_record_do_not_go_together(self, job: Path, tmp_path: Path) -> None:
        record = tmp_path / "out.record"
        ended = command("run", job, "--policy", "noop", "--repeat", "2", "--record", record)
        assert ended.code == 2
        assert ended.err == (
            "error: a record is of one run\nhint: leave the record out, or run once\n"
        )
        assert not record.exists()

    def test_what_takes_the_place_of_a_policy_or_a_device_is_listed(self) -> None:
        policies, devices = (command("list", what).out for what in ("policies", "devices"))
        assert "kernel:NAME: " in policies
        assert "alone:CLASS: " in policies
        assert "emulated:DEVICE[@SPEED][:PATH]: " in devices
        assert "null: " in devices

    def test_a_model_in_real_time(self, job: Path) -> None:
        words = ("--on", "emulated:flash", "--set", "duration=500ms")
        ended = command("run", job, "--policy", "noop", *words)
        assert ended.code == 0, ended.err
        assert ended.out.startswith(f"EMULATED  {job} on emulated:flash\n")
        assert "the model answered late by p50 " in ended.out


def test_the_round_in_the_middle_is_a_run_that_there_was() -> None:
    result = protected()
    for policy, run in zip(rounds.by_policy(result), rounds.middle(result)["runs"], strict=True):
        p99s = sorted(percentile(one["lat_ns"], 99) for one in policy.of("tellers"))
        assert percentile(run["classes"][0]["lat_ns"], 99) == p99s[1]
        assert "round" not in run
