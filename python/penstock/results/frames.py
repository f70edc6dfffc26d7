"""Polars frames of a comparison, with the figures of its JSON."""

from collections.abc import Iterator
from typing import TypeAlias

import polars as pl

from penstock.results.json_types import ClassDetail, Comparison, Run
from penstock.results.rounds import labels

MEASURES = ("lat_ns", "wait_ns", "service_ns")
"""Measures with a distribution."""

RUN = {"policy": pl.String, "round": pl.Int64, "seed": pl.Int64}
"""Columns that identify the run of a row; without rounds `round` and `seed` are null."""

Which: TypeAlias = tuple[str, int | None, int | None]
"""Values of the columns `RUN`."""

SERIES = {
    **RUN,
    "class": pl.String,
    "at_s": pl.Float64,
    "requests": pl.Int64,
    "bytes": pl.Int64,
    "p50_ns": pl.Int64,
    "p99_ns": pl.Int64,
    "outstanding": pl.Float64,
    "device_time_s": pl.Float64,
    "iops": pl.Float64,
    "bw_bytes": pl.Float64,
}
"""Columns of time series."""

DISTRIBUTION = {
    **RUN,
    "class": pl.String,
    "measure": pl.String,
    "upper_ns": pl.Int64,
    "count": pl.Int64,
    "at_or_below": pl.Float64,
}
"""Columns of distributions; `at_or_below` is the share of values up to `upper_ns`."""


def summary(comparison: Comparison) -> pl.DataFrame:
    """A row for each policy, round and class."""
    rows = []
    for which, run in _runs(comparison):
        for class_ in run["classes"]:
            row: dict[str, str | int | float | None] = {
                **dict(zip(RUN, which, strict=True)),
                "class": class_["name"],
                "requests": class_["requests"],
                "bytes": class_["bytes"],
                "discarded_bytes": class_["discarded_bytes"],
                "iops": class_["iops"],
                "bw_bytes": class_["bw_bytes"],
            }
            for measure in MEASURES:
                spread = class_[measure]  # type: ignore[literal-required]
                name, unit = measure.split("_")
                row[f"{name}_mean_{unit}"] = spread["mean"]
                for percent, ns in spread["percentile"].items():
                    # `p99_9`: a name with a dot cannot be an attribute, and needs quotes in SQL.
                    named = f"{float(percent):g}".replace(".", "_")
                    row[f"{name}_p{named}_{unit}"] = ns
                row[f"{name}_max_{unit}"] = spread["max"]
            row["device_time_s"] = class_["device_time_s"]
            row["share"] = class_["share"]
            row["errors"] = class_["errors"]
            row["unfinished"] = class_["unfinished"]
            held = class_["schedule"]
            row["scheduled"] = None if held is None else held["scheduled"]
            row["made"] = None if held is None else held["made"]
            row["held_within_1ms"] = None if held is None else held["held"]["within_1ms"]
            rows.append(row)
    return pl.DataFrame(rows, schema_overrides=RUN)


def _runs(comparison: Comparison) -> Iterator[tuple[Which, Run]]:
    """Yield each run with the values that identify it."""
    for label, run in zip(labels(comparison["runs"]), comparison["runs"], strict=True):
        yield (label, run.get("round"), run.get("seed")), run


def details(comparison: Comparison) -> Iterator[tuple[Which, float, ClassDetail]]:
    """Yield each class of each run, with the run and the seconds of its windows."""
    for which, run in _runs(comparison):
        for class_ in run["detail"]["classes"]:
            yield which, run["detail"]["window_s"], class_


def series(comparison: Comparison) -> pl.DataFrame:
    """A row for each policy, round, class and window.

    The last window is cut off by the end of the run, and has no rates.
    """
    rows = []
    for which, window_s, class_ in details(comparison):
        for number, row in enumerate(class_["series"], start=1):
            complete = number < len(class_["series"])
            rates = (
                (row["requests"] / window_s, row["bytes"] / window_s) if complete else (None, None)
            )
            rows.append((*which, class_["name"], *row.values(), *rates))
    return pl.DataFrame(rows, schema=SERIES, orient="row")


def distribution(comparison: Comparison) -> pl.DataFrame:
    """A row for each policy, round, class, measure and value that occurred, to two digits."""
    rows = []
    for which, _, class_ in details(comparison):
        for measure, pairs in (("lat_ns", class_["lat_ns"]), ("wait_ns", class_["wait_ns"])):
            total = sum(count for _, count in pairs)
            so_far = 0
            for upper, count in pairs:
                so_far += count
                rows.append((*which, class_["name"], measure, upper, count, so_far / total))
    return pl.DataFrame(rows, schema=DISTRIBUTION, orient="row")
