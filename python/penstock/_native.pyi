"""The compiled engine: paths and text in, JSON out."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Final, final

from penstock.merging import Files
from penstock.papers.merge_placement.rings import Ring
from penstock.passes import PassSettings
from penstock.policy import Op
from penstock.results.steps import Step
from penstock.session import Options, Variant
from penstock.target import Target

__all__ = [
    "Below",
    "Failure",
    "Gate",
    "HeldQueues",
    "MergeSession",
    "Meter",
    "Pace",
    "PassSession",
    "Recorder",
    "Served",
    "ServedTarget",
    "Session",
    "__version__",
    "device",
    "devices",
    "disks",
    "doctor",
    "drawn",
    "duration",
    "engines",
    "exit_without_memory",
    "io_priority",
    "is_right",
    "job_amounts",
    "job_from_fio",
    "merge_facts",
    "merge_layout",
    "merge_rings",
    "online_batch",
    "policies",
    "policy_named",
    "replay_decisions",
    "scheduler_agreement",
    "schema",
    "set_disk",
    "set_io_priority",
    "size",
    "study",
    "text_file",
    "trace_convert",
    "trace_describe",
    "trace_formats",
    "trace_made",
    "trace_races",
    "tracefs",
    "without_detail",
]

__version__: Final[str]

class Failure(Exception):
    """A command failed; the message says why, `exit_code` what the command exits with."""

    exit_code: int
    stuck: bool
    """A thread was left in a system call; the process ends when that returns."""

@final
class Below:
    """The device below, for the time of one `dispatch`."""

    def room(self) -> int: ...
    def admits(self, op: Op, start: int, len: int) -> bool: ...
    def position(self, op: Op, start: int) -> int: ...

@final
class Gate:
    """One policy before an application's own reads and writes; `penstock.Gate` is its face."""

    def __new__(
        cls,
        paths: Sequence[str | PathLike[str]],
        *,
        target: Target,
        adopt: bool,
        policy: str,
        sets: Sequence[str],
        emulate: str | None = None,
        depth: int = 32,
        timeout: str | None = None,
    ) -> Gate:
        """Before files at `paths`; `target` names none, and its other options hold for all."""

    def write(self, file: int, offset: int, data: bytes, sync: bool) -> None: ...
    def read(self, file: int, offset: int, len: int) -> bytes: ...
    def flush(self, file: int) -> None: ...
    def stats(self) -> str: ...
    def close(self) -> None: ...

@final
class Pace:
    """Lets a modelled run that a person watches pause."""

    paused: bool

    def __new__(cls) -> Pace:
        """Of a run that goes on."""

@final
class Served:
    """A modelled disk as a block device; closing it takes it down."""

    def __new__(
        cls,
        device: str,
        *,
        size: str | None = None,
        depth: int | None = None,
        keep: str | PathLike[str] | None = None,
    ) -> Served: ...
    @property
    def places(self) -> tuple[PathLike[str], PathLike[str]]:
        """Its node, and the file with its report."""
    def report(self) -> str:
        """How many requests it has answered, and how late, as JSON."""
    def is_in_use(self) -> bool:
        """Whether a file system on it is mounted, or another device holds it."""
    def close(self) -> None:
        """Take it down; a second call does nothing."""

@final
class ServedTarget:
    """A real target as block devices, with a policy between; closing it takes them down."""

    def __new__(
        cls,
        target: Target,
        *,
        keep_data: bool,
        policy: str,
        sets: Sequence[str],
        volumes: Sequence[str],
        depth: int | None = None,
        in_flight: int = 32,
        timeout: str | None = None,
        record: str | PathLike[str] | None = None,
        lent: tuple[str, int, int] | None = None,
    ) -> ServedTarget: ...
    @property
    def nodes(self) -> list[tuple[str, PathLike[str]]]:
        """The name and the node of each volume."""
    @property
    def remarks(self) -> list[str]:
        """What this machine does not grant."""
    def check(self) -> None:
        """Raise what ended it, if it has ended."""
    def report(self) -> str:
        """What each volume was asked for so far, as JSON."""
    def window(self) -> str:
        """The latencies of each volume since the last call, as JSON."""
    def in_use(self) -> list[PathLike[str]]:
        """The nodes that are mounted, or held by another device."""
    def close(self) -> None:
        """Take the devices down after the requests that they have; a second call does nothing."""

@final
class Session:
    """A target that stays open and locked while jobs run on it; `penstock.session` is its face."""

    def __new__(
        cls,
        variants: Sequence[Variant],
        target: Target,
        options: Options,
        progress: Callable[[Step], object] | None = None,
    ) -> Session:
        """Open `target`. A missing file is made only if `variants` can run on it.

        `options` must have `policies`. `progress` is called with the steps of the creation.
        """

    def run(
        self,
        variants: Sequence[Variant],
        *,
        progress: Callable[[Step], object] | None = None,
        partial: bool = False,
    ) -> list[str]: ...
    def check(self, variants: Sequence[Variant]) -> list[str]: ...
    def close(self) -> None: ...

@final
class MergeSession:
    """Merges whose options are checked."""

    def __new__(cls, files: Files) -> MergeSession:
        """Check `files` and find their folders."""

    def foreseen(self) -> str | None:
        """Return what has to be known before the merges begin, if anything."""

    def merge(self, number: int) -> str:
        """Run round `number`, and return its result as JSON."""

@final
class PassSession:
    """The files of the passes of a plan, which threads read and write call by call.

    Dropping it removes the files that it made.
    """

    def __new__(cls, settings: PassSettings) -> PassSession:
        """Check all files, then create those that are missing; nothing is written yet."""

    def run(
        self,
        test: str,
        *,
        threads: int,
        record: int,
        size: int,
        progress: Callable[[float], object] | None = None,
    ) -> str:
        """Run a test on the first files and return its result as JSON.

        `progress` gets the fraction that is done. An exception of it, or of the handler of a
        signal, ends the test.
        """

    def finish(self) -> None:
        """Remove the files that it made, or mark them as owned files if they are kept.

        If the session has ended, it does nothing.
        """

def replay_decisions(path: str | PathLike[str], *, sets: Sequence[str] = ...) -> str:
    """Feed a record to its policy and return the comparison of decisions as JSON."""

def exit_without_memory() -> str:
    """End with words and exit code 1, no abort, when the engine runs out of memory from here on.

    It takes over SIGABRT. Returns the hint that it gives.
    """

def is_right(name: str, text: str | None, sets: Sequence[str]) -> bool:
    """Whether a job is right with these changes: `text`, or the file `name`."""

def merge_facts(name: str, text: str, sets: Sequence[str]) -> str:
    """What the merges of a job are alike in and what memory they need, as JSON."""

def policies() -> str:
    """Every policy with its parameters, as JSON."""

def policy_named(name: str) -> str:
    """A policy by its name, as JSON."""

def device(name: str) -> str:
    """A device by its name or its file, as a device file with every default in place."""

def devices() -> str:
    """Every named device, as JSON."""

def engines() -> str:
    """The names of all engines, the preferred one first, as JSON."""

def disks(name: str | None = None) -> str:
    """Return the block devices of this machine, or one, with their queues, as JSON."""

def set_disk(name: str, scheduler: str, sets: Sequence[str]) -> str:
    """Set a disk to a scheduler with tunables; return what it had and has, as JSON."""

@final
class HeldQueues:
    """Settings of a disk's queue, put back at the end of the block, when closed or dropped.

    After a kill `doctor` with `clean` puts them back.
    """

    def __new__(
        cls, disk: str, scheduler: str | None, settings: Sequence[tuple[str, str]]
    ) -> HeldQueues: ...
    def settings(self) -> list[tuple[str, str]]:
        """Return the schedulers and the values that the kernel took, as they were set."""
    def close(self) -> None:
        """Put the disk's own settings back; a second call does nothing."""
    def __enter__(self) -> HeldQueues: ...
    def __exit__(self, *_error: object) -> None: ...

def io_priority(thread: int) -> str:
    """Return the I/O priority of a thread, as `be:4`; `none` if none was set."""

def set_io_priority(thread: int, text: str) -> None:
    """Give a thread an I/O priority, as `idle`; `none` takes it back."""

def tracefs() -> int:
    """Mount tracefs in no folder; return a descriptor of it, which the caller closes."""

def doctor(path: str | PathLike[str], *, clean: bool = False) -> str:
    """Report what this machine can do, and what lies under a path, as JSON.

    With `clean` what runs have left behind is removed.
    """

def merge_layout(name: str, text: str, sets: Sequence[str]) -> str:
    """Where the runs and outputs of a job with merges lie, as JSON."""

def merge_rings(rings: Sequence[Ring]) -> str:
    """Run the model of a race in rings of disks, on all cores; what came of each, as JSON."""

def online_batch(
    *,
    target: Target,
    mode: str,
    online: int,
    batch: int,
    online_cpu_ns: int,
    batch_cpu_ns: int,
    cpu_priority: bool,
    overlap_ns: int,
    writes: bool,
) -> str:
    """Run the evaluation programs of the online-batch paper once; what they met, as JSON."""

def schema(kind: str) -> str:
    """Give the JSON Schema of the kind `job`, `device` or `result`, as JSON."""

def without_detail(text: str, verdict: str | None = None) -> str:
    """Give the JSON of a comparison without the detail of its runs, with a `verdict` in JSON."""

def text_file(path: str | PathLike[str], kind: str, hint: str) -> str:
    """Read a short file that a person wrote; messages name its `kind`, and `hint` what is right."""

def trace_formats() -> str:
    """Every format of traces, as JSON."""

def trace_describe(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    classes: str | PathLike[str] | None = None,
    drawn: bool = False,
) -> str:
    """Report what a trace holds and asks for, as JSON; per class by the rules of a job.

    With `drawn` by time, place and size too, in few enough figures to be drawn.
    """

def trace_convert(
    path: str | PathLike[str],
    to: str | PathLike[str],
    *,
    into: str,
    format: str | None = None,
) -> str:
    """Write a trace in another format and return the result as JSON."""

def trace_made(
    job: str | PathLike[str],
    to: str | PathLike[str],
    *,
    into: str,
    sets: Sequence[str] = ...,
    on: str | None = None,
) -> str:
    """Write what the agents of a job ask for as a trace and return what was written as JSON."""

def trace_races(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    classes: str | PathLike[str] | None = None,
) -> str:
    """Find classes that stalled behind writes of another, in a trace or a record, as JSON."""

def scheduler_agreement(
    path: str | PathLike[str], scheduler: str, model: str, sets: Sequence[str]
) -> str:
    """Hold a policy against the decisions of a scheduler in a capture, as JSON."""

@final
class Recorder:
    """A capture of the kernel's block events while it is made."""

    def __new__(
        cls, tracefs: str | PathLike[str], name: str, numbers: Sequence[int]
    ) -> Recorder: ...
    @property
    def events(self) -> list[str]:
        """Names of the kernel's events to switch on."""
    def add(self, cpu: int, page: bytes) -> None:
        """Add a page of events of a processor."""
    def lose(self, events: int) -> None:
        """Note that the kernel lost events."""
    def take(self, before_ns: int | None = None) -> bytes:
        """Return the next bytes of the file: events before a time, or all."""
    def counts(self) -> str:
        """Return the counts of what was taken, as JSON."""

@final
class Meter:
    """A meter of the latencies of a disk's requests, by classes of threads."""

    def __new__(
        cls, tracefs: str | PathLike[str], name: str, numbers: Sequence[int], begun_ns: int
    ) -> Meter: ...
    @property
    def events(self) -> list[str]:
        """Names of the kernel's events to switch on."""
    def add(self, cpu: int, page: bytes) -> None:
        """Add a page of events of a processor."""
    def lose(self, events: int) -> None:
        """Note that the kernel lost events."""
    def assign(self, threads: Mapping[int, str], default: str = "others") -> None:
        """Assign threads to classes, and all others to a default class, from now on."""
    def take(self, before_ns: int) -> None:
        """Count the events before a time."""
    def window(self, now_ns: int) -> str:
        """Close the window at a time and return its figures, as JSON."""

def job_amounts(
    job: str | PathLike[str], *, sets: Sequence[str] = ..., on: str | None = None
) -> str:
    """Say what a job amounts to before it runs, as JSON."""

def job_from_fio(
    path: str | PathLike[str], *, sections: Sequence[str] = ...
) -> tuple[str, int, int, list[tuple[int, str, str]]]:
    """Make a job of fio's.

    Returns it with its agents, their requests in flight at most, and line, text and reason of what
    could not be taken over.
    """

def size(text: str) -> int:
    """A size as `64KiB` in bytes."""

def duration(text: str) -> int:
    """A length of time as `1ms` in nanoseconds."""

def study(path: str | PathLike[str]) -> str:
    """Read a study file and return what it says as JSON."""

def drawn(seed: int, label: str, count: int) -> list[int]:
    """Draw a number for each of `count` runs of a study, from the streams called `label`."""
