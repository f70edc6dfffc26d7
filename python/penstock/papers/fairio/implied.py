"""The weights that Table V of the FAIRIO report implies: it publishes all else of equation (3)."""

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations_with_replacement
from math import gcd
from typing import Any

from penstock.advise.cycle import STEP_NS
from penstock.papers import files
from penstock.papers.fairio.setting import NAME
from penstock.papers.fairio.workloads import DISKS, WEIGHTS
from penstock.papers.published import Row

LARGEST = 5
"""Weights up to this are looked at."""


def weights() -> Mapping[str, Any]:
    """Between what all weights over the least one are, and the weights of which that holds."""
    rows = files.published(NAME)["table5"]
    each = [ratios(row) for row in rows]
    low, high = max(one[0] for one in each), min(one[1] for one in each)
    vectors = combinations_with_replacement(range(1, LARGEST + 1), len(WEIGHTS))
    return {
        "above": float(low),
        "up_to": float(high),
        "used": list(WEIGHTS),
        "possible": [
            list(one)
            for one in vectors
            if gcd(*one) == 1 and low < Fraction(sum(one), one[0]) <= high
        ],
        "rows": [
            {"workload": row["workload"], "above": float(one[0]), "up_to": float(one[1])}
            for row, one in zip(rows, each, strict=True)
        ],
    }


def ratios(row: Row) -> tuple[Fraction, Fraction]:
    """Above what and up to what all weights over the least are, for this length of a cycle."""
    one = Fraction(str(row["service_ms"])) * row["requests"] / DISKS
    step = STEP_NS // 1_000_000
    return (row["cycle_ms"] - step) / one, row["cycle_ms"] / one
