"""Merges of real files, in rounds, compared with GNU sort."""

import fcntl
import filecmp
import json
import os
import resource
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock import _native
from penstock.errors import RUN_FAILED, PenstockError, wrong
from penstock.report.files import UNFINISHED
from penstock.results.merge_types import Merges, OtherProgram, RoundOfMerges

SORT = "sort"

_PATIENCE_S = 1.0
"""How long to keep trying to drop files from the page cache."""

_PAUSE_S = 0.01

_SORTS_OWN = 8
"""Files that GNU sort has open apart from those that it merges."""


@dataclass(frozen=True, kw_only=True)
class Files:
    """The files to merge, and the options of the merges."""

    runs: Sequence[str]
    to: Sequence[str]
    jobs: str | None = None
    on: str | None = None
    policy: str = "fcfs"
    sets: Sequence[str] = ()
    placement: str | None = None
    record: tuple[int, int, int] | None = None
    make: bool = False
    engine: str | None = None


def merge(
    files: Files,
    *,
    rounds: int = 1,
    beside_sort: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Merges:
    """Merge `files` in `rounds` rounds; with `beside_sort`, GNU sort merges them after each round.

    The outputs of the last round stay. `say` gets what has to be known before the merges begin.
    """
    if beside_sort and files.record is not None:
        raise wrong("--beside sort does not go with --record", "it merges lines")
    session = _native.MergeSession(files)
    if (foreseen := session.foreseen()) is not None:
        say(foreseen)
    results: list[Merges] = []
    every: list[RoundOfMerges] = []
    remarks: list[str] = []
    for number in range(rounds):
        for merged in results[-1]["merges"] if results else ():
            Path(merged["output"]).unlink()
        result: Merges = json.loads(session.merge(number))
        results.append(result)
        every.append(
            {
                "makespan_s": result["makespan_s"],
                "finish_s": [merged["finish_s"] for merged in result["merges"]],
                "cpu_s": result["cpu_s"],
                "divergence_max": result["divergence_max"],
                "max_queued_writes": result["max_queued_writes"],
                "beside": [_sort(result, remarks)] if beside_sort else [],
            }
        )
    order = sorted(range(rounds), key=lambda number: every[number]["makespan_s"])
    median = order[(rounds - 1) // 2]
    chosen = results[median]
    if beside_sort and chosen["world"] == "emulated":
        remarks.append("the other programs used the files directly, without the models of disks")
    chosen["beside"] = every[median]["beside"]
    chosen["rounds"] = every
    chosen["remarks"] += dict.fromkeys(remarks)
    return chosen


def _sort(result: Merges, remarks: list[str]) -> OtherProgram:
    """Let GNU sort do the merges of `result`, a process for each, and compare the outputs."""
    _forget([Path(path) for merged in result["merges"] for path in merged["inputs"]], remarks)
    with ExitStack() as stack:
        outputs = [
            stack.enter_context(_output(Path(merged["output"]))) for merged in result["merges"]
        ]
        begun = time.monotonic()
        running: list[subprocess.Popen[bytes]] = []
        stack.callback(_end, running)
        for merged, output in zip(result["merges"], outputs, strict=True):
            running.append(_start(merged["inputs"], output))
        cpu = sum(_wait(process) for process in running)
        makespan = time.monotonic() - begun
        identical = all(
            filecmp.cmp(merged["output"], output, shallow=False)
            for merged, output in zip(result["merges"], outputs, strict=True)
        )
    return {
        "command": SORT,
        "makespan_s": makespan,
        "cpu_s": cpu,
        "identical": identical,
    }


def _start(inputs: Sequence[str], output: Path) -> "subprocess.Popen[bytes]":
    """Start a process that merges `inputs` into `output`, as many of them at once as it can."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    batch = f"--batch-size={max(min(len(inputs), most - _SORTS_OWN), 2)}"
    command = [SORT, "-m", batch, "-o", str(output), "--", *inputs]
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    except OSError as error:
        raise wrong(
            f"--beside sort cannot be started: {error.strerror}", "is it installed?"
        ) from None


def _wait(process: "subprocess.Popen[bytes]") -> float:
    """Wait for `process`; return how many seconds of a processor it took."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        message = f"error: --beside sort ended with exit code {process.returncode}"
        raise PenstockError(message, exit_code=RUN_FAILED)
    return usage.ru_utime + usage.ru_stime


def _end(running: Sequence["subprocess.Popen[bytes]"]) -> None:
    """End the processes that still run."""
    for process in running:
        if process.returncode is None:
            process.kill()
            process.wait()


@contextmanager
def _output(path: Path) -> Iterator[Path]:
    """Make a temporary file next to `path`; `doctor --clean` removes it if this process cannot."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}{UNFINISHED}")
    with temporary.open("xb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)


def _forget(runs: Sequence[Path], remarks: list[str]) -> None:
    """Drop runs from the page cache; a remark counts those that stay."""
    until = time.monotonic() + _PATIENCE_S
    kept = sum(_stays(path, until) for path in dict.fromkeys(runs))
    if kept:
        remarks.append(
            f"{kept} of {len(runs)} runs could not be dropped from the page cache: the other "
            "programs may have read them from memory"
        )


def _stays(path: Path, until: float) -> bool:
    """Try until `until` to drop `path` from the page cache; return whether it stays."""
    try:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            # The check below must not cause a read-ahead.
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            while True:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                if not _is_in_memory(file.fileno()):
                    return False
                # Pages that the kernel is writing stay for a moment.
                if time.monotonic() > until:
                    return True
                time.sleep(_PAUSE_S)
    except OSError:
        return True


def _is_in_memory(file: int) -> bool:
    """Return whether the first byte of `file` can be read without the disk."""
    try:
        return os.preadv(file, [bytearray(1)], 0, os.RWF_NOWAIT) > 0
    except BlockingIOError:
        return False
