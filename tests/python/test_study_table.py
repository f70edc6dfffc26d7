"""Tables of a study: what is read from them, and what is wrong with them."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from random import Random

import polars as pl
import pytest

from penstock.errors import PenstockError
from penstock.study import advice_words, model, tables, words
from penstock.study.analysis import analyse
from penstock.study.fit import fit
from penstock.study.table import StudyTable, less_is_better, of_frame, read

DATA = Path(__file__).parents[1] / "data" / "studies"

ROWS = """\
run,order,disk,depth,note,mb_s,lat_ms
1,3,a,1,same,100.5,3.1
2,1,a,8,same,180.25,4.2
3,4,b,1,same,90.75,5.3
4,2,b,8,same,170.5,6.4
5,8,a,1,same,101.5,7.5
6,5,a,8,same,181.25,8.6
7,7,b,1,same,91.75,9.7
8,6,b,8,same,172.5,10.8
"""


def table(
    tmp_path: Path, text: str, response: str | None = "mb_s", factors: Sequence[str] = ()
) -> StudyTable:
    file = tmp_path / "data.csv"
    file.write_text(text)
    return read(str(file), response=response, factors=factors)


def message(
    tmp_path: Path, text: str, response: str | None = "mb_s", factors: Sequence[str] = ()
) -> str:
    with pytest.raises(PenstockError) as raised:
        table(tmp_path, text, response, factors)
    return str(raised.value)


def test_factors_are_the_columns_whose_levels_repeat(tmp_path: Path) -> None:
    found = table(tmp_path, ROWS)
    assert found.factors == {"disk": ["a", "b"], "depth": [1, 8]}
    assert found.remarks == ("note is the same in every row, and no factor",)
    assert found.runs == list(range(1, 9))
    assert found.ordered


def test_parquet_gives_the_same(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    found = table(tmp_path, ROWS)
    found.frame.write_parquet(file)
    again = read(str(file), response="mb_s")
    assert again.factors == found.factors
    assert again.frame.equals(found.frame)


def test_simulated_runs_have_no_order_and_no_blocks() -> None:
    frame = pl.DataFrame(
        {"a": [1, 2] * 4, "rate": range(8), "order": range(8), "block": [1] * 4 + [2] * 4}
    )
    live = of_frame(frame, source="x", response="rate", factors=["a"])
    assert live.ordered
    assert live.blocks == [1, 2]
    simulated = of_frame(
        frame.with_columns(world=pl.lit("simulated")), source="x", response="rate", factors=["a"]
    )
    assert not simulated.ordered
    assert simulated.blocks == []


def test_a_study_has_its_factors_and_its_runs_in_order(tmp_path: Path) -> None:
    frame = table(tmp_path, ROWS).frame
    folder = tmp_path / "study"
    folder.mkdir()
    frame[4:].write_parquet(folder / "part-0.parquet")
    frame[:4].write_parquet(folder / "part-1.parquet")
    (folder / ".part-2.parquet").write_bytes(b"not whole")
    about = {"factors": [{"name": "disk"}, {"name": "depth"}], "responses": ["mb_s", "lat_ms"]}
    (folder / "study.json").write_text(json.dumps(about))
    found = read(str(folder))
    assert list(found.factors) == ["disk", "depth"]
    assert found.response == "mb_s"
    assert found.runs == list(range(1, 9))


def test_sizes_ascend_and_words_stay(tmp_path: Path) -> None:
    text = "size,word,rate\n" + "64k,b,1\n1M,a,2\n4k,b,3\n512,a,4\n" * 2
    found = table(tmp_path, text, "rate")
    assert found.factors == {"size": ["512", "4k", "64k", "1M"], "word": ["b", "a"]}


@pytest.mark.parametrize(
    ("name", "less"),
    [("bw_bytes", False), ("lat_ns.p99", True), ("iops", False), ("read_latency", True),
     ("platform_rate", False), ("p99_ns", True), ("seconds", True)],
)  # fmt: skip
def test_less_of_a_latency_is_better(name: str, less: bool) -> None:
    assert less_is_better(name) is less


@pytest.mark.parametrize(
    ("text", "factors", "response"),
    [
        ("policy,Run,Replicate,iops\nbfq,1,1,9\nbfq,2,2,9\nnone,3,1,7\nnone,4,2,7\n",
         {"policy": ["bfq", "none"]}, "iops"),
        ("policy,RUN,trial,depth,iops\n" + "bfq,1,1,1,9.5\nnone,2,2,8,7\nbfq,3,3,1,8\nnone,4,4,8,6",
         {"policy": ["bfq", "none"], "depth": [1, 8]}, "iops"),
        (",policy,p99_ms\n0,bfq,5\n1,bfq,6\n2,none,7\n3,none,8\n",
         {"policy": ["bfq", "none"]}, "p99_ms"),
        ("policy,Block,rate\nbfq,a,1\nnone,a,2\nbfq,b,1\nnone,b,2\n",
         {"policy": ["bfq", "none"]}, "rate"),
        ("policy,seconds\nbfq,1\nbfq,1\nnone,2\nnone,2\n", {"policy": ["bfq", "none"]},
         "seconds"),
    ],
    ids=["capitals", "other-words", "numbered-rows", "blocks", "seconds-alone"],
)  # fmt: skip
def test_columns_that_number_runs_are_no_factors(
    tmp_path: Path, text: str, factors: dict[str, list[object]], response: str
) -> None:
    study = table(tmp_path, text, None)
    assert study.factors == factors
    assert study.response == response
    assert study.blocks == (["a", "b"] if "Block" in text else [])


def test_a_column_that_numbers_runs_is_a_factor_if_it_is_named(tmp_path: Path) -> None:
    text = "policy,Run,iops\n" + "bfq,1,9\nbfq,2,8\nnone,1,7\nnone,2,5\n" * 2
    assert table(tmp_path, text, None, ["policy", "Run"]).factors["Run"] == [1, 2]
    assert table(tmp_path, text, None).runs == list(range(1, 9)), "numbers that repeat name no run"


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas_between_semicolons_or_tabs(tmp_path: Path, separator: str) -> None:
    text = (DATA / "semicolons.csv").read_text().replace(";", separator)
    study = table(tmp_path, text, None)
    assert study.factors == {"policy": ["bfq", "none"]}
    means = study.frame.group_by("policy", maintain_order=True).mean()
    assert means["iops"].to_list() == pytest.approx([101.0, 121.2])


def test_blanks_and_quotes_around_cells(tmp_path: Path) -> None:
    text = 'policy,"mean; iops", note\nbfq, 100,"a,b"\nbfq, 102,"a,b"\nnone, 9, c\nnone, 8, c\n'
    study = table(tmp_path, text, None, ["policy"])
    assert study.frame["mean; iops"].to_list() == [100, 102, 9, 8]
    assert study.factors == {"policy": ["bfq", "none"]}


class TestWrong:
    """Input that is refused."""

    def test_a_column_that_is_not_there(self, tmp_path: Path) -> None:
        said = message(tmp_path, ROWS, factors=["dsik"])
        assert "has no column dsik" in said
        assert "hint: did you mean disk?" in said
        assert "has no column mbs" in message(tmp_path, ROWS, response="mbs")

    def test_two_columns_that_could_be_the_response(self, tmp_path: Path) -> None:
        said = message(tmp_path, ROWS, response=None)
        assert "2 columns could be the response" in said
        assert "--response, one of mb_s, lat_ms" in said

    def test_two_columns_of_a_small_table_that_could_be_the_response(self, tmp_path: Path) -> None:
        text = "policy,lat_ms,iops\nbfq,1.5,100\nbfq,1.6,101\nnone,1.1,120\nnone,1.2,122\n"
        assert "--response, one of lat_ms, iops" in message(tmp_path, text, None)

    def test_a_decimal_comma_between_commas(self, tmp_path: Path) -> None:
        assert "a decimal comma needs one of the other two" in message(tmp_path, "a,b\nx,1,5\n")

    def test_a_factor_twice(self, tmp_path: Path) -> None:
        said = message(tmp_path, ROWS, factors=["disk", "depth", "disk"])
        assert "factor disk is named twice" in said

    def test_a_factor_that_is_the_response(self, tmp_path: Path) -> None:
        assert "mb_s is a factor and the response" in message(tmp_path, ROWS, factors=["mb_s"])

    def test_one_level_only(self, tmp_path: Path) -> None:
        said = message(tmp_path, ROWS, factors=["disk", "note"])
        assert "factor note has one level, same" in said

    def test_a_level_for_each_row(self, tmp_path: Path) -> None:
        said = message(tmp_path, ROWS, factors=["disk", "lat_ms"])
        assert "factor lat_ms has another level in each of the 8 rows" in said

    def test_an_empty_cell(self, tmp_path: Path) -> None:
        said = message(tmp_path, ROWS.replace("3,4,b,1,same,90.75", "3,4,b,1,same,"))
        assert "column mb_s is empty in run 3" in said
        said = message(tmp_path, ROWS.replace("b,8", "b,"), factors=["disk", "depth"])
        assert "column depth is empty in runs 4, 8" in said

    def test_rows_are_named_where_runs_have_no_number(self, tmp_path: Path) -> None:
        text = "a,b,rate\n1,1,5\n1,2,\n2,1,7\n2,2,8\n1,1,5\n"
        assert "column rate is empty in row 2" in message(tmp_path, text, "rate")

    def test_text_where_a_number_is_expected(self, tmp_path: Path) -> None:
        said = message(tmp_path, ROWS.replace("90.75", "n/a"))
        assert "column mb_s, run 3: found 'n/a', expected a number" in said

    def test_numbers_that_are_none(self, tmp_path: Path) -> None:
        assert "no finite number in run 3" in message(tmp_path, ROWS.replace("90.75", "inf"))

    def test_no_rows(self, tmp_path: Path) -> None:
        assert "has no rows" in message(tmp_path, "a,b\n")

    def test_no_file_and_no_table(self, tmp_path: Path) -> None:
        with pytest.raises(PenstockError, match=re.escape("none.csv cannot be read")):
            read(str(tmp_path / "none.csv"))
        with pytest.raises(PenstockError, match="is a folder without a study's runs"):
            read(str(tmp_path))
        file = tmp_path / "x.parquet"
        file.write_text("no parquet")
        with pytest.raises(PenstockError, match="is no table"):
            read(str(file))

    def test_zero_under_a_logarithm(self, tmp_path: Path) -> None:
        text = ROWS.replace("90.75", "0").replace("91.75", "-1")
        found = table(tmp_path, text)
        with pytest.raises(PenstockError, match="mb_s is zero or less in runs 3, 7") as raised:
            fit(found, [("disk",)])
        assert "--transform none" in str(raised.value)
        assert fit(found, [("disk",)], transform="none").r2 < 1


class TestModels:
    """Models in words."""

    FACTORS = ("O", "D", "A", "queue")

    def test_terms_are_in_the_order_of_the_table(self) -> None:
        assert model.parse("D:O + D + O", self.FACTORS) == [("D",), ("O",), ("O", "D")]
        assert model.parse("O*D", self.FACTORS) == [("O",), ("D",), ("O", "D")]
        assert model.text(model.parse("O*D*A", self.FACTORS)) == (
            "O + D + A + O:D + O:A + D:A + O:D:A"
        )

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            (
                "O + quue",
                "--model has a factor quue, which the table has not\nhint: did you mean queue?",
            ),
            ("O + D:A", "--model has D:A without D, which it is made of\nhint: write D + A + D:A"),
            ("O + D + A + O:D:A", "--model has O:D:A without O:D"),
            ("O + O:O", "--model has O with itself"),
            ("O + ", "--model has nothing in 'a term', where a factor is expected"),
        ],
    )
    def test_what_is_no_model(self, text: str, said: str) -> None:
        with pytest.raises(PenstockError) as raised:
            model.parse(text, self.FACTORS)
        assert said in str(raised.value)

    def test_a_column_that_is_not_among_the_factors(self) -> None:
        with pytest.raises(PenstockError) as raised:
            model.parse("O + note", self.FACTORS, [*self.FACTORS, "note"])
        assert str(raised.value) == (
            "error: --model has note, which is a column but not among the factors named\n"
            "hint: add --factor note, or leave it out of --model; the factors are O, D, A, queue"
        )

    def test_more_coefficients_than_runs(self) -> None:
        frame = pl.DataFrame({"a": [1, 2, 1], "b": [1, 1, 2], "rate": [1.0, 2.0, 3.5]})
        found = of_frame(frame, source="x", response="rate", factors=["a", "b"])
        with pytest.raises(PenstockError, match="4 coefficients, and there are 3 runs"):
            fit(found, model.parse("a*b", found.factors))

    def test_combinations_that_were_not_run(self) -> None:
        frame = pl.DataFrame(
            {"a": [1, 2, 1, 1, 2], "b": [1, 1, 2, 2, 1], "rate": [1.0, 2.0, 3.5, 3.7, 2.1]}
        )
        found = of_frame(frame, source="x", response="rate", factors=["a", "b"])
        with pytest.raises(PenstockError, match="a:b cannot be separated from the other terms"):
            fit(found, model.parse("a*b", found.factors))


class TestNested:
    """Factors whose levels are others within each level of another."""

    @pytest.mark.parametrize("again", [True, False])
    def test_the_table_of_variances_is_that_by_hand(self, again: bool) -> None:
        """`again`: runs are numbered anew each day."""
        days = {1: [(10.0, 10.4), (11.0, 11.2)], 2: [(12.0, 12.2), (12.5, 12.9), (13.0, 13.6)]}
        rows = [
            {"Day": day, "Run": n + (0 if again else 10 * day), "y": value}
            for day, runs in days.items()
            for n, run in enumerate(runs)
            for value in run
        ]
        study = of_frame(pl.DataFrame(rows), source="x", response="y", modelled=["Day", "Run"])
        whole = fit(study, model.parse("Day + Day:Run", study.factors), transform="none")
        means = {day: [sum(run) / 2 for run in runs] for day, runs in days.items()}
        of_runs = sum(
            2 * sum((mean - sum(runs) / len(runs)) ** 2 for mean in runs) for runs in means.values()
        )
        residual = sum((a - b) ** 2 / 2 for runs in days.values() for a, b in runs)
        row = {row.term: row for row in whole.anova(2)}
        assert (row["Day:Run"].df, row["Residual"].df) == (3, 5)
        assert row["Day:Run"].sum_sq == pytest.approx(of_runs)
        assert row["Residual"].sum_sq == pytest.approx(residual)
        effects = [effect.effect for effect in whole.effects if effect.term == ("Day", "Run")]
        expected = [mean - sum(runs) / len(runs) for runs in means.values() for mean in runs]
        assert effects == pytest.approx(expected)

    def test_one_run_a_day_cannot_be_separated_from_the_day(self) -> None:
        frame = pl.DataFrame({"Day": [1, 1, 2, 2], "Run": [1, 1, 2, 2], "y": [1.0, 2.0, 3.0, 4.5]})
        study = of_frame(frame, source="x", response="y", modelled=["Run"])
        with pytest.raises(PenstockError, match="Day:Run cannot be separated"):
            fit(study, model.parse("Day + Day:Run", study.factors))

    def test_a_nested_factor_has_no_advice(self) -> None:
        rows = [
            {"Day": day, "Run": run, "y": 10.0 * day + run + 0.1 * n}
            for day in (1, 2)
            for run in (1, 2)
            for n in range(3)
        ]
        study = of_frame(pl.DataFrame(rows), source="x", response="y", modelled=["Run"])
        nested = analyse(study, terms=model.parse("Day + Day:Run", study.factors))
        assert [advice.factor for advice in nested.advice] == ["Day"]

    def test_one_nested_factor_crossed_with_another(self) -> None:
        terms = model.parse("A + B + A:B + A:C + A:B:C", "ABC")
        assert model.within(("A", "B", "C"), terms) == ("A",)
        assert model.nested(terms) == ["C"]
        with pytest.raises(PenstockError, match="A:B:C without C"):
            model.parse("A + B + A:B:C", "ABC")


@pytest.mark.parametrize("seed", range(120))
def test_any_table_ends_in_an_analysis_or_in_a_message(seed: int) -> None:
    """Few rows, cells that were not run, equal values: no warning, and no figure that is none."""
    random = Random(seed)
    levels = {name: random.randint(2, 4) for name in "abcd"[: random.randint(1, 4)]}
    count = random.choice([4, 8, 12, 20, 40])
    rows = [{name: random.randrange(many) for name, many in levels.items()} for _ in range(count)]
    kind = random.choice(["noise", "cells", "counts", "constant"])
    values: dict[str, list[float]] = {
        "noise": [1 + sum(row.values()) + random.random() for row in rows],
        "cells": [1.0 + sum(row.values()) for row in rows],
        "counts": [random.randint(1, 3) for _ in rows],
        "constant": [5] * count,
    }
    frame = pl.DataFrame(rows).with_columns(rate=pl.Series(values[kind]))
    if random.random() < 0.5:
        frame = frame.with_columns(order=pl.Series(random.sample(range(count), count)))
    if random.random() < 0.3:
        frame = frame.with_columns(block=pl.Series([random.randint(1, 3) for _ in rows]))
    if random.random() < 0.3:
        frame = frame.with_columns(world=pl.lit("simulated"))
    try:
        found = of_frame(frame, source="data", response="rate")
        terms = model.pairs(found.factors)[: random.randint(1, 6)]
        of = analyse(
            found,
            terms=[one for one in terms if all(below in terms for below in model.below(one))]
            if random.random() < 0.4
            else None,
            transform=random.choice(["log", "none"]),
            kind=random.choice([1, 2, 3]),
        )
    except PenstockError:
        return
    assert kind != "constant"
    json.dumps(of.plain(), allow_nan=False)
    assert words.lines(of)
    assert all(len(line) <= 160 for line in words.lines(of))
    assert {one.name for one in tables.all_of(of)} > {"advice", "cells", "anova", "path"}
    assert list(advice_words.entries(of))
