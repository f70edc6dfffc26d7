"""The table of `--requests`, with every request of every run."""

import errno
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING
from weakref import finalize

from penstock.results.json_types import Comparison, Run
from penstock.results.rounds import labels

if TYPE_CHECKING:
    import polars as pl

OPS = ("read", "write", "flush", "discard")

_COLUMNS = {
    "class": "u2",
    "op": "u1",
    "due_ns": "u8",
    "sent_ns": "u8",
    "done_ns": "u8",
    "offset": "u8",
    "length": "u4",
    "error": "i4",
}
"""Columns from the engine, with their types in native byte order."""


def _close(file: IO[bytes]) -> None:
    """Close a file whose content is not needed any more, even if it does not fit on its disk."""
    with suppress(OSError):
        file.close()


class Requests:
    """Stores the requests of each run from the engine in a file.

    The file has no name, so it disappears with this object, however the process ends.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Create the file in `folder`, or in the folder of temporary files."""
        self._file: IO[bytes] = TemporaryFile(dir=folder)  # noqa: SIM115 (as long as this object)
        finalize(self, _close, self._file)
        self._places: dict[int, dict[str, tuple[int, int]]] = {}
        """Offset and length of each column in the file, by the number of the run."""

    def take(self, number: int, columns: Mapping[str, bytes]) -> None:
        """Store the requests of the run `number`."""
        places = self._places[number] = {}
        for name in _COLUMNS:
            places[name] = (self._file.tell(), len(columns[name]))
            self._file.write(columns[name])

    def frame(self, comparison: Comparison) -> "pl.LazyFrame":
        """Return a row for each request that finished, in the order of completion.

        Times are nanoseconds from the beginning of the run: when it was `due`, when its first piece
        was `sent`, when it was `done`. `error` is the name of its error. Only the requests of one
        run are in memory at a time.
        """
        import polars as pl
        from polars.io.plugins import register_io_source

        runs = comparison["runs"]

        def frames(
            columns: list[str] | None,
            predicate: "pl.Expr | None",
            rows: int | None,
            _batch: int | None,
        ) -> "Iterator[pl.DataFrame]":
            for number, label in zip(self._places, labels(runs), strict=False):
                frame = self._frame(number, label, runs[number])
                frame = frame if columns is None else frame.select(columns)
                frame = frame if predicate is None else frame.filter(predicate)
                yield frame if rows is None else frame.head(rows)
                rows = None if rows is None else max(0, rows - len(frame))

        schema = {
            "policy": pl.String,
            "round": pl.Int64,
            "class": pl.String,
            "op": pl.String,
            **dict.fromkeys(("due_ns", "sent_ns", "done_ns", "offset", "length"), pl.Int64),
            "error": pl.String,
        }
        return register_io_source(frames, schema=schema)

    def _frame(self, number: int, label: str, run: Run) -> "pl.DataFrame":
        import polars as pl

        columns = self._columns(number)
        classes = pl.Series([class_["name"] for class_ in run["classes"]], dtype=pl.String)
        failed = {code: errno.errorcode.get(code, str(code)) for code in columns["error"].unique()}
        return pl.DataFrame(
            {
                "class": classes.gather(columns.pop("class")),
                "op": pl.Series(OPS).gather(columns.pop("op")),
                **{name: values.cast(pl.Int64) for name, values in columns.items()},
                "error": columns["error"].replace_strict(
                    {code: name if code else None for code, name in failed.items()},
                    return_dtype=pl.String,
                ),
            }
        ).select(
            pl.lit(label).alias("policy"),
            pl.lit(run.get("round"), dtype=pl.Int64).alias("round"),
            pl.all(),
        )

    def _columns(self, number: int) -> "dict[str, pl.Series]":
        import numpy as np
        import polars as pl

        columns = {}
        for name, (place, size) in self._places[number].items():
            self._file.seek(place)
            columns[name] = pl.Series(np.frombuffer(self._file.read(size), dtype=_COLUMNS[name]))
        return columns
