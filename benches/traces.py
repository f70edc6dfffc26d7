"""Speed of reading a trace, compared with polars reading the same CSV: best of 7 runs each.

Ours goes on to describe the trace; polars only reads columns of numbers and names.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import polars

from penstock import _native

ROOT = Path(__file__).parents[1]
TRACE = ROOT / "examples/traces/pgbench-backup.blkparse.gz"
RUNS = 7


def best(work: Callable[[], object]) -> float:
    """The shortest of some runs, in seconds: whatever disturbs a run only slows it."""

    def timed() -> float:
        begun = time.perf_counter()
        work()
        return time.perf_counter() - begun

    return min(timed() for _ in range(RUNS))


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        csv = Path(folder) / "trace.csv"
        _native.trace_convert(TRACE, csv, into="msr")
        megabytes = csv.stat().st_size / 1e6
        ours = best(lambda: _native.trace_describe(csv, format="msr"))
        peer = best(lambda: polars.read_csv(csv, has_header=False))
        print(f"MSR CSV of {megabytes:.1f} MB: read and described at {megabytes / ours:.0f} MB/s,")
        print(f"  {peer / ours:.2f} x polars.read_csv ({megabytes / peer:.0f} MB/s, all cores)")


if __name__ == "__main__":
    main()
