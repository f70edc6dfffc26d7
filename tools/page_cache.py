"""Writes the table of docs/devices/page-cache.md: the kernel's page cache and the model.

The kernel's cache works in real time, on ext4 over a modelled disk that is served; the model works
in virtual time. Root runs it on a Linux with FUSE, loop devices and the memory controller of cgroup
v1: `make page-cache`. It takes nine minutes. `tools/page_cache.py random-read` prints the rows of
one job and leaves the page as it is.
"""

import json
import os
import platform
import re
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import polars as pl

import penstock
from penstock.served.process import served

ROOT = Path(__file__).parents[1]
JOBS = ROOT / "examples/page-cache"
PAGE = ROOT / "docs/devices/page-cache.md"

BLOCK = re.compile(
    r"(?<=<!-- figures of the kernel -->\n).*?(?=<!-- end of figures -->)", re.DOTALL
)
"""The part of the page that is written."""

DEVICE = "hdd-7200"
SCHEDULER = "mq-deadline"
DEPTH = 4
DISK_SIZE = "8GiB"
FILE_SIZE = "1GiB"
ROUNDS = 3

PROCESS = 6 << 20
"""Bytes that the limit of a run's group leaves for the memory of its process."""

METADATA = 2 << 20
"""Bytes of the pages that a run past the cache has at most, of the file system and the table."""

HIT_NS = 200_000
"""A request that takes less was answered from memory: hardly any access of the disk is as short."""

GROUPS = Path("/sys/fs/cgroup/memory")
"""The memory groups of cgroup v1."""


class CacheRow(NamedTuple):
    """A job, with what is changed in it for both caches."""

    job: str
    change: str
    """The change in words."""
    sets: Mapping[str, str]

    @property
    def path(self) -> Path:
        """The file of the job."""
        return JOBS / f"{self.job}.toml"

    def text(self, key: str) -> str:
        """Return the value of a key, as `page_cache.memory`, in the changed job."""
        value = tomllib.loads(self.path.read_text())
        for name in key.split("."):
            value = value[name]
        return self.sets.get(key, str(value))

    @property
    def warmup(self) -> float:
        """The seconds of its warm-up."""
        return float(self.text("warmup").removesuffix("s"))

    @property
    def seconds(self) -> float:
        """The seconds that are measured."""
        return float(self.text("duration").removesuffix("s")) - self.warmup

    @property
    def memory(self) -> int:
        """The bytes of its page cache."""
        return int(self.text("page_cache.memory").removesuffix("MiB")) << 20

    @property
    def dirty(self) -> int:
        """Most dirty bytes: the default of `dirty_ratio`."""
        return self.memory // 5


ROWS = [
    CacheRow("sequential-read", "", {}),
    CacheRow("random-read", "", {}),
    CacheRow("random-read", "reads announced as random", {"live.advice": "pattern"}),
    CacheRow("random-read", "past the caches", {"agent.0.cache": "direct"}),
    CacheRow("sequential-write", "", {}),
    CacheRow("sequential-write", "256 MiB of memory", {"page_cache.memory": "256MiB"}),
    CacheRow("random-write", "", {}),
    CacheRow("mixed", "", {}),
]


class ServedDisk(NamedTuple):
    """A served disk with ext4 on it."""

    node: Path
    report: Path
    """The file in which the server reports how late it answered."""
    folder: Path
    """The folder in which it is mounted."""

    @property
    def file(self) -> Path:
        """The file of all jobs."""
        return self.folder / "file"

    @property
    def settings(self) -> Path:
        """The folder of its settings."""
        return Path("/sys/block", self.node.name)


class CacheFigures(NamedTuple):
    """Figures of a run after its warm-up."""

    rate: float
    """Megabytes a second."""
    hits: float
    """Share of the requests that memory answered."""
    miss_ms: float
    """Mean latency of the others."""
    commands: float
    """Commands a second at the disk."""


class KernelRun(NamedTuple):
    """A run through the kernel's page cache."""

    figures: CacheFigures
    memory: int
    """Mean bytes of its pages in memory after the warm-up; 0 if it was past the cache."""
    late_us: tuple[float, float]
    """Lateness of the disk: the median, and the mean."""


class Watcher:
    """Reads after the warm-up how much memory a run's pages take, and what reaches the disk."""

    def __init__(self, row: CacheRow, disk: ServedDisk, group: Path) -> None:
        """Begin with the run."""
        self._ended = threading.Event()
        self._pages: list[int] = []
        self._commands: list[tuple[float, int]] = []
        self._thread = threading.Thread(target=self._watch, args=(row.warmup, disk, group))
        self._thread.start()

    def _watch(self, warmup: float, disk: ServedDisk, group: Path) -> None:
        ended = self._ended.wait(warmup)
        while not ended:
            self._commands.append((time.monotonic(), commands(disk)))
            self._pages.append(cached(group))
            ended = self._ended.wait(0.2)

    def end(self) -> tuple[int, float]:
        """Return the mean bytes of pages, and the commands a second at the disk."""
        self._ended.set()
        self._thread.join()
        (began, first), (ended, last) = self._commands[0], self._commands[-1]
        # The pages of metadata are no cache of the job's.
        pages = fmean(self._pages)
        return round(pages) if pages > METADATA else 0, (last - first) / (ended - began)


def cached(group: Path) -> int:
    """Return the bytes of the page cache that belong to a memory group."""
    lines = (group / "memory.stat").read_text().splitlines()
    return int(dict(line.split() for line in lines)["cache"])


def commands(disk: ServedDisk) -> int:
    """Return the number of reads and writes that a disk has completed."""
    counts = (disk.settings / "stat").read_text().split()
    return int(counts[0]) + int(counts[4])


def run(
    row: CacheRow, sets: Mapping[str, str], work: Path, policy: str, on: str | Path
) -> tuple[Any, CacheFigures]:
    """Run a job; return its result, and its figures without the commands at the disk."""
    table = work / "requests.parquet"
    comparison = penstock.compare(
        row.path,
        policies=policy,
        on=on,
        set={**sets, **row.sets},
        detail=False,
        requests=table,
        engine=None if on == DEVICE else "psync",
    )
    (result,) = comparison.raw["runs"]
    if "failure" in result or "interrupted" in result:
        raise SystemExit(f"error: {row.path} did not run until its end")
    requests = pl.read_parquet(table).filter(pl.col("due_ns") >= row.warmup * 1e9)
    took = requests["done_ns"] - requests["due_ns"]
    misses = took.filter(took >= HIT_NS)
    missed: Any = misses.mean()
    (class_,) = result["classes"]
    hits = 1 - len(misses) / len(took)
    return result, CacheFigures(class_["bw_bytes"] / 1e6, hits, missed / 1e6, 0)


def through_kernel(
    row: CacheRow, disk: ServedDisk, group: Path, work: Path
) -> tuple[CacheFigures, int]:
    """Run a job through the kernel's page cache; return its figures, and the bytes of its pages.

    The process joins the memory group; what it had in memory before does not count there.
    """
    (group / "cgroup.procs").write_text(str(os.getpid()))
    watcher = Watcher(row, disk, group)
    try:
        sets = {"live.advice": "none"}
        _, figures = run(row, sets, work, f"kernel:{SCHEDULER}", disk.file)
    finally:
        memory, at_disk = watcher.end()
    return figures._replace(commands=at_disk), memory


def measured(row: CacheRow, disk: ServedDisk, work: Path) -> KernelRun:
    """Run a job through the kernel's page cache, in a process and a memory group of its own."""
    subprocess.run(["sync", "--file-system", disk.folder], check=True)
    disk.report.write_text("")
    with (
        dirty_limit(disk, row.dirty),
        memory_group(row.memory + PROCESS) as group,
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
    ):
        figures, memory = pool.submit(through_kernel, row, disk, group, work).result()
    late = json.loads(disk.report.read_text())["emulation"]
    return KernelRun(figures, memory, (late["p50_ns"] / 1e3, late["mean_ns"] / 1e3))


def modelled(row: CacheRow, disk: ServedDisk, memory: int, work: Path) -> CacheFigures:
    """Run a job through the modelled page cache, with as much memory as the kernel's had."""
    memory = memory or row.memory
    sets = {
        "page_cache.dirty_ratio": f"{100 * row.dirty / memory:.2f}%",
        "page_cache.dirty_background_ratio": f"{50 * row.dirty / memory:.2f}%",
        "page_cache.read_ahead": f"{setting(disk.settings / 'queue/read_ahead_kb')}KiB",
    }
    for key in ("dirty_expire", "dirty_writeback"):
        centiseconds = setting(Path("/proc/sys/vm", f"{key}_centisecs"))
        sets[f"page_cache.{key}"] = f"{centiseconds}0ms"
    same_memory = {**row.sets, "page_cache.memory": f"{memory >> 12 << 2}KiB"}
    result, figures = run(row._replace(sets=same_memory), sets, work, SCHEDULER, DEVICE)
    accesses = result["device_stats"]["service_ms"]["n"]
    return figures._replace(commands=accesses / result["duration_s"])


def setting(path: Path) -> str:
    """Return a setting of the kernel."""
    return path.read_text().strip()


@contextmanager
def changed(settings: Mapping[Path, str], before: Mapping[Path, str]) -> Iterator[None]:
    """Change settings of the kernel, and write those `before` in the end."""
    try:
        for path, value in settings.items():
            path.write_text(value)
        yield
    finally:
        for path, value in before.items():
            path.write_text(value)


def dirty_limit(disk: ServedDisk, most: int) -> AbstractContextManager[None]:
    """Bound the dirty bytes of a disk.

    `dirty_ratio` is one of the whole machine, also for a memory group. `strict_limit` makes the
    kernel keep that of a disk as if it were the machine's; write-back begins at half of it.
    """
    bdi = disk.settings / "bdi"
    limits = {bdi / "strict_limit": "1", bdi / "max_bytes": str(most)}
    # The limit in bytes is kept as a share.
    before = {bdi / name: setting(bdi / name) for name in ("max_ratio_fine", "strict_limit")}
    return changed(limits, before)


@contextmanager
def memory_group(limit: int) -> Iterator[Path]:
    """Yield a memory group with a limit in bytes."""
    group = GROUPS / f"penstock-page-cache-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(limit))
        yield group
    finally:
        group.rmdir()


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
def ready_disk() -> Iterator[ServedDisk]:
    """Yield a served disk with ext4, on which the file of the jobs is laid out."""
    with ExitStack() as stack:
        options = ("--size", DISK_SIZE, "--depth", str(DEPTH))
        node, report = stack.enter_context(served(DEVICE, *options))
        disk = ServedDisk(node, report, stack.enter_context(mounted(node)))
        short = {"duration": "10ms", "warmup": "0s"}
        job = ROWS[0].path
        penstock.compare(job, policies="noop", on=disk.file, create=FILE_SIZE, set=short)
        yield disk


HEAD = (
    "| job | seconds | MB/s, kernel | model | differs | hits, kernel | model | differs "
    "| a miss, kernel | model | commands/s, kernel | model |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def middle(runs: Sequence[CacheFigures], field: str, scale: float = 1) -> tuple[float, str]:
    """Return the median of a figure, and its text with the range."""
    values = [scale * getattr(figures, field) for figures in runs]
    low, mid, high = (f"{value:.3g}" for value in (min(values), median(values), max(values)))
    return median(values), mid if low == high else f"{mid} ({low} to {high})"


def line(row: CacheRow, kernel: Sequence[CacheFigures], model: Sequence[CacheFigures]) -> str:
    """Return the line of a row."""
    name = f"`{row.job}`{row.change and f', {row.change}'}"
    cells = [name, f"{row.seconds:g}"]
    for field, scale, unit in (("rate", 1, ""), ("hits", 100, " %")):
        real, text = middle(kernel, field, scale)
        ours, our_text = middle(model, field, scale)
        differs = f"{100 * (ours / real - 1):+.1f} %" if real else "–"
        cells += [text + unit, our_text + unit, differs]
    for field, unit in (("miss_ms", " ms"), ("commands", "")):
        cells += [middle(runs, field)[1] + unit for runs in (kernel, model)]
    return f"| {' | '.join(cells)} |"


def compared(row: CacheRow, disk: ServedDisk, work: Path) -> tuple[str, list[KernelRun]]:
    """Run a job through both caches; return its line of the table, and the kernel's runs."""
    kernel = [measured(row, disk, work) for _ in range(ROUNDS)]
    model = [modelled(row, disk, round.memory, work) for round in kernel]
    text = line(row, [round.figures for round in kernel], model)
    print(
        text, *(f"{round.memory >> 10} KiB, late {round.late_us} us" for round in kernel), sep="\n"
    )
    return text, kernel


def facts(rows: Sequence[CacheRow], runs: Sequence[KernelRun], disk: ServedDisk) -> str:
    """Return what is the same for all rows."""
    (seed,) = {row.text("seed") for row in rows}
    late, mean = (f"{median(run.late_us[at] for run in runs):.2g} µs" for at in (0, 1))
    worst = max(run.late_us[1] for run in runs)
    ahead = setting(disk.settings / "queue/read_ahead_kb")
    return (
        f"Linux {platform.release().split('-')[0]}, seed {seed}, medians of {ROUNDS} runs with "
        f"their ranges. `read_ahead` is {ahead} KiB. Answers of the served disk were late "
        f"by {late} in the median and {mean} in the mean of a run (the worst: {worst:.0f} µs).\n"
    )


def main(names: Sequence[str]) -> None:
    """Run all jobs and write the page, or only those of `names`."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    rows = [row for row in ROWS if not names or row.job in names]
    with TemporaryDirectory() as work, ready_disk() as disk:
        results = [compared(row, disk, Path(work)) for row in rows]
        runs = [run for _, kernel in results for run in kernel]
        text = "\n".join([facts(rows, runs, disk), HEAD, *(line for line, _ in results), ""])
    if names:
        print(text)
    else:
        PAGE.write_text(BLOCK.sub(lambda _: text, PAGE.read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
