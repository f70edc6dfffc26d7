"""The file of a table: Parquet, or text with its columns between commas, semicolons or tabs.

The first line names the columns. Where commas do not separate them, numbers may have a decimal
comma, as spreadsheets of many countries write them.
"""

import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import PenstockError, wrong

if TYPE_CHECKING:
    import polars as pl

SEPARATORS = ";\t,"
"""Separators of columns; the first of them in the line of names is that of the table."""

LONGEST = 1_000_000
"""Characters of the line of names that are looked at."""

_QUOTED = re.compile(r'"[^"]*"')


def read(path: Path) -> "pl.DataFrame":
    """The rows of a file."""
    import polars as pl

    try:
        _check_kind(path)
        if path.suffix == ".parquet":
            with path.open("rb") as file:
                return pl.read_parquet(file)
        separator = _separator(path)
        with path.open("rb") as file:
            frame = pl.read_csv(file, infer_schema_length=None, separator=separator)
    except OSError as error:
        message = f"error: {path} cannot be read: {error.strerror or error}"
        raise PenstockError(f"{message}\nhint: name a file of CSV or Parquet") from None
    except pl.exceptions.PolarsError as error:
        first = str(error).partition("\n")[0]
        raise wrong(
            f"{path} is no table: {first}",
            "columns stand between commas, semicolons or tabs; a decimal comma needs one of the "
            "other two",
        ) from None
    frame = frame.rename(str.strip)
    return frame.with_columns(_numbers(column, separator) for column in frame.iter_columns())


def _check_kind(path: Path) -> None:
    """Raise an error if it is no regular file: a table is read more than once."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise wrong(f"{path} is a pipe or a device", "write the table to a file, and name that")


def _separator(path: Path) -> str:
    """The separator of a table's columns, by its line of names."""
    with path.open(errors="replace") as file:
        names = _QUOTED.sub("", file.readline(LONGEST))
    return next((separator for separator in SEPARATORS if separator in names), ",")


def _numbers(column: "pl.Series", separator: str) -> "pl.Series":
    """A column of text as numbers, if all its cells are numbers with blanks or a decimal comma."""
    import polars as pl

    if column.dtype != pl.String:
        return column
    cells = column.str.strip_chars()
    points = cells if separator == "," else cells.str.replace(",", ".", literal=True)
    numbers = points.cast(pl.Float64, strict=False)
    if numbers.null_count() > column.null_count():
        return cells
    whole = points.cast(pl.Int64, strict=False)
    return numbers if whole.null_count() > column.null_count() else whole
