"""The online programs of `make guard`: reads by fio, and transactions of SQLite.

The argument is the folder in which they work. Each line of the input is a number of seconds, for
which they work and print a line of figures.
"""

import json
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

READS = 200
"""Reads of 4 KiB in a second."""

COMMITS = 50
"""Transactions in a second."""


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile of values; infinity if there are none."""
    ranked = sorted(values)
    return ranked[min(int(share * len(ranked)), len(ranked) - 1)] if ranked else float("inf")


def read(*words: str) -> str:
    """Return the output of a command."""
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def main(folder: Path) -> None:
    """Read and commit whenever a line says so."""
    for line in sys.stdin:
        seconds = float(line)
        times: list[float] = []
        commits = threading.Thread(target=commit, args=(folder / "sqlite.db", seconds, times))
        commits.start()
        done = json.loads(
            read(
                *("fio", "--name=reads", "--thread", "--output-format=json", "--rw=randread"),
                *("--bs=4k", "--direct=1", "--ioengine=libaio", "--iodepth=32"),
                *("--randrepeat=0", "--norandommap", f"--rate_iops={READS}", "--time_based"),
                *(f"--runtime={seconds}", f"--filename={folder / 'online'}"),
                # A completion's latency alone lacks the wait for a place in a short queue.
                *("--lat_percentiles=1", "--clat_percentiles=0"),
            )
        )["jobs"][0]["read"]
        commits.join()
        lines = done["lat_ns"].get("percentile", {})
        reads = [lines.get(key, float("inf")) / 1e6 for key in ("50.000000", "99.000000")]
        figures = {
            "reads": reads,
            "reads_done": done["total_ios"] / (READS * seconds),
            "commits": percentile(times, 0.99) * 1e3,
            "commits_done": len(times) / (COMMITS * seconds),
        }
        print(json.dumps(figures), flush=True)


def commit(path: Path, seconds: float, times: list[float]) -> None:
    """Commit at a rate, and add each time from the moment at which it was due."""
    with suppress(FileNotFoundError):
        path.unlink()
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE entries (number, text)")
    began = time.monotonic()
    for number in range(int(COMMITS * seconds)):
        due = began + number / COMMITS
        time.sleep(max(due - time.monotonic(), 0))
        if time.monotonic() - began > seconds:
            break
        database.execute("INSERT INTO entries VALUES (?, ?)", (number, "x" * 200))
        times.append(time.monotonic() - due)
    database.close()
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
