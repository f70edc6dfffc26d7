"""Every request of every run, as a table: what `--requests` writes."""

import errno
from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.results.json_types import Comparison
from penstock.results.rounds import labels

if TYPE_CHECKING:
    import polars as pl

OPS = ("read", "write", "flush", "discard")

_CODES = {"due_ns": "Q", "sent_ns": "Q", "done_ns": "Q", "offset": "Q", "length": "I"}
"""Columns as they are, each with its type in the machine's order."""


class Requests:
    """Takes the requests of each run as the engine gives them."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._runs: dict[int, Mapping[str, bytes]] = {}

    def take(self, number: int, columns: Mapping[str, bytes]) -> None:
        """Those of the run of this number."""
        self._runs[number] = columns

    def frame(self, comparison: Comparison) -> "pl.DataFrame":
        """A row for each request that finished, in the order in which they did.

        Times are nanoseconds from the beginning of the run: when it was `due`, when its first piece
        was `sent`, when it was `done`. `error` is the name of what it failed with.
        """
        import polars as pl

        runs = comparison["runs"]
        names = labels(runs)
        frames = [
            _frame(columns, [one["name"] for one in runs[number]["classes"]]).select(
                pl.lit(names[number]).alias("policy"),
                pl.lit(runs[number].get("round"), dtype=pl.Int64).alias("round"),
                pl.all(),
            )
            for number, columns in self._runs.items()
        ]
        return pl.concat(frames) if frames else pl.DataFrame()


def _frame(columns: Mapping[str, bytes], classes: list[str]) -> "pl.DataFrame":
    import polars as pl

    known = {name: _values(code, columns[name]) for name, code in _CODES.items()}
    failures = _values("i", columns["error"])
    return pl.DataFrame(
        {
            "class": [classes[number] for number in _values("H", columns["class"])],
            "op": [OPS[number] for number in columns["op"]],
            **{name: pl.Series(values) for name, values in known.items()},
            "error": pl.Series(
                [errno.errorcode.get(code, str(code)) if code else None for code in failures],
                dtype=pl.String,
            ),
        }
    )


def _values(code: str, column: bytes) -> "array[int]":
    values = array(code)
    values.frombytes(column)
    return values
