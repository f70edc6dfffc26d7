"""Makes a table of fio's results, for `penstock study analyse`: a row for each file of JSON.

    fio --output-format=json --output=7.json … --rw=randread --bs=4k --iodepth=8
    python fio_table.py 1.json 2.json … > fio.csv

A column for each option of the job that is a factor (FACTORS), `order` from the time at which fio
ended, and four figures of all its jobs together: requests and bytes a second, the mean latency and
its 99th percentile in nanoseconds. The runs of one cell are numbered as blocks, in their order.
"""

import csv
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

FACTORS = ("rw", "bs", "iodepth")
"""Options of fio that vary; name others if they do."""


def main(names: list[str]) -> None:
    """Print the table of these files."""
    runs = [json.loads(Path(name).read_text()) for name in names]
    runs.sort(key=lambda run: run["timestamp_ms"])
    seen = Counter[tuple[str, ...]]()
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["order", "block", *FACTORS, "iops", "bw_bytes", "lat_ns", "p99_ns"])
    for order, run in enumerate(runs, 1):
        options = run.get("global options", {}) | run["jobs"][0]["job options"]
        cell = tuple(str(options[factor]) for factor in FACTORS)
        seen[cell] += 1
        table.writerow([order, seen[cell], *cell, *figures(run["jobs"])])


def figures(jobs: list[dict[str, Any]]) -> tuple[int, int, int, int]:
    """Requests and bytes a second, the mean latency and its 99th percentile."""
    sides = [job[side] for job in jobs for side in ("read", "write") if job[side]["total_ios"]]
    count = sum(side["total_ios"] for side in sides)
    mean = sum(side["lat_ns"]["mean"] * side["total_ios"] for side in sides) / count
    return (
        round(sum(side["iops"] for side in sides)),
        sum(side["bw_bytes"] for side in sides),
        round(mean),
        # Percentiles cannot be averaged: that of the slowest job.
        max(side["clat_ns"]["percentile"]["99.000000"] for side in sides),
    )


if __name__ == "__main__":
    main(sys.argv[1:])
