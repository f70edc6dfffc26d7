"""Designs: cells of factors, in rounds of all of them."""

from penstock.design import Design

BOTH = Design(factors={"size": [1, 2], "mode": ["a", "b"]}, rounds=2)


def test_cells_are_every_combination_and_the_last_factor_changes_first() -> None:
    assert BOTH.cells() == [
        {"size": 1, "mode": "a"},
        {"size": 1, "mode": "b"},
        {"size": 2, "mode": "a"},
        {"size": 2, "mode": "b"},
    ]


def test_every_round_has_every_cell_and_the_share_done_grows_from_zero() -> None:
    runs = list(BOTH.runs())
    assert [run.cell for run in runs] == BOTH.cells() * 2
    assert [run.round for run in runs] == [0] * 4 + [1] * 4
    assert [run.done for run in runs] == [at / 8 for at in range(8)]


def test_results_are_found_again_by_cell() -> None:
    results = [(run.round, *run.cell.values()) for run in BOTH.runs()]
    for cell, rounds in BOTH.by_cell(results):
        assert rounds == [(number, *cell.values()) for number in (0, 1)]


def test_results_of_an_unfinished_round_are_found_too() -> None:
    assert [rounds for _, rounds in BOTH.by_cell([0, 1, 2, 3, 4])] == [[0, 4], [1], [2], [3]]


def test_a_combination_may_be_no_cell() -> None:
    some = Design(factors={"n": [0, 1], "m": [0, 2]}, where=lambda cell: cell["n"] + cell["m"] > 0)
    assert [tuple(run.cell.values()) for run in some.runs()] == [(0, 2), (1, 0), (1, 2)]


def test_a_level_given_twice_is_measured_twice() -> None:
    twice = Design(factors={"mode": ["a", "a"]})
    assert [rounds for _, rounds in twice.by_cell([1, 2])] == [[1], [2]]


def test_a_factor_without_levels_has_no_cells() -> None:
    none = Design(factors={"mode": []})
    assert (none.cells(), list(none.runs()), none.by_cell([])) == ([], [], [])
