"""Which cells to run, what they will tell, and drift while they run."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

import study_data
from penstock.errors import PenstockError
from penstock.study import model
from penstock.study.analysis import analyse
from penstock.study.coding import matrix
from penstock.study.fit import fit
from penstock.study.fraction import chosen
from penstock.study.power import detectable
from penstock.study.table import of_frame

PAPER: dict[str, Sequence[Any]] = {
    "O": ["buffered", "direct"],
    "D": [1, 2, 4],
    "A": [1, 2, 4, 8, 16, 32],
    "B": [1, 2, 4, 8, 16, 32],
    "S": [8, 32, 128],
}
MODEL = "O + D + A + S + B + O:D + O:A + O:S + O:B + D:A + A:S + A:B + S:B"


class TestFraction:
    """D-optimal choices."""

    def test_a_quarter_tells_the_main_effects_of_the_whole(self) -> None:
        frame = study_data.cells(PAPER)
        whole = list(frame.iter_rows(named=True))
        terms = model.parse(MODEL, PAPER)
        some = chosen(whole, terms, 162, seed=1)
        assert len(set(some)) == 162
        random = np.random.default_rng(5)
        logs = [
            0.5 * (row["O"] == "direct") * math.log2(row["A"])
            + math.log(row["D"])
            + 0.2 * math.log2(row["B"]) * math.exp(-row["A"] / 8)
            + 0.1 * math.log(row["S"])
            for row in whole
        ]
        table = study_data.with_response(frame, np.exp(logs + 0.05 * random.normal(size=648)))
        part = study_data.with_response(frame[some], table.frame["rate"].to_numpy()[some])
        every, fewer = fit(table, terms), fit(part, terms)
        for factor in PAPER:
            of = [one.effect for one in every.effects if one.term == (factor,)]
            few = [one.effect for one in fewer.effects if one.term == (factor,)]
            assert few == pytest.approx(of, abs=0.1 * (max(of) - min(of)))

    def test_it_is_the_best_of_all_choices_where_all_can_be_tried(self) -> None:
        cells = list(study_data.cells({"a": [1, 2], "b": [1, 2, 3]}).iter_rows(named=True))
        terms = model.parse("a + b", ["a", "b"])
        levels = {"a": [1, 2], "b": [1, 2, 3]}
        codes = {
            name: np.array([known.index(cell[name]) for cell in cells])
            for name, known in levels.items()
        }
        x, _ = matrix(codes, levels, terms)

        def worth(some: list[int]) -> float:
            return float(np.linalg.det(x[some].T @ x[some]))

        best = max(worth(list(some)) for some in combinations(range(6), 5))
        assert worth(chosen(cells, terms, 5, seed=3)) == pytest.approx(best)

    def test_a_half_of_two_levels_is_orthogonal(self) -> None:
        cells = list(study_data.cells({name: [0, 1] for name in "abcd"}).iter_rows(named=True))
        terms = [(one,) for one in "abcd"]
        some = chosen(cells, terms, 8, seed=2)
        assert some == chosen(cells, terms, 8, seed=2)
        codes = {name: np.array([cells[at][name] for at in some]) for name in "abcd"}
        x, _ = matrix(codes, {name: [0, 1] for name in "abcd"}, terms)
        assert x.T @ x == pytest.approx(8 * np.eye(5))

    def test_too_few_runs_and_too_many(self) -> None:
        cells = list(study_data.cells({"a": [1, 2], "b": [1, 2, 3]}).iter_rows(named=True))
        with pytest.raises(PenstockError, match="found 3 runs for a model of 4 coefficients"):
            chosen(cells, [("a",), ("b",)], 3, seed=1)
        with pytest.raises(PenstockError, match="found 7 runs of 6 cells"):
            chosen(cells, [("a",), ("b",)], 7, seed=1)

    def test_cells_that_cannot_separate_terms(self) -> None:
        cells = [{"a": one, "b": one} for one in (1, 2)] * 3
        with pytest.raises(PenstockError, match="separate all terms of the model"):
            chosen(cells, [("a",), ("b",)], 4, seed=1)


class TestPower:
    """The smallest effect that shows."""

    def test_two_levels_are_those_of_a_t_test(self) -> None:
        from statsmodels.stats.power import TTestIndPower

        found = detectable({"a": 2}, runs=40, noise=0.1)["a"]
        size = TTestIndPower().solve_power(nobs1=20, alpha=0.05, power=0.8)
        assert found == pytest.approx(100 * math.expm1(0.1 * size), rel=1e-6)

    def test_an_effect_of_that_size_shows_4_times_of_5(self) -> None:
        levels = {"a": [1, 2], "b": [1, 2, 3, 4]}
        frame = study_data.cells(levels, 3)
        noise = 0.05
        effect = math.log1p(detectable({"a": 2, "b": 4}, runs=24, noise=noise)["b"] / 100)
        logs = effect * ((frame["b"] == 4).to_numpy() * 0.5 - (frame["b"] == 1).to_numpy() * 0.5)
        random, shown, many = np.random.default_rng(1), 0, 300
        of = fit(
            study_data.with_response(frame, random.normal(size=24)),
            [("a",), ("b",)],
            transform="none",
        )
        without = of.having([("a",)])
        from dataclasses import replace

        from scipy import stats

        for _ in range(many):
            y = logs + noise * random.normal(size=24)
            full, less = replace(of, y=y), replace(without, y=y)
            f = (less.rss - full.rss) / 3 / (full.rss / full.df_resid)
            shown += stats.f.sf(f, 3, full.df_resid) < 0.05
        assert shown / many == pytest.approx(0.8, abs=0.07)

    def test_more_runs_tell_more_and_too_few_nothing(self) -> None:
        few, more = (detectable({"a": 3}, runs=runs, noise=0.1)["a"] for runs in (12, 120))
        assert few > 3 * more
        assert detectable({"a": 3}, runs=3, noise=0.1)["a"] == math.inf
        assert detectable({"a": 3}, runs=12, noise=0)["a"] == 0


class TestDrift:
    """A target that changes while it is measured."""

    def drifting(self, by: float, *, references: bool) -> pl.DataFrame:
        """Four blocks of all cells; the rate changes by `by` (a logarithm) while they run."""
        levels = {"a": [1, 2], "b": [1, 2, 3]}
        frame = pl.concat([study_data.cells(levels) for _ in range(4)])
        random = np.random.default_rng(3)
        order = np.concatenate([6 * block + random.permutation(6) for block in range(4)])
        logs = 0.1 * (frame["a"] == 2).to_numpy() + by * order / 24
        frame = frame.with_columns(
            pl.Series("rate", np.exp(logs + 0.005 * random.normal(size=24))),
            pl.Series("order", order),
            pl.Series("block", np.repeat([1, 2, 3, 4], 6)),
            reference=pl.lit(value=False),
        )
        if references:
            at = np.linspace(0, 23, 6)
            again = pl.DataFrame(
                {
                    "a": [1] * 6,
                    "b": [1] * 6,
                    "rate": np.exp(by * at / 24 + 0.005 * random.normal(size=6)),
                    "order": at.astype(int),
                    "block": [1] * 6,
                    "reference": [True] * 6,
                },
                schema=frame.schema,
            )
            frame = pl.concat([frame, again])
        return frame

    @pytest.mark.parametrize("references", [True, False])
    def test_drift_is_seen_and_blocks_take_it_out(self, references: bool) -> None:
        frame = self.drifting(0.3, references=references)
        table = of_frame(frame, source="x", response="rate", factors=["a", "b"])
        of = analyse(table, terms=[("a",), ("b",)])
        assert of.drift is not None
        assert of.drift.by == ("reference" if references else "blocks")
        assert of.drift.seen
        # From the first run to the last, or from the mean of the first block to that of the last.
        expected = math.expm1(0.3 if references else 0.3 * 18 / 24)
        assert of.drift.percent == pytest.approx(100 * expected, abs=5)
        assert of.drift.low < 100 * expected < of.drift.high
        # Without blocks drift would be noise: a is seen only with them.
        bare = of_frame(frame.drop("block"), source="x", response="rate", factors=["a", "b"])
        without = fit(bare, [("a",), ("b",)])
        assert of.fit.residual is not None
        assert without.residual is not None
        assert of.fit.residual.variance < 0.5 * without.residual.variance

    def test_noise_is_no_drift(self) -> None:
        table = of_frame(
            self.drifting(0.0, references=True), source="x", response="rate", factors=["a", "b"]
        )
        found = analyse(table).drift
        assert found is not None
        assert not found.seen

    def test_runs_of_the_reference_cell_are_part_of_no_analysis(self) -> None:
        table = of_frame(
            self.drifting(0.3, references=True), source="x", response="rate", factors=["a", "b"]
        )
        assert table.frame.height == 24
        assert table.references.height == 6
