"""Merges in JSON, as types. tools/result_types.py writes this file.

Fields are declared and explained in crates/run/src/merge/result.rs.
Names follow fio's where fio has one; a key that may be left out is `NotRequired`.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

World: TypeAlias = Literal["simulated", "emulated", "measured"]
"""Whether a figure comes from a model or from the machine. `simulated`: Virtual time over a
modelled device. `emulated`: Real time over a modelled device. `measured`: Real time over a real
target."""


class Merges(TypedDict):
    """What `merge` prints with `--json`: the round with the median makespan, and all of them.

    Times of an emulated run are those of the model, whatever its speed.
    """

    world: World
    """Whether real disks took that long, or models of disks."""
    disks: list[str]
    """The disks: folders, or targets, of which a loop device is `loop:` and the path of its file.
    The model before each, if there is one, is `model`."""
    model: str | None
    """`DEVICE[@SPEED]`, of an emulated run."""
    policy: str
    """The policy before each disk."""
    makespan_s: float
    """Seconds until the last merge had written its last block."""
    merges: list[Merged]
    """Each merge."""
    divergence_max: float
    """How far the merges were apart at most, as a part of an output."""
    max_queued_writes: int
    """The most writes that were at one disk at once, waiting or in service."""
    cpu_s: float
    """Seconds of a processor that all of it took, whatever the speed of a model."""
    direct: bool
    """Whether every file went past the page cache. Below models none does: it is they that take the
    time."""
    remarks: list[str]
    """What has to be known of the figures, in words."""
    beside: list[OtherProgram]
    """Other programs that merged the same files then, in the order in which they were named."""
    rounds: list[RoundOfMerges]
    """Every round."""
    emulation: NotRequired[Models]
    """Of an emulated run: how well the models kept their schedules; left out elsewhere."""
    schedulers: NotRequired[dict[str, str | None]]
    """The kernel's scheduler in front of each real disk below these, by its name; null of a disk
    without one. Left out of an emulated run, and where no disk is listed."""


class Blocked(TypedDict):
    """Seconds that a merge could not use up a block."""

    read: float
    """It waited for blocks that it had asked for."""
    memory: float
    """It waited for memory."""


class Emulation(TypedDict):
    """How late the completions of an emulated device were, against its model's own schedule."""

    completions: int
    """Completions."""
    mean_ns: float
    """Arithmetic mean of their lateness in nanoseconds."""
    p50_ns: int
    """Median."""
    p99_ns: int
    """99th percentile."""
    max_ns: int
    """The worst."""


class Merged(TypedDict):
    """One merge."""

    inputs: list[str]
    """Its runs: files, or on a target `PATH@BYTE`, the path of the target and the first byte of the
    run."""
    output: str
    """The file with all of their records, or the place of them on a target."""
    disks: list[int]
    """The disk of each run, and of the output, by number."""
    output_disk: int
    """The same of the output."""
    bytes: int
    """Bytes of the output."""
    finish_s: float
    """Seconds until it had written its last block."""
    cpu_s: float
    """Seconds of a processor that merging took, without reading and writing, whatever the speed of
    a model."""
    blocked_s: Blocked
    """What it waited for."""


class Models(TypedDict):
    """How well models kept their schedules, in real time."""

    lateness: Emulation
    """How late their completions were reported. A merge goes on as if it had them in time."""
    file_waits: Emulation
    """How long completions waited for their files, of requests that took longer there than on the
    model. That counts."""


class OtherProgram(TypedDict):
    """What another program took for the same merges, a process for each."""

    command: str
    """`sort`, or the command as it was given."""
    makespan_s: float
    """Seconds until the last process had ended."""
    cpu_s: float
    """Seconds of a processor that all of them took."""
    identical: bool
    """Whether all outputs have the same bytes."""


class RoundOfMerges(TypedDict):
    """One round of merges."""

    makespan_s: float
    """Seconds until the last merge had written its last block."""
    finish_s: list[float]
    """The same of each merge."""
    cpu_s: float
    """Seconds of a processor that all of it took."""
    divergence_max: float
    """How far the merges were apart at most, as a part of an output."""
    max_queued_writes: int
    """The most writes that were at one disk at once."""
    beside: list[OtherProgram]
    """Other programs that merged the same files then."""
