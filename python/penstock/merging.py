"""Merges of real files, in rounds, next to other programs that merge the same files.

On targets that have no files other programs merge the same ranges, through pipes.
"""

import fcntl
import filecmp
import json
import os
import shlex
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from penstock import _native, ranges
from penstock.errors import RUN_FAILED, PenstockError, wrong
from penstock.ranges import Carrier, Range
from penstock.report.files import UNFINISHED
from penstock.results.merge_types import Merged, Merges, OtherProgram, RoundOfMerges

SORT = "sort"
"""Stands for GNU sort, as it merges best."""

INPUTS = "{inputs}"
OUTPUT = "{output}"

_PATIENCE_S = 1.0
"""For how long files are dropped from the page cache again that stay there."""

_PAUSE_S = 0.01


@dataclass(frozen=True, kw_only=True)
class Files:
    """What is merged, and how."""

    runs: Sequence[str]
    to: Sequence[str]
    create: str | None = None
    i_will_lose_data: Sequence[str] = ()
    even_if_not_empty: bool = False
    jobs: str | None = None
    on: str | None = None
    policy: str = "fcfs"
    sets: Sequence[str] = ()
    placement: str | None = None
    record: tuple[int, int, int] | None = None
    make: bool = False
    engine: str | None = None
    beside: Sequence[str] = field(default=())


def merge(files: Files, *, rounds: int = 1) -> Merges:
    """Merge `files` so many times; after each time other programs merge them too.

    The outputs of the last round stay.
    """
    for command in files.beside:
        _check(command, files)
    session = _native.MergeSession(files)
    nodes = session.nodes
    results: list[Merges] = []
    every: list[RoundOfMerges] = []
    remarks: list[str] = []
    for number in range(rounds):
        for one in results[-1]["merges"] if results and not nodes else ():
            Path(one["output"]).unlink()
        result: Merges = json.loads(session.merge(number))
        others = _others(files.beside, result, nodes, remarks)
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
    if files.beside and nodes:
        remarks.append(
            "the other programs used the targets through pipes: their times include those of the "
            "pipes"
        )
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


_Ranges: TypeAlias = tuple[Sequence[Range], Range]
"""The runs and the output of a merge on targets."""


def _others(
    commands: Sequence[str], result: Merges, nodes: Sequence[Path], remarks: list[str]
) -> list[OtherProgram]:
    """Let each command do the merges of `result`, on targets if there are `nodes` to be opened."""
    if not nodes:
        return [_merged_by(command, result, remarks) for command in commands]
    merges = [_ranges(one, nodes) for one in result["merges"]]
    wanted = [output.digest() for _, output in merges] if commands else []
    return [_merged_in_ranges(command, merges, wanted, remarks) for command in commands]


def _merged_by(command: str, result: Merges, remarks: list[str]) -> OtherProgram:
    """Let `command` do the merges of `result`, a process for each, and compare the outputs."""
    runs = [(Path(path), 0) for one in result["merges"] for path in one["inputs"]]
    _forget(runs, remarks)
    with ExitStack() as stack:
        outputs = [stack.enter_context(_output(Path(one["output"]))) for one in result["merges"]]
        begun = time.monotonic()
        running: list[subprocess.Popen[bytes]] = []
        stack.callback(_end, running)
        for one, output in zip(result["merges"], outputs, strict=True):
            words = _words(command, one["inputs"], str(output))
            running.append(_start(command, words))
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


def _merged_in_ranges(
    command: str, merges: Sequence[_Ranges], wanted: Sequence[bytes], remarks: list[str]
) -> OtherProgram:
    """The same where runs and outputs are ranges of targets, and outputs have the `wanted` digests.

    The program writes where the output of the merge lies, which gives it the same place on the
    disk.
    """
    runs = [(run.node, run.start) for inputs, _ in merges for run in inputs]
    _forget(runs, remarks)
    with ExitStack() as stack:
        begun = time.monotonic()
        running: list[subprocess.Popen[bytes]] = []
        stack.callback(_end, running)
        carriers = []
        for inputs, output in merges:
            with ranges.pipes(inputs, output) as pipes:
                *paths, last = pipes.paths
                running.append(_start(command, _words(command, paths, last), pipes.ends))
                carriers.append(pipes.carriers)
        cpu = sum(_wait(command, process) for process in running)
        cpu += sum(_carried(command, carrier) for some in carriers for carrier in some)
        makespan = time.monotonic() - begun
    identical = all(
        carrier.moved == output.size and output.digest() == digest
        for (_, output), digest, (*_, carrier) in zip(merges, wanted, carriers, strict=True)
    )
    # What is still to be written would slow down what follows.
    for node in {run.node for inputs, output in merges for run in (*inputs, output)}:
        _kept(node, ())
    return {
        "command": command,
        "makespan_s": makespan,
        "cpu_s": cpu,
        "identical": identical,
    }


def _ranges(one: Merged, nodes: Sequence[Path]) -> _Ranges:
    """The runs and the output of a merge on targets."""

    def start(name: str) -> int:
        return int(name.rpartition("@")[2])

    size = one["bytes"] // len(one["inputs"])
    inputs = [
        Range(node=nodes[disk], start=start(name), size=size)
        for name, disk in zip(one["inputs"], one["disks"], strict=True)
    ]
    node = nodes[one["output_disk"]]
    return inputs, Range(node=node, start=start(one["output"]), size=one["bytes"])


def _environment() -> dict[str, str]:
    return {**os.environ, "LC_ALL": "C"}


def _start(command: str, words: list[str], ends: Sequence[int] = ()) -> "subprocess.Popen[bytes]":
    """Start a program, which has the `ends` of pipes open."""
    try:
        return subprocess.Popen(words, env=_environment(), stdout=subprocess.DEVNULL, pass_fds=ends)
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


def _carried(command: str, carrier: Carrier) -> float:
    """The same for what moved its bytes."""
    carrier.join()
    if carrier.failed is not None:
        message = f"error: --beside {command!r}: {carrier.failed}"
        raise PenstockError(message, exit_code=RUN_FAILED)
    return carrier.processor_s


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


def _forget(runs: Sequence[tuple[Path, int]], remarks: list[str]) -> None:
    """Drop runs from the page cache, by path and first byte; a remark counts those that stay."""
    starts: dict[Path, list[int]] = {}
    for path, start in runs:
        starts.setdefault(path, []).append(start)
    until = time.monotonic() + _PATIENCE_S
    kept = sum(_kept(path, some, until) for path, some in starts.items())
    if kept:
        remarks.append(
            f"{kept} of {len(runs)} runs could not be dropped from the page cache: the other "
            "programs may have read them from memory"
        )


def _kept(path: Path, starts: Sequence[int], until: float = 0.0) -> int:
    """Drop the file at `path` from the page cache, again `until` then; how many of these stay."""
    try:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            # To look for a byte must not read ahead.
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            while True:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                kept = sum(_is_in_memory(file.fileno(), start) for start in starts)
                # What the kernel is just working on stays for a moment.
                if not kept or time.monotonic() > until:
                    return kept
                time.sleep(_PAUSE_S)
    except OSError:
        return len(starts)


def _is_in_memory(file: int, start: int) -> bool:
    try:
        # Answers at once, from memory, or not at all.
        return os.preadv(file, [bytearray(1)], start, os.RWF_NOWAIT) > 0
    except BlockingIOError:
        return False
