"""Merges in JSON, as types. tools/result_types.py writes this file.

Fields are declared and explained in crates/run/src/merge/result.rs.
Names follow fio's where fio has one; a key that may be left out is `NotRequired`.
"""

from typing import Literal, NotRequired, TypeAlias, TypedDict

World: TypeAlias = Literal["simulated", "emulated", "measured"]
"""Whether a figure comes from a model or from the machine. `simulated`: Virtual time over a
modelled device. `emulated`: Real time over a modelled device. `measured`: Real time over a real
target."""


class OtherProgram(TypedDict):
    """Another program that did the same merges, with a process for each."""

    command: str
    """The name of the program: `sort`."""
    makespan_s: float
    """Seconds until the last process had ended."""
    cpu_s: float
    """Seconds of processor time of all processes."""
    identical: bool
    """Whether all outputs have the same bytes."""


class Blocked(TypedDict):
    """Seconds that a merge could not use up a block."""

    read: float
    """Seconds of waiting for blocks that it had asked for."""
    memory: float
    """Seconds of waiting for memory."""


class Emulation(TypedDict):
    """How late the completions of an emulated device were, against its model's own schedule."""

    completions: int
    """Number of completions."""
    mean_ns: float
    """Arithmetic mean of their lateness in nanoseconds."""
    p50_ns: int
    """Median of their lateness in nanoseconds."""
    p99_ns: int
    """99th percentile of their lateness in nanoseconds."""
    max_ns: int
    """Largest lateness in nanoseconds."""
    head_start_ns: NotRequired[int]
    """Nanoseconds by which an idle model begins before a request arrives, as the kernel takes them
    there and back; only served devices have it."""


class RoundOfMerges(TypedDict):
    """A round of merges."""

    makespan_s: float
    """Seconds until the last merge had written its last block."""
    finish_s: list[float]
    """Seconds until each merge had written its last block."""
    cpu_s: float
    """Seconds of processor time of all merges."""
    divergence_max: float
    """The largest difference between the progress of two merges at one time, as a part of an
    output."""
    max_queued_writes: int
    """The largest number of writes at one disk at one time."""
    beside: list[OtherProgram]
    """The program that merged the same files after this round; empty without `--beside`."""


class Merged(TypedDict):
    """A merge."""

    inputs: list[str]
    """The files that were merged."""
    output: str
    """The file with all of their records."""
    disks: list[int]
    """The disk of each run, by number."""
    output_disk: int
    """The disk of the output, by number."""
    bytes: int
    """Bytes of the output."""
    finish_s: float
    """Seconds until the last block was written."""
    cpu_s: float
    """Seconds of processor time for comparing and copying records, without reading and writing,
    whatever the speed of a model."""
    blocked_s: Blocked
    """Seconds in which the merge waited, by reason."""


class Models(TypedDict):
    """How well models kept their schedules, in real time."""

    lateness: Emulation
    """How late completions were reported. This changes no result: a merge goes on as if they had
    been in time."""
    file_waits: Emulation
    """How long completions waited for their files, for requests that took longer there than on the
    model. This does change the times of merges."""


class Merges(TypedDict):
    """The JSON of `merge`: the round with the median makespan, and all rounds.

    Times of an emulated run are those of the model, whatever its speed.
    """

    world: World
    """Whether the times are those of real disks or of models of disks."""
    disks: list[str]
    """The folder on each disk."""
    model: str | None
    """The model before each disk, as `DEVICE[@SPEED]`; null on real disks."""
    policy: str
    """The policy before each disk."""
    makespan_s: float
    """Seconds until the last merge had written its last block."""
    merges: list[Merged]
    """The merges, in the order in which they were named."""
    divergence_max: float
    """The largest difference between the progress of two merges at one time, as a part of an
    output."""
    max_queued_writes: int
    """The largest number of writes at one disk at one time, waiting or in service."""
    cpu_s: float
    """Seconds of processor time of all merges, whatever the speed of a model."""
    direct: bool
    """Whether every file was read and written past the page cache. Always false in an emulated run,
    where the models determine the times."""
    remarks: list[str]
    """Notes on what limits the figures."""
    beside: list[OtherProgram]
    """The program that merged the same files after this round, as `--beside` says; empty without
    it."""
    rounds: list[RoundOfMerges]
    """All rounds."""
    emulation: NotRequired[Models]
    """How well the models kept their schedules; only in an emulated run."""
    schedulers: NotRequired[dict[str, str | None]]
    """The kernel's scheduler in front of each real disk below the folders, by the name of the disk;
    null for a disk without one. Left out of an emulated run, and where no disk is listed."""
