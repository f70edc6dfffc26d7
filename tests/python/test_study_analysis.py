"""What an analysis says of tables whose model is known."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import study_data
from command import penstock
from penstock.cli.app import app
from penstock.errors import PenstockError
from penstock.study import advice_words, model, words
from penstock.study.analysis import Analysis, analyse
from penstock.study.coding import Vector
from penstock.study.json_types import AnalysisRow
from penstock.study.table import StudyTable

LEVELS: dict[str, Sequence[Any]] = {
    "O": ["buffered", "direct"],
    "A": [1, 2, 4, 8],
    "S": [8, 32, 128],
}


def rates(frame: pl.DataFrame, *, noise: float, seed: int = 1, bend: float = 0.0) -> Vector:
    """Direct gives half as much again and gains from A; S is as good as nothing, 1 %.

    `bend` is what a cell with all three factors as they come last has more.
    """
    logs = [
        0.4 * (row["O"] == "direct")
        + 0.1 * math.log2(row["A"]) * (row["O"] == "direct")
        + 0.005 * (row["S"] == 32)
        + bend * ((row["A"] * row["S"]) % 3 == (row["O"] == "direct"))
        for row in frame.iter_rows(named=True)
    ]
    return np.exp(8 + np.array(logs) + noise * np.random.default_rng(seed).normal(size=len(logs)))


def noisy(*, noise: float = 0.02, bend: float = 0.0) -> StudyTable:
    frame = study_data.cells(LEVELS, 4)
    return study_data.with_response(frame, rates(frame, noise=noise, bend=bend))


def said(of: Analysis) -> str:
    return "\n".join(words.lines(of))


class TestTrust:
    """Whether it can be trusted."""

    def test_a_model_that_fits(self) -> None:
        of = analyse(noisy())
        assert "The model fits" in said(of)
        assert of.fit.noise is not None
        assert of.fit.noise.source == "residual"
        assert model.text(of.terms) == "O + A + O:A"

    def test_deterministic_runs_lack_fit_and_have_no_noise(self) -> None:
        of = analyse(noisy(noise=0, bend=0.1), terms=[("O",), ("A",), ("S",)])
        assert "Lack of fit, not noise" in said(of)
        assert "(no noise at all)" in said(of)
        plain = of.plain()["lack_of_fit"]
        assert plain == {"f": None, "p": 0.0, "pure_error_sd": 0.0}
        json.dumps(of.plain(), allow_nan=False)

    def test_lack_of_fit_takes_intervals_from_repeated_runs(self) -> None:
        of = analyse(noisy(noise=0.001, bend=0.1), terms=[("O",), ("A",), ("S",)])
        assert "Lack of fit, not noise: cells lie off the model by" in said(of)
        assert "Judge by per cent, not by p." in said(of)
        assert of.fit.noise is not None
        assert of.fit.noise.source == "replicates"
        assert of.fit.noise.variance**0.5 == pytest.approx(0.001, rel=0.2)
        marked = [row[-4] for row in words.anova(of) if row[0] != "Residual"]
        assert all(one.endswith(advice_words.AGAINST) for one in marked)
        assert [one.says for one in of.checks if one.holds is False]
        assert all(
            one.says.endswith("what the model lacks, not noise")
            for one in of.checks
            if one.holds is False
        )

    def test_without_repeated_runs_noise_is_not_known(self) -> None:
        frame = study_data.cells(LEVELS, 1)
        of = analyse(study_data.with_response(frame, rates(frame, noise=0.02)))
        assert "No cell was run twice" in said(of)
        assert of.plain()["lack_of_fit"] is None

    def test_simulated_runs_have_no_order_to_check(self) -> None:
        frame = study_data.cells(LEVELS, 4)
        count = frame.height
        table = study_data.with_response(
            frame, rates(frame, noise=0.02), order=range(count), world=["simulated"] * count
        )
        of = analyse(table)
        check = {one.what: one for one in of.checks}["independence"]
        assert check.holds is None
        assert check.says == "not tested: the order of simulated runs means nothing"
        assert of.fit.noise is not None
        assert of.fit.noise.source == "replicates"
        assert "SIMULATED" in words.title(of)

    def test_an_unbalanced_table_says_so(self) -> None:
        table = noisy()
        assert "Unbalanced" not in said(analyse(table))
        fewer = study_data.with_response(
            table.frame.drop("rate")[:-3], table.frame["rate"].to_list()[:-3]
        )
        assert "Unbalanced" in said(analyse(fewer, kind=3))

    def test_a_model_with_a_coefficient_for_every_run_is_refused(self) -> None:
        frame = study_data.cells({"a": [1, 2], "b": [1, 2]})
        table = study_data.with_response(frame, [1.0, 2.0, 3.0, 5.0])
        with pytest.raises(PenstockError, match="nothing is left over to compare with"):
            analyse(table, terms=model.parse("a*b", table.factors))


class TestAdvice:
    """What to set."""

    def test_levels_that_differ_by_less_than_matters_are_as_good(self) -> None:
        advice = {one.factor: one for one in analyse(noisy(noise=0.001)).advice}
        assert advice["S"].sns
        assert advice["S"].reason == "matters"
        assert advice["S"].best[0] == 32
        assert advice["O"].best == ("direct",)
        assert not advice["O"].sns
        # On average over A: half as much again, and 0.1 × the mean of log2 A.
        assert advice["O"].effect_pct == pytest.approx(100 * math.expm1(0.55), abs=0.5)
        assert advice["O"].low_pct is not None
        assert advice["O"].high_pct is not None
        assert advice["O"].low_pct < 100 * math.expm1(0.55) < advice["O"].high_pct
        # With a rule that lets nothing through the 0.5 % count.
        strict = {one.factor: one for one in analyse(noisy(noise=0.001), matters=0).advice}
        assert strict["S"].best == (32,)

    def test_levels_that_noise_hides_are_not_separated_by_tukey(self) -> None:
        advice = {one.factor: one for one in analyse(noisy(noise=0.3), matters=0).advice}
        assert advice["S"].sns
        assert advice["S"].reason == "tukey"

    def test_tukeys_p_is_that_of_statsmodels(self) -> None:
        from statsmodels.stats.multicomp import pairwise_tukeyhsd

        frame = study_data.cells({"S": [8, 32, 128]}, 10)
        table = study_data.with_response(
            frame, np.exp(np.random.default_rng(3).normal(size=30) + (frame["S"] == 8).to_numpy())
        )
        of = analyse(table, terms=[("S",)])
        found = pairwise_tukeyhsd(np.log(table.frame["rate"].to_numpy()), table.frame["S"])
        (advice,) = of.advice
        pairs = {
            frozenset((one, other)): p
            for (one, other, *_), p in zip(
                found.summary().data[1:], found.pvalues.tolist(), strict=True
            )
        }
        assert advice.p == pytest.approx(pairs[frozenset((advice.best[0], advice.worst))], abs=1e-6)

    def test_less_of_a_latency_is_better(self) -> None:
        of = analyse(noisy(noise=0.001), less=True)
        advice = {one.factor: one for one in of.advice}
        assert advice["O"].best == ("buffered",)
        assert advice["O"].effect_pct < 0
        assert of.configurations[0].levels["O"] == "buffered"
        assert all(cost.most_pct >= cost.least_pct for cost in of.configurations[0].costs)

    def test_the_best_cells_and_what_other_levels_cost(self) -> None:
        best, *others = analyse(noisy(noise=0.001)).configurations
        assert best.levels == {"O": "direct", "A": 8, "S": 32}
        assert len(others) == 4
        assert len(best.runs) == 4
        costs = {one.factor: one for one in best.costs}
        assert costs["O"].most_pct == pytest.approx(100 * math.expm1(-0.7), abs=0.3)
        assert costs["A"].level == 4
        assert costs["A"].least_pct == pytest.approx(100 * math.expm1(-0.1), abs=0.3)
        assert costs["A"].most_pct == pytest.approx(100 * math.expm1(-0.3), abs=0.3)

    def test_runs_of_an_entry_have_its_levels(self) -> None:
        table = noisy(noise=0.001)
        (advice,) = [one for one in analyse(table).advice if one.factor == "A"]
        levels = table.frame["A"].to_list()
        assert {levels[run - 1] for run in advice.runs} == set(advice.best)


class TestParsimony:
    """Which terms are needed."""

    def test_the_path_keeps_hierarchy_and_ends_with_nothing(self) -> None:
        path = analyse(noisy()).path
        assert len(path.steps[0].terms) == 6
        assert path.steps[-1].terms == ()
        for step in path.steps:
            for term in step.terms:
                assert all(lower in step.terms for lower in model.below(term))
        assert path.by_error is not None
        assert set(path.steps[path.by_error].terms) >= {("O",), ("A",), ("O", "A")}

    def test_the_error_of_unseen_cells_is_that_of_fits_without_them(self) -> None:
        from penstock.study import parsimony
        from penstock.study.fit import fit

        of = fit(noisy(), model.parse("O + A + S", LEVELS))
        folds = parsimony._folds(of)
        assert folds is not None
        total = 0.0
        for one in range(parsimony.FOLDS):
            seen = folds != one
            beta = np.linalg.lstsq(of.x[seen], of.y[seen], rcond=None)[0]
            total += float(np.sum((of.y[~seen] - of.x[~seen] @ beta) ** 2))
        assert parsimony._rmse(of, folds) == pytest.approx(math.sqrt(total / len(of.y)))

    def test_a_named_model_is_compared_with_the_one_by_f(self) -> None:
        of = analyse(noisy(), terms=model.parse("O + A + S", LEVELS))
        assert "lacks O:A and has S more" in "\n".join(words.path_lines(of))

    def test_interactions_whose_combinations_were_not_run_are_left_out(self) -> None:
        frame = study_data.cells(LEVELS, 4).filter(~((pl.col("O") == "direct") & (pl.col("A") > 1)))
        of = analyse(study_data.with_response(frame, rates(frame, noise=0.02)))
        assert any("O:A is not in the model" in one for one in of.remarks)


class TestCommand:
    """`penstock study analyse`."""

    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        frame = noisy().frame.with_columns(pattern=pl.lit("read"))
        other = frame.with_columns(pl.lit("write").alias("pattern"), pl.col("rate") * 2)
        file = tmp_path / "data.csv"
        pl.concat([frame, other]).write_csv(file)
        return file

    def test_json_has_the_keys_that_are_promised(self, file: Path) -> None:
        plain: AnalysisRow = json.loads(penstock("study", "analyse", file, "--json").out)
        assert list(plain) == list(AnalysisRow.__annotations__)
        assert plain["n"] == 192
        assert plain["response"] == "rate"
        assert plain["transform"] == "log"
        assert set(plain["anova"][0]) == {
            "term", "df", "sum_sq", "mean_sq", "f", "p", "partial_eta_sq"
        }  # fmt: skip
        assert set(plain["effects"][0]) == {"term", "level", "effect", "low", "high"}
        assert set(plain["recommend"][0]) == {
            "factor", "best", "sns", "effect_pct", "low_pct", "high_pct", "p", "runs", "unclear",
            "depends_on", "combinations",
        }  # fmt: skip
        assert [one["what"] for one in plain["checks"]] == [
            "normality", "equal variance", "independence"
        ]  # fmt: skip

    def test_one_analysis_for_each_level(self, file: Path) -> None:
        plain = json.loads(penstock("study", "analyse", file, "--by", "pattern", "--json").out)
        assert plain["by"] == "pattern"
        assert [one["level"] for one in plain["levels"]] == ["read", "write"]
        assert {one["analysis"]["n"] for one in plain["levels"]} == {96}

    def test_the_answer_stands_first(self, file: Path) -> None:
        out = penstock("study", "analyse", file, "--by", "pattern", "--model", "O*A + S").out
        first = out.splitlines()
        assert first[0].startswith(f"TABLE  {file}, pattern = read: 96 runs of 24 cells")
        assert first[2].startswith("Set O = direct, A = 8. S may be anything.")
        assert "PR(>F)" in out
        assert "sums of squares of type II" in out

    def test_a_page_and_pictures(self, file: Path, tmp_path: Path) -> None:
        page, plots = tmp_path / "out.html", tmp_path / "plots"
        words_of = ("--response", "rate", "--report", page, "--plots", plots, "--dark")
        ended = penstock("study", "analyse", file, *words_of)
        assert f"wrote {page}" in ended.err
        text = page.read_text()
        assert text.count("<svg") == 1 + 6 + 2
        assert 'id="penstock-data"' in text
        assert "<summary>A = 8</summary>" in text
        assert "Behind it: 12 cells, runs 10-12, 22-24, 34-36, " in text
        assert "Lack of fit" in text or "The model" in text
        names = {one.name for one in plots.iterdir()}
        assert {"effects.png", "interaction-O-A.svg", "residual-normal.svg"} <= names
        drawn = (plots / "effects.svg").read_text()
        assert "#16181c" in drawn  # dark ground

    def test_without_statsmodels_it_says_what_is_missing(
        self, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("penstock.errors.find_spec", lambda _: None)
        done = CliRunner().invoke(app, ["study", "analyse", str(file)])
        assert done.exit_code == 77
        assert done.stderr == (
            "error: study analyse needs the package statsmodels, which is not installed\n"
            "hint: install it with `pip install statsmodels`\n"
        )

    @pytest.mark.parametrize(
        ("option", "message"),
        [
            (("--matters", "much"), "found --matters much; expected per cent"),
            (("--by", "patern"), "has no column patern for --by"),
            (("--model", "O + Q"), "--model has a factor Q, which the table has not"),
            (("--response", "rat"), "did you mean rate?"),
            (
                ("--factor", "O", "--model", "O + A"),
                "--model has A, which is a column but not among the factors named",
            ),
            (
                ("--by", "pattern", "--model", "O + pattern"),
                "--model has pattern, whose levels --by takes apart",
            ),
        ],
    )
    def test_wrong_options(self, file: Path, option: tuple[str, str], message: str) -> None:
        done = CliRunner().invoke(app, ["study", "analyse", str(file), *option])
        assert done.exit_code == 2
        assert message in done.stderr
