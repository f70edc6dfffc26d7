"""Measures the models of Linux's schedulers next to the kernel's own: `make schedulers-live`.

Both serve the same jobs on one loop device over one file, in turn, which needs root. The figures
are kept in `measured.json`, from which `make schedulers` writes their table.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

import penstock
from command import ROOT
from penstock.answer.table import Table, markdown
from penstock.text import units

JOBS = ROOT / "tests/data/schedulers"
MEASURED = JOBS / "measured.json"

MODELS = ("bfq", "kyber", "mq-deadline")
"""The schedulers that today's kernels have; `cfq` is in none of them."""

LOADS = {
    "direct": "direct reads and writes",
    "buffered": "reads and a buffered copy",
    "priorities": "I/O priorities",
}
"""The jobs, and what the table calls them."""

ROUNDS = 3


class Measured(NamedTuple):
    """A class of a load under a scheduler of the kernel and under its model: medians."""

    load: str
    scheduler: str
    name: str
    kernel_p99_ns: float
    model_p99_ns: float
    kernel_iops: float
    model_iops: float


def measure(load: str, file: Path) -> list[Measured]:
    """Run a load under the kernel's schedulers and under their models, in rounds."""
    policies = [policy for model in MODELS for policy in (f"kernel:{model}", model)]
    runs = penstock.compare(
        JOBS / f"{load}.toml",
        policies=policies,
        on=f"loop:{file}",
        create="256MiB",
        repeat=ROUNDS,
    ).runs

    def figures(policy: str, name: str) -> tuple[float, float]:
        classes = [run[name] for run in runs if run.policy == policy]
        return (
            median([one.lat_ns.p99 for one in classes]),
            median([one.iops for one in classes]),
        )

    rows = []
    for model in MODELS:
        for one in runs[0].classes:
            kernel, ours = figures(f"kernel:{model}", one.name), figures(model, one.name)
            rows.append(
                Measured(load, model, one.name, kernel[0], ours[0], kernel[1], ours[1]),
            )
    return rows


def measured() -> list[Measured]:
    """Return the rows that were measured last."""
    return [Measured(**row) for row in json.loads(MEASURED.read_text())["rows"]]


def latencies(row: Measured) -> tuple[float, float]:
    """Return the p99 of a row under the kernel and under the model."""
    return row.kernel_p99_ns, row.model_p99_ns


def most(figures: Callable[[Measured], tuple[float, float]], *loads: str) -> float:
    """Return the greatest factor between kernel and model in these loads, or in all of them."""
    pairs = [figures(row) for row in measured() if not loads or row.load in loads]
    return max(max(pair) / min(pair) for pair in pairs)


def table() -> str:
    """Return the table of the page, of the figures that were measured last."""
    rows = measured()
    cells = [
        [
            LOADS[row.load],
            f"`{row.scheduler}`",
            row.name,
            units.latency(row.kernel_p99_ns),
            units.latency(row.model_p99_ns),
            units.rate(row.kernel_iops),
            units.rate(row.model_iops),
        ]
        for row in rows
    ]
    headings = ["load", "scheduler", "class", "p99, kernel", "p99, model"]
    return markdown(Table([*headings, "IOPS, kernel", "IOPS, model"], cells, words=3))


def machine() -> str:
    """Return the machine on which the figures were measured."""
    return str(json.loads(MEASURED.read_text())["machine"])


def main() -> None:
    """Measure all loads on a file in the folder named, or in memory."""
    with tempfile.TemporaryDirectory(
        dir=sys.argv[1] if len(sys.argv) > 1 else "/dev/shm"
    ) as folder:
        rows = [row for load in LOADS for row in measure(load, Path(folder) / "disk.img")]
    version = Path("/proc/sys/kernel/osrelease").read_text().split("-")[0]
    found = {"machine": f"Linux {version}", "rows": [row._asdict() for row in rows]}
    MEASURED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
