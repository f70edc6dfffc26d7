"""Merges of real files, in rounds, next to other programs that merge the same files."""

import fcntl
import filecmp
import json
import os
import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from penstock import _native
from penstock.errors import RUN_FAILED, PenstockError, wrong
from penstock.report.files import UNFINISHED
from penstock.results.merge_types import Merges, OtherProgram, RoundOfMerges

SORT = "sort"
"""Stands for GNU sort, as it merges best."""

INPUTS = "{inputs}"
OUTPUT = "{output}"


@dataclass(frozen=True, kw_only=True)
class Files:
    """What is merged, and how."""

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
    beside: Sequence[str] = field(default=())

    def merge(self, number: int) -> Merges:
        """Merge once, as round `number`."""
        text = _native.merge_files(
            runs=self.runs,
            jobs=self.jobs,
            to=self.to,
            on=self.on,
            policy=self.policy,
            sets=self.sets,
            placement=self.placement,
            record=self.record,
            make=self.make,
            round=number,
            engine=self.engine,
        )
        result: Merges = json.loads(text)
        return result


def merge(files: Files, *, rounds: int = 1) -> Merges:
    """Merge `files` so many times; after each time other programs merge them too.

    The outputs of the last round stay.
    """
    for command in files.beside:
        _check(command, files)
    results: list[Merges] = []
    every: list[RoundOfMerges] = []
    remarks: list[str] = []
    for number in range(rounds):
        for one in results[-1]["merges"] if results else ():
            Path(one["output"]).unlink()
        result = files.merge(number)
        others = [_merged_by(command, result, remarks) for command in files.beside]
        results.append(result)
        every.append(
            {
                "makespan_s": result["makespan_s"],
                "finish_s": [one["finish_s"] for one in result["merges"]],
                "cpu_s": result["cpu_s"],
                "divergence_max": result["divergence_max"],
                "max_queued_writes": result["max_queued_writes"],
                "beside": others,
            }
        )
    order = sorted(range(rounds), key=lambda number: every[number]["makespan_s"])
    median = order[(rounds - 1) // 2]
    chosen = results[median]
    if files.beside and chosen["world"] == "emulated":
        remarks.append("the other programs used the files directly, without the models of disks")
    chosen["beside"] = every[median]["beside"]
    chosen["rounds"] = every
    chosen["remarks"] += dict.fromkeys(remarks)
    return chosen


def _check(command: str, files: Files) -> None:
    """Raise an error unless `command` can merge these files."""
    if command == SORT:
        if files.record is not None:
            raise wrong("--beside sort does not go with --record", "it merges lines")
        return
    missing = [name for name in (INPUTS, OUTPUT) if name not in command]
    if missing:
        raise wrong(
            f"--beside {command!r} has no {' or '.join(missing)}",
            f"as `--beside 'sort -m {INPUTS} -o {OUTPUT}'`",
        )


def _words(command: str, inputs: Sequence[str], output: str) -> list[str]:
    """The words of the command that merges `inputs` into `output`."""
    if command == SORT:
        return ["sort", "-m", f"--batch-size={max(len(inputs), 2)}", "-o", output, "--", *inputs]
    words: list[str] = []
    for word in shlex.split(command):
        if word == INPUTS:
            words += inputs
        else:
            words.append(word.replace(INPUTS, shlex.join(inputs)).replace(OUTPUT, output))
    return words


def _merged_by(command: str, result: Merges, remarks: list[str]) -> OtherProgram:
    """Let `command` do the merges of `result`, a process for each, and compare the outputs."""
    _forget(result, remarks)
    environment = {**os.environ, "LC_ALL": "C"}
    with ExitStack() as stack:
        outputs = [stack.enter_context(_output(Path(one["output"]))) for one in result["merges"]]
        begun = time.monotonic()
        running: list[subprocess.Popen[bytes]] = []
        stack.callback(_end, running)
        for one, output in zip(result["merges"], outputs, strict=True):
            words = _words(command, one["inputs"], str(output))
            running.append(_start(command, words, environment))
        cpu = sum(_wait(command, process) for process in running)
        makespan = time.monotonic() - begun
        identical = all(
            filecmp.cmp(one["output"], output, shallow=False)
            for one, output in zip(result["merges"], outputs, strict=True)
        )
    return {
        "command": command,
        "makespan_s": makespan,
        "cpu_s": cpu,
        "identical": identical,
    }


def _start(
    command: str, words: list[str], environment: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)
    except OSError as error:
        raise wrong(
            f"--beside {command!r} cannot be started: {error.strerror}", "is it installed?"
        ) from None


def _wait(command: str, process: "subprocess.Popen[bytes]") -> float:
    """Wait for `process`; how many seconds of a processor it took."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        message = f"error: --beside {command!r} ended with exit code {process.returncode}"
        raise PenstockError(message, exit_code=RUN_FAILED)
    return usage.ru_utime + usage.ru_stime


def _end(running: Sequence["subprocess.Popen[bytes]"]) -> None:
    """End those that still run."""
    for process in running:
        if process.returncode is None:
            process.kill()
            process.wait()


@contextmanager
def _output(path: Path) -> Iterator[Path]:
    """A file next to `path` that goes away again; `doctor --clean` knows it if we are killed."""
    other = path.with_name(f".{path.name}.{os.getpid()}{UNFINISHED}")
    with other.open("xb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield other
        finally:
            other.unlink(missing_ok=True)


def _forget(result: Merges, remarks: list[str]) -> None:
    """Drop the runs from the page cache; a remark counts those that stay in it."""
    runs = [path for one in result["merges"] for path in one["inputs"]]
    kept = sum(not _forgets(Path(path)) for path in runs)
    if kept:
        remarks.append(
            f"{kept} of {len(runs)} runs could not be dropped from the page cache: the other "
            "programs may have read them from memory"
        )


def _forgets(path: Path) -> bool:
    """Drop the file at `path` from the page cache; whether that worked."""
    try:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            # Answers at once, from memory, or not at all.
            return not os.preadv(file.fileno(), [bytearray(1)], 0, os.RWF_NOWAIT)
    except BlockingIOError:
        return True
    except OSError:
        return False
