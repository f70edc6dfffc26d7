"""Published tables: how far our figures are from them, and how that reads."""

from collections.abc import Sequence

import pytest

from penstock.answer.table import Table, markdown
from penstock.errors import PenstockError
from penstock.papers import files
from penstock.papers.claims import alike, grow
from penstock.papers.published import PERCENT, POINTS, Away, FigureColumn, Published, Row
from penstock.papers.settings import Settings

OURS = [{"case": "a", "busy": 50.0, "ms": 2.0}, {"case": "b", "busy": 61.0, "ms": 3.0}]

CELLS = {"busy": FigureColumn("busy", "%"), "ms": FigureColumn("time", "ms", digits=1)}


def published(
    rows: Sequence[Row], monkeypatch: pytest.MonkeyPatch, away: Away = POINTS
) -> Published:
    monkeypatch.setattr(files, "published", lambda _paper: {"row": rows})
    names = {"case": {"a": "the first"}}
    because = "contradicts the text"
    return Published(paper="x", names=names, cells=CELLS, away=away, suspect_because=because)


def test_a_cell_has_the_papers_and_the_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"case": "a", "busy": 49, "ms": 2.5}, {"case": "b", "busy": 61.5, "ms": 3.0}]
    found = published(rows, monkeypatch)
    assert found.table(OURS) == Table(
        ["case", "busy, %", "time, ms"],
        [
            ["the first", "50.00 / 49.0 (+1.00)", "2.0 / 2.5 (-0.50)"],
            ["b", "61.00 / 61.5 (-0.50)", "3.0 / 3.0 (+0.00)"],
        ],
    )
    assert list(found.remarks(OURS)) == [
        "Each cell is ours / the paper's (the difference in percentage points). The farthest cell "
        "is 1.00 points away."
    ]


def test_a_difference_may_be_a_share_of_the_papers(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"case": "a", "busy": 40, "ms": 2.5}, {"case": "b", "busy": 61, "ms": 3.0}]
    found = published(rows, monkeypatch, PERCENT)
    assert found.table(OURS).rows[0][1:] == ["50.00 / 40.0 (+25.0 %)", "2.0 / 2.5 (-20.0 %)"]
    assert found.farthest(OURS) == pytest.approx(25)
    (remark,) = found.remarks(OURS)
    assert remark.endswith("(the difference in percent). The farthest cell is 25.00 % away.")


def test_a_cell_that_was_not_published_is_ours_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"case": "a", "busy": 49}, {"case": "b", "ms": 2.9}]
    found = published(rows, monkeypatch)
    assert [row[1:] for row in found.table(OURS).rows] == [
        ["50.00 / 49.0 (+1.00)", "2.0"],
        ["61.00", "3.0 / 2.9 (+0.10)"],
    ]
    assert found.farthest(OURS) == 1.0


def test_a_suspect_cell_is_marked_and_left_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"case": "a", "busy": 10, "ms": 2.0, "suspect": ["busy"]}, {"case": "b", "busy": 61}]
    found = published(rows, monkeypatch)
    assert found.table(OURS).rows[0][1] == "50.00 / 10.0 (+40.00)*"
    first, second = found.remarks(OURS)
    assert first.endswith("is 0.00 points away, one cell left aside.")
    assert second == "One cell contradicts the text: the first, busy 10.0 %. It is marked with *."


def test_rows_that_were_not_published_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    found = published([{"case": "a", "busy": 49}], monkeypatch)
    with pytest.raises(ValueError, match="zip"):
        found.table(OURS)


def test_stars_of_a_table_are_no_marks_of_markdown() -> None:
    assert markdown(Table(["a", "b"], [["1", "2*"]])) == "| a | b |\n| --- | --- |\n| 1 | 2\\* |"


def test_what_grows_and_what_is_alike() -> None:
    assert grow([1, 2, 3])
    assert not grow([1, 1])
    assert alike([0.9, 1.0])
    assert not alike([0.89, 1.0])


def test_an_error_of_the_engine_shows_the_setting_as_it_was_given() -> None:
    settings = Settings(keys={"a.long.name": ("n",)}, examples=("a.long.name=1",))
    engine = "error: found `x`\n  --> --set n=x\n   |          ^"
    with pytest.raises(PenstockError) as raised, settings.errors({"a.long.name": "x"}):
        raise PenstockError(engine, exit_code=2)
    _, line, caret = str(raised.value).split("\n")
    assert line == "  --> --set a.long.name=x"
    assert caret.index("^") == line.index("x")
