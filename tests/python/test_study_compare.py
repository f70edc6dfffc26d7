"""`penstock study compare`: differences between two studies, and what is refused."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from command import penstock
from penstock.errors import PenstockError
from penstock.study import compare_words
from penstock.study.compare import StudyComparison, compare, unequal_noise
from penstock.study.difference import WelchDifference, ranks
from penstock.study.fit import Transform
from penstock.study.model import parse
from penstock.study.table import StudyTable
from study_data import cells, one_way, with_response

LEVELS: dict[str, list[int] | list[str]] = {"A": [1, 2, 4], "S": ["small", "large"]}


def of_groups(
    first: Sequence[Sequence[float]], second: Sequence[Sequence[float]]
) -> StudyComparison:
    """Compares studies of one factor with a group of runs for each level, without a logarithm."""
    return compare(one_way(first), one_way(second), transform="none")


def table(
    noise: float, seed: int, *, at_4: float = 1.0, replicates: int = 3, source: str = "x"
) -> StudyTable:
    """A study whose rate is 100 A, twice that for large sizes, and `at_4` of that at A = 4."""
    frame = cells(LEVELS, replicates)
    random = np.random.Generator(np.random.PCG64(seed))
    rates = [
        100 * row["A"] * (2 if row["S"] == "large" else 1) * (at_4 if row["A"] == 4 else 1)
        for row in frame.iter_rows(named=True)
    ]
    study = with_response(frame, rates * np.exp(noise * random.standard_normal(len(rates))))
    return replace(study, source=source)


def differences(comparison: StudyComparison) -> list[WelchDifference]:
    """The differences of the mean, of all cells and of all effects."""
    return [
        comparison.mean,
        *(cell.difference for cell in comparison.cells),
        *(effect.difference for effect in comparison.effects),
    ]


def words(comparison: StudyComparison) -> str:
    return "\n".join(compare_words.lines(comparison))


def test_differences_are_those_computed_by_hand() -> None:
    comparison = of_groups([[10, 12], [20, 22]], [[11, 13], [30, 32]])
    # Runs of a cell have a variance of 2 with 2 degrees of freedom in each study, so the difference
    # of two means of two runs has 2, with 4. t is 1 / √2 and 10 / √2; 95 % is 2.776.
    of_cells = [cell.difference for cell in comparison.cells]
    assert [cell.value for cell in of_cells] == pytest.approx([1, 10])
    assert [cell.low for cell in of_cells] == pytest.approx([1 - 3.926, 10 - 3.926], abs=1e-3)
    assert [cell.high for cell in of_cells] == pytest.approx([1 + 3.926, 10 + 3.926], abs=1e-3)
    assert [(cell.first, cell.second) for cell in comparison.cells] == [(11, 12), (21, 31)]
    # Mean and effects have a variance of 1 / 2 in each study.
    assert comparison.mean[:3] == pytest.approx((5.5, 5.5 - 2.776, 5.5 + 2.776), abs=1e-3)
    assert [effect.difference.value for effect in comparison.effects] == pytest.approx([-4.5, 4.5])
    # By Holm the smallest of five p values counts five times, the next four times, and so on: that
    # of the large cell (t = 7.07), of the mean (5.5), of both effects (4.5), of the small cell.
    p = [0.002111, 0.005326, 0.010819, 0.010819, 0.518519]
    adjusted = [5 * p[0], 4 * p[1], 3 * p[2], 3 * p[2], p[4]]
    ascending = sorted(difference.p or 0.0 for difference in differences(comparison))
    assert ascending == pytest.approx(adjusted, rel=1e-3)
    assert [cell.differs for cell in of_cells] == [False, True]
    assert comparison.ranks is None, "two cells have no order"
    assert [(advice.factor, advice.both) for advice in comparison.advice] == [("group", ["1"])]
    assert comparison.verdict == "differ"


def test_ratios_are_of_geometric_means() -> None:
    comparison = compare(one_way([[1, 4], [8, 32]]), one_way([[2, 8], [8, 32]]))
    ratios = [comparison.shown(cell.difference.value) for cell in comparison.cells]
    assert ratios == pytest.approx([2, 1])
    assert [(cell.first, cell.second) for cell in comparison.cells] == [
        pytest.approx((2, 4)),
        pytest.approx((16, 16)),
    ]
    assert comparison.shown(comparison.mean.value) == pytest.approx(2**0.5)


def test_equal_studies_do_not_differ() -> None:
    comparison = compare(table(0.001, 1), table(0.001, 1))
    assert {difference.value for difference in differences(comparison)} == {0.0}
    assert {difference.p for difference in differences(comparison)} == {1.0}
    assert comparison.verdict == "alike"
    assert comparison.ranks is not None
    assert comparison.ranks.rho == pytest.approx(1)
    assert all(advice.first == advice.second for advice in comparison.advice)
    assert (comparison.best.first, comparison.best.behind_pct) == (comparison.best.second, 0)
    said = words(comparison)
    assert (
        "Cells that differ by more than noise: 0 of 6; alike within 5 %: 6; undecided: 0." in said
    )
    assert "Ranks of the cells: Spearman 1.00.\n" in said, "nothing is said of an interval"
    assert "Both have the same best cell: A = 4, S = large." in said


@pytest.mark.parametrize("transform", ["log", "none"])
def test_without_noise_only_rounding_is_no_difference(transform: Transform) -> None:
    scaled = table(0, 1)
    rounded = scaled.frame.with_columns(pl.col("rate") * 3 / 3 * (1 + 1e-15))
    comparison = compare(scaled, replace(scaled, frame=rounded), transform=transform)
    assert comparison.verdict == "alike"
    assert {difference.p for difference in differences(comparison)} == {1.0}
    tenth = scaled.frame.with_columns(pl.col("rate") * 1.1)
    comparison = compare(scaled, replace(scaled, frame=tenth), transform=transform)
    assert {cell.difference.p for cell in comparison.cells} == {0.0}
    assert comparison.verdict == "differ"


def test_noise_decides_nothing() -> None:
    comparison = compare(table(0.5, 1), table(0.5, 2))
    assert comparison.verdict == "undecided"
    assert not any(difference.differs for difference in differences(comparison))
    said = words(comparison)
    assert (
        "Cells that differ by more than noise: 0 of 6; alike within 5 %: 0; undecided: 6." in said
    )
    assert "Undecided: nothing differs by more than noise, but noise may hide" in said


def test_few_of_many_equal_studies_seem_to_differ() -> None:
    """At 5 % of each cell one pair of studies in four would have a cell that differs."""
    pairs = [compare(table(0.1, 2 * at), table(0.1, 2 * at + 1)) for at in range(100)]
    # With a chance of 5 % more than 10 are a chance of 1 in 100.
    assert sum(comparison.verdict == "differ" for comparison in pairs) <= 10
    single = sum(
        any(
            (cell.difference.low or 0) > 0 or (cell.difference.high or 0) < 0
            for cell in comparison.cells
        )
        for comparison in pairs
    )
    assert single > 15, "the test can fail"


def test_few_of_many_different_studies_seem_to_be_alike() -> None:
    """A cell that differs by just what matters is called alike in 2.5 of 100 cases at most."""
    pairs = [
        compare(table(0.02, 2 * at), table(0.02, 2 * at + 1, at_4=1.05), transform="log")
        for at in range(100)
    ]
    at_4 = [
        cell.difference.alike
        for comparison in pairs
        for cell in comparison.cells
        if cell.levels["A"] == 4
    ]
    others = [
        cell.difference.alike
        for comparison in pairs
        for cell in comparison.cells
        if cell.levels["A"] != 4
    ]
    # At most 5 of 200 are expected; more than 12 are a chance of less than 1 in 100.
    assert sum(at_4) <= 12
    assert sum(others) / len(others) > 0.5, "the test can fail"


def test_a_factor_that_acts_otherwise_is_found_with_its_advice() -> None:
    comparison = compare(table(0.01, 1, source="old"), table(0.01, 2, at_4=0.25, source="new"))
    assert {cell.levels["A"] for cell in comparison.cells if cell.difference.differs} == {4}
    assert {effect.term for effect in comparison.effects if effect.difference.differs} == {("A",)}
    advice = [(advice.factor, advice.both) for advice in comparison.advice]
    assert advice == [("A", []), ("S", ["large"])]
    assert comparison.best.first == {"A": 4, "S": "large"}
    assert comparison.best.second == {"A": 2, "S": "large"}
    assert comparison.best.behind_pct == pytest.approx(50, abs=1)
    said = words(comparison)
    assert "Both recommend S = large." in said
    assert "They disagree on A: old recommends 4, new recommends 2." in said
    assert " worse in new than the best one there, A = 2, S = large." in said


def test_alike_is_within_a_share_of_the_cell() -> None:
    # Both cells differ by 40: that is 40 % of the first, and 4 % of the second.
    comparison = of_groups([[100, 102], [1000, 1002]], [[140, 142], [1040, 1042]])
    assert [cell.difference.alike for cell in comparison.cells] == [False, True]
    assert [cell.difference.differs for cell in comparison.cells] == [True, False]
    (mean, *_) = words(comparison).splitlines()
    assert mean == "On average data differs from data by 40.0 [37.2 to 42.8]."


def test_cells_of_one_study_are_named_and_left_out() -> None:
    whole = table(0.01, 1, source="whole")
    frame = whole.frame.filter((pl.col("A") < 4) | (pl.col("S") == "small"))
    comparison = compare(whole, replace(whole, frame=frame, source="part"))
    assert len(comparison.cells) == 5
    assert comparison.only == ([{"A": 4, "S": "large"}], [])
    assert "Only in whole: 1 cell: A = 4, S = large." in words(comparison)
    # Levels in another order are the same levels.
    turned = replace(whole, factors={"S": ["large", "small"], "A": [4, 2, 1]})
    values = {cell.difference.value for cell in compare(whole, turned).cells}
    assert values == {0.0}
    # A factor with one level in common leaves the model that names it.
    (level,) = (
        compare(
            whole,
            replace(
                whole, frame=whole.frame.filter(pl.col("A") == 1), factors={"S": ["small", "large"]}
            ),
            terms=parse("A + S", ["A", "S"]),
        ),
    )
    assert {effect.term for effect in level.effects} == {("S",)}


def test_blocks_of_one_study_are_no_effect_of_the_other() -> None:
    live = with_response(
        cells(LEVELS, 2), np.geomspace(100, 200, 12), block=[0] * 6 + [1] * 6, world=["live"] * 12
    )
    comparison = compare(live, table(0.01, 1), terms=[("A",), ("S",)])
    assert {effect.term for effect in comparison.effects} == {("A",), ("S",)}


def test_without_replicates_the_model_says_what_is_noise() -> None:
    single = table(0.02, 1, replicates=1, source="single")
    comparison = compare(table(0.02, 2, source="many"), single)
    assert ("A", "S") not in {effect.term for effect in comparison.effects}, "single cannot tell"
    said = words(comparison)
    assert "Noise of many: " in said
    assert ", by repeated runs (18 runs); of single: " in said
    assert ", by what its model leaves over, as no cell ran twice (6 runs)." in said
    # A model with a coefficient for each cell leaves nothing over.
    comparison = compare(single, single, terms=parse("A + S + A:S", ["A", "S"]))
    assert {difference.p for difference in differences(comparison)} == {None}
    assert comparison.verdict == "undecided"
    assert "Undecided: without noise nothing can be tested." in words(comparison)
    json.dumps(compare_words.plain(comparison), allow_nan=False)


def test_unequal_noise_is_said() -> None:
    comparison = of_groups([[10, 10], [20, 22], [30, 32]], [[10, 12], [20, 22], [30, 32]])
    assert [unequal_noise(study) for study in comparison.fits] == [True, False]
    assert "Take intervals of cells with care: some cells of data are noisier" in words(comparison)
    random = np.random.default_rng(1)
    noisy = [random.normal(10, 1, 8).tolist(), random.normal(20, 10, 8).tolist()]
    assert unequal_noise(of_groups(noisy, noisy).fits[0])


def test_where_keeps_the_names_short() -> None:
    first, second = table(0.01, 1, source="a"), table(0.01, 2, source="b")
    comparison = compare(first, second, where=("S", "large"))
    assert len(comparison.cells) == 3
    title = "b against a, S = large: 3 cells that both ran; response rate, more is better"
    assert compare_words.title(comparison) == title
    assert all(line.count("S = large") == 0 for line in compare_words.lines(comparison))


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        (
            {"A": [8, 16], "S": ["small", "large"]},
            "no cell in common: A is 1, 2, 4 in the first, and 8, 16 in the second",
        ),
        ({"A": [1, 2]}, "data has no column S, which is a factor of x"),
        ({"A": [4, 8], "S": ["large", "huge"]}, "one cell in common"),
    ],
)
def test_studies_of_other_cells_are_refused(levels: Mapping[str, Sequence[Any]], said: str) -> None:
    frame = cells(levels, 2)
    with pytest.raises(PenstockError, match=said):
        compare(table(0.01, 1), with_response(frame, range(1, 1 + len(frame))))


def test_ranks_are_spearmans_with_an_interval() -> None:
    # Kendall, Rank correlation methods: ten pupils in mathematics and music.
    mathematics = [7, 4, 3, 10, 6, 2, 9, 8, 1, 5]
    music = [5, 7, 3, 10, 1, 9, 6, 2, 8, 4]
    pupils = ranks(mathematics, music)
    assert pupils is not None
    squares = sum((rank - other) ** 2 for rank, other in zip(mathematics, music, strict=True))
    rho = 1 - 6 * squares / 990
    assert pupils.rho == pytest.approx(rho)
    reach = 1.959964 * ((1 + rho**2 / 2) / 7) ** 0.5
    assert np.arctanh([pupils.low, pupils.high]) == pytest.approx(
        [np.arctanh(rho) - reach, np.arctanh(rho) + reach]
    )
    same = ranks(music, [rank**3 for rank in music])
    assert same is not None
    assert same.rho == pytest.approx(1)
    assert ranks([1, 2, 3], [1, 2, 3]) is None
    assert ranks([1, 1, 1, 1], [1, 2, 3, 4]) is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables `a.csv` and `b.csv`, of which only `b.csv` has A = 4."""
    place = tmp_path_factory.mktemp("tables")
    table(0.01, 1).frame.filter(pl.col("A") < 4).write_csv(place / "a.csv")
    table(0.01, 2).frame.write_csv(place / "b.csv")
    return place


def test_the_command_compares_two_tables(folder: Path) -> None:
    paths = ("study", "compare", "a.csv", "b.csv")
    ended = penstock(*paths, cwd=folder)
    assert ended.code == 0, ended.err
    title = "  b.csv against a.csv: 4 cells that both ran; response rate, more is better"
    assert ended.out.splitlines()[0].endswith(title)
    assert "Only in b.csv: 2 cells: A = 4, S = small; A = 4, S = large." in ended.out
    result = json.loads(penstock(*paths, "--json", cwd=folder).out)
    assert (result["first"]["source"], result["second"]["runs"]) == ("a.csv", 12)
    assert [cell["levels"] for cell in result["cells"]] == [
        {"A": agents, "S": size} for agents in (1, 2) for size in ("small", "large")
    ]
    assert result["only_second"] == [{"A": 4, "S": "small"}, {"A": 4, "S": "large"}]


def test_the_command_takes_levels_apart(folder: Path) -> None:
    paths = ("study", "compare", "a.csv", "b.csv", "--by", "A")
    ended = penstock(*paths, cwd=folder)
    assert "left out: A = 4, which only b.csv has" in ended.err
    assert "  b.csv against a.csv, A = 2: 2 cells that both ran;" in ended.out
    result = json.loads(penstock(*paths, "--json", cwd=folder).out)
    assert [level["level"] for level in result["levels"]] == [1, 2]
    assert [len(level["comparison"]["cells"]) for level in result["levels"]] == [2, 2]
    assert (result["only_first"], result["only_second"]) == ([], [4])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["a.csv", "gone.csv"], "gone.csv cannot be read"),
        (["a.csv", "./a.csv"], "a.csv and ./a.csv are the same study"),
        (["a.csv", "b.csv", "--response", "latency"], "a.csv has no column latency"),
        (["a.csv", "b.csv", "--by", "B"], "a.csv has no column B for --by"),
        (["a.csv", "b.csv", "--matters", "much"], "found --matters much; expected per cent"),
    ],
)
def test_what_is_wrong_is_named(folder: Path, more: list[str], said: str) -> None:
    ended = penstock("study", "compare", *more, cwd=folder)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "hint: " in ended.err
