"""Writes docs/served.md: programs on a served target during floods, under policies and without.

Root runs it where fio, SQLite, ext4 and loop devices are: `make served`. It takes an hour. The same
target is used as it is, and as a served device under each policy; rounds alternate, and figures are
medians over them.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from guard_table import (
    LOADS,
    Cell,
    FloodedDisk,
    OnlineProcess,
    middle,
    milliseconds,
    prepare,
    run,
    write_page,
)
from measuring import measuring
from penstock.served.process import OURS, served

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/served.md"

TEXT = ROOT / "tools/served.md"
"""The page without its figures."""

ROUNDS = 5

SIZE = 12 << 30
"""Bytes of the target."""

RAW = "as it is"

POLICIES = {
    "noop": ("noop",),
    "size-priority": ("size-priority",),
    "size-priority, target 0.75 ms": (
        "size-priority",
        *("--set", "size-priority.long_in_flight.target=750us"),
    ),
}
"""Policies with their settings, as `penstock serve --policy` takes them, by their rows."""

MB = 1_000_000

MODEL = (ROOT / "examples/devices/ssd-sata.toml", 'link_rate = "550MB/s"', 'link_rate = "300MB/s"')
"""The file of a modelled disk, and a line of it with what is to stand there."""


@contextmanager
def behind_policy(target: str | Path, policy: str, *words: str) -> Iterator[str]:
    """A device over a target that is served through a policy for a block."""
    server = subprocess.Popen(
        [*OURS, "serve", str(target), "--policy", policy, *words],
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


class TableTarget:
    """A target that is used as it is, or served."""

    def __init__(self, path: str | Path, new: Sequence[str]) -> None:
        """Name it, and the options with which it is served for the first time."""
        self.path, self.new = path, new

    def device(self, way: str) -> AbstractContextManager[str]:
        """A block device for programs: itself, or under a policy."""
        if way == RAW:
            return self.as_it_is()
        return behind_policy(self.path, *POLICIES[way], "--keep-data")

    @contextmanager
    def as_it_is(self) -> Iterator[str]:
        """A block device without a policy; of a file one without the mark at its end."""
        if Path(self.path).is_block_device():
            yield str(self.path)
            return
        words = ("--direct-io=on", f"--sizelimit={SIZE}")
        node = run("losetup", "--find", "--show", *words, self.path).strip()
        try:
            yield node
        finally:
            run("losetup", "--detach", node)


@contextmanager
def own_disk(folder: Path) -> Iterator[TableTarget]:
    """A file on the disk of a folder."""
    yield TableTarget(folder / "image", ["--create", f"{SIZE}B"])


@contextmanager
def modelled_disk(folder: Path) -> Iterator[TableTarget]:
    """A modelled disk that moves 300 MB/s, whose data are in memory."""
    path, line, instead = MODEL
    text = path.read_text()
    assert line in text
    (folder / "disk.toml").write_text(text.replace(line, instead))
    with served(str(folder / "disk.toml"), "--size", f"{SIZE}B") as (node, _):
        yield TableTarget(node, ["--i-will-lose-data", str(node)])


PLACES = {
    "own": ("A file on the machine's own disk", own_disk),
    "model": ("A modelled SATA SSD at 300 MB/s", modelled_disk),
}


@contextmanager
def mounted(node: str, at: Path) -> Iterator[None]:
    """A file system that is mounted for a block."""
    run("mount", node, at)
    try:
        yield
    finally:
        run("umount", at)


def rows_of(target: TableTarget, at: Path, rounds: int) -> dict[tuple[str, str], list[Cell]]:
    """Measure each load in each way, alone and during its flood, in rounds."""
    loads = [load for load in LOADS if not load.on_lane]
    rows: dict[tuple[str, str], list[Cell]] = {}
    with behind_policy(target.path, "noop", *target.new) as node:
        run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", node)
        with mounted(node, at):
            prepare(at)
    for number in range(rounds):
        for device in (RAW, *POLICIES):
            with target.device(device) as node, mounted(node, at):
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
        "| flood | target | reads p50 alone | during | reads p99 alone | during | of alone "
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
    parser.add_argument("--disk", choices=list(PLACES), action="append")
    chosen = parser.parse_args()
    tables: dict[str, Iterable[str]] = {}
    for key in chosen.disk or PLACES:
        name, place = PLACES[key]
        with (
            measuring(),
            tempfile.TemporaryDirectory(dir=chosen.folder, prefix="served-table-") as work,
            place(Path(work)) as target,
        ):
            at = Path(work, "at")
            at.mkdir()
            tables[name] = table(rows_of(target, at, chosen.rounds))
    write_page(PAGE, TEXT, tables)


if __name__ == "__main__":
    main()
