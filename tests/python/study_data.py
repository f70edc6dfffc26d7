"""Published data with known answers, and tables that follow a known model."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from penstock.study.table import StudyTable, of_frame

SIRSTV = (
    (196.3052, 196.1240, 196.1890, 196.2569, 196.3403),
    (196.3042, 196.3825, 196.1669, 196.3257, 196.0422),
    (196.1303, 196.2005, 196.2889, 196.0343, 196.1811),
    (196.2795, 196.1748, 196.1494, 196.1485, 195.9885),
    (196.2119, 196.1051, 196.1850, 196.0052, 196.2090),
)
"""NIST StRD, one-way: resistivity of silicon, five instruments."""

ATMWTAG = (
    "1568 1465 1572 1785 1446 1903 1526 1494 1616 1587 1519 1486 "
    "1419 1569 1508 1672 1385 1518 1662 1424 1360 1333 1610 1477",
    "1079 1344 1513 1197 1604 1385 1642 1365 1151 1082 1517 1448 "
    "1198 1482 1334 1609 1101 1512 1469 1360 1254 1261 1450 1368",
)
"""NIST StRD, one-way: the atomic weight of silver on two instruments, each 107.868 and four digits.

Powell, Murphy and Gramlich 1982, NBS Journal of Research 87, 9-19.
"""

KIDNEY = (
    ((0, 2, 1, 3, 0, 2, 0, 5, 6, 8), (2, 4, 7, 12, 15, 4, 3, 1, 5, 20),
     (15, 10, 8, 5, 25, 16, 7, 30, 3, 27)),
    ((0, 1, 1, 0, 4, 2, 7, 4, 0, 3), (5, 3, 2, 0, 1, 1, 3, 6, 7, 9),
     (10, 8, 12, 3, 7, 15, 4, 9, 6, 1)),
)  # fmt: skip
"""Days in hospital by duration of treatment (2) and gain of weight (3), ten patients each.

Kutner, Nachtsheim, Neter and Li, *Applied Linear Statistical Models*, the data set on kidney
failure.
"""

FILTRATION = (45, 71, 48, 65, 68, 60, 80, 65, 43, 100, 45, 104, 75, 86, 70, 96)
"""Montgomery, *Design and Analysis of Experiments*, example 6.2: a 2⁴ design in standard order."""


def smls(offset: float, replicates: int) -> list[tuple[int, float]]:
    """NIST StRD, one-way, Simon and Lesage's sets: treatment and value.

    Nine treatments. Both the treatment and the replicate add 0.2 if they are the first, else 0.1 if
    even and 0.3 if odd; the files give the sum to one decimal.
    """

    def added(number: int) -> float:
        return 0.2 if number == 1 else 0.1 if number % 2 == 0 else 0.3

    return [
        (treatment, round(offset + added(treatment) + added(replicate), 1))
        for treatment in range(1, 10)
        for replicate in range(1, replicates + 1)
    ]


def one_way(groups: Sequence[Sequence[float]]) -> StudyTable:
    """A table of one factor."""
    rows = [(str(at), value) for at, group in enumerate(groups) for value in group]
    frame = pl.DataFrame(rows, schema=["group", "y"], orient="row")
    return of_frame(frame, source="data", response="y", factors=["group"])


def cells(levels: Mapping[str, Sequence[Any]], replicates: int = 1) -> pl.DataFrame:
    """Every combination of levels, so many times."""
    rows = [dict(zip(levels, one, strict=True)) for one in product(*levels.values())]
    return pl.DataFrame(rows * replicates)


def with_response(frame: pl.DataFrame, values: ArrayLike, **columns: ArrayLike) -> StudyTable:
    """A table with the response `rate`."""
    added = [pl.Series(name, np.asarray(column)) for name, column in columns.items()]
    whole = frame.with_columns(pl.Series("rate", np.asarray(values, dtype=float)), *added)
    return of_frame(whole, source="data", response="rate", factors=frame.columns)
