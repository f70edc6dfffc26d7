"""Percentiles of distributions in the JSON."""

from penstock.results.json_types import Distribution


def percentile(distribution: Distribution, percent: float) -> int:
    """Return a percentile in ns; the JSON has the 50th, 95th, 99th and 99.9th."""
    return distribution["percentile"][f"{percent:.6f}"]
