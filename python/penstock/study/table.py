"""Table that a study analyses: rows with factors and a response, from a file or a study's runs.

Any table will do. Columns that number or date runs are no factors, nor are columns of numbers that
hardly repeat: these are responses.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.errors import PenstockError, wrong
from penstock.study import folder, rows
from penstock.text import units

if TYPE_CHECKING:
    import polars as pl

ABOUT_RUNS = (
    "run",
    "order",
    "block",
    "replicate",
    "seed",
    "reference",
    "ended",
    "seconds",
    "world",
    "machine",
    "remarks",
)
"""Columns that say which run a row is, and never what was set."""

MODELLED = "simulated"
"""The world in which a run gives the same again from the same seed."""

NAMED = 5
"""Number of rows named in a message."""

SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kKmMgGtT]?)(?:i?[bB])?")
"""A level that is a size, as fio and we write it."""

Level: TypeAlias = Any
"""A level of a factor: text, a number or a truth value."""

LESS_IS_BETTER = ("lat", "wait", "seconds", "duration", "elapsed", "error")
"""A response whose name has a word that begins so is better when it is less."""

TIMES = ("ns", "us", "ms")
"""So is a response whose name ends with a unit of time."""


@dataclass(frozen=True, kw_only=True)
class StudyTable:
    """Rows to analyse. None of them has an empty cell in a column that matters."""

    source: str
    frame: "pl.DataFrame"
    factors: dict[str, list[Level]]
    """Each with its levels in their order."""
    response: str
    references: "pl.DataFrame"
    """Runs of the reference cell, which show drift and are part of no analysis."""
    remarks: tuple[str, ...] = ()

    @property
    def world(self) -> str | None:
        """The world of all its runs; `None` if there are several, or none is known."""
        worlds = self.frame["world"].unique().to_list() if "world" in self.frame.columns else []
        return str(worlds[0]) if len(worlds) == 1 and worlds[0] is not None else None

    @property
    def simulated(self) -> bool:
        """Whether all of it is from models in virtual time."""
        return self.world == MODELLED

    @property
    def ordered(self) -> bool:
        """Whether the order of the runs is known and means something."""
        return "order" in self.frame.columns and not self.simulated

    @property
    def blocks(self) -> list[Level]:
        """The blocks of runs that were made one after another; none in a simulation."""
        if "block" not in self.frame.columns or self.simulated or "block" in self.factors:
            return []
        numbers = sorted(self.frame["block"].unique().to_list())
        return numbers if len(numbers) > 1 else []

    @property
    def noted(self) -> list[str | None]:
        """The remarks of each row, where there are any."""
        if "remarks" not in self.frame.columns:
            return []
        return self.frame["remarks"].cast(str).to_list()

    @property
    def runs(self) -> list[int]:
        """The number of each row: of its run, else of the row."""
        if "run" in self.frame.columns:
            return [int(run) for run in self.frame["run"].to_list()]
        return list(range(1, self.frame.height + 1))

    def only(self, column: str, level: Level) -> "StudyTable":
        """The rows with that level. A factor with no other level left is none here."""
        import polars as pl

        frame = self.frame.filter(pl.col(column) == level)
        references = self.references
        if column in references.columns:
            references = references.filter(pl.col(column) == level)
        factors, remarks = {}, list(self.remarks)
        for name, levels in self.factors.items():
            left = set(frame[name].unique().to_list())
            if len(left) > 1:
                factors[name] = [level for level in levels if level in left]
            elif name != column:
                remarks.append(f"{name} has one level here, {next(iter(left), '–')}, and no effect")
        if not factors:
            raise wrong(
                f"{self.source}: with {column} = {level} no factor has two levels",
                "name another column with --by",
            )
        return replace(
            self,
            source=f"{self.source}, {column} = {level}",
            frame=frame,
            references=references,
            factors=factors,
            remarks=tuple(remarks),
        )


def read(path: str, *, response: str | None = None, factors: Sequence[str] = ()) -> StudyTable:
    """The table of a study's folder, or of a file of CSV or Parquet."""
    place = Path(path)
    if place.is_dir():
        return _of_study(place, response=response, factors=factors)
    return of_frame(_file(place), source=path, response=response, factors=factors)


def _of_study(place: Path, *, response: str | None, factors: Sequence[str]) -> StudyTable:
    """A study that may still be running: the runs that are recorded."""
    about = folder.about(place)
    if about is None or not rows.every_part(place):
        raise wrong(
            f"{place} is a folder without a study's runs",
            "name the folder of `penstock study run -o`, or a file of CSV or Parquet",
        )
    table = of_frame(
        rows.read(place),
        source=str(place),
        response=response or about["responses"][0],
        factors=factors or [factor["name"] for factor in about["factors"]],
    )
    made = table.frame.height
    runs = about.get("runs", made)
    if made == runs:
        return table
    said = f"the study is not complete: {made} of {units.many(runs, 'run')} are recorded"
    return replace(table, remarks=(*table.remarks, said))


def _file(path: Path) -> "pl.DataFrame":
    import polars as pl

    try:
        if path.suffix == ".parquet":
            return pl.read_parquet(path)
        return pl.read_csv(path, infer_schema_length=None)
    except OSError as error:
        message = f"error: {path} cannot be read: {error.strerror or error}"
        raise PenstockError(f"{message}\nhint: name a file of CSV or Parquet") from None
    except pl.exceptions.PolarsError as error:
        first = str(error).partition("\n")[0]
        raise wrong(f"{path} is no table: {first}", "name a file of CSV or Parquet") from None


def of_frame(
    frame: "pl.DataFrame",
    *,
    source: str,
    response: str | None = None,
    factors: Sequence[str] = (),
) -> StudyTable:
    """The table of a frame. Factors and response are found if they are not named."""
    import polars as pl

    if frame.is_empty():
        raise wrong(f"{source} has no rows", "a study has at least two for each factor")
    references = frame.clear()
    if "reference" in frame.columns:
        marked = pl.col("reference").fill_null(value=False)
        frame, references = frame.filter(~marked), frame.filter(marked)
    twice = [name for at, name in enumerate(factors) if name in factors[:at]]
    if twice:
        raise wrong(f"factor {twice[0]} is named twice", "name it once")
    for name in (*factors, *([] if response is None else [response])):
        if name not in frame.columns:
            raise _unknown(source, name, frame.columns)
    if response is None:
        response = _response(frame, source, factors)
    if response in factors:
        raise wrong(f"{response} is a factor and the response", "name another response")
    _check_numbers(frame, source, response)
    remarks: list[str] = []
    if not factors:
        factors, remarks = _factors(frame, source, response)
    levels = {name: _levels(frame, source, name) for name in factors}
    return StudyTable(
        source=source,
        frame=frame,
        factors=levels,
        response=response,
        references=references,
        remarks=tuple(remarks),
    )


def _unknown(source: str, name: str, columns: Sequence[str]) -> PenstockError:
    near = get_close_matches(name, columns, 1)
    hint = f"did you mean {near[0]}?" if near else f"its columns are {', '.join(columns)}"
    return wrong(f"{source} has no column {name}", hint)


def _measures(frame: "pl.DataFrame", name: str) -> bool:
    """Whether it looks like a response: numbers that hardly repeat."""
    column = frame[name]
    few = max(12, frame.height // 3)
    return column.dtype.is_numeric() and (
        column.n_unique() > few or (column.dtype.is_float() and 2 * column.n_unique() > len(column))
    )


def _response(frame: "pl.DataFrame", source: str, factors: Sequence[str]) -> str:
    others = [name for name in frame.columns if name not in (*factors, *ABOUT_RUNS)]
    numbers = [name for name in others if frame[name].dtype.is_numeric()]
    candidates = [name for name in numbers if _measures(frame, name)]
    if len(candidates) != 1 and factors:
        candidates = numbers
    if len(candidates) == 1:
        return candidates[0]
    which = f"{len(candidates)} columns could be" if candidates else "no column looks like"
    names = ", ".join(candidates or numbers or others)
    raise wrong(
        f"{source}: {which} the response",
        f"name it with --response, one of {names}" if names else "it needs a column of numbers",
    )


def _factors(frame: "pl.DataFrame", source: str, response: str) -> tuple[list[str], list[str]]:
    """All columns that may be factors, and what is said of the others."""
    candidates, remarks = [], []
    for name in frame.columns:
        if name in ABOUT_RUNS or name == response or _measures(frame, name):
            continue
        if frame[name].n_unique() == 1:
            remarks.append(f"{name} is the same in every row, and no factor")
        elif frame[name].n_unique() == frame.height and not frame[name].dtype.is_numeric():
            remarks.append(f"{name} differs in every row, and is no factor")
        else:
            candidates.append(name)
    if not candidates:
        raise wrong(f"{source} has no factor: no column has levels that repeat", "see --factor")
    return candidates, remarks


def _levels(frame: "pl.DataFrame", source: str, name: str) -> list[Level]:
    """Numbers and sizes ascend, other text keeps the order in which it comes."""
    column = frame[name]
    if column.null_count():
        raise _empty(frame, source, name)
    levels: list[Level] = column.unique(maintain_order=True).to_list()
    if len(levels) == 1:
        raise wrong(
            f"{source}: factor {name} has one level, {levels[0]}, so it can have no effect",
            "leave it out, or add runs with another level",
        )
    if len(levels) == frame.height:
        raise wrong(
            f"{source}: factor {name} has another level in each of the {frame.height} rows",
            "a factor has levels that repeat; name the factors with --factor",
        )
    if column.dtype.is_numeric():
        return sorted(levels)
    sizes = [SIZE.fullmatch(str(level)) for level in levels]
    if not all(sizes):
        return levels
    return sorted(levels, key=lambda level: _bytes(str(level)))


def _bytes(text: str) -> float:
    """Returns the bytes of a level as `64KiB` or `4k`; only their order matters."""
    size = SIZE.fullmatch(text)
    assert size is not None
    return float(size[1]) * 1024.0 ** "kmgt".find(size[2].lower() or " ") * 1024


def _check_numbers(frame: "pl.DataFrame", source: str, name: str) -> None:
    import polars as pl

    column = frame[name]
    if column.null_count():
        raise _empty(frame, source, name)
    if not column.dtype.is_numeric():
        numbers = column.cast(pl.String).cast(pl.Float64, strict=False)
        at = [n for n, value in enumerate(numbers.to_list()) if value is None]
        shown = repr(column[at[0]]) if at else str(column.dtype)
        raise wrong(
            f"{source}: column {name}, {_rows(frame, at[:1])}: found {shown}, expected a number",
            "name another column with --response",
        )
    odd = [
        n for n, finite in enumerate(column.cast(pl.Float64).is_finite().to_list()) if not finite
    ]
    if odd:
        raise wrong(
            f"{source}: column {name} is no finite number in {_rows(frame, odd)}",
            "leave these rows out, or run them again",
        )


def _empty(frame: "pl.DataFrame", source: str, name: str) -> PenstockError:
    at = [n for n, empty in enumerate(frame[name].is_null().to_list()) if empty]
    return wrong(
        f"{source}: column {name} is empty in {_rows(frame, at)}",
        "fill it, or leave these rows out",
    )


def _rows(frame: "pl.DataFrame", at: Sequence[int]) -> str:
    """Names rows by their runs, else by their number below the heading."""
    noun = "run" if "run" in frame.columns else "row"
    numbers = frame["run"].to_list() if noun == "run" else range(1, frame.height + 1)
    named = [str(numbers[n]) for n in at[:NAMED]]
    more = f" and {len(at) - NAMED} more" if len(at) > NAMED else ""
    return f"{noun if len(at) == 1 else noun + 's'} {', '.join(named)}{more}"


def positive(table: StudyTable) -> None:
    """Raise an error unless the response has a logarithm in every row."""
    values = table.frame[table.response].to_list()
    at = [n for n, value in enumerate(values) if value <= 0]
    if at:
        raise wrong(
            f"{table.source}: {table.response} is zero or less in {_rows(table.frame, at)}, "
            "and has no logarithm there",
            "leave these rows out, or take the response as it is with --transform none",
        )


def less_is_better(response: str) -> bool:
    """Whether a response is better when it is less, by its name."""
    words = response.lower().replace(".", "_").split("_")
    return words[-1] in TIMES or any(word.startswith(LESS_IS_BETTER) for word in words)
