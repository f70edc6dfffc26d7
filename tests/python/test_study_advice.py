"""Advice where factors act together: which combinations are named, and what may be anything."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import study_data
from command import penstock
from penstock.papers.ioagent.tables import table3
from penstock.study import advice_words, compare_words, words
from penstock.study.analysis import Analysis, analyse
from penstock.study.compare import compare
from penstock.study.fit import fit
from penstock.study.recommend import FactorAdvice
from penstock.study.simple_effects import SimpleEffects
from penstock.study.table import StudyTable, read

CROSSOVER = Path(__file__).parents[1] / "data" / "studies" / "crossover.csv"

TWO: Mapping[str, Sequence[Any]] = {"sched": ["bfq", "none"], "disk": ["hdd", "ssd"]}

THREE: Mapping[str, Sequence[Any]] = {**TWO, "depth": [1, 32]}

SPREAD = (-0.01, 0.0, 0.01)
"""Logarithms of the runs of a cell next to its mean."""


def table(
    levels: Mapping[str, Sequence[Any]],
    mean: Callable[..., float],
    *,
    spread: Sequence[float] = SPREAD,
    **columns: Sequence[Any],
) -> StudyTable:
    """A table whose cells have these means of the logarithm, and each the same spread."""
    frame = study_data.cells(levels, len(spread))
    cells = frame.height // len(spread)
    values = [
        mean(**row) * math.exp(spread[at // cells])
        for at, row in enumerate(frame.iter_rows(named=True))
    ]
    return study_data.with_response(frame, values, **columns)


def crossed(sched: str, disk: str, **_: object) -> float:
    """Twice as much for the wrong scheduler of a disk."""
    return 10.0 if (sched == "none") == (disk == "ssd") else 20.0


def odd(sched: str, disk: str, depth: int) -> float:
    """What a scheduler gains on a disk turns round with the depth; any two together do nothing."""
    return 10.0 if (sched == "bfq") ^ (disk == "hdd") ^ (depth == 1) else 20.0


def one_sided(sched: str, disk: str) -> float:
    """One scheduler suits each disk, and one disk is always better."""
    return {"nonessd": 5.0, "bfqssd": 10.0, "bfqhdd": 20.0, "nonehdd": 30.0}[sched + disk]


def by_factor(analysis: Analysis) -> dict[str, FactorAdvice]:
    return {advice.factor: advice for advice in analysis.advice}


def said(analysis: Analysis) -> list[str]:
    return words.lines(analysis)


class TestCrossover:
    """Factors that do nothing on average."""

    def test_the_combinations_are_named_first(self) -> None:
        first, second, *_ = said(analyse(read(str(CROSSOVER))))
        assert first == (
            "scheduler and device act together: set scheduler = bfq with device = hdd; "
            "scheduler = none with device = ssd."
        )
        assert second == "The other 2 combinations cost 104 % to 106 % of p99_ms against the best."

    def test_no_factor_may_be_anything(self) -> None:
        analysis = analyse(read(str(CROSSOVER)))
        scheduler = by_factor(analysis)["scheduler"]
        assert not scheduler.sns
        assert scheduler.depends_on == ("device",)
        assert [(part.levels, part.best) for part in scheduler.combinations] == [
            ({"device": "hdd"}, ("bfq",)),
            ({"device": "ssd"}, ("none",)),
        ]
        assert "may be anything" not in "\n".join(said(analysis))
        # What each factor is advised alone is the best cell.
        levels = {advice.factor: advice.best[0] for advice in analysis.advice}
        assert levels == analysis.configurations[0].levels

    def test_json_and_page_say_the_same(self, tmp_path: Path) -> None:
        plain = json.loads(penstock("study", "analyse", CROSSOVER, "--json").out)
        device = plain["recommend"][1]
        assert (device["sns"], device["best"], device["depends_on"]) == (
            False,
            ["ssd"],
            ["scheduler"],
        )
        (with_bfq, with_none) = device["combinations"]
        assert with_bfq["levels"] == {"scheduler": "bfq"}
        assert (with_bfq["best"], with_bfq["worst"]) == (["hdd"], "ssd")
        assert with_none["cost_pct"] == pytest.approx(104.5, abs=0.1)
        page = tmp_path / "page.html"
        assert penstock("study", "analyse", CROSSOVER, "--report", page).code == 0
        text = page.read_text()
        assert "scheduler and device act together: set" in text
        assert "Factors that depend on others" in text
        assert "may be anything" not in text

    def test_a_model_without_the_interaction_says_it_too(self) -> None:
        study = read(str(CROSSOVER))
        analysis = analyse(study, terms=[("scheduler",), ("device",)])
        assert said(analysis)[0].startswith("scheduler and device act together: ")

    @pytest.mark.parametrize("transform", ["log", "none"])
    def test_more_is_better(self, transform: Any) -> None:  # noqa: ANN401 # a literal
        first, second, *_ = said(analyse(table(TWO, crossed), transform=transform))
        assert "set sched = none with disk = hdd; sched = bfq with disk = ssd." in first or (
            "set sched = bfq with disk = ssd; sched = none with disk = hdd." in first
        )
        cost = "50 %" if transform == "log" else "66.7 %"
        assert second == f"The other 2 combinations cost {cost} to {cost} of rate against the best."


class TestKinds:
    """Other ways in which factors act together."""

    def test_three_factors_of_which_no_two_do_anything(self) -> None:
        analysis = analyse(table(THREE, odd), less=True)
        lines = said(analysis)
        assert lines[0].startswith("sched, disk and depth act together: set ")
        clauses = "\n".join(lines[:2])
        assert clauses.count("sched = bfq with") == clauses.count("sched = none with") == 2
        assert "sched = bfq with disk = hdd and depth = 1" in clauses
        assert lines[2] == "The other 4 combinations cost 100 % to 100 % of rate against the best."

    def test_a_factor_without_part_in_it_may_be_anything(self) -> None:
        lines = said(analyse(table(THREE, crossed), less=True))
        assert lines[0].startswith("sched and disk act together: ")
        assert "depth may be anything." in lines

    def test_a_factor_that_is_always_better_is_set_alone(self) -> None:
        lines = said(analyse(table(TWO, one_sided), less=True))
        assert lines[0] == "Set disk = ssd."
        assert lines[1].startswith("sched depends on disk: set ")
        assert "sched = bfq with disk = hdd" in lines[1]
        assert lines[2] == "Another sched costs up to 100 % of rate."

    def test_a_level_that_is_worse_in_one_corner_is_not_as_good(self) -> None:
        levels: dict[str, list[Any]] = {
            "sched": ["bfq", "none", "kyber"],
            "disk": ["a", "b", "c", "d"],
            "depth": [1, 8],
        }

        def corner(sched: str, disk: str, depth: int) -> float:
            return 12.0 if (sched, disk, depth) == ("none", "a", 8) else 10.0

        analysis = analyse(table(levels, corner), less=True)
        assert set(by_factor(analysis)["sched"].best) == {"bfq", "kyber"}
        assert set(by_factor(analysis)["disk"].best) == {"b", "c", "d"}
        assert by_factor(analysis)["depth"].best == (1,)
        # What matters less is as good as nothing.
        assert all(advice.sns for advice in analyse(table(levels, corner), matters=25).advice)

    def test_levels_with_the_same_advice_are_named_together(self) -> None:
        levels = {**TWO, "disk": ["hdd", "ssd", "nvme"]}

        def flash(sched: str, disk: str) -> float:
            return 10.0 if (sched == "bfq") == (disk == "hdd") else 20.0

        lines = said(analyse(table(levels, flash), less=True))
        assert any("sched = none with disk = ssd or nvme" in line for line in lines)

    def test_many_combinations_are_counted(self) -> None:
        levels: dict[str, list[Any]] = {
            "sched": ["bfq", "none"],
            "disk": list("abcdef"),
            "depth": [1, 8],
        }

        def mixed(sched: str, disk: str, depth: int) -> float:
            return 10.0 if (sched == "bfq") == ((ord(disk) + depth) % 2 == 0) else 14.0

        analysis = analyse(table(levels, mixed), less=True)
        assert (
            "sched depends on disk and depth: set sched = none with 6 of their 12 combinations; "
            "sched = bfq with 6; the worst level costs up to 40 %."
        ) in said(analysis) or (
            "sched depends on disk and depth: set sched = bfq with 6 of their 12 combinations; "
            "sched = none with 6; the worst level costs up to 40 %."
        ) in said(analysis)
        rows, notes = advice_words.combinations(analysis)
        assert len([row for row in rows if row[0] == "sched"]) == advice_words.ROWS
        assert notes[-1].endswith("--json has all.")

    def test_cells_that_were_not_run_and_unequal_runs(self) -> None:
        whole = table({**TWO, "disk": ["hdd", "ssd", "nvme"]}, crossed)
        kept = [
            at
            for at, (sched, disk) in enumerate(whole.frame.select("sched", "disk").iter_rows())
            if (sched, disk) != ("bfq", "nvme") and not ((sched, disk) == ("bfq", "ssd") and at > 6)
        ]
        frame = whole.frame[kept]
        study = study_data.with_response(frame.drop("rate"), frame["rate"].to_list())
        lines = said(analyse(study, less=True))
        assert "sched = none with disk = ssd" in "\n".join(lines)
        assert "sched = bfq with disk = hdd" in "\n".join(lines)

    def test_blocks_take_out_what_changed_between_them(self) -> None:
        blocks = [block for block in (1, 2, 3) for _ in range(4)]
        study = table(TWO, crossed, block=blocks, order=range(12))
        slower = study.frame["rate"] * (2.0 ** study.frame["block"])
        drifted = replace(study, frame=study.frame.with_columns(slower.alias("rate")))
        assert said(analyse(drifted, less=True))[0].startswith("sched and disk act together: ")

    def test_a_factor_that_is_taken_apart_by_its_levels(self, tmp_path: Path) -> None:
        levels = {"job": ["read", "write"], **TWO}

        def turned(job: str, sched: str, disk: str) -> float:
            return crossed(sched, disk) if job == "read" else 30.0 - crossed(sched, disk)

        file = tmp_path / "data.csv"
        table(levels, turned).frame.write_csv(file)
        out = penstock("study", "analyse", file, "--by", "job", "--better", "less").out
        assert out.count("sched and disk act together: set ") == 2
        assert "sched = none with disk = ssd" in out.partition("job = write")[0]
        assert "sched = none with disk = hdd" in out.partition("job = write")[2]


class TestUnclear:
    """Where nothing shows what to set, and nothing that it does not matter."""

    def test_an_effect_that_no_two_cells_show(self) -> None:
        # Two cells are 2.9 standard errors apart in each pair: p = 0.02 alone, 0.08 among four.
        half = 2.9 * 0.1 * math.sqrt(2 / 3) / 2

        def faint(sched: str, disk: str) -> float:
            return 10.0 * math.exp(half if (sched == "none") == (disk == "ssd") else -half)

        analysis = analyse(table(TWO, faint, spread=(-0.1, 0.0, 0.1)), less=True)
        assert {(advice.sns, advice.unclear) for advice in analysis.advice} == {(False, True)}
        assert said(analysis)[0] == (
            "sched and disk change rate by more than noise or 5 % in some cells, but no two cells "
            "differ for certain. Repeat runs to know which."
        )
        twice = (-0.1, 0.0, 0.1) * 2
        more = analyse(table(TWO, faint, spread=twice), less=True)
        assert said(more)[0].startswith("sched and disk act together: ")

    def test_cells_without_a_second_run(self) -> None:
        analysis = analyse(table(TWO, crossed, spread=(0.0,)), terms=[("sched",), ("disk",)])
        assert said(analysis)[0] == (
            "Whether sched and disk may be anything is not known: cells differ by more than 5 %, "
            "and no cell was run twice."
        )

    def test_cells_that_hardly_differ_need_no_second_run(self) -> None:
        def alike(sched: str, disk: str) -> float:
            return 10.0 + 0.01 * (sched == "none") + 0.02 * (disk == "ssd")

        analysis = analyse(table(TWO, alike, spread=(0.0,)), terms=[("sched",), ("disk",)])
        assert all(advice.sns for advice in analysis.advice)


def test_noise_shows_combinations_in_5_of_100_tables() -> None:
    levels = {"a": [1, 2], "b": [1, 2, 3], "c": [1, 2]}
    frame = study_data.cells(levels, 3)
    random = np.random.default_rng(3)
    empty = fit(
        study_data.with_response(frame, random.normal(size=frame.height)), [], transform="none"
    )
    whole = empty.having([("a",), ("b",), ("c",)])
    many, shown, differ = 600, 0, 0
    for _ in range(many):
        noise = replace(whole, y=random.normal(size=frame.height), shift=0.0)
        simple = SimpleEffects(fit=noise, factors=("a", "b", "c"), matters=0.0, less=False)
        shown += any(simple.shown.values())
        differ += any(spread.p < 0.05 for spread in simple.spreads.values())
    # Comparisons have cells in common, so that Holm's method is on the safe side.
    assert 0.005 < shown / many < 0.065
    assert 0.02 < differ / many < 0.07


def test_comparisons_are_those_by_hand() -> None:
    from scipy import stats

    study = table(TWO, lambda sched, disk: 11.0 if (sched, disk) == ("bfq", "hdd") else 10.0)
    whole = fit(study, [("sched",), ("disk",)])
    simple = SimpleEffects(fit=whole, factors=("sched", "disk"), matters=5.0, less=True)
    # Runs of each cell are 0.01 apart in the logarithm; four pairs of cells are compared.
    t = math.log(1.1) / (0.01 * math.sqrt(2 / 3))
    (comparison,) = simple.shown["sched"]
    assert comparison.condition == {"disk": 0}
    assert (comparison.better, comparison.worse) == (1, 0)
    assert comparison.p == pytest.approx(4 * 2 * stats.t.sf(t, 8))
    assert simple.spreads["sched"].f == pytest.approx((t**2 + 0) / 2)


class TestCompare:
    """Two studies."""

    def test_the_same_combinations_are_no_disagreement(self) -> None:
        study = table(TWO, crossed)
        comparison = compare(study, study, less=True)
        text = "\n".join(compare_words.lines(comparison))
        assert "Both recommend the same sched, which depends on disk." in text
        assert "may be anything" not in text
        assert all(row["agree"] for row in compare_words.plain(comparison)["recommend"])

    def test_other_combinations_are_a_disagreement(self) -> None:
        turned = table(TWO, lambda sched, disk: 30.0 - crossed(sched, disk))
        first, second = (replace(study, source=name) for name, study in
                         (("a", table(TWO, crossed)), ("b", turned)))  # fmt: skip
        comparison = compare(first, second, less=True)
        text = "\n".join(compare_words.lines(comparison))
        assert "They disagree on sched: a recommends one that depends on disk, b " in text
        (sched, _) = compare_words.plain(comparison)["recommend"]
        assert (sched["agree"], sched["first_depends_on"]) == (False, ["disk"])


def test_the_paper_names_what_is_unclear() -> None:
    rows = [
        {"factor": "O", "best": ["direct"], "sns": False, "unclear": False, "depends_on": ["A"]},
        {"factor": "A", "best": [1, 32], "sns": False, "unclear": True, "depends_on": []},
    ]
    ours = {"patterns": [{"pattern": "random-read", "analysis": {"recommend": rows}}]}
    assert table3(ours) == [{"pattern": "random-read", "O": "direct", "A": "unclear"}]
