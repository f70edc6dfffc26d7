"""A database's commits beside a bulk copy on one disk, with and without a gate.

    pip install apsw
    python examples/gate.py ./somewhere-on-the-disk

SQLite commits small transactions while another thread copies a file and makes it durable 64 MiB at
a time (`--sync-every`), as copies do that sync seldom. Three ways, in rounds of all of them: the
database alone; both as they are; both through one `penstock.Gate`, which lets short writes go first
and the copy in pieces. `apsw` is SQLite for Python with file systems written in Python: the
database's own writes and syncs go through the gate too, and in the other two ways through the same
code with plain files.
"""

import argparse
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeAlias

import apsw

import penstock

FEWEST = 10
"""Commits of a round, however long they take: a few have no percentiles."""

MB = 1_000_000
MIB = 1 << 20

CHUNKS = 4
"""Length of the file that is copied over and over, in what is synced at a time."""

PIECE = "512KiB"
"""What of it is at the disk at a time, so that a commit waits for that at most. Shorter pieces are
kinder to commits and dearer for the copy."""

DATABASE, JOURNAL, COPY = range(3)
"""The files, by number."""

Name: TypeAlias = apsw.URIFilename | str | None


class Disk(Protocol):
    """Writes and flushes of files by number, which both ways offer."""

    def write(self, offset: int, data: bytes, *, sync: bool = False, file: int = 0) -> None:
        """Write, durably if told so."""

    def flush(self, *, file: int = 0) -> None:
        """Make what was written durable."""

    def close(self) -> None:
        """End."""


class Plain:
    """The files as they are, each with a descriptor of its own."""

    def __init__(self, paths: list[Path]) -> None:
        """Open them."""
        self.files = [os.open(path, os.O_RDWR) for path in paths]

    def write(self, offset: int, data: bytes, *, sync: bool = False, file: int = 0) -> None:
        """Write, durably if told so."""
        os.pwrite(self.files[file], data, offset)
        if sync:
            self.flush(file=file)

    def flush(self, *, file: int = 0) -> None:
        """Make what was written durable."""
        os.fdatasync(self.files[file])

    def close(self) -> None:
        """Close them."""
        for file in self.files:
            os.close(file)


class Through(apsw.VFS):
    """SQLite's own file system, with writes and syncs of database and journal through a disk."""

    def __init__(self, disk: Disk) -> None:
        """A file system called `through`."""
        self.disk = disk
        super().__init__("through", base="")

    def xOpen(self, name: Name, flags: list[int]) -> apsw.VFSFile:
        """Open a file."""
        path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        number = JOURNAL if path.endswith("-journal") else DATABASE
        return ThroughFile(name, flags, self.disk, number)


class ThroughFile(apsw.VFSFile):
    """A file of SQLite whose writes go through the disk; all else is as it was."""

    def __init__(self, name: Name, flags: list[int], disk: Disk, number: int) -> None:
        """The disk's file of this number."""
        self.disk, self.number = disk, number
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        """Write as SQLite asks."""
        self.disk.write(offset, data, file=self.number)

    def xSync(self, flags: int) -> None:
        """Make what was written durable."""
        self.disk.flush(file=self.number)


def commits(database: apsw.Connection, until: Callable[[], bool]) -> list[float]:
    """Commit a row at a time until told, at least `FEWEST`; how long each took, in seconds."""
    took = []
    while len(took) < FEWEST or not until():
        begun = time.perf_counter()
        database.execute("insert into entries(text) values (?)", ("x" * 100,))
        took.append(time.perf_counter() - begun)
        time.sleep(0.002)  # a person, or the rest of the program
    return took


def copied(disk: Disk, chunk: int, stop: threading.Event) -> float:
    """Copy until told, `chunk` bytes durably at a time; bytes a second."""
    data, done, begun = bytes(range(256)) * (chunk // 256), 0, time.perf_counter()
    while not stop.is_set():
        disk.write(done % (CHUNKS * chunk), data, sync=True, file=COPY)
        done += chunk
    return done / (time.perf_counter() - begun)


def round_of(way: str, folder: Path, seconds: float, chunk: int) -> tuple[list[float], float]:
    """Run one way once: how long commits took, and how fast the copy was."""
    paths = [folder / name for name in ("app.db", "app.db-journal", "copy.img")]
    for path in paths[:COPY]:
        path.write_bytes(b"")
    if not paths[COPY].exists():
        paths[COPY].write_bytes(bytes(CHUNKS * chunk))
    gated = way == "gate"
    disk = (
        penstock.Gate(*paths, adopt=True, split=PIECE, long_in_flight=PIECE)
        if gated
        else Plain(paths)
    )
    vfs = Through(disk)
    database = apsw.Connection(str(paths[DATABASE]), vfs="through")
    # The gate knows the journal that was there when it was opened. In the default mode, `delete`,
    # each transaction makes a new one under the same name, which the gate would never write to.
    database.execute("pragma journal_mode = persist; pragma synchronous = full")
    database.execute("create table entries(id integer primary key, text)")
    stop, speed = threading.Event(), [0.0]
    copy = threading.Thread(target=lambda: speed.append(copied(disk, chunk, stop)))
    if way != "alone":
        copy.start()
    end = time.perf_counter() + seconds
    took = commits(database, lambda: time.perf_counter() > end)
    stop.set()
    if way != "alone":
        copy.join()
    database.close()
    vfs.unregister()
    disk.close()
    return took, speed[-1]


def main() -> None:
    """Run the rounds and print what they gave."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where to write, on the disk in question")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each way in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--sync-every", type=int, default=64, help="MiB that the copy makes durable at a time"
    )
    asked = parser.parse_args()
    if asked.sync_every < 1:
        parser.error(f"found --sync-every {asked.sync_every}; expected 1 at least")
    ways = ("alone", "without", "gate")
    p50: dict[str, list[float]] = {way: [] for way in ways}
    p99: dict[str, list[float]] = {way: [] for way in ways}
    speed: dict[str, list[float]] = {way: [] for way in ways}
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        for _ in range(asked.rounds):
            for way in ways:
                took, fast = round_of(way, Path(folder), asked.seconds, asked.sync_every * MIB)
                cuts = statistics.quantiles(took, n=100)
                p50[way].append(cuts[49])
                p99[way].append(cuts[98])
                speed[way].append(fast)
    rounds = f"{asked.rounds} round{'s' if asked.rounds != 1 else ''}"
    print(f"medians of {rounds}, with the least and the greatest")
    print(f"{'':24}{'commit p50':>26}{'commit p99':>26}{'copy':>26}")
    names = {"alone": "the database alone", "without": "beside a copy", "gate": "through the gate"}
    for way in ways:
        cells = [
            spread([1000 * seconds for seconds in p50[way]], "ms"),
            spread([1000 * seconds for seconds in p99[way]], "ms"),
            spread([rate / MB for rate in speed[way]], "MB/s") if way != "alone" else "–",
        ]
        print(f"{names[way]:24}" + "".join(f"{cell:>26}" for cell in cells))
    tail = statistics.median(p99["gate"]) / statistics.median(p99["without"])
    price = statistics.median(speed["gate"]) / statistics.median(speed["without"])
    print(f"Through the gate the 99th percentile of a commit is {100 * tail:.0f} % of", end=" ")
    print(f"what it is without, and the copy runs at {100 * price:.0f} % of its speed.")


def spread(values: list[float], unit: str) -> str:
    """A median with its range."""
    low, high = min(values), max(values)
    middle, least, most = (digits(value) for value in (statistics.median(values), low, high))
    return f"{middle} ({least}–{most}) {unit}"


def digits(value: float) -> str:
    """A figure to three digits, and whole above a hundred."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
