"""Rows of papers: which are found, and what stands next to what in a table."""

from penstock.answer.table import NONE
from penstock.papers.published import Row
from penstock.papers.rows import interleaved, levels, number, pivot, select, text

ROWS: list[Row] = [
    {"disks": 5, "jobs": 2, "case": 3, "time_s": 1.5},
    {"disks": 5, "jobs": 1, "case": 2, "time_s": None},
    {"disks": 5, "jobs": 2, "case": 2, "time_s": 2.5},
]


def test_rows_are_selected_by_their_columns() -> None:
    assert select(ROWS, jobs=2) == [ROWS[0], ROWS[2]]
    assert select(ROWS, jobs=2, case=2) == [ROWS[2]]
    assert select(ROWS, time_s=None) == [ROWS[1]]
    assert select(ROWS, jobs=3) == []


def test_levels_come_in_the_order_of_the_rows() -> None:
    assert levels(ROWS, "jobs") == [2, 1]
    assert levels(ROWS, ("disks", "jobs")) == [(5, 2), (5, 1)]
    assert levels(ROWS, lambda row: f"case {row['case']}") == ["case 3", "case 2"]


def test_a_pivot_has_a_row_for_each_key_and_its_columns() -> None:
    assert pivot(ROWS, ("disks", "jobs"), "case") == {
        (5, 2): {3: ROWS[0], 2: ROWS[2]},
        (5, 1): {2: ROWS[1]},
    }


def test_what_is_missing_is_a_dash() -> None:
    assert [text(row, "time_s", ".2f") for row in ROWS] == ["1.50", NONE, "2.50"]
    assert text(None, "time_s", ".2f") == NONE
    assert number(1234.5, ",.0f") == "1,234"


def test_pairs_become_one_line() -> None:
    assert interleaved([("a", "b"), ("c", "d")]) == ["a", "b", "c", "d"]
