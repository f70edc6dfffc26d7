"""Writes docs/served.md: programs on a served target during floods, under policies and without.

Root runs it where fio, SQLite, ext4 and loop devices are: `make served`. It takes an hour. The same
file is a loop device of the kernel, and a served device under each policy; rounds alternate, and
figures are medians over them.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from guard_table import LOADS, Cell, FloodedDisk, OnlineProcess, middle, milliseconds, prepare, run

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/served.md"

TEXT = ROOT / "tools/served.md"
"""The page without its figures."""

ROUNDS = 5

SIZE = 12 << 30
"""Bytes of the file."""

RAW = "the kernel's loop device"

POLICIES = ("noop", "size-priority")

MB = 1_000_000


@contextmanager
def raw(image: Path) -> Iterator[str]:
    """A loop device over the file without the mark at its end."""
    words = ("--direct-io=on", f"--sizelimit={SIZE}")
    node = run("losetup", "--find", "--show", *words, image).strip()
    try:
        yield node
    finally:
        run("losetup", "--detach", node)


@contextmanager
def served(image: Path, policy: str, *words: str) -> Iterator[str]:
    """A served device over the file."""
    server = subprocess.Popen(
        [*(sys.executable, "-m", "penstock", "serve", str(image), "--policy", policy), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()


@contextmanager
def mounted(node: str, at: Path) -> Iterator[None]:
    """A file system that is mounted for a block."""
    run("mount", node, at)
    try:
        yield
    finally:
        run("umount", at)


def rows_of(image: Path, at: Path, rounds: int) -> dict[tuple[str, str], list[Cell]]:
    """Measure each load on each device, alone and during its flood, in rounds."""
    loads = [load for load in LOADS if not load.on_lane]
    rows: dict[tuple[str, str], list[Cell]] = {}
    with served(image, "noop", "--create", f"{SIZE}B") as node:
        run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", node)
        with mounted(node, at):
            prepare(at)
    for number in range(rounds):
        for device in (RAW, *POLICIES):
            place = raw(image) if device == RAW else served(image, device, "--keep-data")
            with place as node, mounted(node, at):
                online = OnlineProcess(at)
                try:
                    disk = FloodedDisk(Path(node).name, at, None, online)
                    for load in loads:
                        for way in ("alone", "nothing"):
                            cell = disk.cell(load, way)
                            rows.setdefault((load.name, f"{device}, {way}"), []).append(cell)
                            print(number, load.name, device, way, cell, file=sys.stderr, flush=True)
                finally:
                    online.end()
    return rows


def table(rows: Mapping[tuple[str, str], Sequence[Cell]]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield (
        "| flood | device | reads p50 alone | during | reads p99 alone | during | of alone "
        "| commits p99 alone | during | flood keeps |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    loads = dict.fromkeys(load for load, _ in rows)
    for load in loads:
        flood = middle(rows[load, f"{RAW}, nothing"], "batch")
        base = middle(rows[load, f"{RAW}, alone"], "reads_ms")
        for device in (RAW, *POLICIES):
            alone, during = rows[load, f"{device}, alone"], rows[load, f"{device}, nothing"]
            kept = middle(during, "batch")
            share = f"{kept / MB:,.0f} MB/s" if device == RAW else f"{100 * kept / flood:.0f} %"
            times = [
                milliseconds(middle(cells, field))
                for field in ("reads_p50_ms", "reads_ms", "commits_ms")
                for cells in (alone, during)
            ]
            times.insert(4, f"{middle(during, 'reads_ms') / base:.1f} ×")
            yield f"| {load} | {device} | {' | '.join(times)} | {share} |"


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("/var/tmp"))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder, prefix="served-table-") as name:
        at = Path(name, "at")
        at.mkdir()
        lines = list(table(rows_of(Path(name, "image"), at, chosen.rounds)))
    machine = f"Linux {platform.release()}, {os.cpu_count()} processors"
    text = TEXT.read_text()
    text = text.replace("{machine}", machine).replace("{date}", time.strftime("%Y-%m-%d"))
    PAGE.write_text(text.replace("{tables}", "\n".join(lines)))


if __name__ == "__main__":
    main()
