"""Table that a study analyses: rows with factors and a response, from a file or a study's runs.

Any table will do. Columns that number or date runs are no factors, nor are columns of numbers that
hardly repeat: these are responses. Columns that number runs may be called so in any case.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.errors import PenstockError, wrong
from penstock.study import folder, rows, table_file
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

NUMBERS = ("run", "order", "block", "replicate", "seed")
"""Those of them that other tools write too, in any case: `Run` is `run`."""

REPEATS = ("rep", "repeat", "repetition", "iteration", "trial")
"""Other names, in any case, of a column of whole numbers that numbers repeated runs."""

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
        if "order" not in self.frame.columns or self.simulated:
            return False
        return self.frame["order"].dtype.is_numeric()

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
        """The number of each row: of its run if no two have the same, else of the row."""
        if "run" in self.frame.columns:
            runs = self.frame["run"]
            if runs.dtype.is_integer() and not runs.null_count() and runs.is_unique().all():
                return [int(run) for run in runs.to_list()]
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


def read(
    path: str,
    *,
    response: str | None = None,
    factors: Sequence[str] = (),
    modelled: Sequence[str] = (),
) -> StudyTable:
    """The table of a study's folder, or of a file of CSV or Parquet.

    `factors` are all that there are; if none is named, columns of `modelled` are factors too.
    """
    place = Path(path)
    if place.is_dir():
        return _of_study(place, response=response, factors=factors, modelled=modelled)
    frame = table_file.read(place)
    return of_frame(frame, source=path, response=response, factors=factors, modelled=modelled)


def _of_study(
    place: Path, *, response: str | None, factors: Sequence[str], modelled: Sequence[str]
) -> StudyTable:
    """A study that may still be running: the runs that are recorded."""
    about = folder.about(place)
    if about is None or not rows.every_part(place):
        raise wrong(
            f"{place} is a folder without a study's runs",
            "name the folder of `penstock study run -o`, or a file of CSV or Parquet",
        )
    frame, named = rows.read(place), [factor["name"] for factor in about["factors"]]
    more = [name for name in modelled if name in frame.columns and name not in named]
    table = of_frame(
        frame,
        source=str(place),
        response=response or about["responses"][0],
        factors=factors or [*named, *more],
    )
    made = table.frame.height
    runs = about.get("runs", made)
    if made == runs:
        return table
    said = f"the study is not complete: {made} of {units.many(runs, 'run')} are recorded"
    return replace(table, remarks=(*table.remarks, said))


def of_frame(
    frame: "pl.DataFrame",
    *,
    source: str,
    response: str | None = None,
    factors: Sequence[str] = (),
    modelled: Sequence[str] = (),
) -> StudyTable:
    """The table of a frame. Factors and response are found if they are not named.

    Columns of `modelled` are factors too where factors are found.
    """
    import polars as pl

    if frame.is_empty():
        raise wrong(f"{source} has no rows", "a study has at least two for each factor")
    frame = _numbered(frame, (*factors, *modelled, response))
    references = frame.clear()
    if "reference" in frame.columns and frame["reference"].dtype == pl.Boolean:
        marked = pl.col("reference").fill_null(value=False)
        frame, references = frame.filter(~marked), frame.filter(marked)
    twice = [name for at, name in enumerate(factors) if name in factors[:at]]
    if twice:
        raise wrong(f"factor {twice[0]} is named twice", "name it once")
    for name in (*factors, *([] if response is None else [response])):
        if name not in frame.columns:
            raise _unknown(source, name, frame.columns)
    modelled = [name for name in modelled if name in frame.columns]
    if response is None:
        response = _response(frame, source, factors or modelled, complete=bool(factors))
    if response in (factors or modelled):
        raise wrong(f"{response} is a factor and the response", "name another response")
    _check_numbers(frame, source, response)
    remarks: list[str] = []
    if not factors:
        factors, remarks = _factors(frame, source, response, modelled)
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
    if not column.dtype.is_numeric():
        return False
    values = column.n_unique()
    few = max(12, frame.height // 3)
    if values > few or values == frame.height:
        return True
    return bool(column.dtype.is_float() and 2 * values > frame.height)


def _numbered(frame: "pl.DataFrame", named: Sequence[str | None]) -> "pl.DataFrame":
    """The frame with the columns of `NUMBERS` in lower case too, but for `named` ones."""
    import polars as pl

    copies = [
        pl.col(name).alias(name.lower())
        for name in frame.columns
        if name.lower() in NUMBERS and name.lower() not in frame.columns and name not in named
    ]
    return frame.with_columns(copies)


def _numbers_runs(frame: "pl.DataFrame", name: str) -> bool:
    """Whether a column says which run a row is, and no more."""
    column, plain = frame[name], name.lower()
    if name in ABOUT_RUNS or plain in NUMBERS:
        return True
    if not column.dtype.is_integer() or column.null_count():
        return False
    return plain in REPEATS or _numbers_rows(frame, name)


def _numbers_rows(frame: "pl.DataFrame", name: str) -> bool:
    """Whether a column counts the rows, as tools write it that number them."""
    first = frame[name][0]
    return first in (0, 1) and frame[name].to_list() == list(range(first, first + frame.height))


def _response(frame: "pl.DataFrame", source: str, factors: Sequence[str], *, complete: bool) -> str:
    """The column of numbers that is explained; `complete`: there are no other factors."""
    others = [name for name in frame.columns if name not in factors]
    about = [name for name in others if _numbers_runs(frame, name)]
    numbers = [name for name in others if name not in about and frame[name].dtype.is_numeric()]
    # In a table with nothing else they are what was measured.
    numbers = numbers or [
        name for name in about if name == "seconds" or name.lower() not in (*ABOUT_RUNS, *REPEATS)
    ]
    candidates = [name for name in numbers if _measures(frame, name)]
    if len(candidates) != 1 and complete:
        candidates = numbers
    if not candidates:
        # Levels of a factor repeat, also in a table of few rows.
        rare = [name for name in numbers if 2 * frame[name].n_unique() > frame.height]
        candidates = numbers if len(numbers) == 1 else rare
    if len(candidates) == 1:
        return candidates[0]
    which = f"{len(candidates)} columns could be" if candidates else "no column looks like"
    names = ", ".join(candidates or numbers)
    raise wrong(
        f"{source}: {which} the response",
        f"name it with --response, one of {names}" if names else "it needs a column of numbers",
    )


def _factors(
    frame: "pl.DataFrame", source: str, response: str, modelled: Sequence[str]
) -> tuple[list[str], list[str]]:
    """All columns that may be factors, and what is said of the others."""
    candidates, remarks = [], []
    for name in frame.columns:
        if name in modelled:
            candidates.append(name)
        elif name in ABOUT_RUNS or name == response:
            continue
        elif _numbers_runs(frame, name):
            remarks.append(
                f"{name or 'the column without a name'} numbers runs, and is no factor unless "
                "--factor names it"
            )
        elif _measures(frame, name):
            continue
        elif frame[name].n_unique() == 1:
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
