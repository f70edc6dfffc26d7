"""Tables of a study: what is read from them, and what is wrong with them."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from random import Random

import polars as pl
import pytest

from penstock.errors import PenstockError
from penstock.study import model, tables, words
from penstock.study.analysis import analyse
from penstock.study.fit import fit
from penstock.study.table import StudyTable, less_is_better, of_frame, read

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
    assert list(words.entries(of))
