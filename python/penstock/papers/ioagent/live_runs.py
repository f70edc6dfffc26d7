"""Runs of the paper's cells on files in a folder of this machine, one at a time."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from errno import ENOENT
from pathlib import Path
from stat import S_ISDIR
from tempfile import TemporaryDirectory

from penstock.errors import PenstockError, wrong
from penstock.experiment.bench import Bench
from penstock.experiment.budget import Budget
from penstock.experiment.plan import Cell
from penstock.papers import files
from penstock.papers.ioagent.campaign import AMOUNT, RESPONSE, changes
from penstock.papers.ioagent.live_fraction import LeftOut
from penstock.papers.ioagent.setting import NAME
from penstock.study import remarks
from penstock.study.cells import Outcome, Work, reason
from penstock.study.run import FAILURES_MOST
from penstock.target import Target

POLICY = "kernel:as-is"
"""No policy of ours: agents meet at the kernel's scheduler, as the paper's do."""

FILE = "data.%d"
"""The names of the files; the engine puts the number of each there."""

SIZE_MOST = 1 << 30
"""Of a file. The paper's have 4 GiB."""

SIZE_LEAST = 2 * AMOUNT
"""Of a file: half of it is read or written in a run."""

OF_SPACE = 2
"""All files together take one of so many parts of the free space."""

WRITTEN_PER_S = 8 << 20
"""So many bytes of files are made for each second of the budget: at 100 MB/s, a twelfth of it."""


def file_size(free: int, files_most: int, budget_s: float) -> int:
    """Bytes of each file, a power of two: what the free space and the budget allow.

    Zero if the free space is too little for the smallest ones.
    """
    room = free // OF_SPACE // files_most
    wanted = min(SIZE_MOST, max(SIZE_LEAST, int(budget_s * WRITTEN_PER_S) // files_most), room)
    size = 1 << max(wanted, 1).bit_length() - 1
    return size if size >= SIZE_LEAST else 0


@contextmanager
def own_folder(path: str, files_most: int, budget_s: float) -> Iterator[tuple[Path, int]]:
    """A new folder in the one at `path`, with the size of each file; it is removed again."""
    place = Path(path)
    try:
        mode = place.stat().st_mode
    except OSError as error:
        problem = "found nothing there" if error.errno == ENOENT else f"{error.strerror}"
        raise wrong(f"--on {path}: {problem}", "name a folder, in which files are made") from None
    if not S_ISDIR(mode):
        raise wrong(f"--on {path}: found a file, expected a folder", "files are made in it")
    whole = str(place.resolve())
    if "%d" in whole:
        raise wrong(f"--on {path}: found %d in {whole}", "name a folder without it")
    free = shutil.disk_usage(place).free
    size = file_size(free, files_most, budget_s)
    if not size:
        least = OF_SPACE * files_most * SIZE_LEAST >> 20
        raise wrong(
            f"--on {path}: found {free >> 20} MiB of free space, expected at least {least} MiB",
            f"{files_most} files of {SIZE_LEAST >> 20} MiB may take half of it; fewer files: "
            "--set D=1",
        )
    try:
        made = TemporaryDirectory(prefix=f"penstock-{NAME}-", dir=whole)
    except OSError as error:
        raise wrong(
            f"--on {path}: no folder can be made in it: {error.strerror}",
            "name a folder that you may write to",
        ) from None
    with made as folder:
        yield Path(folder), size


def job_text(folder: Path) -> str:
    """The paper's job with its files in a folder."""
    quoted = str(folder / FILE).replace("\\", "\\\\").replace('"', '\\"')
    text = files.text(NAME, "job.toml")
    placed = text.replace("count = 4,", f'count = 4, path = "{quoted}",')
    assert placed != text, "the job has its files in one line"
    return placed


@dataclass(kw_only=True)
class Runs:
    """A bench on which cells run, and what is known of all its runs."""

    folder: Path
    """Of the files; remarks name these without it."""
    work: Work
    bench: Bench[Outcome]
    budget: Budget
    """A run that is under way at its end is ended."""
    left_out: list[LeftOut] = field(default_factory=list)
    remarks: list[str | None] = field(default_factory=list)
    """What has to be known of each run, the pilot's too."""

    def run(self, cell: Cell, part: int, seed: int) -> Outcome | None:
        """Runs a cell of a pattern; returns `None` if this machine cannot run it.

        Raises `Over` if the time is up before it has ended.
        """
        self.budget.check()
        try:
            variant = self.work.variant(changes(cell, part), seed)
            (outcome,) = self.bench.run([variant], progress=self.budget.check)
            why = outcome.failure
        except PenstockError as error:
            why = reason(error)
        if why is not None:
            if all(known.cell != cell for known in self.left_out):
                self.left_out.append(LeftOut(cell, why))
            if len(self.left_out) > FAILURES_MOST:
                raise PenstockError(
                    f"error: {len(self.left_out)} runs failed: {why}\n"
                    "hint: `penstock doctor` says what this machine can do",
                    exit_code=1,
                )
            return None
        said = [remark.replace(f"{self.folder}/", "") for remark in outcome.remarks]
        self.remarks.append(remarks.kept(said))
        return outcome._replace(remarks=said)


@contextmanager
def opened(folder: Path, size: int, largest: Cell, budget: Budget) -> Iterator[Runs]:
    """The bench of all runs. `largest` is a cell with the most files, which are made."""
    task = Work(
        name=f"papers/{NAME}/job.toml",
        text=job_text(folder),
        sets=[f"file.data.size={size}B"],
        policy=POLICY,
        target=Target(options={"create": f"{size}B"}),
        responses=[RESPONSE],
    )
    with task.bench([task.variant(changes(largest), 1)]) as bench:
        yield Runs(folder=folder, work=task, bench=bench, budget=budget)


def available_memory() -> int:
    """Bytes of memory that processes can have, as the kernel says."""
    for line in Path("/proc/meminfo").read_text("ascii").splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) << 10
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
