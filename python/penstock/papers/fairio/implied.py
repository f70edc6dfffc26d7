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
    bounds = [ratios(row) for row in rows]
    low, high = max(bound[0] for bound in bounds), min(bound[1] for bound in bounds)
    vectors = combinations_with_replacement(range(1, LARGEST + 1), len(WEIGHTS))
    return {
        "above": float(low),
        "up_to": float(high),
        "used": list(WEIGHTS),
        "possible": [
            list(vector)
            for vector in vectors
            if gcd(*vector) == 1 and low < Fraction(sum(vector), vector[0]) <= high
        ],
        "rows": [
            {"workload": row["workload"], "above": float(bound[0]), "up_to": float(bound[1])}
            for row, bound in zip(rows, bounds, strict=True)
        ],
    }


def ratios(row: Row) -> tuple[Fraction, Fraction]:
    """Above what and up to what all weights over the least are, for this length of a cycle."""
    weighted_ms = Fraction(str(row["service_ms"])) * row["requests"] / DISKS
    step = STEP_NS // 1_000_000
    return (row["cycle_ms"] - step) / weighted_ms, row["cycle_ms"] / weighted_ms
