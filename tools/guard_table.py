"""Writes docs/guard.md: programs beside floods on a disk, under a guard and under its rivals.

Root runs it where fio, SQLite, ext4 and control groups are: `make guard`. It takes an hour. Each
cell of a round starts the flood anew; a round has each way once, and figures are medians over them.
"""

import argparse
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from flushes import flushes
from measuring import choice, measuring

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/guard.md"

ONLINE = ROOT / "tools/guard_online.py"

TEXT = ROOT / "tools/guard.md"
"""The page without its figures."""

ROUNDS = 5

SECONDS = 5
"""Seconds in which a cell is measured."""

WARMING = 1.5
"""Seconds of a flood before they begin."""

SEARCHING = 90
"""Most seconds that a guard may take to decide."""

GOAL_MS = 1.0
"""Goal of the guard if the programs alone are faster."""

LIMIT = 0.75
"""Share of the flood that the fixed throttle lets through."""

ENDED = (0, 4, 11)
"""Fields of a disk's statistics that count requests that ended: reads, writes, discards."""

QUIET = 20
"""Fewer requests in half a second are little."""

SETTLING = 60
"""Most half seconds that a disk is given to have little to do before a cell."""

CALMING = 15
"""Most seconds that it is given then to be fast."""

MB = 1_000_000

STREAM = 512
"""MiB of a file of a flood."""


class Load(NamedTuple):
    """A flood of `dd`, several at once."""

    name: str
    words: str
    copies: int
    command: str
    """A pass of a copy: `$file` and `$old` are there before, and `$new` goes with the flood."""
    goal: float
    """Times that the programs' p99 alone may grow to."""
    keep: int
    """Percent of its bytes that the batch is to keep."""
    on_lane: bool = False


NEW_FILE = f"dd if=/dev/zero of=$new bs=1M count={STREAM // 2} conv=fsync"

LOADS = [
    Load("direct reads", "", 8, "dd if=$file of=/dev/null bs=1M iflag=direct", 1.5, 70),
    Load(
        "direct writes",
        "",
        8,
        f"dd if=/dev/zero of=$old bs=1M count={STREAM} oflag=direct conv=notrunc",
        1.5,
        70,
    ),
    Load(
        "buffered reads",
        "of cold files",
        4,
        "dd if=$file iflag=nocache count=0; dd if=$file of=/dev/null bs=1M",
        1.5,
        70,
    ),
    Load("buffered writes", "of new files, with fsync", 4, NEW_FILE, 3, 50),
    Load("buffered writes on a lane", "", 4, NEW_FILE, 3, 50, on_lane=True),
]

WAYS = ["alone", "nothing", "idle class", "bfq, weights 10 : 1", "throttle, 75 %", "guard"]

DIRTY = "guard, --dirty-bytes 64MiB"
"""A guard that bounds the page cache, for what is written there."""


@dataclass(frozen=True)
class Cell:
    """Figures of one way in one round."""

    reads_ms: float
    reads_p50_ms: float
    reads_done: float
    """Share of the reads that were due."""
    commits_ms: float
    commits_done: float
    batch: float
    """Bytes in a second."""
    means: str = ""


def run(*words: str | Path) -> str:
    """Return the output of a command."""
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return done.stdout


class OnlineProcess:
    """The process of the online programs."""

    def __init__(self, folder: Path) -> None:
        """Start it; it works in `folder`."""
        self.process = subprocess.Popen(
            [sys.executable, ONLINE, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def work(self, seconds: float) -> dict[str, Any]:
        """Let it work, and return its figures."""
        assert self.process.stdin
        assert self.process.stdout
        print(seconds, file=self.process.stdin, flush=True)
        return dict(json.loads(self.process.stdout.readline()))

    def end(self) -> None:
        """End it."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its children, and wait until their last write is over."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    with suppress(ProcessLookupError):
        while True:
            os.killpg(process.pid, 0)
            time.sleep(0.05)


def ways(load: Load) -> list[str]:
    """Return the ways under which a load is measured."""
    return [*WAYS, DIRTY] if load.command == NEW_FILE and not load.on_lane else WAYS


class Groups:
    """Control groups for the rivals: of version 1 if there is its I/O controller, else of 2."""

    def __init__(self) -> None:
        """Make none yet."""
        self.first = Path("/sys/fs/cgroup/blkio")
        self.is_old = self.first.is_dir()
        if not self.is_old:
            self.first = Path("/sys/fs/cgroup")

    @contextmanager
    def made(self, name: str) -> Iterator[Path]:
        """A group that is there for a block, after which its processes are in the root again."""
        group = self.first / f"guard-table-{name}"
        group.mkdir()
        try:
            yield group
        finally:
            for pid in (group / "cgroup.procs").read_text().split():
                with suppress(ProcessLookupError):
                    (self.first / "cgroup.procs").write_text(pid)
            group.rmdir()

    def weigh(self, group: Path, weight: int) -> None:
        """Give a group a weight under bfq."""
        (group / ("blkio.bfq.weight" if self.is_old else "io.bfq.weight")).write_text(str(weight))

    def throttle(self, group: Path, device: str, rate: int) -> None:
        """Let a group read and write no more than so many bytes in a second."""
        if self.is_old:
            for kind in ("read", "write"):
                file = group / f"blkio.throttle.{kind}_bps_device"
                file.write_text(f"{device} {rate}")
        else:
            (group / "io.max").write_text(f"{device} rbps={rate} wbps={rate}")


class FloodedDisk:
    """A disk with the files of the programs, and of the floods."""

    def __init__(self, disk: str, folder: Path, lane: Path | None, online: OnlineProcess) -> None:
        """Use `folder`, which is on `disk`, and a lane that is on it too."""
        self.disk, self.folder, self.lane, self.online = disk, folder, lane, online
        self.groups = Groups()
        self.plans = Path(tempfile.mkdtemp(prefix="penstock-guard-table-"))
        self.goal_ms = GOAL_MS
        self.flooded: dict[str, float] = {}
        """Bytes in a second of each load when nothing holds it back."""

    @property
    def queue(self) -> Path:
        """The folder of its queue."""
        return Path("/sys/block", self.disk, "queue")

    def moved(self) -> float:
        """Return the bytes that the disk has read and written."""
        fields = Path("/sys/block", self.disk, "stat").read_text().split()
        return 512.0 * (int(fields[2]) + int(fields[6]))

    def settle(self) -> None:
        """Wait until the disk has little to do, and answers as fast as it does alone.

        Unlinked files are discarded some time later, and a virtual disk works off what its host has
        taken in.
        """
        stat = Path("/sys/block", self.disk, "stat")
        for _ in range(SETTLING):
            before = stat.read_text().split()
            time.sleep(0.5)
            after = stat.read_text().split()
            if sum(int(after[field]) - int(before[field]) for field in ENDED) < QUIET:
                break
        for _ in range(CALMING):
            if self.online.work(1)["reads"][1] < GOAL_MS:
                break

    @contextmanager
    def flood(self, load: Load, group: Path | None, prefix: Sequence[str]) -> Iterator[int]:
        """A flood that runs for a block: the process that the others are children of."""
        folder = self.lane if load.on_lane else self.folder
        assert folder is not None
        enter = "" if group is None else f"echo $$ >{group}/cgroup.procs\n"
        files = {"file": self.folder / "scan", "old": self.folder / "old", "new": folder / "new"}
        lines = []
        for copy in range(load.copies):
            names = "; ".join(f"{name}={path}-{copy}" for name, path in files.items())
            lines.append(f"{names}\n(while :; do {load.command}; done) >/dev/null 2>&1 &")
        script = f"{enter}{chr(10).join(lines)}\nwait\n"
        process = subprocess.Popen([*prefix, "sh", "-c", script], start_new_session=True)
        try:
            time.sleep(WARMING)
            yield process.pid
        finally:
            end(process)
            for path in folder.glob("new-*"):
                path.unlink()
            os.sync()

    def measured(self, means: str = "") -> Cell:
        """Let the online programs work, and return what was seen."""
        before, began = self.moved(), time.monotonic()
        figures = self.online.work(SECONDS)
        moved, seconds = self.moved() - before, time.monotonic() - began
        p50, p99 = figures["reads"]
        return Cell(
            reads_ms=p99,
            reads_p50_ms=p50,
            reads_done=figures["reads_done"],
            commits_ms=figures["commits"],
            commits_done=figures["commits_done"],
            batch=moved / seconds,
            means=means,
        )

    def cell(self, load: Load, way: str) -> Cell:
        """Measure one way against a load."""
        self.settle()
        with ExitStack() as stack:
            if way == "alone":
                return self.measured()
            group: Path | None = None
            prefix: Sequence[str] = ()
            if way == "idle class":
                prefix = ("ionice", "-c3")
            elif way.startswith("bfq"):
                stack.enter_context(choice(self.queue / "scheduler", "bfq"))
                group = stack.enter_context(self.groups.made("batch"))
                first = stack.enter_context(self.groups.made("online"))
                self.groups.weigh(group, 50)
                self.groups.weigh(first, 500)
                (first / "cgroup.procs").write_text(str(self.online.process.pid))
            elif way.startswith("throttle"):
                group = stack.enter_context(self.groups.made("batch"))
                device = Path("/sys/block", self.disk, "dev").read_text().strip()
                self.groups.throttle(group, device, int(LIMIT * self.flooded[load.name]))
            pid = stack.enter_context(self.flood(load, group, prefix))
            if way.startswith("guard"):
                return self.guarded(load, pid, *way.split()[1:])
            cell = self.measured()
            if way == "nothing":
                self.flooded[load.name] = cell.batch
            return cell

    def guarded(self, load: Load, pid: int, *options: str) -> Cell:
        """Start a guard, wait until it has decided, and measure."""
        metrics = self.plans / "metrics.prom"
        plan = self.plans / f"{''.join((load.name, *options))}.toml"
        metrics.unlink(missing_ok=True)
        guard = subprocess.Popen(
            [
                *(sys.executable, "-m", "penstock", "guard", self.disk, "--json"),
                *("--online", f"pid:{self.online.process.pid}", "--batch", f"pid:{pid}"),
                *("--goal", f"online.p99 <= {self.goal_ms:.3f}ms", "--keep", f"{load.keep}%"),
                *("--plan", str(plan), "--metrics", str(metrics), *options),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            deadline = time.monotonic() + SEARCHING
            while time.monotonic() < deadline and not decided(metrics):
                self.online.work(2)
            cell = self.measured()
        finally:
            guard.send_signal(signal.SIGINT)
            result = json.loads(guard.communicate()[0])
        means = result["kept"] if result["met"] else f"{result['kept']} (nearest)"
        return Cell(**{**vars(cell), "means": means})


def decided(metrics: Path) -> bool:
    """Whether a guard that writes these metrics has decided."""
    try:
        text = metrics.read_text()
    except FileNotFoundError:
        return False
    return re.search(r"^penstock_guard_decided\S* 1$", text, re.MULTILINE) is not None


def prepare(folder: Path) -> None:
    """Write the files that are read, and those that are written again."""
    streams = {f"{name}-{copy}": STREAM for name in ("scan", "old") for copy in range(8)}
    sizes = {"online": 1024} | streams
    for name, size in sizes.items():
        target = f"of={folder / name}"
        run("dd", "if=/dev/urandom", target, "bs=1M", f"count={size}", "oflag=direct")


@contextmanager
def own_disk(folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """The disk of a folder, a folder on it, and a lane on it."""
    with tempfile.TemporaryDirectory(dir=folder, prefix="guard-table-") as name:
        work = Path(name)
        disk = re.sub(r"p?\d+$", "", Path(run("df", "--output=source", work).split()[1]).name)
        penstock = (sys.executable, "-m", "penstock", "guard", "lane")
        run(*penstock, "make", "--size", "6GiB", "--at", work / "lane")
        try:
            yield disk, work, work / "lane"
        finally:
            run(*penstock, "remove", work / "lane", "--data")


@contextmanager
def loop_disk(folder: Path) -> Iterator[tuple[str, Path, None]]:
    """A loop device over a file, with a file system."""
    with tempfile.TemporaryDirectory(dir=folder, prefix="guard-table-") as name:
        image, at = Path(name, "image"), Path(name, "at")
        # Blocks that were only reserved would each take a commit of the file system below.
        run("dd", "if=/dev/zero", f"of={image}", "bs=1M", "count=16384", "oflag=direct")
        node = run("losetup", "--find", "--show", "--direct-io=on", image).strip()
        try:
            (Path("/sys/block", Path(node).name, "queue/scheduler")).write_text("mq-deadline")
            run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", node)
            at.mkdir()
            run("mount", node, at)
            try:
                yield Path(node).name, at, None
            finally:
                run("umount", at)
        finally:
            run("losetup", "--detach", node)


def table(rows: Mapping[tuple[str, str], Sequence[Cell]]) -> Iterator[str]:
    """Yield the lines of the table of a disk."""
    yield (
        "| batch | with | reads p50 | reads p99 | commits p99 | batch keeps | reads done "
        "| commits done | means |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for (load, way), cells in rows.items():
        # What a lane costs is part of the price.
        floods = rows.get((load.removesuffix(" on a lane"), "nothing"), rows[load, "nothing"])
        flood = middle(floods, "batch")

        def shown(field: str, cells: Sequence[Cell] = cells) -> str:
            return milliseconds(middle(cells, field))

        batch = "–" if way == "alone" else f"{100 * middle(cells, 'batch') / flood:.0f} %"
        if cells is floods:
            batch = f"{flood / MB:,.0f} MB/s"
        means = sorted({cell.means for cell in cells})
        yield (
            f"| {load} | {way} | {shown('reads_p50_ms')} | {shown('reads_ms')} "
            f"| {shown('commits_ms')} | {batch} | {100 * middle(cells, 'reads_done'):.0f} % "
            f"| {100 * middle(cells, 'commits_done'):.0f} % | {'; '.join(means)} |"
        )


def milliseconds(value: float) -> str:
    """Return a time of so many milliseconds in three digits."""
    return f"{value:.3g} ms" if value < 1000 else f"{value / 1000:.3g} s"


def middle(cells: Sequence[Cell], field: str) -> float:
    """Return the median of a field."""
    return float(median(getattr(cell, field) for cell in cells))


def measure(
    disk: str, folder: Path, lane: Path | None, chosen: Sequence[Load], rounds: int
) -> dict[tuple[str, str], list[Cell]]:
    """Measure every load under every way, in rounds."""
    prepare(folder)
    online = OnlineProcess(folder)
    try:
        bench = FloodedDisk(disk, folder, lane, online)
        loads = [load for load in chosen if lane is not None or not load.on_lane]
        rows: dict[tuple[str, str], list[Cell]] = {
            (load.name, way): [] for load in loads for way in ways(load)
        }
        # A disk works off the writes of a flood for minutes: all rounds of a load come together.
        for load in loads:
            for number in range(rounds):
                alone = [cell.reads_ms for cell in rows[load.name, "alone"]]
                bench.goal_ms = max(GOAL_MS, load.goal * min(alone, default=0.0))
                for way in ways(load):
                    cell = bench.cell(load, way)
                    rows[load.name, way].append(cell)
                    print(number, disk, load.name, way, cell, file=sys.stderr, flush=True)
        return rows
    finally:
        online.end()


PLACES = {"own": ("The machine's own disk", own_disk), "loop": ("A loop device", loop_disk)}


def write_page(page: Path, template: Path, tables: Mapping[str, Iterable[str]]) -> None:
    """Write a page of its template and a section for each table, named after disk and kernel.

    Sections that the page has and that are not made anew are kept.
    """
    before = page.read_text().split("\n## ")[1:] if page.exists() else []
    sections = {section.splitlines()[0]: section.rstrip() + "\n" for section in before}
    made = f"{os.cpu_count()} processors, {time.strftime('%Y-%m-%d')}"
    for name, lines in tables.items():
        heading = f"{name}, Linux {platform.release()}"
        sections[heading] = "\n".join([heading, "", f"{made}.", "", *lines, ""])
    kept = [f"\n## {section}" for section in sections.values()]
    page.write_text(template.read_text() + "".join(kept))


def main() -> None:
    """Measure the disks, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("/var/tmp"))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--disk", choices=list(PLACES), action="append")
    parser.add_argument("--load", choices=[load.name for load in LOADS], action="append")
    chosen = parser.parse_args()
    tables: dict[str, Iterable[str]] = {}
    for key in chosen.disk or PLACES:
        name, place = PLACES[key]
        name = ", ".join([name, *(chosen.load or [])])
        with measuring(), place(chosen.folder) as (disk, work, lane):
            loads = [load for load in LOADS if chosen.load is None or load.name in chosen.load]
            rows = measure(disk, work, lane, loads, chosen.rounds)
            tables[name] = [flushes(work / "old-0"), "", *table(rows)]
    write_page(PAGE, TEXT, tables)


if __name__ == "__main__":
    main()
