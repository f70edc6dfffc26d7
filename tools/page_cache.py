"""Writes the table of docs/devices/page-cache.md: the kernel's page cache and the model.

The kernel's cache runs in real time, on ext4 over a modelled disk that is served; the model runs in
virtual time. Root runs it on a Linux with FUSE, loop devices and the memory controller of cgroup
v1: `make page-cache`. It takes eight minutes. `tools/page_cache.py random-read` prints the lines
of one job and leaves the page as it is.
"""

import json
import os
import platform
import re
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import polars as pl

import penstock

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/devices/page-cache.md"

BLOCK = re.compile(
    r"(?<=<!-- figures of the kernel -->\n).*?(?=<!-- end of figures -->)", re.DOTALL
)
"""The part of the page that is written."""

JOBS = ("sequential-read", "random-read", "sequential-write", "random-write", "mixed")
ROUNDS = 3

DEVICE = "hdd-7200"
DISK_SIZE = "8GiB"
FILE_SIZE = "1GiB"
DEPTH = 4
SCHEDULER = "mq-deadline"

MEMORY = 64 << 20
"""Bytes of the cache that a run should have."""

PROCESS = 7 << 20
"""Bytes that the limit of a run's group leaves for its process."""

DIRTY = MEMORY // 5
"""Most dirty bytes of the disk: the default of `dirty_ratio`."""

HIT_NS = 200_000
"""A request that takes less was answered from memory: few accesses of the disk are as short."""

GROUPS = Path("/sys/fs/cgroup/memory")
"""The memory groups of cgroup v1."""


class Disk(NamedTuple):
    """A served disk with ext4 on it."""

    node: Path
    report: Path
    """The file in which the server reports how late it answered."""
    file: Path
    """The file of the jobs."""

    @property
    def settings(self) -> Path:
        """The folder of its settings."""
        return Path("/sys/block", self.node.name)


class Figures(NamedTuple):
    """Figures of a run after its warm-up."""

    megabytes: float
    """Megabytes a second."""
    hits: float
    """Share of the requests that memory answered."""
    commands: float
    """Commands a second at the disk."""


class KernelRun(NamedTuple):
    """A run through the kernel's page cache."""

    figures: Figures
    memory: float
    """Mean bytes of its pages in memory after the warm-up."""
    late_ns: float
    """Median lateness of the disk."""


class Watcher:
    """Reads after the warm-up how much memory a run's pages take, and what reaches the disk."""

    def __init__(self, job: Path, disk: Disk, group: Path) -> None:
        """Begin with the run."""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(warmup(job), disk, group))
        self._pages: list[int] = []
        self._commands: list[tuple[float, int]] = []
        self._thread.start()

    def _watch(self, warmup: float, disk: Disk, group: Path) -> None:
        ended = self._ended.wait(warmup)
        while not ended:
            self._commands.append((time.monotonic(), commands(disk)))
            self._pages.append(statistic(group, "cache"))
            ended = self._ended.wait(0.2)

    def end(self) -> tuple[float, float]:
        """Return the mean bytes of pages, and the commands a second at the disk."""
        self._ended.set()
        self._thread.join()
        (began, first), (ended, last) = self._commands[0], self._commands[-1]
        return fmean(self._pages), (last - first) / (ended - began)


def warmup(job: Path) -> float:
    """Return the seconds of a job's warm-up."""
    return float(tomllib.loads(job.read_text())["warmup"].removesuffix("s"))


def statistic(group: Path, name: str) -> int:
    """Return a figure of a memory group in bytes."""
    text = (group / "memory.stat").read_text()
    return int(dict(line.split() for line in text.splitlines())[name])


def commands(disk: Disk) -> int:
    """Return the number of reads and writes that a disk has completed."""
    counts = (disk.settings / "stat").read_text().split()
    return int(counts[0]) + int(counts[4])


def run(job: Path, folder: Path, **options: Any) -> tuple[dict[str, Any], float, float]:
    """Run a job; return its result, its megabytes a second, and the share of hits."""
    table = folder / "requests.parquet"
    (result,) = penstock.compare(job, detail=False, requests=table, **options).raw["runs"]
    if "failure" in result or "interrupted" in result:
        raise SystemExit(f"error: the run of {job} did not reach its end")
    requests = pl.read_parquet(table).filter(pl.col("due_ns") >= warmup(job) * 1e9)
    hits = requests.select((pl.col("done_ns") - pl.col("due_ns") < HIT_NS).mean()).item()
    (class_,) = result["classes"]
    return dict(result), class_["bw_bytes"] / 1e6, hits


def through_kernel(job: Path, disk: Disk, group: Path, folder: Path) -> tuple[Figures, float]:
    """Run a job through the kernel's page cache; return its figures, and the bytes of its pages.

    A process of its own does it, which joins the group first: what it had in memory before does not
    count there.
    """
    (group / "cgroup.procs").write_text(str(os.getpid()))
    watcher = Watcher(job, disk, group)
    try:
        _, rate, hits = run(
            job,
            folder,
            policies=f"kernel:{SCHEDULER}",
            on=disk.file,
            engine="psync",
            set={"live.advice": "none"},
        )
    finally:
        memory, at_disk = watcher.end()
    return Figures(rate, hits, at_disk), memory


def modelled(job: Path, disk: Disk, memory: float, folder: Path) -> Figures:
    """Run a job through the modelled page cache with so much memory."""
    ahead = (disk.settings / "queue/read_ahead_kb").read_text().strip()
    sysctls = {
        key: (Path("/proc/sys/vm") / f"{key}_centisecs").read_text().strip()
        for key in ("dirty_expire", "dirty_writeback")
    }
    sets = {
        "page_cache.memory": f"{int(memory) // 4096 * 4}KiB",
        "page_cache.dirty_ratio": f"{100 * DIRTY / memory:.2f}%",
        "page_cache.dirty_background_ratio": f"{50 * DIRTY / memory:.2f}%",
        "page_cache.read_ahead": f"{ahead}KiB",
        **{f"page_cache.{key}": f"{10 * int(value)}ms" for key, value in sysctls.items()},
    }
    result, rate, hits = run(job, folder, policies=SCHEDULER, on=DEVICE, set=sets)
    accesses = result["device_stats"]["service_ms"]["n"]
    return Figures(rate, hits, accesses / result["duration_s"])


@contextmanager
def served() -> Iterator[tuple[Path, Path]]:
    """Yield the node and the report of a served disk."""
    words = ["serve", DEVICE, "--size", DISK_SIZE, "--depth", str(DEPTH), "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "penstock", *words, "--until-stdin-ends"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            line = server.stdout.readline()
            if not line:
                raise SystemExit(server.wait() or 1)
            places = json.loads(line)
            yield Path(places["node"]), Path(places["report"])
        finally:
            server.stdin.close()
            server.wait()


@contextmanager
def mounted(node: Path) -> Iterator[Path]:
    """Yield the folder in which a new ext4 on a disk is mounted."""
    options = "lazy_itable_init=0,lazy_journal_init=0,nodiscard"
    subprocess.run(["mkfs.ext4", "-q", "-F", "-E", options, node], check=True)
    with TemporaryDirectory(prefix="penstock-page-cache-") as folder:
        subprocess.run(["mount", node, folder], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


@contextmanager
def whole_commands(settings: Path) -> Iterator[None]:
    """Make no command longer than a request of FUSE, which would reach the disk in parts."""
    longest = settings / "queue/max_sectors_kb"
    before = longest.read_text()
    try:
        longest.write_text("1024")
        yield
    finally:
        longest.write_text(before)


@contextmanager
def dirty_limit(settings: Path) -> Iterator[None]:
    """Bound the dirty bytes of a disk as those of a whole machine are bound.

    The thresholds of the kernel are those of the machine, also in a memory group.
    """
    limit, strict = settings / "bdi/max_bytes", settings / "bdi/strict_limit"
    share = settings / "bdi/max_ratio_fine"
    before = share.read_text(), strict.read_text()
    try:
        strict.write_text("1")
        limit.write_text(str(DIRTY))
        yield
    finally:
        share.write_text(before[0])
        strict.write_text(before[1])


@contextmanager
def memory_group() -> Iterator[Path]:
    """Yield a memory group with room for the pages of a run, and for its process."""
    group = GROUPS / f"penstock-page-cache-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(MEMORY + PROCESS))
        yield group
    finally:
        group.rmdir()


def measured(job: Path, disk: Disk, folder: Path) -> KernelRun:
    """Run a job through the kernel's page cache in a memory group of its own."""
    disk.report.write_text("")
    with (
        memory_group() as group,
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
    ):
        before = commands(disk)
        figures, memory = pool.submit(through_kernel, job, disk, group, folder).result()
        pool.shutdown()
    report = json.loads(disk.report.read_text())
    print("commands", commands(disk) - before, "served", report["requests"])
    late = report["emulation"]["p50_ns"]
    return KernelRun(figures, memory, late)


HEAD = """\
| job | | kernel | range | model | differs |
|---|---|---|---|---|---|
"""


def lines(name: str, kernel: Sequence[KernelRun], model: Sequence[Figures]) -> Iterator[str]:
    """Yield the lines of a job."""
    forms = {"megabytes": ("MB/s", "{:.3g}"), "hits": ("hits", "{:.1%}"), "commands": ("commands/s", "{:.3g}")}
    for field, (label, form) in forms.items():
        ours = [getattr(run.figures, field) for run in kernel]
        theirs = median(getattr(figures, field) for figures in model)
        middle, low, high = median(ours), min(ours), max(ours)
        texts = [form.format(value).replace("%", " %") for value in (middle, low, high, theirs)]
        differs = f"{theirs / middle - 1:+.1%}".replace("%", " %")
        yield f"| {name} | {label} | {texts[0]} | {texts[1]} to {texts[2]} | {texts[3]} | {differs} |"


def compared(name: str, disk: Disk, folder: Path) -> list[str]:
    """Run a job through both caches, and return its lines of the table."""
    job = ROOT / f"examples/page-cache/{name}.toml"
    kernel = []
    for _ in range(ROUNDS):
        os.sync()
        kernel.append(measured(job, disk, folder))
        print(name, kernel[-1], flush=True)
    model = [modelled(job, disk, run.memory, folder) for run in kernel]
    print(name, model)
    return list(lines(name, kernel, model))


def main(names: Sequence[str]) -> None:
    """Run all jobs and write the page, or those of `names`."""
    with ExitStack() as stack:
        work = Path(stack.enter_context(TemporaryDirectory()))
        node, report = stack.enter_context(served())
        folder = stack.enter_context(mounted(node))
        disk = Disk(node, report, folder / "file")
        stack.enter_context(whole_commands(disk.settings))
        stack.enter_context(dirty_limit(disk.settings))
        laid_out = {"duration": "10ms", "warmup": "0s"}
        first = ROOT / f"examples/page-cache/{JOBS[0]}.toml"
        penstock.compare(first, policies="noop", on=disk.file, create=FILE_SIZE, set=laid_out)
        rows = [line for name in names or JOBS for line in compared(name, disk, work)]
    print(HEAD, *rows, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
