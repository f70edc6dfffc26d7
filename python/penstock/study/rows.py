"""The rows of a study: one for each run, in parts that were written as runs ended.

Two executions of one modelled study have equal rows but for the columns of `CLOCK`, which say when
and where a run was made. What was measured in real time never repeats itself.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError, wrong

if TYPE_CHECKING:
    import polars as pl

ABOUT = "study.json"
"""Name of the file that describes the study."""

PARTS = "part-*.parquet"
"""Pattern of the names of its parts."""

CLOCK = ("ended", "machine")
"""Columns that differ between two executions of one modelled study."""


def read(folder: str | PathLike[str]) -> "pl.DataFrame":
    """All rows of the study in `folder` that are there, in the order of `run`.

    Columns: `run`, `order`, `block`, `replicate` and `seed`, one for each factor, one for each
    response, `ended`, `seconds`, `world`, `machine` and `remarks`, each a line; `reference` if the
    reference cell ran.
    """
    import polars as pl

    parts = every_part(folder)
    if not parts:
        raise wrong(f"{folder} has no rows of a study", "`penstock study run -o DIR` writes them")
    return pl.concat([_part(part) for part in parts]).sort("run")


def _part(path: Path, columns: list[str] | None = None) -> "pl.DataFrame":
    """The rows of a part of a study."""
    import polars as pl

    try:
        # polars takes no name that is not UTF-8.
        with path.open("rb") as file:
            return pl.read_parquet(file, columns=columns)
    except OSError as error:
        raise _damaged(path, error.strerror or str(error)) from None
    except pl.exceptions.PolarsError as error:
        raise _damaged(path, str(error).partition("\n")[0]) from None


def _damaged(path: Path, why: str) -> PenstockError:
    hint = "move it away, and `study run --resume` makes its runs again"
    return wrong(f"{path}, a part of a study, cannot be read: {why}", hint)


def every_part(folder: str | PathLike[str]) -> list[Path]:
    """The files that hold rows, in the order in which they were written."""
    return sorted(Path(folder).glob(PARTS))


def remarks(parts: Sequence[Path]) -> list[str | None]:
    """The remarks of each run that these parts hold."""
    texts: list[str | None] = []
    for part in parts:
        texts += _part(part, ["remarks"])["remarks"].to_list()
    return texts


def recorded(folder: str | PathLike[str]) -> set[int]:
    """The numbers of the runs that are recorded."""
    numbers: set[int] = set()
    for part in every_part(folder):
        numbers.update(_part(part, ["run"])["run"].to_list())
    return numbers


def frame(
    rows: Sequence[Mapping[str, Any]], factors: Mapping[str, type], responses: Sequence[str]
) -> "pl.DataFrame":
    """Rows as a table, with the types that all parts of a study have."""
    import polars as pl

    kinds = {bool: pl.Boolean, int: pl.Int64, float: pl.Float64, str: pl.String}
    schema: dict[str, Any] = {
        **dict.fromkeys(("run", "order", "block", "replicate", "seed"), pl.Int64),
        **{name: kinds[kind] for name, kind in factors.items()},
        **dict.fromkeys(responses, pl.Float64),
        "ended": pl.Datetime("ms", "UTC"),
        "seconds": pl.Float64,
        "world": pl.String,
        "machine": pl.String,
        "remarks": pl.String,
    }
    if rows and "reference" in rows[0]:
        schema["reference"] = pl.Boolean
    return pl.DataFrame(rows, schema=schema, orient="row")
