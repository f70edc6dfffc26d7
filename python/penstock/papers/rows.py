"""Rows of figures: selects them, arranges them in a table, and writes their figures as text."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from penstock.answer.table import NONE
from penstock.papers.published import Row

Key: TypeAlias = str | tuple[str, ...] | Callable[[Row], Any]
"""The key of a row: a column, several columns, or a function of the row."""


def key(row: Row, by: Key) -> Any:  # noqa: ANN401 - a column holds any value
    """The value by which a row is found."""
    if isinstance(by, str):
        return row[by]
    return tuple(row[column] for column in by) if isinstance(by, tuple) else by(row)


def select(rows: Iterable[Row], **wanted: object) -> list[Row]:
    """The rows whose columns have these values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def levels(rows: Iterable[Row], by: Key) -> list[Any]:
    """The values of a key, each once, in the order of the rows."""
    return list(dict.fromkeys(key(row, by) for row in rows))


def pivot(rows: Iterable[Row], down: Key, across: Key) -> dict[Any, dict[Any, Row]]:
    """For each value of `down`, in the order of the rows, its rows by their values of `across`."""
    cells: dict[Any, dict[Any, Row]] = {}
    for row in rows:
        cells.setdefault(key(row, down), {})[key(row, across)] = row
    return cells


def text(row: Row | None, figure: str, form: str) -> str:
    """A figure of a row that may be missing."""
    return number(None if row is None else row[figure], form)


def number(value: float | None, form: str) -> str:
    """A number that may be missing."""
    return NONE if value is None else f"{value:{form}}"


def interleaved(pairs: Iterable[Sequence[str]]) -> list[str]:
    """The texts of all pairs in one line."""
    return [text for pair in pairs for text in pair]
