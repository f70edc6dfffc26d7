"""Polars frames of a comparison: the same figures as in its JSON, as tables."""

from collections.abc import Iterator

import polars as pl

from penstock.schema import ClassDetail, Comparison, Run

MEASURES = ("lat_ns", "wait_ns", "service_ns")
"""What has a distribution."""

SERIES = {
    "policy": pl.String,
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
"""Columns of the course over time."""

DISTRIBUTION = {
    "policy": pl.String,
    "class": pl.String,
    "measure": pl.String,
    "upper_ns": pl.Int64,
    "count": pl.Int64,
    "at_or_below": pl.Float64,
}
"""Columns of whole distributions; `at_or_below` is the share of all up to here."""


def labels(runs: list[Run]) -> list[str]:
    """A name for each run: its policy's, with a number if that ran more than once."""
    names = [run["policy"] for run in runs]
    seen = [names[: index + 1].count(name) for index, name in enumerate(names)]
    return [name if n == 1 else f"{name} ({n})" for name, n in zip(names, seen, strict=True)]


def summary(comparison: Comparison) -> pl.DataFrame:
    """A row for each policy and class."""
    rows = []
    for label, run in zip(labels(comparison["runs"]), comparison["runs"], strict=True):
        for one in run["classes"]:
            row: dict[str, str | int | float | None] = {
                "policy": label,
                "class": one["name"],
                "requests": one["requests"],
                "bytes": one["bytes"],
                "iops": one["iops"],
                "bw_bytes": one["bw_bytes"],
            }
            for measure in MEASURES:
                spread = one[measure]  # type: ignore[literal-required]
                what, unit = measure.split("_")
                row[f"{what}_mean_{unit}"] = spread["mean"]
                for percent, ns in spread["percentile"].items():
                    row[f"{what}_p{float(percent):g}_{unit}"] = ns
                row[f"{what}_max_{unit}"] = spread["max"]
            row["device_time_s"] = one["device_time_s"]
            row["share"] = one["share"]
            row["errors"] = one["errors"]
            row["unfinished"] = one["unfinished"]
            held = one["schedule"]
            row["scheduled"] = None if held is None else held["scheduled"]
            row["made"] = None if held is None else held["made"]
            row["held_within_1ms"] = None if held is None else held["held"]["within_1ms"]
            rows.append(row)
    return pl.DataFrame(rows)


def details(comparison: Comparison) -> Iterator[tuple[str, float, ClassDetail]]:
    """Each policy's label, the length of its windows in seconds, and each class of it."""
    for label, run in zip(labels(comparison["runs"]), comparison["runs"], strict=True):
        for one in run["detail"]["classes"]:
            yield label, run["detail"]["window_s"], one


def series(comparison: Comparison) -> pl.DataFrame:
    """A row for each policy, class and window.

    The last window of a run ends with the run, at no round time: it has no rates.
    """
    rows = []
    for label, window_s, one in details(comparison):
        for number, row in enumerate(one["series"], start=1):
            whole = number < len(one["series"])
            rates = (row["requests"] / window_s, row["bytes"] / window_s) if whole else (None, None)
            rows.append((label, one["name"], *row.values(), *rates))
    return pl.DataFrame(rows, schema=SERIES, orient="row")


def distribution(comparison: Comparison) -> pl.DataFrame:
    """A row for each policy, class, measure and value that occurred, to two digits."""
    rows = []
    for label, _, one in details(comparison):
        for measure, pairs in (("lat_ns", one["lat_ns"]), ("wait_ns", one["wait_ns"])):
            total = sum(count for _, count in pairs)
            so_far = 0
            for upper, count in pairs:
                so_far += count
                rows.append((label, one["name"], measure, upper, count, so_far / total))
    return pl.DataFrame(rows, schema=DISTRIBUTION, orient="row")
